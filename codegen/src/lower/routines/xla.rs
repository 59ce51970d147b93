//! Routines of handlers of XLA: reading buffers and attributes of a call, its stream, and telling XLA of errors.

use abi_spec::xla::{self, error_code, inner};
use abi_spec::{DType, TypeIndex};

use crate::ir::typed::{Int, Ref, Single, Text, call_indirect, routine, structs};
use crate::ir::{Builder, Convert, Type};
use crate::lower::routines::access::same_text;
use crate::lower::routines::complaints::Complaint;
use crate::lower::routines::errors::take_error;
use crate::lower::routines::functions::{make_array, make_shape};
use crate::lower::routines::memory::{Any, ByteArray, Caller, DlTensor, Managed, bytes, write};
use crate::lower::routines::message::raise;
use crate::lower::routines::place::{Place, enter_stream};
use crate::lower::routines::runtime::{free, malloc, object_dec_ref, string_from_byte_array};

pub(crate) mod scratch;
pub(crate) mod state;

/// Answers of [`xla_attribute()`]: the value is written.
pub(crate) const FOUND: i32 = 1;

/// There is no attribute of the name.
pub(crate) const ABSENT: i32 = 0;

/// The attribute is neither a number of a known type nor text.
pub(crate) const FOREIGN: i32 = 2;

/// The attribute is an integer above those of `int64`. Its bits are written.
pub(crate) const LARGE: i32 = 3;

/// An error is raised.
pub(crate) const RAISED: i32 = -1;

/// Forms of an attribute, as [`xla_attribute()`] gets them.
pub(crate) mod form {
    /// A number, a truth, or text as an owned string.
    pub(crate) const PLAIN: i32 = 0;
    /// Text as bytes that are the call's.
    pub(crate) const BYTES: i32 = 1;
    /// An array of numbers or truths.
    pub(crate) const ARRAY: i32 = 2;
    /// A shape.
    pub(crate) const SHAPE: i32 = 3;
}

structs! {
    /// A call of a handler.
    Frame FrameFields: xla::CALL_FRAME.size, 8 => {
        api: Field<Ref<Api>> = xla::call_frame::API.offset,
        ctx: Field<Ref<u8>> = xla::call_frame::CTX.offset,
        count: Field<u64> = inner(xla::call_frame::ATTRS, xla::attrs::SIZE),
        kinds: Field<Ref<i32>> = inner(xla::call_frame::ATTRS, xla::attrs::TYPES),
        names: Field<Ref<Ref<ByteArray>>> = inner(xla::call_frame::ATTRS, xla::attrs::NAMES),
        values: Field<Ref<Ref<Scalar>>> = inner(xla::call_frame::ATTRS, xla::attrs::ATTRS),
    }
    /// An attribute that is a number.
    Scalar ScalarFields: xla::SCALAR.size, 8 => {
        dtype: Field<i32> = xla::scalar::DTYPE.offset,
        value: Field<Ref<u8>> = xla::scalar::VALUE.offset,
    }
    /// An attribute that is an array.
    Elements ElementsFields: xla::ARRAY.size, 8 => {
        dtype: Field<i32> = xla::array::DTYPE.offset,
        count: Field<u64> = xla::array::SIZE.offset,
        data: Field<Ref<u8>> = xla::array::DATA.offset,
    }
    /// The functions of XLA.
    Api ApiFields: xla::API.size, 8 => {
        error_create: Field<Ref<u8>> = xla::api::ERROR_CREATE.offset,
        error_get_message: Field<Ref<u8>> = xla::api::ERROR_GET_MESSAGE.offset,
        error_destroy: Field<Ref<u8>> = xla::api::ERROR_DESTROY.offset,
        stream_get: Field<Ref<u8>> = xla::api::STREAM_GET.offset,
        type_register: Field<Ref<u8>> = xla::api::TYPE_REGISTER.offset,
        state_set: Field<Ref<u8>> = xla::api::STATE_SET.offset,
        state_get: Field<Ref<u8>> = xla::api::STATE_GET.offset,
        device_memory_allocate: Field<Ref<u8>> = xla::api::DEVICE_MEMORY_ALLOCATE.offset,
        device_memory_free: Field<Ref<u8>> = xla::api::DEVICE_MEMORY_FREE.offset,
        device_ordinal_get: Field<Ref<u8>> = xla::api::DEVICE_ORDINAL_GET.offset,
    }
    /// Arguments of these functions. Each has a size, extensions, and two more words.
    Request RequestFields: xla::STREAM_GET_ARGS.size, 8 => {
        size: Field<u64> = xla::stream_get_args::STRUCT_SIZE.offset,
        extensions: Field<Ref<u8>> = xla::stream_get_args::EXTENSION_START.offset,
        subject: Field<Ref<u8>> = xla::stream_get_args::CTX.offset,
        stream: Field<Ref<u8>> = xla::stream_get_args::STREAM.offset,
        number: Field<i32> = xla::error_create_args::ERRC.offset,
    }
    /// A link of a list of extensions, the one that asks for metadata.
    Extension ExtensionFields: xla::METADATA_EXTENSION.size, 8 => {
        kind: Field<i32> = xla::extension::TYPE.offset,
        next: Field<Ref<Extension>> = xla::extension::NEXT.offset,
        metadata: Field<Ref<Metadata>> = xla::metadata_extension::METADATA.offset,
    }
    /// Facts about a handler.
    Metadata MetadataFields: xla::METADATA.size, 8 => {
        version_size: Field<u64> = inner(xla::metadata::API_VERSION, xla::api_version::STRUCT_SIZE),
        major: Field<i32> = inner(xla::metadata::API_VERSION, xla::api_version::MAJOR),
        minor: Field<i32> = inner(xla::metadata::API_VERSION, xla::api_version::MINOR),
        traits: Field<u32> = xla::metadata::TRAITS.offset,
    }
    /// A buffer.
    Buffer BufferFields: xla::BUFFER.size, 8 => {
        dtype: Field<u32> = xla::buffer::DTYPE.offset,
        data: Field<Ref<u8>> = xla::buffer::DATA.offset,
        rank: Field<i64> = xla::buffer::RANK.offset,
        dims: Field<Ref<i64>> = xla::buffer::DIMS.offset,
    }
}

/// Sizes of structs as XLA counts them.
const VERSION_SIZE: u64 = xla::size(xla::API_VERSION) as u64;
const ERROR_SIZE: u64 = xla::size(xla::ERROR_CREATE_ARGS) as u64;
const ORDINAL_SIZE: u64 = xla::size(xla::DEVICE_ORDINAL_GET_ARGS) as u64;
const STREAM_SIZE: u64 = xla::size(xla::STREAM_GET_ARGS) as u64;

/// Number of entries of the table of element types.
const KNOWN: u64 = 64;

/// Element type of a buffer whose type has no number in the table, which no tensor accepts.
const NO_DTYPE: u64 = DType::VOID.to_word() as u64;

/// Returns the table of element types for [`xla_view()`]: for each number of XLA the 32 bits of a `DLDataType`, those
/// of `void` where there is none.
pub(crate) fn dtypes() -> Vec<u8> {
    let mut words = [DType::VOID.to_word(); KNOWN as usize];
    for (number, dtype) in xla::DTYPES {
        words[number as usize] = DType::to_word(dtype);
    }
    words.iter().flat_map(|word| word.to_le_bytes()).collect()
}

/// Fills in the facts that XLA asks for when it registers a handler. Returns 1 if an extension asks for them, else 0.
#[routine]
pub(crate) fn xla_describe(extensions: &Extension) -> i32 {
    let mut at = extensions;
    while at != null {
        if at.kind == xla::METADATA_EXTENSION_TYPE {
            let metadata = at.metadata;
            metadata.version_size = VERSION_SIZE;
            metadata.major = xla::MAJOR;
            metadata.minor = xla::MINOR;
            metadata.traits = 0;
            return 1;
        }
        at = at.next;
    }
    0
}

/// Makes a tensor of a buffer, on a device. `dtypes` is the table of element types.
#[routine]
pub(crate) fn xla_view(to: &DlTensor, buffer: &Buffer, device: u64, dtypes: &u32) {
    let number = buffer.dtype as u64;
    let mut dtype = NO_DTYPE;
    if number < KNOWN {
        dtype = dtypes[number] as u64;
    }
    to.data = buffer.data;
    to.device = device;
    to.kind = buffer.rank as u32 as u64 | dtype << 32;
    to.shape = buffer.dims;
    to.strides = null;
    to.byte_offset = 0;
}

/// Finds an attribute by its name and writes its value in a [`form`]. Returns [`FOUND`], [`ABSENT`], [`FOREIGN`],
/// [`LARGE`], or [`RAISED`] if memory has run out.
#[routine]
pub(crate) fn xla_attribute(caller: Caller, frame: &Frame, name: Text, form: i32, to: &Any) -> i32 {
    let count = frame.count;
    for at in 0..count {
        let found = bytes(frame.names[at]);
        if same_text(found, name) != 0 {
            let value = frame.values[at];
            let kind = frame.kinds[at];
            if form >= form::ARRAY {
                if kind != xla::ARRAY_ATTRIBUTE {
                    return FOREIGN;
                }
                return xla_array(caller, value as &Elements, form, to);
            }
            if kind == xla::SCALAR_ATTRIBUTE {
                return xla_number(value, to);
            }
            if kind != xla::STRING_ATTRIBUTE {
                return FOREIGN;
            }
            if form == form::BYTES {
                write(to, TypeIndex::BYTE_ARRAY_PTR, value as u64);
                return FOUND;
            }
            let made = string_from_byte_array(value as &ByteArray, to);
            return if made == 0 { FOUND } else { RAISED };
        }
    }
    ABSENT
}

/// Writes an array or a shape of an array of numbers. Returns what [`xla_attribute()`] does.
#[routine]
pub(crate) fn xla_array(caller: Caller, elements: &Elements, form: i32, to: &Any) -> i32 {
    let dtype = elements.dtype;
    let width = width_of(dtype);
    let count = elements.count;
    let values = malloc(count * 16 + 16) as &Any;
    if values == null {
        raise!(caller, Complaint::OutOfMemory, "an array", count * 16);
    }
    let scalar: Scalar;
    scalar.dtype = dtype;
    let mut answer = FOUND;
    for at in 0..count {
        if answer == FOUND {
            let value = &values[at];
            scalar.value = &elements.data[at * width];
            answer = xla_number(scalar, value);
            if answer == LARGE {
                to.payload = value.payload;
            }
        }
    }
    if answer == FOUND {
        let mut status: i32 = 0;
        if form == form::SHAPE {
            status = make_shape(caller, values, count as i32, to);
        } else {
            status = make_array(caller, values, count as i32, to);
        }
        if status != 0 {
            answer = RAISED;
        }
    }
    free(values as &Managed);
    answer
}

/// Returns the size of an element of a type in bytes; 0 for those that no attribute has.
#[routine(inline)]
fn width_of(dtype: i32) -> u64 {
    match dtype {
        xla::dtype::PRED | xla::dtype::S8 | xla::dtype::U8 => 1,
        xla::dtype::S16 | xla::dtype::U16 => 2,
        xla::dtype::S32 | xla::dtype::U32 | xla::dtype::F32 => 4,
        xla::dtype::S64 | xla::dtype::U64 | xla::dtype::F64 => 8,
        _ => 0,
    }
}

/// Writes a number. Returns [`FOUND`], [`LARGE`], or [`FOREIGN`] if its type is none of a scalar of the FFI.
#[routine]
pub(crate) fn xla_number(scalar: &Scalar, to: &Any) -> i32 {
    let value = scalar.value;
    let mut index = TypeIndex::INT;
    let mut word: u64 = 0;
    match scalar.dtype {
        xla::dtype::PRED => {
            index = TypeIndex::BOOL;
            word = (*value != 0) as u64;
        }
        xla::dtype::S8 => word = *(value as &i8) as i64 as u64,
        xla::dtype::S16 => word = *(value as &i16) as i64 as u64,
        xla::dtype::S32 => word = *(value as &i32) as i64 as u64,
        xla::dtype::S64 => word = *(value as &u64),
        xla::dtype::U8 => word = *value as u64,
        xla::dtype::U16 => word = *(value as &u16) as u64,
        xla::dtype::U32 => word = *(value as &u32) as u64,
        xla::dtype::U64 => {
            word = *(value as &u64);
            if word >> 63 != 0 {
                write(to, index, word);
                return LARGE;
            }
        }
        xla::dtype::F32 => {
            index = TypeIndex::FLOAT;
            word = wide_float(value);
        }
        xla::dtype::F64 => {
            index = TypeIndex::FLOAT;
            word = *(value as &u64);
        }
        _ => return FOREIGN,
    }
    write(to, index, word);
    FOUND
}

/// Returns the bits of a `float` as those of a `double`.
fn wide_float(b: &mut Builder<'_>, value: Ref<u8>) -> Int<u64> {
    let address = value.value(b);
    let narrow = b.load(Type::F32, address, 0);
    let wide = b.convert(Convert::Promote, narrow, Type::F64);
    Int::new(b.as_word(wide))
}

/// Finds the device and the stream of a call, and makes the stream the thread's. Returns NULL, or an error of XLA.
#[routine]
pub(crate) fn xla_enter(frame: &Frame, device_type: i32, place: &Place) -> &u8 {
    let api = frame.api;
    let request: Request;
    request.size = ORDINAL_SIZE;
    request.extensions = null;
    request.subject = frame.ctx;
    let error = call_api(api.device_ordinal_get, request);
    if error != null {
        return error;
    }
    let index = request.number;
    request.size = STREAM_SIZE;
    request.stream = null;
    let error = call_api(api.stream_get, request);
    if error != null {
        return error;
    }
    let device = device_type as u32 as u64 | (index as u32 as u64) << 32;
    enter_stream(place, device, request.stream);
    null
}

/// Makes an error of XLA of the error in the thread's slot, with its kind and message.
#[routine]
pub(crate) fn xla_error(frame: &Frame) -> &u8 {
    let error = take_error();
    let api = frame.api;
    if error == null {
        return create(api, "a function failed without an error\0".data, error_code::INTERNAL);
    }
    let kind = bytes(error.error.kind);
    let message = bytes(error.error.message);
    let text = malloc(kind.len + message.len + 3) as &u8;
    if text == null {
        object_dec_ref(error);
        return create(
            api,
            "out of memory for the text of an error\0".data,
            error_code::RESOURCE_EXHAUSTED,
        );
    }
    for at in 0..kind.len {
        text[at] = kind.data[at];
    }
    text[kind.len] = b':';
    text[kind.len + 1] = b' ';
    let rest = &text[kind.len + 2];
    for at in 0..message.len {
        rest[at] = message.data[at];
    }
    rest[message.len] = 0;
    let code = code_of(kind);
    object_dec_ref(error);
    let made = create(api, text, code);
    free(text as &Managed);
    made
}

/// Returns the code of an error of a kind.
#[routine(inline)]
fn code_of(kind: Text) -> i32 {
    if same_text(kind, "ValueError") != 0 || same_text(kind, "TypeError") != 0 {
        return error_code::INVALID_ARGUMENT;
    }
    if same_text(kind, "MemoryError") != 0 {
        return error_code::RESOURCE_EXHAUSTED;
    }
    error_code::INTERNAL
}

/// Makes an error of XLA of a text that ends with a NUL.
#[routine(inline)]
fn create(api: &Api, message: &u8, code: i32) -> &u8 {
    let request: Request;
    request.size = ERROR_SIZE;
    request.extensions = null;
    request.subject = message;
    request.number = code;
    call_api(api.error_create, request)
}

/// Calls a function of XLA with the address of its arguments.
fn call_api(b: &mut Builder<'_>, function: Ref<u8>, request: Ref<Request>) -> Ref<u8> {
    let function = function.value(b);
    call_indirect(b, function, request)
}
