//! The native module: Cranelift's module for code in memory, and a record of the functions defined in it. Functions with
//! many parameters are compiled with another register allocator than all others.

use backend_cranelift::{define_with, is_wide};
use cranelift_codegen::control::ControlPlane;
use cranelift_codegen::isa::TargetIsa;
use cranelift_codegen::isa::unwind::UnwindInfo;
use cranelift_codegen::{CodegenError, Context, ir};
use cranelift_jit::JITModule;
use cranelift_module::{
    DataDescription, DataId, FuncId, Linkage, Module, ModuleDeclarations, ModuleReloc, ModuleResult,
};

use super::machine::{Allocator, OptLevel, isa};

/// A function that has been defined.
pub(crate) struct Defined {
    pub(crate) id: FuncId,
    pub(crate) size: usize,
    /// Its unwind information, where the platform has any.
    pub(crate) unwind: Option<UnwindInfo>,
}

/// A [`JITModule`] and the functions that have been defined in it.
pub(crate) struct Native {
    pub(crate) module: JITModule,
    /// The level of the module's code generator.
    pub(crate) level: OptLevel,
    pub(crate) defined: Vec<Defined>,
}

impl Native {
    /// Sets the unwind information of a function that was defined as bytes.
    pub(crate) fn set_unwind(&mut self, id: FuncId, unwind: Option<UnwindInfo>) {
        if let Some(defined) = self.defined.iter_mut().find(|defined| defined.id == id) {
            defined.unwind = unwind;
        }
    }
}

impl Module for Native {
    fn isa(&self) -> &dyn TargetIsa {
        self.module.isa()
    }

    fn declarations(&self) -> &ModuleDeclarations {
        self.module.declarations()
    }

    fn declare_function(
        &mut self,
        name: &str,
        linkage: Linkage,
        signature: &ir::Signature,
    ) -> ModuleResult<FuncId> {
        self.module.declare_function(name, linkage, signature)
    }

    fn declare_anonymous_function(&mut self, signature: &ir::Signature) -> ModuleResult<FuncId> {
        self.module.declare_anonymous_function(signature)
    }

    fn declare_data(
        &mut self,
        name: &str,
        linkage: Linkage,
        writable: bool,
        tls: bool,
    ) -> ModuleResult<DataId> {
        self.module.declare_data(name, linkage, writable, tls)
    }

    fn declare_anonymous_data(&mut self, writable: bool, tls: bool) -> ModuleResult<DataId> {
        self.module.declare_anonymous_data(writable, tls)
    }

    fn define_function_with_control_plane(
        &mut self,
        id: FuncId,
        context: &mut Context,
        plane: &mut ControlPlane,
    ) -> ModuleResult<()> {
        if is_wide(&context.func) {
            let isa = isa(self.level, Allocator::SinglePass);
            let isa = isa.map_err(|error| CodegenError::Unsupported(error.to_string()))?;
            define_with(&mut self.module, id, context, &*isa, plane).map_err(|error| *error)?;
        } else {
            self.module.define_function_with_control_plane(id, context, plane)?;
        }
        if let Some(code) = context.compiled_code() {
            let unwind = code.create_unwind_info(self.module.isa())?;
            self.defined.push(Defined { id, size: code.code_buffer().len(), unwind });
        }
        Ok(())
    }

    fn define_function_bytes(
        &mut self,
        id: FuncId,
        alignment: u64,
        bytes: &[u8],
        relocs: &[ModuleReloc],
    ) -> ModuleResult<()> {
        self.module.define_function_bytes(id, alignment, bytes, relocs)?;
        self.defined.push(Defined { id, size: bytes.len(), unwind: None });
        Ok(())
    }

    fn define_data(&mut self, id: DataId, data: &DataDescription) -> ModuleResult<()> {
        self.module.define_data(id, data)
    }
}
