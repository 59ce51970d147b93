//! Model of libtvm_ffi: objects and their references, errors, functions, containers, tensors, classes.
//!
//! Objects lie in the machine's memory as the ABI defines. Values that they own, and fields that the ABI keeps private,
//! are stored beside them. Where the real runtime crashes, ends the process or has undefined behaviour the model makes
//! a finding. Where the real one raises an error the model raises the same kind in its own words, or in the same words
//! if the error passes through to callers.

mod container;
mod error;
mod function;
mod library;
mod object;
mod tensor;
mod text;
mod types;
mod value;

use std::collections::{BTreeMap, HashMap};

use abi_spec::runtime::{self as abi, CType};
use codegen::ir::{Signature, Type};

pub use object::{ObjectBody, REFERENCE};
pub use value::Value;

use crate::fault::Failing;
use crate::link::Machine;
use crate::memory::Region;
use crate::run::Outcome;
use crate::word::Word;
use types::Classes;

/// State of the runtime.
#[derive(Debug, Default)]
pub struct Runtime {
    /// Error in the slot of the thread; the slot owns a reference.
    pub raised: Option<Word>,
    /// Tensor allocator of the thread, or NULL.
    pub allocator: Word,
    /// Functions of imported modules, by name; look-ups borrow them.
    pub imports: BTreeMap<String, Word>,
    /// Registry: functions by name, each with a reference of the registry's.
    globals: BTreeMap<String, Word>,
    /// Addresses registered as symbols of the system library.
    pub system_symbols: BTreeMap<String, Word>,
    /// Streams by device type and index.
    streams: BTreeMap<(i32, i32), Word>,
    classes: Classes,
    /// Parts of objects that are not in memory.
    bodies: HashMap<Region, ObjectBody>,
    /// True while `TVMFFIHandleInitOnce` fills a slot.
    initialising: bool,
}

/// A function of the model.
pub(crate) type Model = for<'a, 'b, 'p> fn(&'a mut Machine<'p>, &'b [Word]) -> Outcome;

/// A function of a model, its signature, and how it fails by an injected fault.
pub(crate) type Found = (Model, Option<Signature>, Failing);

/// Functions that the runtime exports.
#[rustfmt::skip]
pub(crate) const FUNCTIONS: &[(abi::Function, Model, Failing)] = {
    use Failing::{Missing, Never, Status, StatusWithError};
    &[
        (abi::GET_VERSION, library::get_version, Never),
        (abi::OBJECT_INC_REF, object::inc_ref, Never),
        (abi::OBJECT_DEC_REF, object::dec_ref, Never),
        (abi::OBJECT_CREATE_OPAQUE, object::create_opaque, Status),
        (abi::TYPE_KEY_TO_INDEX, types::key_to_index, Status),
        (abi::FUNCTION_CREATE, function::create, Status),
        (abi::FUNCTION_GET_GLOBAL, function::get_global, Missing),
        (abi::FUNCTION_SET_GLOBAL, function::set_global, Status),
        (abi::FUNCTION_SET_GLOBAL_FROM_METHOD_INFO, function::set_global_from_method_info, Status),
        (abi::ANY_VIEW_TO_OWNED_ANY, value::view_to_owned, Status),
        (abi::FUNCTION_CALL, function::call, Status),
        (abi::ERROR_MOVE_FROM_RAISED, error::move_from_raised, Never),
        (abi::ERROR_SET_RAISED, error::set_raised, Never),
        (abi::ERROR_SET_RAISED_FROM_C_STR, error::set_raised_from_c_str, Never),
        (abi::ERROR_SET_RAISED_FROM_C_STR_PARTS, error::set_raised_from_parts, Never),
        (abi::ERROR_CREATE, error::create, StatusWithError),
        (abi::TENSOR_FROM_DL_PACK, tensor::from_dlpack, Status),
        (abi::TENSOR_TO_DL_PACK, tensor::to_dlpack, Status),
        (abi::TENSOR_FROM_DL_PACK_VERSIONED, tensor::from_versioned, Status),
        (abi::TENSOR_TO_DL_PACK_VERSIONED, tensor::to_versioned, Status),
        (abi::STRING_FROM_BYTE_ARRAY, text::string_from_bytes, Status),
        (abi::BYTES_FROM_BYTE_ARRAY, text::bytes_from_bytes, Status),
        (abi::DATA_TYPE_FROM_STRING, text::dtype_from_string, Status),
        (abi::DATA_TYPE_TO_STRING, text::dtype_to_string, Status),
        (abi::TYPE_REGISTER_FIELD, types::register, Status),
        (abi::TYPE_REGISTER_METHOD, types::register, Status),
        (abi::TYPE_REGISTER_METADATA, types::register, Status),
        (abi::TYPE_REGISTER_ATTR, types::register, Status),
        (abi::GET_TYPE_ATTR_COLUMN, types::attribute_column, Never),
        (abi::BACKTRACE, error::backtrace, Never),
        (abi::TYPE_GET_OR_ALLOC_INDEX, types::get_or_alloc_index, Never),
        (abi::GET_TYPE_INFO, types::get_info, Never),
        (abi::ENV_SET_STREAM, library::set_stream, Never),
        (abi::ENV_GET_STREAM, library::get_stream, Never),
        (abi::ENV_SET_TENSOR_ALLOCATOR, tensor::set_allocator, Never),
        (abi::ENV_GET_TENSOR_ALLOCATOR, tensor::get_allocator, Never),
        (abi::ENV_TENSOR_ALLOC, tensor::allocate, Status),
        (abi::ENV_CHECK_SIGNALS, library::check_signals, Never),
        (abi::ENV_REGISTER_C_API, library::register_c_api, Never),
        (abi::ENV_MOD_LOOKUP_FROM_IMPORTS, library::look_up, Status),
        (abi::ENV_MOD_REGISTER_CONTEXT_SYMBOL, library::register_context_symbol, Never),
        (abi::ENV_MOD_REGISTER_SYSTEM_LIB_SYMBOL, library::register_system_symbol, Never),
        (abi::HANDLE_INIT_ONCE, library::init_once, Status),
        (abi::HANDLE_DEINIT_ONCE, library::deinit_once, Never),
        (abi::TENSOR_CREATE_UNSAFE_VIEW, tensor::create_view, Status),
        (abi::ERROR_CREATE_WITH_CAUSE_AND_EXTRA_CONTEXT, error::create_with_cause, StatusWithError),
        (abi::GET_CUSTOM_ALLOCATOR, object::get_allocator, Never),
        (abi::SET_CUSTOM_ALLOCATOR, object::set_allocator, Never),
        (abi::BIG_INT_FROM_BYTE_ARRAY, text::big_int_from_words, Status),
        (abi::BIG_INT_GET_CONTENT_BYTE_ARRAY, text::big_int_words, Never),
    ]
};

/// Functions that objects of the model point at.
const PRIVATE: &[(&str, Model)] = &[
    (object::DELETER, object::delete),
    (function::THUNK, function::thunk),
    (error::UPDATE_BACKTRACE, error::update_backtrace),
    (tensor::SET_ERROR, tensor::set_error),
    (tensor::DELETER, tensor::delete_exported),
];

/// Returns the function of a name.
pub(crate) fn function(name: &str) -> Option<Found> {
    let exported = FUNCTIONS.iter().find(|(function, ..)| function.name == name);
    if let Some((function, model, failing)) = exported {
        return Some((*model, signature(function), *failing));
    }
    let private = PRIVATE.iter().find(|(known, _)| *known == name);
    private.map(|(_, model)| (*model, None, Failing::Never))
}

/// Returns the signature of a function; `None` for functions that return a struct, which host IR does not call.
fn signature(function: &abi::Function) -> Option<Signature> {
    let types: Vec<Type> = function.params.iter().filter_map(|&ty| c_type(ty)).collect();
    let returns_struct = function.result == CType::ByteArray;
    (!returns_struct).then(|| Signature::new(&types, c_type(function.result)))
}

fn c_type(ty: CType) -> Option<Type> {
    match ty {
        CType::Void | CType::ByteArray => None,
        CType::I32 => Some(Type::I32),
        CType::Ptr(_) | CType::Code(_) => Some(Type::Ptr),
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn the_model_has_every_function_of_the_runtime() {
        let names: Vec<&str> = FUNCTIONS.iter().map(|(function, ..)| function.name).collect();
        let expected: Vec<&str> = abi::ALL.iter().map(|function| function.name).collect();
        assert_eq!(names, expected);
    }
}
