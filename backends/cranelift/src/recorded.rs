//! Compiled code as bytes: recorded once, and replayed into a module of each process, which takes the functions that it
//! needs.

use std::borrow::Cow;
use std::collections::HashMap;

use cranelift_codegen::binemit::{Addend, CodeOffset, Reloc};
use cranelift_codegen::control::ControlPlane;
use cranelift_codegen::isa::{OwnedTargetIsa, TargetIsa};
use cranelift_codegen::{Context, ir};
use cranelift_module::{
    DataDescription, DataId, FuncId, Linkage, Module, ModuleDeclarations, ModuleReloc,
    ModuleRelocTarget, ModuleResult,
};
use serde::{Deserialize, Serialize};

use crate::{Error, Rows, native, refused};

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
    code: Vec<(FuncId, Code)>,
}

/// A recorded module. What it says of a symbol stays bytes until the symbol is replayed.
#[derive(Debug, Serialize, Deserialize)]
pub struct Recorded<'a> {
    #[serde(borrow)]
    functions: Vec<Symbol<'a>>,
    #[serde(borrow)]
    data: Vec<Symbol<'a>>,
}

/// A recorded symbol.
#[derive(Clone, Copy, Debug, Serialize, Deserialize)]
struct Symbol<'a> {
    name: &'a str,
    linkage: Linkage,
    /// The [`Signature`](ir::Signature) of a function; true for data that code writes to.
    #[serde(borrow, with = "serde_bytes")]
    kind: &'a [u8],
    /// The [`Code`] of a function, the [`DataDescription`] of data; `None` for an import.
    #[serde(borrow)]
    definition: Option<&'a serde_bytes::Bytes>,
}

/// A compiled function.
#[derive(Debug, Serialize, Deserialize)]
struct Code {
    align: u64,
    #[serde(with = "serde_bytes")]
    bytes: Vec<u8>,
    relocations: Vec<Relocation>,
    unwind: Option<Rows>,
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
pub struct Replayed<'a> {
    /// The name.
    pub name: &'a str,
    /// The id in the module.
    pub id: FuncId,
    /// True if the function is exported.
    pub exported: bool,
    /// The unwind information, where it is known.
    pub unwind: Option<Rows>,
}

impl Recorder {
    /// Returns an empty recorder for a code generator.
    pub fn new(isa: OwnedTargetIsa) -> Recorder {
        let (declarations, functions, data, code) = Default::default();
        Recorder { isa, declarations, functions, data, is_recording: true, code }
    }

    /// Compiles the definitions; returns the bytes of a [`Recorded`], for the same version of this crate.
    ///
    /// # Errors
    /// [`Error::Native`] if Cranelift cannot compile a function.
    pub fn finish(self) -> Result<Vec<u8>, Error> {
        let mut code: HashMap<FuncId, Vec<u8>> = HashMap::new();
        for (id, compiled) in &self.code {
            code.insert(*id, bytes(compiled)?);
        }
        for (id, function) in self.functions {
            code.insert(id, bytes(&Code::compile(&*self.isa, id, function)?)?);
        }
        let mut data: HashMap<DataId, Vec<u8>> = HashMap::new();
        for (id, description) in &self.data {
            data.insert(*id, bytes(description)?);
        }
        let mut functions = Vec::new();
        for (id, one) in self.declarations.get_functions() {
            functions.push((
                one.linkage_name(id),
                one.linkage,
                bytes(&one.signature)?,
                code.get(&id),
            ));
        }
        let mut objects = Vec::new();
        for (id, one) in self.declarations.get_data_objects() {
            objects.push((one.linkage_name(id), one.linkage, bytes(&one.writable)?, data.get(&id)));
        }
        bytes(&Recorded { functions: symbols(&functions), data: symbols(&objects) })
    }
}

/// Records a module of host IR.
///
/// # Errors
/// [`Error::Native`] if Cranelift cannot compile a function, and those of [`emit`](crate::emit).
pub fn record(isa: OwnedTargetIsa, source: &codegen::ir::Module) -> Result<Vec<u8>, Error> {
    let mut recorder = Recorder::new(isa);
    crate::emit(&mut recorder, source)?;
    recorder.finish()
}

/// The name, linkage, kind and definition of a symbol.
type Parts<'d> = (Cow<'d, str>, Linkage, Vec<u8>, Option<&'d Vec<u8>>);

fn symbols<'p>(all: &'p [Parts<'_>]) -> Vec<Symbol<'p>> {
    let symbol = |(name, linkage, kind, definition): &'p Parts<'_>| Symbol {
        name,
        linkage: *linkage,
        kind,
        definition: definition.map(|bytes| serde_bytes::Bytes::new(bytes)),
    };
    all.iter().map(symbol).collect()
}

fn bytes(value: &impl Serialize) -> Result<Vec<u8>, Error> {
    postcard::to_allocvec(value).map_err(refused)
}

fn read<'a, T: Deserialize<'a>>(bytes: &'a [u8]) -> Result<T, Error> {
    postcard::from_bytes(bytes).map_err(refused)
}

impl<'a> Recorded<'a> {
    /// Reads the output of [`Recorder::finish`].
    ///
    /// # Errors
    /// [`Error::Native`] for other bytes.
    pub fn from_bytes(bytes: &'a [u8]) -> Result<Recorded<'a>, Error> {
        read(bytes)
    }
}

/// A recorded module that is being replayed into another one, for the same machine, in which none of its names is
/// taken.
#[derive(Debug)]
pub struct Replay<'a> {
    recorded: Recorded<'a>,
    /// The exported functions, by name.
    exports: HashMap<&'a str, usize>,
    /// The ids of recorded functions in the module; `None` for those that it does not have yet.
    functions: Vec<Option<FuncId>>,
    /// The ids of recorded data, likewise.
    data: Vec<Option<DataId>>,
    /// Symbols that the module has declared and does not define yet.
    left: Vec<Left<'a>>,
}

/// A symbol that is declared and not defined yet, with its definition.
#[derive(Debug)]
enum Left<'a> {
    /// A function, with its number in the record.
    Function(usize, FuncId, &'a [u8]),
    Data(DataId, &'a [u8]),
}

impl<'a> Replay<'a> {
    /// Begins with nothing.
    pub fn new(recorded: Recorded<'a>) -> Replay<'a> {
        let functions = recorded.functions.iter().enumerate();
        let exports = functions.filter(|(_, symbol)| symbol.linkage == Linkage::Export);
        let exports = exports.map(|(index, symbol)| (symbol.name, index)).collect();
        let functions = vec![None; recorded.functions.len()];
        let data = vec![None; recorded.data.len()];
        Replay { recorded, exports, functions, data, left: Vec::new() }
    }

    /// Returns true for the name of an exported function.
    pub fn has(&self, name: &str) -> bool {
        self.exports.contains_key(name)
    }

    /// Defines exported functions in the module, with all that they refer to and that it does not have. Returns the
    /// functions that are new.
    ///
    /// # Errors
    /// [`Error::Native`] if the module returns an error, and for bytes that no [`Recorder`] has made.
    pub fn define<'n>(
        &mut self,
        names: impl IntoIterator<Item = &'n str>,
        module: &mut dyn Module,
    ) -> Result<Vec<Replayed<'a>>, Error> {
        let mut replayed = Vec::new();
        for name in names {
            if let Some(&index) = self.exports.get(name) {
                self.function(index, module)?;
            }
        }
        while let Some(left) = self.left.pop() {
            match left {
                Left::Function(index, id, definition) => {
                    let code: Code = read(definition)?;
                    let mut relocations = Vec::with_capacity(code.relocations.len());
                    for Relocation { offset, kind, target, addend } in code.relocations {
                        let name = self.place(target, module)?;
                        relocations.push(ModuleReloc { offset, kind, name, addend });
                    }
                    let defined =
                        module.define_function_bytes(id, code.align, &code.bytes, &relocations);
                    defined.map_err(native)?;
                    let Symbol { name, linkage, .. } = self.recorded.functions[index];
                    let exported = linkage == Linkage::Export;
                    replayed.push(Replayed { name, id, exported, unwind: code.unwind });
                }
                Left::Data(id, definition) => {
                    let mut data: DataDescription = read(definition)?;
                    let functions = data.function_decls.values_mut();
                    for target in functions.chain(data.data_decls.values_mut()) {
                        *target = self.place(target.clone(), module)?;
                    }
                    module.define_data(id, &data).map_err(native)?;
                }
            }
        }
        Ok(replayed)
    }

    /// Returns the id of a function in the module, which declares it if it has to.
    fn function(&mut self, index: usize, module: &mut dyn Module) -> Result<FuncId, Error> {
        if let Some(id) = self.functions[index] {
            return Ok(id);
        }
        let Symbol { name, linkage, kind, definition } = self.recorded.functions[index];
        let signature: ir::Signature = read(kind)?;
        let id = module.declare_function(name, linkage, &signature).map_err(native)?;
        self.functions[index] = Some(id);
        self.left.extend(definition.map(|bytes| Left::Function(index, id, bytes)));
        Ok(id)
    }

    /// Returns the id of data in the module, which declares it if it has to.
    fn datum(&mut self, index: usize, module: &mut dyn Module) -> Result<DataId, Error> {
        if let Some(id) = self.data[index] {
            return Ok(id);
        }
        let Symbol { name, linkage, kind, definition } = self.recorded.data[index];
        let id = module.declare_data(name, linkage, read(kind)?, false).map_err(native)?;
        self.data[index] = Some(id);
        self.left.extend(definition.map(|bytes| Left::Data(id, bytes)));
        Ok(id)
    }

    /// Returns the target of a relocation in the module for a recorded one.
    fn place(
        &mut self,
        target: ModuleRelocTarget,
        module: &mut dyn Module,
    ) -> Result<ModuleRelocTarget, Error> {
        Ok(match target {
            ModuleRelocTarget::User { namespace: FUNCTIONS, index } => {
                self.function(index as usize, module)?.into()
            }
            ModuleRelocTarget::User { index, .. } => self.datum(index as usize, module)?.into(),
            ModuleRelocTarget::FunctionOffset(id, offset) => {
                let id = self.function(id.as_u32() as usize, module)?;
                ModuleRelocTarget::FunctionOffset(id, offset)
            }
            ModuleRelocTarget::LibCall(_) | ModuleRelocTarget::KnownSymbol(_) => target,
        })
    }
}

impl Code {
    fn compile(isa: &dyn TargetIsa, id: FuncId, function: ir::Function) -> Result<Code, Error> {
        let mut context = Context::for_function(function);
        let code = context.compile(isa, &mut ControlPlane::default());
        let code = code.map_err(|error| native(error.into()))?;
        let (align, bytes) = (u64::from(code.buffer.alignment), code.code_buffer().to_vec());
        let unwind = Rows::of(isa, code).map_err(refused)?;
        let relocations = code.buffer.relocs().to_vec();
        let relocation = |reloc| ModuleReloc::from_mach_reloc(reloc, &context.func, id).into();
        let relocations = relocations.iter().map(relocation).collect();
        Ok(Code { align, bytes, relocations, unwind })
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
        let code = Code { align, bytes: bytes.to_vec(), relocations, unwind: None };
        self.code.push((id, code));
        Ok(())
    }

    fn define_data(&mut self, id: DataId, data: &DataDescription) -> ModuleResult<()> {
        self.data.extend(self.is_recording.then(|| (id, data.clone())));
        Ok(())
    }
}
