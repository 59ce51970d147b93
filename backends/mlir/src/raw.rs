//! Functions that melior lacks: all unsafe code of this crate but a call of [`erase`].

use inkwell::context::Context as LlvmContext;
use inkwell::module::Module as LlvmModule;
use melior::Context;
use melior::dialect::DialectHandle;
use melior::dialect::llvm::r#type::{function, void};
use melior::ir::operation::{OperationLike, OperationPrintingFlags, OperationRefMut};
use melior::ir::{
    Attribute, AttributeLike, BlockLike, Module, Operation, RegionRef, Type, TypeLike,
};
use mlir_sys as sys;

/// Returns a string attribute of any bytes; melior's are UTF-8.
pub(crate) fn bytes_attribute<'c>(context: &'c Context, bytes: &[u8]) -> Attribute<'c> {
    let string = sys::MlirStringRef { data: bytes.as_ptr().cast(), length: bytes.len() };
    // SAFETY: the context is alive, and MLIR copies the `length` bytes.
    unsafe { Attribute::from_raw(sys::mlirStringAttrGet(context.to_raw(), string)) }
}

/// Returns the parameters and the result of an `llvm.func` type; `None` for any other type.
pub(crate) fn function_parts<'c>(
    context: &'c Context,
    ty: Type<'c>,
) -> Option<(Vec<Type<'c>>, Type<'c>)> {
    if ty.id() != function(void(context), &[], false).id() {
        return None;
    }
    // SAFETY: the type is an `llvm.func`, as its identity says, and positions are below the count.
    unsafe {
        let count = sys::mlirLLVMFunctionTypeGetNumInputs(ty.to_raw());
        let input = |i| Type::from_raw(sys::mlirLLVMFunctionTypeGetInput(ty.to_raw(), i));
        let result = sys::mlirLLVMFunctionTypeGetReturnType(ty.to_raw());
        Some(((0..count).map(input).collect(), Type::from_raw(result)))
    }
}

/// Returns a reference to a symbol nested in another.
pub(crate) fn nested_symbol<'c>(
    context: &'c Context,
    outer: &str,
    inner: Attribute<'c>,
) -> Attribute<'c> {
    let outer = sys::MlirStringRef { data: outer.as_ptr().cast(), length: outer.len() };
    let inner = inner.to_raw();
    // SAFETY: the context is alive, MLIR copies the name, and `inner` is one symbol reference.
    unsafe { Attribute::from_raw(sys::mlirSymbolRefAttrGet(context.to_raw(), outer, 1, &inner)) }
}

/// Appends an operation to the top level of a module.
pub(crate) fn append<'c, 'a>(
    module: &'a Module<'c>,
    operation: Operation<'c>,
) -> OperationRefMut<'c, 'a> {
    let operation = module.body().append_operation(operation).to_raw();
    // SAFETY: the module, which is alive, owns the operation.
    unsafe { OperationRefMut::from_raw(operation) }
}

/// Returns the region of a function's body, or of a data object's contents.
pub(crate) fn region<'c, 'a>(operation: &OperationRefMut<'c, 'a>) -> RegionRef<'c, 'a> {
    // SAFETY: functions and data objects have a region, which lives as long as they do.
    unsafe { RegionRef::from_raw(sys::mlirOperationGetRegion(operation.to_raw(), 0)) }
}

/// Removes an operation from its module and frees it.
///
/// # Safety
/// The operation is in a module, and no reference to it is used any more.
pub(crate) unsafe fn erase(operation: OperationRefMut<'_, '_>) {
    // SAFETY: the caller's promise; removed from the module, which owned it, the operation is ours.
    unsafe {
        sys::mlirOperationRemoveFromParent(operation.to_raw());
        sys::mlirOperationDestroy(operation.to_raw());
    }
}

/// Renames the uses of a symbol in a module; returns false if some uses are unknown.
pub(crate) fn rename_uses(module: &Module<'_>, from: &str, to: &str) -> bool {
    let module = module.as_operation();
    let string = |s: &str| sys::MlirStringRef { data: s.as_ptr().cast(), length: s.len() };
    let (from, to) = (string(from), string(to));
    // SAFETY: the module is alive, and MLIR copies the names.
    let result = unsafe { sys::mlirSymbolTableReplaceAllSymbolUses(from, to, module.to_raw()) };
    result.value != 0
}

/// Loads the dialect of data layouts.
pub(crate) fn load_data_layout(context: &Context) {
    // SAFETY: the function only returns the address of a static table.
    let handle = unsafe { DialectHandle::from_raw(sys::mlirGetDialectHandle__dlti__()) };
    handle.load_dialect(context);
}

/// Sets the flag by which results are printed with the names of their locations.
pub(crate) fn name_results(flags: &OperationPrintingFlags) {
    // SAFETY: the flags are alive.
    unsafe { sys::mlirOpPrintingFlagsPrintNameLocAsPrefix(flags.to_raw()) }
}

/// Translates a verified module to LLVM IR; returns `None` after a diagnostic.
pub(crate) fn translate<'l>(
    module: &Module<'_>,
    context: &'l LlvmContext,
) -> Option<LlvmModule<'l>> {
    // SAFETY: both contexts are alive, and a module that is not null is ours to own. mlir-sys and
    // llvm-sys are linked to one LLVM, that of their common prefix, so that they mean the same by it.
    unsafe {
        let operation = module.as_operation().to_raw();
        let module = sys::mlirTranslateModuleToLLVMIR(operation, context.raw().cast());
        (!module.is_null()).then(|| LlvmModule::new(module.cast()))
    }
}
