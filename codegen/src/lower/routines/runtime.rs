//! The functions of the runtime and of the C library that routines call, with their types.

use abi_spec::runtime as functions;

use crate::ir::typed::{Handle, Int, Make, Ref, words};
use crate::ir::{Builder, Linkage, SymbolKind};
use crate::lower::routines::memory::{Any, ByteArray, DlTensor, Managed, Object, TypeInfo};
use crate::resolve::prototype;

/// Declares functions of the runtime: the Rust function that emits a call of each.
macro_rules! functions {
    ($($(#[$doc:meta])* fn $name:ident($($param:ident: $ty:ty),*) -> $result:ty = $function:ident;)*) => {$(
        $(#[$doc])*
        pub(crate) fn $name(b: &mut Builder<'_>, $($param: impl Make<$ty>),*) -> $result {
            $(let $param: $ty = $param.make(b);)*
            let args = words(b, ($($param,)*));
            let symbol = crate::lower::runtime(b.module, &functions::$function);
            let result = b.call(symbol, &args);
            Handle::take(&mut result.into_iter())
        }
    )*};
}

functions! {
    /// An error of a kind, a message and a backtrace.
    fn error_create(kind: Ref<ByteArray>, message: Ref<ByteArray>, backtrace: Ref<ByteArray>, out: Ref<Ref<Object>>) -> Int<i32> = ERROR_CREATE;
    /// Puts an error into the thread's slot, which shares it.
    fn error_set_raised(error: Ref<Object>) -> () = ERROR_SET_RAISED;
    /// Takes the error out of the thread's slot.
    fn error_move_from_raised(out: Ref<Ref<Object>>) -> () = ERROR_MOVE_FROM_RAISED;
    /// Gives an object an owner more.
    fn object_inc_ref(object: Ref<Object>) -> Int<i32> = OBJECT_INC_REF;
    /// Releases an object; NULL is none.
    fn object_dec_ref(object: Ref<Object>) -> Int<i32> = OBJECT_DEC_REF;
    /// An owned value of a view.
    fn any_view_to_owned_any(view: Ref<Any>, out: Ref<Any>) -> Int<i32> = ANY_VIEW_TO_OWNED_ANY;
    /// The element type that a text names.
    fn data_type_from_string(text: Ref<ByteArray>, out: Ref<u64>) -> Int<i32> = DATA_TYPE_FROM_STRING;
    /// An owned string.
    fn string_from_byte_array(text: Ref<ByteArray>, out: Ref<Any>) -> Int<i32> = STRING_FROM_BYTE_ARRAY;
    /// The index of a class.
    fn type_key_to_index(key: Ref<ByteArray>, out: Ref<i32>) -> Int<i32> = TYPE_KEY_TO_INDEX;
    /// What is known of the type of a live object.
    fn get_type_info(index: Int<i32>) -> Ref<TypeInfo> = GET_TYPE_INFO;
    /// A function of the registry.
    fn function_get_global(name: Ref<ByteArray>, out: Ref<Ref<Object>>) -> Int<i32> = FUNCTION_GET_GLOBAL;
    /// Calls a function.
    fn function_call(function: Ref<Object>, args: Ref<Any>, count: Int<i32>, result: Ref<Any>) -> Int<i32> = FUNCTION_CALL;
    /// A function among the imports of a library.
    fn lookup_from_imports(context: Ref<u8>, name: Ref<u8>, out: Ref<Ref<Object>>) -> Int<i32> = ENV_MOD_LOOKUP_FROM_IMPORTS;
    /// What allocates tensors in this thread.
    fn get_tensor_allocator() -> Ref<u8> = ENV_GET_TENSOR_ALLOCATOR;
    /// A tensor of the thread's allocator.
    fn tensor_alloc(prototype: Ref<DlTensor>, out: Ref<Ref<Object>>) -> Int<i32> = ENV_TENSOR_ALLOC;
    /// A tensor of what DLPack hands over.
    fn tensor_from_dl_pack(from: Ref<Managed>, align: Int<i32>, contiguous: Int<i32>, out: Ref<Ref<Object>>) -> Int<i32> = TENSOR_FROM_DL_PACK_VERSIONED;
}

/// `malloc`
pub(crate) fn malloc(b: &mut Builder<'_>, size: Int<u64>) -> Ref<Managed> {
    let (name, signature) = prototype::malloc();
    let malloc = b.module.declare(name, Linkage::Import, SymbolKind::Function(signature));
    let size = words(b, size);
    let block = b.call(malloc, &size);
    Handle::take(&mut block.into_iter())
}

/// `free`
pub(crate) fn free(b: &mut Builder<'_>, block: Ref<Managed>) {
    let (name, signature) = prototype::free();
    let free = b.module.declare(name, Linkage::Import, SymbolKind::Function(signature));
    let block = words(b, block);
    b.call(free, &block);
}

/// The address of `free`.
pub(crate) fn address_of_free(b: &mut Builder<'_>) -> Ref<u8> {
    let (name, signature) = prototype::free();
    let free = b.module.declare(name, Linkage::Import, SymbolKind::Function(signature));
    let address = b.address(free);
    Handle::take(&mut [address].into_iter())
}
