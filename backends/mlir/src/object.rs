//! Object files: the module is translated to LLVM IR, which the LLVM backend compiles.

use std::ffi::CStr;

use backend_llvm::Llvm;
use backend_llvm::object::{Contents, Processor, compile_of, fits};
use codegen::backend::Error;
use codegen::ir;
use inkwell::DLLStorageClass;
use inkwell::context::Context as LlvmContext;
use inkwell::module::{Linkage, Module as LlvmModule};
use melior::Context;
use melior::ir::Module;
use melior::ir::attribute::StringAttribute;
use melior::ir::operation::{OperationLike, OperationMutLike};
use melior::utility::register_all_llvm_translations;
use target_lexicon::BinaryFormat;

use crate::diagnostic::diagnosed;
use crate::{Mlir, prepare, raw, refused};

/// Compiles a module to an object file. All of the module must be in the `llvm` dialect or another that translates to
/// LLVM IR; it takes on the target if it has none.
pub fn compile<'c>(
    context: &'c Context,
    module: &Module<'c>,
    mlir: &Mlir,
) -> Result<Vec<u8>, Error> {
    compile_with(context, module, (mlir, Contents::Any), |_| ())
}

/// Compiles a module as [`compile`] does, with the passes for its contents, after a change of its LLVM IR.
pub(crate) fn compile_with<'c>(
    context: &'c Context,
    module: &Module<'c>,
    (mlir, contents): (&Mlir, Contents),
    change: impl FnOnce(&LlvmModule<'_>),
) -> Result<Vec<u8>, Error> {
    let llvm_context = LlvmContext::create();
    let translated = translate(context, module, &llvm_context)?;
    if mlir.triple.binary_format == BinaryFormat::Coff {
        export(&translated);
    }
    change(&translated);
    compile_of(&translated, &mlir.llvm(), contents)
}

/// Verifies a module and returns the bitcode of its LLVM IR.
pub fn bitcode<'c>(context: &'c Context, module: &Module<'c>) -> Result<Vec<u8>, Error> {
    let llvm = LlvmContext::create();
    Ok(backend_llvm::object::bitcode(&translate(context, module, &llvm)?))
}

/// Runs MLIR's verifier on a module.
pub fn verify<'c>(context: &'c Context, module: &Module<'c>) -> Result<(), Error> {
    prepare(context, module)?;
    diagnosed(context, || module.as_operation().verify().then_some(())).map_err(refused)
}

/// Verifies a module and translates it to LLVM IR.
pub fn translate<'c, 'l>(
    context: &'c Context,
    module: &Module<'c>,
    llvm: &'l LlvmContext,
) -> Result<LlvmModule<'l>, Error> {
    verify(context, module)?;
    register_all_llvm_translations(context);
    diagnosed(context, || raw::translate(module, llvm)).map_err(refused)
}

/// Exports symbols from a DLL; in other object formats they are exported by default. The `llvm` dialect cannot express
/// it.
fn export(module: &LlvmModule<'_>) {
    let global = |linkage: Linkage, declared: bool| {
        matches!(linkage, Linkage::External | Linkage::WeakAny) && !declared
    };
    for function in module.get_functions() {
        if global(function.get_linkage(), function.count_basic_blocks() == 0) {
            function.as_global_value().set_dll_storage_class(DLLStorageClass::Export);
        }
    }
    for data in module.get_globals() {
        if global(data.get_linkage(), data.is_declaration()) {
            data.set_dll_storage_class(DLLStorageClass::Export);
        }
    }
}

/// The attributes of a module for its target and its data layout.
const TRIPLE: &str = "llvm.target_triple";
const DATA_LAYOUT: &str = "llvm.data_layout";

/// Sets the triple and data layout of the target, as an empty LLVM module has them, on a module without its own.
pub(crate) fn adopt<'c>(
    context: &'c Context,
    module: &mut Module<'c>,
    mlir: &Mlir,
) -> Result<(), Error> {
    let (triple, layout) = (triple(module), text_of(module, DATA_LAYOUT));
    if !triple.is_empty() || !layout.is_empty() {
        fits(&mlir.llvm(), &triple, &layout)?;
    }
    let llvm = LlvmContext::create();
    let empty = mlir.llvm().module(&llvm, &ir::Module::default(), &[])?;
    let string = |text: &CStr| StringAttribute::new(context, &text.to_string_lossy()).into();
    let mut module = module.as_operation_mut();
    if triple.is_empty() {
        module.set_attribute(TRIPLE, string(empty.get_triple().as_str()));
    }
    if layout.is_empty() {
        module.set_attribute(DATA_LAYOUT, string(empty.get_data_layout().as_str()));
    }
    Ok(())
}

/// Returns the target of a module; empty if it has none.
pub(crate) fn triple(module: &Module<'_>) -> String {
    text_of(module, TRIPLE)
}

/// Returns an attribute of a module that is text; empty if it has none.
fn text_of(module: &Module<'_>, attribute: &str) -> String {
    let text = module.as_operation().attribute(attribute).ok();
    let text = text.and_then(|text| StringAttribute::try_from(text).ok());
    text.map_or(String::new(), |text| text.value().to_owned())
}

/// Returns the processor of a target, if it names one or a feature.
pub(crate) fn processor(mlir: &Mlir) -> Result<Option<Processor>, Error> {
    backend_llvm::object::processor(&mlir.llvm())
}

impl Mlir {
    /// Returns the LLVM backend for the same target.
    pub(crate) fn llvm(&self) -> Llvm {
        let (triple, cpu, features) =
            (self.triple.clone(), self.cpu.clone(), self.features.clone());
        Llvm { triple, cpu, features, optimize: self.optimize }
    }
}
