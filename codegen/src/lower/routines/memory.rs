//! Structs that routines read and write: those of the ABI, and those that routines and wrappers share.

use abi_spec::TypeIndex;
use abi_spec::layout::{
    ANY, BYTE_ARRAY, DL_MANAGED_TENSOR_VERSIONED, DL_TENSOR, MODULE_OBJECT, OBJECT, SHAPE_CELL,
    TYPE_INFO, any, big_int, byte_array, dl_managed_tensor_versioned as managed, dl_pack_version,
    dl_tensor, error_cell, object, seq_cell, shape_cell, type_info,
};

use crate::ir::Builder;
use crate::ir::typed::{Int, Ref, Text, handles, routine, structs};
use crate::language::MAX_RANK;
use crate::lower::routines::records::{CallSite, Head, Subject};

/// Size in bytes of the buffer for the integers of an array or list: an address, a count, and [`MAX_RANK`] integers.
pub(crate) const NUMBERS_SIZE: u32 = 16 + 8 * MAX_RANK as u32;

/// Symbol of the variable of a module whose functions make closures that says how to keep its code loaded where it
/// belongs to no module object of the runtime, as JIT code does not: the address of a function
/// `int32_t make(void* code, TVMFFIAny* result)`, or NULL, then `code`.
///
/// For each closure `make` stores an owned object, which the closure holds, and returns 0; or it stores nothing and
/// returns another status. The symbol is local; a JIT fills the variable before the first call.
pub const KEEPER: &str = "tvm_ffi_codegen.keeper";

structs! {
    /// A `TVMFFIAny`.
    Any AnyFields: ANY.size, ANY.align => {
        type_index: Field<i32> = any::TYPE_INDEX.offset,
        small_len: Field<u32> = any::SMALL_LEN.offset,
        // The type index and the 32 bits after it.
        head: Field<u64> = any::TYPE_INDEX.offset,
        payload: Field<u64> = any::PAYLOAD.offset,
        number: Field<i64> = any::PAYLOAD.offset,
        object: Field<Ref<Object>> = any::PAYLOAD.offset,
        // The bytes of small text.
        bytes: Nested<u8> = any::PAYLOAD.offset,
    }
    /// An object: its header, and the cell after it, whose fields depend on the type.
    Object ObjectFields: OBJECT.size, OBJECT.align => {
        type_index: Field<i32> = object::TYPE_INDEX.offset,
        text: Nested<ByteArray> = OBJECT.size as i32,
        tensor: Nested<DlTensor> = OBJECT.size as i32,
        error: Nested<ErrorCell> = OBJECT.size as i32,
        // Elements and size of an array or list. The size of a shape has the same offset.
        elements: Field<Ref<Any>> = seq_cell::DATA.in_object(),
        size: Field<u64> = seq_cell::SIZE.in_object(),
    }
    /// An integer object: its header, and the number of its words.
    BigInt BigIntFields: OBJECT.size + 16, OBJECT.align => {
        size: Field<u64> = big_int::SIZE.in_object(),
        words: Nested<u64> = big_int::WORDS.in_object(),
    }
    /// A `TVMFFIByteArray`.
    ByteArray ByteArrayFields: BYTE_ARRAY.size, BYTE_ARRAY.align => {
        data: Field<Ref<u8>> = byte_array::DATA.offset,
        len: Field<u64> = byte_array::SIZE.offset,
    }
    /// The cell of an error.
    ErrorCell ErrorCellFields: 8, 8 => {
        kind: Nested<ByteArray> = error_cell::KIND.offset,
        message: Nested<ByteArray> = error_cell::MESSAGE.offset,
        backtrace: Nested<ByteArray> = error_cell::BACKTRACE.offset,
        update_backtrace: Field<Ref<u8>> = error_cell::UPDATE_BACKTRACE.offset,
    }
    /// A `DLTensor`.
    DlTensor DlTensorFields: DL_TENSOR.size, DL_TENSOR.align => {
        data: Field<Ref<u8>> = dl_tensor::DATA.offset,
        // The type and the index of the device, 32 bits each.
        device: Field<u64> = dl_tensor::DEVICE_TYPE.offset,
        device_type: Field<u32> = dl_tensor::DEVICE_TYPE.offset,
        ndim: Field<i32> = dl_tensor::NDIM.offset,
        // The rank and the element type, 32 bits each.
        kind: Field<u64> = dl_tensor::NDIM.offset,
        shape: Field<Ref<i64>> = dl_tensor::SHAPE.offset,
        strides: Field<Ref<i64>> = dl_tensor::STRIDES.offset,
        byte_offset: Field<u64> = dl_tensor::BYTE_OFFSET.offset,
    }
    /// A `DLManagedTensorVersioned`.
    Managed ManagedFields: DL_MANAGED_TENSOR_VERSIONED.size, DL_MANAGED_TENSOR_VERSIONED.align => {
        major: Field<u32> = managed::VERSION.offset + dl_pack_version::MAJOR.offset,
        minor: Field<u32> = managed::VERSION.offset + dl_pack_version::MINOR.offset,
        manager_ctx: Field<Ref<u8>> = managed::MANAGER_CTX.offset,
        deleter: Field<Ref<u8>> = managed::DELETER.offset,
        flags: Field<u64> = managed::FLAGS.offset,
        tensor: Nested<DlTensor> = managed::DL_TENSOR.offset,
        // The extents, in a block of `allocate_plain`; the strides and the elements follow.
        dims: Nested<i64> = DL_MANAGED_TENSOR_VERSIONED.size as i32,
    }
    /// A `TVMFFITypeInfo`.
    TypeInfo TypeInfoFields: TYPE_INFO.size, TYPE_INFO.align => {
        type_index: Field<i32> = type_info::TYPE_INDEX.offset,
        depth: Field<i32> = type_info::TYPE_DEPTH.offset,
        ancestors: Field<Ref<Ref<TypeInfo>>> = type_info::TYPE_ANCESTORS.offset,
    }
    /// The integers of a shape: its cell, or a buffer that begins like one.
    Numbers NumbersFields: NUMBERS_SIZE, 8 => {
        data: Field<Ref<i64>> = shape_cell::DATA.offset,
        size: Field<u64> = shape_cell::SIZE.offset,
        values: Nested<i64> = SHAPE_CELL.size as i32,
    }
    /// A text in a list of texts: its length, then its bytes. The next text follows.
    KnownText KnownTextFields: 4, 1 => {
        len: Unaligned<u32> = 0,
        bytes: Nested<u8> = 4,
    }
    /// An entry of a table of names: offset from the start of the table, and length.
    NameEntry NameEntryFields: 8, 8 => {
        offset: Field<u32> = 0,
        len: Field<u32> = 4,
    }
    /// A module as the context of a library points at it.
    Module ModuleFields: MODULE_OBJECT + OBJECT.size, 8 => {
        object: Nested<Object> = MODULE_OBJECT as i32,
    }
    /// Keeper of code that no module holds, see [`KEEPER`].
    Keeper KeeperFields: 16, 8 => {
        make: Field<Ref<u8>> = 0,
        code: Field<Ref<u8>> = 8,
    }
    /// A function that is called by name, see [`named`].
    NamedCallee NamedCalleeFields: named::NAME, 8 => {
        cache: Field<Ref<Ref<Object>>> = named::CACHE as i32,
        context: Field<Ref<Ref<u8>>> = named::CONTEXT as i32,
        len: Field<u64> = named::LENGTH as i32,
        name: Nested<u8> = named::NAME as i32,
    }
    /// A tensor and its [place](mod@super::records::place).
    PlacedTensor PlacedTensorFields: 16, 8 => {
        tensor: Field<Ref<DlTensor>> = 0,
        place: Field<u64> = 8,
    }
    /// A `TVMFFIVersion`.
    Version VersionFields: 12, 4 => {
        major: Field<u32> = 0,
        minor: Field<u32> = 4,
        patch: Field<u32> = 8,
    }
    /// A message that is being composed.
    MessageBuffer MessageBufferFields: TEXT + MAX_TEXT, 8 => {
        // The record that the message is about, which leads to the host function.
        head: Field<Ref<Head>> = 0,
        // The indices of the enclosing loops.
        indices: Field<Ref<i64>> = 8,
        // The next value.
        values: Field<Ref<i64>> = 16,
        // The value that the message is about, which `At` and `Path` set.
        subject: Field<Ref<Subject>> = 24,
        length: Field<u64> = 32,
        message: Nested<u8> = TEXT as i32,
    }
}

/// The constant that describes a function which [`CallNamed`](super::Routine) calls: byte offsets of its fields, and
/// its encoding.
pub(crate) mod named {
    /// The address of the variable that caches the function.
    pub(crate) const CACHE: u32 = 0;

    /// The address of the variable that holds the context of the library.
    pub(crate) const CONTEXT: u32 = 8;

    /// The length of the name.
    pub(crate) const LENGTH: u32 = 16;

    /// The name, which ends with a NUL.
    pub(crate) const NAME: u32 = 24;

    /// Encodes the constant. Relocations fill in the addresses.
    pub(crate) fn encode(name: &str) -> Vec<u8> {
        let mut bytes = vec![0; LENGTH as usize];
        bytes.extend((name.len() as u64).to_le_bytes());
        bytes.extend(name.as_bytes());
        bytes.push(0);
        bytes
    }
}

/// Offset of the text of a message.
const TEXT: u32 = 40;
/// Largest size of the text of a message in bytes; the rest is cut off.
pub(crate) const MAX_TEXT: u32 = 4096;

handles! {
    /// The record of a call site or of a host function. It leads to the function that messages name. Of a host
    /// function, only the head is read.
    pub(crate) struct Caller {
        site: Ref<CallSite>,
    }
}

/// Returns text by its address and length.
#[routine(inline)]
pub(crate) fn slice(data: &u8, len: u64) -> Text {
    Text { data, len }
}

/// Returns the text of a `TVMFFIByteArray`.
#[routine(inline)]
pub(crate) fn bytes(array: &ByteArray) -> Text {
    Text { data: array.data, len: array.len }
}

/// Fills in a `TVMFFIByteArray` and returns it.
#[routine(inline)]
pub(crate) fn filled(array: &ByteArray, data: &u8, len: u64) -> &ByteArray {
    array.data = data;
    array.len = len;
    array
}

/// Writes all 16 bytes of a `TVMFFIAny`.
#[routine(inline)]
pub(crate) fn write(to: &Any, index: i32, payload: u64) {
    to.head = index as u32 as u64;
    to.payload = payload;
}

/// A type index is a constant of type `i32` in routines.
impl crate::ir::typed::Const for TypeIndex {
    type Handle = Int<i32>;

    fn constant(self, b: &mut Builder<'_>) -> Int<i32> {
        crate::ir::typed::constant(b, self.0)
    }
}
