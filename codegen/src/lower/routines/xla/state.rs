//! States of programs of XLA: closures, function objects that a handler has made and that another one calls.
//!
//! All libraries register one type with XLA, by the same name and number, so that it does not matter which comes first.
//! XLA releases a state by a function of the runtime, not by one of a library.

use abi_spec::layout::Field as Place;
use abi_spec::xla::{self, inner};

use crate::ir::typed::{Ref, routine, structs};
use crate::lower::routines::memory::Object;
use crate::lower::routines::runtime::{address_of_dec_ref, object_dec_ref};
use crate::lower::routines::xla::{Frame, Request, call_api};

/// Name of the type of states.
const NAME: &str = "tvm_ffi_codegen.Function";

/// Number of this type: none that XLA counts up to.
const NUMBER: u64 = u64::from_be_bytes(*b"\0tvm_ffi");

const NAME_OF_TYPE: Place = xla::type_register_args::NAME;

structs! {
    /// Arguments of the functions that set and get a state.
    State StateFields: xla::STATE_SET_ARGS.size, 8 => {
        struct_size: Field<u64> = xla::state_set_args::STRUCT_SIZE.offset,
        extensions: Field<Ref<u8>> = xla::state_set_args::EXTENSION_START.offset,
        ctx: Field<Ref<u8>> = xla::state_set_args::CTX.offset,
        stage: Field<i32> = xla::state_set_args::STAGE.offset,
        number: Field<Ref<u64>> = xla::state_set_args::TYPE_ID.offset,
        state: Field<Ref<Object>> = xla::state_set_args::STATE.offset,
    }
    /// Arguments of the function that registers a type.
    Register RegisterFields: xla::TYPE_REGISTER_ARGS.size, 8 => {
        struct_size: Field<u64> = xla::type_register_args::STRUCT_SIZE.offset,
        extensions: Field<Ref<u8>> = xla::type_register_args::EXTENSION_START.offset,
        name: Field<Ref<u8>> = inner(NAME_OF_TYPE, xla::byte_span::PTR),
        len: Field<u64> = inner(NAME_OF_TYPE, xla::byte_span::LEN),
        number: Field<Ref<u64>> = xla::type_register_args::TYPE_ID.offset,
        info: Field<Ref<Info>> = xla::type_register_args::TYPE_INFO.offset,
    }
    /// Facts about a type.
    Info InfoFields: xla::TYPE_INFO.size, 8 => {
        struct_size: Field<u64> = xla::type_info::STRUCT_SIZE.offset,
        extensions: Field<Ref<u8>> = xla::type_info::EXTENSION_START.offset,
        deleter: Field<Ref<u8>> = xla::type_info::DELETER.offset,
    }
}

/// Sizes of structs as XLA counts them.
const STATE_SIZE: u64 = xla::size(xla::STATE_SET_ARGS) as u64;
const REGISTER_SIZE: u64 = xla::size(xla::TYPE_REGISTER_ARGS) as u64;
const INFO_SIZE: u64 = xla::size(xla::TYPE_INFO) as u64;

/// Makes a function, which the caller owns, the state of the program whose handlers get this frame. Returns NULL, or an
/// error of XLA; then the function is released.
#[routine]
pub(crate) fn xla_set_state(frame: &Frame, function: &Object) -> &u8 {
    let number: u64;
    *number = NUMBER;
    let info: Info;
    info.struct_size = INFO_SIZE;
    info.extensions = null;
    info.deleter = address_of_dec_ref();
    let register: Register;
    register.struct_size = REGISTER_SIZE;
    register.extensions = null;
    let name = NAME;
    register.name = name.data;
    register.len = name.len;
    register.number = number;
    register.info = info;
    let mut error = call_api(frame.api.type_register, register as &Request);
    if error == null {
        let state: State;
        fill(state, frame, number, function);
        error = call_api(frame.api.state_set, state as &Request);
    }
    if error != null {
        object_dec_ref(function);
    }
    error
}

/// Writes the function that is the state of a program, which stays XLA's. Returns NULL, or an error of XLA.
#[routine]
pub(crate) fn xla_get_state(frame: &Frame, to: &&Object) -> &u8 {
    let number: u64;
    *number = NUMBER;
    let state: State;
    fill(state, frame, number, null);
    let error = call_api(frame.api.state_get, state as &Request);
    *to = state.state;
    error
}

/// Fills in the arguments of the functions that set and get a state.
#[routine(inline)]
fn fill(state: &State, frame: &Frame, number: &u64, function: &Object) {
    state.struct_size = STATE_SIZE;
    state.extensions = null;
    state.ctx = frame.ctx;
    state.stage = xla::INSTANTIATE_STAGE;
    state.number = number;
    state.state = function;
}
