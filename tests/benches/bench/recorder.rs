//! A native module that takes CLIF and compiles nothing, to tell emission from compilation.

use codegen::ir;
use cranelift_codegen::ir::{Function, Signature};
use cranelift_codegen::isa::{OwnedTargetIsa, TargetIsa};
use cranelift_codegen::{Context, control::ControlPlane};
use cranelift_module::{
    DataDescription, DataId, FuncId, Linkage, Module, ModuleDeclarations, ModuleReloc, ModuleResult,
};

/// Declarations, and the definitions that were recorded.
pub(crate) struct Recorder {
    pub(crate) isa: OwnedTargetIsa,
    declarations: ModuleDeclarations,
    keep: bool,
    functions: Vec<(FuncId, Function)>,
    data: Vec<(DataId, DataDescription)>,
}

impl Recorder {
    /// Forgets what it is given.
    pub(crate) fn dropping(isa: OwnedTargetIsa) -> Recorder {
        Recorder::new(isa, false)
    }

    /// What `source` is in CLIF.
    pub(crate) fn of(source: &ir::Module, isa: OwnedTargetIsa) -> Recorder {
        let mut recorder = Recorder::new(isa, true);
        backend_cranelift::emit(&mut recorder, source).expect("it is well-formed");
        recorder
    }

    fn new(isa: OwnedTargetIsa, keep: bool) -> Recorder {
        let (functions, data) = (Vec::new(), Vec::new());
        Recorder { isa, declarations: ModuleDeclarations::default(), keep, functions, data }
    }

    /// The recorded functions, ready to compile.
    pub(crate) fn contexts(&self) -> Vec<Context> {
        self.functions.iter().map(|(_, func)| Context::for_function(func.clone())).collect()
    }

    /// Compiles to bytes.
    pub(crate) fn compile(&self, contexts: Vec<Context>) {
        for mut context in contexts {
            context.compile(&*self.isa, &mut ControlPlane::default()).expect("it compiles");
        }
    }

    /// Declares and defines everything in another module.
    pub(crate) fn replay(&self, module: &mut dyn Module, contexts: Vec<Context>) {
        for (id, function) in self.declarations.get_functions() {
            let name = function.linkage_name(id);
            module.declare_function(&name, function.linkage, &function.signature).expect("new");
        }
        for (id, data) in self.declarations.get_data_objects() {
            let name = data.linkage_name(id);
            module.declare_data(&name, data.linkage, data.writable, data.tls).expect("new");
        }
        for (id, data) in &self.data {
            module.define_data(*id, data).expect("new");
        }
        for ((id, _), mut context) in self.functions.iter().zip(contexts) {
            module.define_function(*id, &mut context).expect("it compiles");
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
        signature: &Signature,
    ) -> ModuleResult<FuncId> {
        Ok(self.declarations.declare_function(name, linkage, signature)?.0)
    }

    fn declare_anonymous_function(&mut self, signature: &Signature) -> ModuleResult<FuncId> {
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
        if self.keep {
            self.functions.push((id, context.func.clone()));
        }
        Ok(())
    }

    fn define_function_bytes(
        &mut self,
        _: FuncId,
        _: u64,
        _: &[u8],
        _: &[ModuleReloc],
    ) -> ModuleResult<()> {
        Ok(())
    }

    fn define_data(&mut self, id: DataId, data: &DataDescription) -> ModuleResult<()> {
        if self.keep {
            let mut copy = DataDescription::new();
            copy.clone_from(data);
            self.data.push((id, copy));
        }
        Ok(())
    }
}
