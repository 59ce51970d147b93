//! A Cranelift module that takes functions without compiling them, so that emission can be timed alone.

use cranelift_codegen::control::ControlPlane;
use cranelift_codegen::ir::Signature;
use cranelift_codegen::{Context, isa};
use cranelift_module::{
    DataDescription, DataId, FuncId, Linkage, Module, ModuleDeclarations, ModuleReloc, ModuleResult,
};
use cranelift_object::ObjectModule;

/// An object to be, in which functions are declared, not defined.
pub(crate) struct Uncompiled(pub(crate) ObjectModule);

impl Module for Uncompiled {
    fn isa(&self) -> &dyn isa::TargetIsa {
        self.0.isa()
    }

    fn declarations(&self) -> &ModuleDeclarations {
        self.0.declarations()
    }

    fn declare_function(
        &mut self,
        name: &str,
        linkage: Linkage,
        signature: &Signature,
    ) -> ModuleResult<FuncId> {
        self.0.declare_function(name, linkage, signature)
    }

    fn declare_anonymous_function(&mut self, signature: &Signature) -> ModuleResult<FuncId> {
        self.0.declare_anonymous_function(signature)
    }

    fn declare_data(
        &mut self,
        name: &str,
        linkage: Linkage,
        writable: bool,
        tls: bool,
    ) -> ModuleResult<DataId> {
        self.0.declare_data(name, linkage, writable, tls)
    }

    fn declare_anonymous_data(&mut self, writable: bool, tls: bool) -> ModuleResult<DataId> {
        self.0.declare_anonymous_data(writable, tls)
    }

    fn define_function_with_control_plane(
        &mut self,
        _: FuncId,
        _: &mut Context,
        _: &mut ControlPlane,
    ) -> ModuleResult<()> {
        Ok(())
    }

    fn define_function_bytes(
        &mut self,
        function: FuncId,
        alignment: u64,
        bytes: &[u8],
        relocations: &[ModuleReloc],
    ) -> ModuleResult<()> {
        self.0.define_function_bytes(function, alignment, bytes, relocations)
    }

    fn define_data(&mut self, data: DataId, description: &DataDescription) -> ModuleResult<()> {
        self.0.define_data(data, description)
    }
}
