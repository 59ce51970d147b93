//! The native module: Cranelift's module for code in memory, and a record of the functions defined in it. Functions
//! with many parameters are compiled with another register allocator than all others.

use std::ops::Range;

use backend_cranelift::{Rows, define_with, is_wide};
use cranelift_codegen::control::ControlPlane;
use cranelift_codegen::isa::TargetIsa;
use cranelift_codegen::{CodegenError, Context, ir};
use cranelift_jit::{JITBuilder, JITModule};
use cranelift_module::{
    DataDescription, DataId, FuncId, Linkage, Module, ModuleDeclarations, ModuleError, ModuleReloc,
    ModuleResult, default_libcall_names,
};

use super::address::FunctionRange;
use super::frames::Frame;
use super::machine::{Allocator, OptLevel, isa};
use super::memory::Memory;
use crate::error::Error;

/// A function that has been defined.
pub(crate) struct Defined {
    pub(crate) id: FuncId,
    pub(crate) size: usize,
    /// Its unwind information, where the platform has any.
    pub(crate) unwind: Option<Rows>,
}

/// A [`JITModule`] and the functions that have been defined in it.
pub(crate) struct Native {
    pub(crate) module: JITModule,
    /// The level of the module's code generator.
    pub(crate) level: OptLevel,
    /// True while the user defines functions, which Cranelift verifies.
    pub(crate) verifies: bool,
    pub(crate) defined: Vec<Defined>,
}

impl Native {
    /// Makes an empty module for code in this memory. `address` returns the addresses of symbols that it does not
    /// define.
    pub(super) fn new(
        level: OptLevel,
        memory: &Memory,
        address: impl Fn(&str) -> *const u8 + Send + 'static,
    ) -> Result<Native, Error> {
        let mut builder =
            JITBuilder::with_isa(isa(level, Allocator::Backtracking)?, default_libcall_names());
        builder.memory_provider(Box::new(memory.clone()));
        builder.symbol_lookup_fn(Box::new(move |name| Some(address(name))));
        Ok(Native { module: JITModule::new(builder), level, verifies: false, defined: Vec::new() })
    }

    /// Sets the unwind information of a function that was defined as bytes, one of the last.
    pub(crate) fn set_unwind(&mut self, id: FuncId, unwind: Option<Rows>) {
        if let Some(defined) = self.defined.iter_mut().rev().find(|defined| defined.id == id) {
            defined.unwind = unwind;
        }
    }

    /// Links what has been defined, and makes it executable.
    pub(super) fn finalize(&mut self) -> Result<(), Error> {
        let refused = |error: ModuleError| Error::Memory { reason: error.to_string() };
        self.module.finalize_definitions().map_err(refused)
    }

    /// Returns those functions of these numbers that have unwind information.
    pub(super) fn frames(&self, functions: Range<usize>) -> Vec<Frame<'_>> {
        let frames = self.defined[functions].iter().filter_map(|defined| {
            let start = self.module.get_finalized_function(defined.id).expose_provenance();
            Some(Frame { start, size: defined.size, unwind: defined.unwind.as_ref()? })
        });
        frames.collect()
    }

    /// Returns the address ranges of the functions of these numbers.
    pub(super) fn ranges(&self, functions: Range<usize>) -> Vec<FunctionRange> {
        let declarations = self.module.declarations();
        let range = |defined: &Defined| FunctionRange {
            name: declarations.get_function_decl(defined.id).linkage_name(defined.id).into_owned(),
            start: self.module.get_finalized_function(defined.id).expose_provenance(),
            size: defined.size,
        };
        self.defined[functions].iter().map(range).collect()
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
        if self.verifies {
            context.verify(self.module.isa()).map_err(CodegenError::Verifier)?;
        }
        if is_wide(&context.func) {
            let isa = isa(self.level, Allocator::SinglePass);
            let isa = isa.map_err(|error| CodegenError::Unsupported(error.to_string()))?;
            define_with(&mut self.module, id, context, &*isa, plane).map_err(|error| *error)?;
        } else {
            self.module.define_function_with_control_plane(id, context, plane)?;
        }
        if let Some(code) = context.compiled_code() {
            let unwind = Rows::of(self.module.isa(), code)?;
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
