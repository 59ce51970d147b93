//! Compiled code as bytes: recorded once, and replayed into a module of each process that needs it.

use cranelift_codegen::binemit::{Addend, CodeOffset, Reloc};
use cranelift_codegen::control::ControlPlane;
use cranelift_codegen::isa::unwind::UnwindInfo;
use cranelift_codegen::isa::{OwnedTargetIsa, TargetIsa};
use cranelift_codegen::{Context, ir};
use cranelift_module::{
    DataDescription, DataId, FuncId, Linkage, Module, ModuleDeclarations, ModuleReloc,
    ModuleRelocTarget, ModuleResult,
};
use serde::{Deserialize, Serialize};

use crate::{Error, native, refused};

/// The namespace of functions among relocation targets; all others are data.
const FUNCTIONS: u32 = 0;

/// A module that records definitions and compiles them at the end. The code is for a process, with the settings of
/// [`Settings::JIT`].
///
/// [`Settings::JIT`]: crate::Settings::JIT
#[expect(missing_debug_implementations, reason = "code generators have none")]
pub struct Recorder {
    /// The code generator.
    pub isa: OwnedTargetIsa,
    /// The declarations.
    pub declarations: ModuleDeclarations,
    /// The functions to compile.
    pub functions: Vec<(FuncId, ir::Function)>,
    /// The data objects.
    pub data: Vec<(DataId, DataDescription)>,
    /// False to drop definitions, so that only emission takes time.
    pub is_recording: bool,
    /// The functions that were defined as machine code.
    code: Vec<Code>,
}

/// A recorded module.
#[derive(Debug, Serialize, Deserialize)]
pub struct Recorded {
    declared_functions: Vec<(String, Linkage, ir::Signature)>,
    declared_data: Vec<(String, Linkage, bool)>,
    functions: Vec<Code>,
    data: Vec<(DataId, DataDescription)>,
}

/// A compiled function.
#[derive(Debug, Serialize, Deserialize)]
struct Code {
    id: FuncId,
    align: u64,
    #[serde(with = "serde_bytes")]
    bytes: Vec<u8>,
    relocations: Vec<Relocation>,
    unwind: Option<UnwindInfo>,
}

/// A [`ModuleReloc`] that can be serialized.
#[derive(Debug, Serialize, Deserialize)]
struct Relocation {
    offset: CodeOffset,
    kind: Reloc,
    target: ModuleRelocTarget,
    addend: Addend,
}

impl From<ModuleReloc> for Relocation {
    fn from(ModuleReloc { offset, kind, name, addend }: ModuleReloc) -> Relocation {
        Relocation { offset, kind, target: name, addend }
    }
}

/// A function that has been replayed into a module.
#[derive(Debug)]
pub struct Replayed {
    /// The name.
    pub name: String,
    /// The id in the module.
    pub id: FuncId,
    /// True if the function is exported.
    pub exported: bool,
    /// The unwind information, where it is known.
    pub unwind: Option<UnwindInfo>,
}

impl Recorder {
    /// Returns an empty recorder for a code generator.
    pub fn new(isa: OwnedTargetIsa) -> Recorder {
        let (declarations, functions, data, code) = Default::default();
        Recorder { isa, declarations, functions, data, is_recording: true, code }
    }

    /// Compiles the definitions.
    ///
    /// # Errors
    /// [`Error::Native`] if Cranelift cannot compile a function.
    pub fn finish(self) -> Result<Recorded, Error> {
        let declared = |(id, one): (FuncId, &cranelift_module::FunctionDeclaration)| {
            (one.linkage_name(id).into_owned(), one.linkage, one.signature.clone())
        };
        let object = |(id, one): (DataId, &cranelift_module::DataDeclaration)| {
            (one.linkage_name(id).into_owned(), one.linkage, one.writable)
        };
        let mut functions = self.code;
        for (id, function) in self.functions {
            functions.push(Code::compile(&*self.isa, id, function)?);
        }
        Ok(Recorded {
            declared_functions: self.declarations.get_functions().map(declared).collect(),
            declared_data: self.declarations.get_data_objects().map(object).collect(),
            functions,
            data: self.data,
        })
    }
}

impl Recorded {
    /// Returns the bytes of the record, for the same version of this crate.
    ///
    /// # Errors
    /// [`Error::Native`] if serialization fails.
    pub fn to_bytes(&self) -> Result<Vec<u8>, Error> {
        postcard::to_allocvec(self).map_err(refused)
    }

    /// Reads the output of [`Recorded::to_bytes`].
    ///
    /// # Errors
    /// [`Error::Native`] for other bytes.
    pub fn from_bytes(bytes: &[u8]) -> Result<Recorded, Error> {
        postcard::from_bytes(bytes).map_err(refused)
    }

    /// Defines the recorded symbols in a module for the same machine, in which none of their names is taken.
    ///
    /// # Errors
    /// [`Error::Native`] if the module returns an error.
    pub fn replay(self, module: &mut dyn Module) -> Result<Vec<Replayed>, Error> {
        let declared = self.declared_functions.iter();
        let functions = declared.map(|(name, linkage, signature)| {
            module.declare_function(name, *linkage, signature).map_err(native)
        });
        let functions: Vec<FuncId> = functions.collect::<Result<_, _>>()?;
        let declared = self.declared_data.iter();
        let data = declared.map(|(name, linkage, writable)| {
            module.declare_data(name, *linkage, *writable, false).map_err(native)
        });
        let ids = Ids { functions, data: data.collect::<Result<_, _>>()? };
        for (id, mut description) in self.data {
            description.function_decls.values_mut().for_each(|target| ids.place(target));
            description.data_decls.values_mut().for_each(|target| ids.place(target));
            module.define_data(ids.data[id.as_u32() as usize], &description).map_err(native)?;
        }
        let mut replayed = Vec::with_capacity(self.functions.len());
        for code in self.functions {
            let (name, linkage, _) = &self.declared_functions[code.id.as_u32() as usize];
            let id = ids.functions[code.id.as_u32() as usize];
            let relocations: Vec<ModuleReloc> = code.relocations(&ids).collect();
            let defined = module.define_function_bytes(id, code.align, &code.bytes, &relocations);
            defined.map_err(native)?;
            let (name, exported) = (name.clone(), *linkage == Linkage::Export);
            replayed.push(Replayed { name, id, exported, unwind: code.unwind });
        }
        Ok(replayed)
    }
}

impl Code {
    fn compile(isa: &dyn TargetIsa, id: FuncId, function: ir::Function) -> Result<Code, Error> {
        let mut context = Context::for_function(function);
        let code = context.compile(isa, &mut ControlPlane::default());
        let code = code.map_err(|error| native(error.into()))?;
        let (align, bytes) = (u64::from(code.buffer.alignment), code.code_buffer().to_vec());
        let unwind = code.create_unwind_info(isa).map_err(refused)?;
        let relocations = code.buffer.relocs().to_vec();
        let relocation = |reloc| ModuleReloc::from_mach_reloc(reloc, &context.func, id).into();
        let relocations = relocations.iter().map(relocation).collect();
        Ok(Code { id, align, bytes, relocations, unwind })
    }

    fn relocations(&self, ids: &Ids) -> impl Iterator<Item = ModuleReloc> {
        self.relocations.iter().map(|&Relocation { offset, kind, ref target, addend }| {
            let mut name = target.clone();
            ids.place(&mut name);
            ModuleReloc { offset, kind, name, addend }
        })
    }
}

/// The ids of the recorded symbols in a module.
struct Ids {
    functions: Vec<FuncId>,
    data: Vec<DataId>,
}

impl Ids {
    fn place(&self, target: &mut ModuleRelocTarget) {
        match target {
            ModuleRelocTarget::User { namespace: FUNCTIONS, index } => {
                *index = self.functions[*index as usize].as_u32();
            }
            ModuleRelocTarget::User { index, .. } => {
                *index = self.data[*index as usize].as_u32();
            }
            ModuleRelocTarget::FunctionOffset(id, _) => {
                *id = self.functions[id.as_u32() as usize];
            }
            ModuleRelocTarget::LibCall(_) | ModuleRelocTarget::KnownSymbol(_) => {}
        }
    }
}

impl Module for Recorder {
    fn isa(&self) -> &dyn TargetIsa {
        &*self.isa
    }

    fn declarations(&self) -> &ModuleDeclarations {
        &self.declarations
    }

    fn declare_function(
        &mut self,
        name: &str,
        linkage: Linkage,
        signature: &ir::Signature,
    ) -> ModuleResult<FuncId> {
        Ok(self.declarations.declare_function(name, linkage, signature)?.0)
    }

    fn declare_anonymous_function(&mut self, signature: &ir::Signature) -> ModuleResult<FuncId> {
        self.declarations.declare_anonymous_function(signature)
    }

    fn declare_data(
        &mut self,
        name: &str,
        linkage: Linkage,
        writable: bool,
        tls: bool,
    ) -> ModuleResult<DataId> {
        Ok(self.declarations.declare_data(name, linkage, writable, tls)?.0)
    }

    fn declare_anonymous_data(&mut self, writable: bool, tls: bool) -> ModuleResult<DataId> {
        self.declarations.declare_anonymous_data(writable, tls)
    }

    fn define_function_with_control_plane(
        &mut self,
        id: FuncId,
        context: &mut Context,
        _: &mut ControlPlane,
    ) -> ModuleResult<()> {
        self.functions.extend(self.is_recording.then(|| (id, context.func.clone())));
        Ok(())
    }

    fn define_function_bytes(
        &mut self,
        id: FuncId,
        align: u64,
        bytes: &[u8],
        relocs: &[ModuleReloc],
    ) -> ModuleResult<()> {
        let relocations = relocs.iter().cloned().map(Relocation::from).collect();
        self.code.push(Code { id, align, bytes: bytes.to_vec(), relocations, unwind: None });
        Ok(())
    }

    fn define_data(&mut self, id: DataId, data: &DataDescription) -> ModuleResult<()> {
        self.data.extend(self.is_recording.then(|| (id, data.clone())));
        Ok(())
    }
}
