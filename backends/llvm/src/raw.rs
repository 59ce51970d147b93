//! Functions that inkwell lacks or marks unsafe: all `unsafe` of this crate but the diagnostic handler.

use std::ffi::CStr;

use inkwell::builder::{Builder, BuilderError};
use inkwell::context::{AsContextRef, ContextRef};
use inkwell::llvm_sys::LLVMTypeKind;
use inkwell::llvm_sys::comdat::LLVMSetComdat;
use inkwell::llvm_sys::core::{
    LLVMAddAlias2, LLVMAliasGetAliasee, LLVMContextSetDiscardValueNames,
    LLVMContextShouldDiscardValueNames, LLVMDeleteGlobal, LLVMGetAggregateElement,
    LLVMGetArrayLength2, LLVMGetDataLayoutStr, LLVMGetFirstGlobalAlias, LLVMGetInitializer,
    LLVMGetNamedFunctionWithLength, LLVMGetNamedGlobalAlias, LLVMGetNamedGlobalIFunc,
    LLVMGetNamedGlobalWithLength, LLVMGetNextGlobalAlias, LLVMGetTypeKind, LLVMGlobalClearMetadata,
    LLVMGlobalGetValueType, LLVMIsAGlobalAlias, LLVMSetCurrentDebugLocation2, LLVMValueAsMetadata,
};
use inkwell::module::{Linkage, Module};
use inkwell::types::IntType;
use inkwell::values::{
    AsValueRef, FunctionValue, GlobalValue, IntValue, MetadataValue, PointerValue, StructValue,
};

/// Sets the location of the instructions that follow, a node of debug information; `None` is for none.
pub(crate) fn set_location<'ctx>(builder: &Builder<'ctx>, location: Option<MetadataValue<'ctx>>) {
    // SAFETY: the builder and the node are of one context, which is alive; null is no location.
    unsafe {
        let node = location.map(|location| LLVMValueAsMetadata(location.as_value_ref()));
        LLVMSetCurrentDebugLocation2(builder.as_mut_ptr(), node.unwrap_or(std::ptr::null_mut()));
    }
}

/// Returns the data layout of a module, empty if it states none. That which inkwell remembers is gone once modules were
/// linked in.
pub(crate) fn data_layout(module: &Module<'_>) -> String {
    // SAFETY: the module is alive, and its text ends with a NUL and stays until the module changes.
    let text = unsafe { CStr::from_ptr(LLVMGetDataLayoutStr(module.as_mut_ptr())) };
    text.to_string_lossy().into_owned()
}

/// Writes `base + offset` in bytes; without `inbounds` any result is valid.
pub(crate) fn offset<'ctx>(
    builder: &Builder<'ctx>,
    byte: IntType<'ctx>,
    base: PointerValue<'ctx>,
    offset: IntValue<'ctx>,
    name: &str,
) -> Result<PointerValue<'ctx>, BuilderError> {
    // SAFETY: `i8` takes one index, an integer.
    unsafe { builder.build_gep(byte, base, &[offset], name) }
}

/// Returns the constant `base + offset` in bytes.
pub(crate) fn const_offset<'ctx>(
    byte: IntType<'ctx>,
    base: PointerValue<'ctx>,
    offset: IntValue<'ctx>,
) -> PointerValue<'ctx> {
    // SAFETY: `i8` takes one index, an integer.
    unsafe { base.const_gep(byte, &[offset]) }
}

/// A symbol of a module.
#[derive(Clone, Copy, Debug)]
pub(crate) enum Found<'ctx> {
    /// A function.
    Function(FunctionValue<'ctx>),
    /// A variable or constant.
    Variable(GlobalValue<'ctx>),
    /// An alias of a function or of data, or of an alias of it.
    Alias(GlobalValue<'ctx>, Option<FunctionValue<'ctx>>),
    /// An ifunc, whose resolver chooses a function at load time.
    Resolver(GlobalValue<'ctx>),
}

impl<'ctx> Found<'ctx> {
    /// Returns true if the module defines the symbol.
    pub(crate) fn is_defined(self) -> bool {
        match self {
            Found::Function(function) => function.count_basic_blocks() != 0,
            Found::Variable(variable) => !variable.is_declaration(),
            Found::Alias(..) | Found::Resolver(_) => true,
        }
    }

    /// Returns the global value; `None` for ifuncs.
    pub(crate) fn global(self) -> Option<GlobalValue<'ctx>> {
        match self {
            Found::Function(function) => Some(function.as_global_value()),
            Found::Variable(global) | Found::Alias(global, _) => Some(global),
            Found::Resolver(_) => None,
        }
    }
}

/// Looks up a symbol by name.
pub(crate) fn find<'ctx>(module: &Module<'ctx>, name: &str) -> Option<Found<'ctx>> {
    let (module, bytes, length) = (module.as_mut_ptr(), name.as_ptr().cast(), name.len());
    // SAFETY: the module is alive, LLVM reads `length` bytes, and what it returns is null or of the kind
    // that was asked for.
    unsafe {
        let function = LLVMGetNamedFunctionWithLength(module, bytes, length);
        if let Some(function) = FunctionValue::new(function) {
            return Some(Found::Function(function));
        }
        let variable = LLVMGetNamedGlobalWithLength(module, bytes, length);
        if !variable.is_null() {
            return Some(Found::Variable(GlobalValue::new(variable)));
        }
        let alias = LLVMGetNamedGlobalAlias(module, bytes, length);
        if !alias.is_null() {
            let mut target = LLVMAliasGetAliasee(alias);
            while !LLVMIsAGlobalAlias(target).is_null() {
                target = LLVMAliasGetAliasee(target);
            }
            return Some(Found::Alias(GlobalValue::new(alias), FunctionValue::new(target)));
        }
        let resolver = LLVMGetNamedGlobalIFunc(module, bytes, length);
        (!resolver.is_null()).then(|| Found::Resolver(GlobalValue::new(resolver)))
    }
}

/// Returns the elements of a constant array of structs; none if it has no initializer.
pub(crate) fn elements<'ctx>(list: GlobalValue<'ctx>) -> Vec<StructValue<'ctx>> {
    // SAFETY: the list is alive; it has as many elements as its type says, and LLVM returns null where an
    // element is not known.
    unsafe {
        let (list, ty) = (list.as_value_ref(), LLVMGlobalGetValueType(list.as_value_ref()));
        let contents = LLVMGetInitializer(list);
        if contents.is_null() || LLVMGetTypeKind(ty) != LLVMTypeKind::LLVMArrayTypeKind {
            return Vec::new();
        }
        let element = |i| LLVMGetAggregateElement(contents, i as u32);
        let elements = (0..LLVMGetArrayLength2(ty)).map(element);
        elements.filter(|element| !element.is_null()).map(|e| StructValue::new(e)).collect()
    }
}

/// Returns the names of the definitions that other modules see.
pub(crate) fn definitions(module: &Module<'_>) -> Vec<String> {
    let functions = module.get_functions().filter(|function| function.count_basic_blocks() != 0);
    let globals = module.get_globals().filter(|global| !global.is_declaration());
    let mut all: Vec<_> = functions.map(FunctionValue::as_global_value).chain(globals).collect();
    // SAFETY: the module is alive, and the list ends with null.
    unsafe {
        let mut alias = LLVMGetFirstGlobalAlias(module.as_mut_ptr());
        while !alias.is_null() {
            all.push(GlobalValue::new(alias));
            alias = LLVMGetNextGlobalAlias(alias);
        }
    }
    let visible = all.iter().filter(|global| is_visible(global.get_linkage()));
    visible.map(|global| global.get_name().to_string_lossy().into_owned()).collect()
}

fn is_visible(linkage: Linkage) -> bool {
    matches!(
        linkage,
        Linkage::External
            | Linkage::Common
            | Linkage::DLLExport
            | Linkage::LinkOnceAny
            | Linkage::LinkOnceODR
            | Linkage::LinkOnceODRAutoHide
            | Linkage::WeakAny
            | Linkage::WeakODR
    )
}

/// Adds an internal alias of `target`.
pub(crate) fn add_alias<'ctx>(
    module: &Module<'ctx>,
    target: GlobalValue<'ctx>,
    name: &str,
) -> GlobalValue<'ctx> {
    const ADDRESS_SPACE: u32 = 0;
    // SAFETY: the target is a global of this module, which is defined before it is used.
    let alias = unsafe {
        let target = target.as_value_ref();
        let ty = LLVMGlobalGetValueType(target);
        let alias = LLVMAddAlias2(module.as_mut_ptr(), ty, ADDRESS_SPACE, target, c"".as_ptr());
        GlobalValue::new(alias)
    };
    alias.set_linkage(Linkage::Internal);
    alias.set_name(name);
    alias
}

/// Removes a variable that nothing refers to.
pub(crate) fn erase_variable(variable: GlobalValue<'_>) {
    // SAFETY: the variable is alive, and the caller gives it up.
    unsafe { LLVMDeleteGlobal(variable.as_value_ref()) }
}

/// Removes the metadata of a global.
pub(crate) fn clear_metadata(global: GlobalValue<'_>) {
    // SAFETY: functions and variables, which are alive, may have metadata.
    unsafe { LLVMGlobalClearMetadata(global.as_value_ref()) }
}

/// Dissolves COMDATs, the groups of definitions that a linker keeps or drops together, except for those of definitions
/// that keep their linkage.
pub(crate) fn dissolve_comdats(module: &Module<'_>, keeps: impl Fn(&str) -> bool) {
    let functions = module.get_functions().map(FunctionValue::as_global_value);
    let all = functions.chain(module.get_globals());
    for global in all.filter(|global| !keeps(&global.get_name().to_string_lossy())) {
        // SAFETY: functions and variables may be in a group; null is none.
        unsafe { LLVMSetComdat(global.as_value_ref(), std::ptr::null_mut()) }
    }
}

/// Returns a reference to a context, owned or not.
pub(crate) fn context<'ctx>(context: impl AsContextRef<'ctx>) -> ContextRef<'ctx> {
    // SAFETY: the context lives for `'ctx`.
    unsafe { ContextRef::new(context.as_ctx_ref()) }
}

/// Returns true if values in this context carry no names.
pub(crate) fn discards_names(context: ContextRef<'_>) -> bool {
    // SAFETY: the context is alive.
    unsafe { LLVMContextShouldDiscardValueNames(context.raw()) != 0 }
}

/// Discards the names of values in this context from now on, which speeds up emission, or keeps them.
pub(crate) fn discard_names(context: ContextRef<'_>, discard: bool) {
    // SAFETY: the context is alive.
    unsafe { LLVMContextSetDiscardValueNames(context.raw(), discard.into()) }
}
