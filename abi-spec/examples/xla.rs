//! Prints C that compiles only if the facts about XLA are those of its header, `xla/ffi/api/c_api.h`:
//!
//! ```sh
//! cargo run -p tvm-ffi-abi-spec --example xla >xla.c
//! cc -fsyntax-only -I "$(python -c 'import jax; print(jax.ffi.include_dir())')" xla.c
//! ```

use tvm_ffi_abi_spec::layout::Struct;
use tvm_ffi_abi_spec::xla;

fn main() {
    println!("#include <stddef.h>\n#include \"xla/ffi/api/c_api.h\"");
    for Struct { name, size, align, fields } in xla::structs() {
        is(format!("sizeof(struct {name})"), size);
        is(format!("_Alignof(struct {name})"), align);
        for field in fields {
            let of = format!("struct {name}, {}", field.name);
            is(format!("offsetof({of})"), field.offset);
            is(format!("sizeof(((struct {name}*)0)->{})", field.name), field.ty.size());
        }
    }
    // Sizes as XLA counts them: up to the last field that the writer of a struct knows.
    let asked = [xla::ERROR_CREATE_ARGS, xla::STREAM_GET_ARGS, xla::DEVICE_ORDINAL_GET_ARGS];
    for of in asked.into_iter().chain([xla::CALL_FRAME, xla::API_VERSION, xla::BUFFER]) {
        is(format!("{}_STRUCT_SIZE", of.name), xla::size(of));
    }
    is("XLA_FFI_API_MAJOR", xla::MAJOR);
    is("XLA_FFI_API_MINOR", xla::MINOR);
    is("XLA_FFI_Extension_Metadata", xla::METADATA_EXTENSION_TYPE);
    is("XLA_FFI_AttrType_ARRAY", xla::ARRAY_ATTRIBUTE);
    is("XLA_FFI_AttrType_SCALAR", xla::SCALAR_ATTRIBUTE);
    is("XLA_FFI_AttrType_STRING", xla::STRING_ATTRIBUTE);
    is("XLA_FFI_ExecutionStage_INSTANTIATE", xla::INSTANTIATE_STAGE);
    is("XLA_FFI_Error_Code_INVALID_ARGUMENT", xla::error_code::INVALID_ARGUMENT);
    is("XLA_FFI_Error_Code_RESOURCE_EXHAUSTED", xla::error_code::RESOURCE_EXHAUSTED);
    is("XLA_FFI_Error_Code_INTERNAL", xla::error_code::INTERNAL);
    for (number, dtype) in xla::DTYPES {
        let mut enumerator = dtype.to_string().replace('_', "");
        let words = [("bool", "pred"), ("bfloat", "bf"), ("float", "f"), ("uint", "u")];
        for (ours, theirs) in words.into_iter().chain([("int", "s"), ("complex", "c")]) {
            enumerator = enumerator.replace(ours, theirs);
        }
        let enumerator = enumerator.to_uppercase();
        is(format!("XLA_FFI_DataType_{enumerator}"), number);
    }
}

/// Prints that an expression of C has a value.
fn is(expression: impl std::fmt::Display, value: impl std::fmt::Display) {
    println!("_Static_assert({expression} == {value}, \"\");");
}
