//! Functions of the runtime and of the C library, typed for calls from routines.

use abi_spec::runtime as functions;

use crate::ir::typed::{Handle, Int, Make, Ref, Single, words};
use crate::ir::{Builder, Linkage, Signature, Symbol, SymbolKind};
use crate::lower::routines::memory::{
    Any, ByteArray, DlTensor, Managed, Object, TypeInfo, Version,
};
use crate::resolve::prototype;

/// Defines a Rust function for each function of the runtime, which emits a call of it.
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
    /// Writes the version of the runtime.
    fn get_version(version: Ref<Version>) -> () = GET_VERSION;
    /// Creates an error of a kind, a message and a backtrace.
    fn error_create(kind: Ref<ByteArray>, message: Ref<ByteArray>, backtrace: Ref<ByteArray>, out: Ref<Ref<Object>>) -> Int<i32> = ERROR_CREATE;
    /// Puts an error into the thread's slot, which retains it.
    fn error_set_raised(error: Ref<Object>) -> () = ERROR_SET_RAISED;
    /// Moves the error out of the thread's slot.
    fn error_move_from_raised(out: Ref<Ref<Object>>) -> () = ERROR_MOVE_FROM_RAISED;
    /// Increments the reference count of an object.
    fn object_inc_ref(object: Ref<Object>) -> Int<i32> = OBJECT_INC_REF;
    /// Decrements the reference count of an object, which may be NULL.
    fn object_dec_ref(object: Ref<Object>) -> Int<i32> = OBJECT_DEC_REF;
    /// Makes an owned value of a borrowed one.
    fn any_view_to_owned_any(view: Ref<Any>, out: Ref<Any>) -> Int<i32> = ANY_VIEW_TO_OWNED_ANY;
    /// Parses the name of an element type.
    fn data_type_from_string(text: Ref<ByteArray>, out: Ref<u64>) -> Int<i32> = DATA_TYPE_FROM_STRING;
    /// Makes an owned string.
    fn string_from_byte_array(text: Ref<ByteArray>, out: Ref<Any>) -> Int<i32> = STRING_FROM_BYTE_ARRAY;
    /// Makes owned bytes.
    fn bytes_from_byte_array(bytes: Ref<ByteArray>, out: Ref<Any>) -> Int<i32> = BYTES_FROM_BYTE_ARRAY;
    /// Finds the type index of a class by its key.
    fn type_key_to_index(key: Ref<ByteArray>, out: Ref<i32>) -> Int<i32> = TYPE_KEY_TO_INDEX;
    /// Returns the type information of an index, which must be that of a live object.
    fn get_type_info(index: Int<i32>) -> Ref<TypeInfo> = GET_TYPE_INFO;
    /// Finds a function of the registry; NULL if there is none.
    fn function_get_global(name: Ref<ByteArray>, out: Ref<Ref<Object>>) -> Int<i32> = FUNCTION_GET_GLOBAL;
    /// Creates a function object of its context, its code, and the function that frees the context.
    fn function_create(context: Ref<Object>, code: Ref<u8>, deleter: Ref<u8>, out: Ref<Ref<Object>>) -> Int<i32> = FUNCTION_CREATE;
    /// Calls a function object.
    fn function_call(function: Ref<Object>, args: Ref<Any>, count: Int<i32>, result: Ref<Any>) -> Int<i32> = FUNCTION_CALL;
    /// Finds a function among the imports of a library; NULL if there is none.
    fn lookup_from_imports(context: Ref<u8>, name: Ref<u8>, out: Ref<Ref<Object>>) -> Int<i32> = ENV_MOD_LOOKUP_FROM_IMPORTS;
    /// Sets the stream of a device for the thread, and writes the one before unless `previous` is NULL.
    fn set_stream(device_type: Int<i32>, device: Int<i32>, stream: Ref<u8>, previous: Ref<Ref<u8>>) -> Int<i32> = ENV_SET_STREAM;
    /// Returns the stream of a device for the thread; NULL if it has none.
    fn get_stream(device_type: Int<i32>, device: Int<i32>) -> Ref<u8> = ENV_GET_STREAM;
    /// Returns the thread's allocator of tensors; NULL if the host has set none.
    fn get_tensor_allocator() -> Ref<u8> = ENV_GET_TENSOR_ALLOCATOR;
    /// Sets the thread's allocator of tensors, also that of the process if `global` is not 0, and writes the one of the
    /// thread before unless `previous` is NULL.
    fn set_tensor_allocator(allocator: Ref<u8>, global: Int<i32>, previous: Ref<Ref<u8>>) -> Int<i32> = ENV_SET_TENSOR_ALLOCATOR;
    /// Allocates a tensor like a prototype with the thread's allocator.
    fn tensor_alloc(prototype: Ref<DlTensor>, out: Ref<Ref<Object>>) -> Int<i32> = ENV_TENSOR_ALLOC;
    /// Makes a tensor object that takes over a DLPack tensor.
    fn tensor_from_dl_pack(from: Ref<Managed>, align: Int<i32>, contiguous: Int<i32>, out: Ref<Ref<Object>>) -> Int<i32> = TENSOR_FROM_DL_PACK_VERSIONED;
}

/// Emits the address of the function that decrements reference counts.
pub(crate) fn address_of_dec_ref(b: &mut Builder<'_>) -> Ref<u8> {
    let function = crate::lower::runtime(b.module, &functions::OBJECT_DEC_REF);
    Ref::new(b.address(function))
}

/// Declares a function of the C library.
fn declare(b: &mut Builder<'_>, (name, signature): (&str, Signature)) -> Symbol {
    b.module.declare(name, Linkage::Import, SymbolKind::Function(signature))
}

/// Emits a call of `malloc`.
pub(crate) fn malloc(b: &mut Builder<'_>, size: Int<u64>) -> Ref<Managed> {
    let malloc = declare(b, prototype::malloc());
    let size = words(b, size);
    Ref::new(b.call_value(malloc, &size))
}

/// Emits a call of `free`.
pub(crate) fn free(b: &mut Builder<'_>, block: Ref<Managed>) {
    let free = declare(b, prototype::free());
    let block = words(b, block);
    b.call(free, &block);
}

/// Emits the address of `free`.
pub(crate) fn address_of_free(b: &mut Builder<'_>) -> Ref<u8> {
    let free = declare(b, prototype::free());
    Ref::new(b.address(free))
}
