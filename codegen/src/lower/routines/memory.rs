//! What routines see in memory: structs of the ABI and of our own, by their fields.

use abi_spec::TypeIndex;
use abi_spec::layout::{
    ANY, BYTE_ARRAY, DL_MANAGED_TENSOR_VERSIONED, DL_TENSOR, OBJECT, SHAPE_CELL, TYPE_INFO, any,
    big_int, byte_array, dl_managed_tensor_versioned as managed, dl_pack_version, dl_tensor,
    error_cell, object, seq_cell, shape_cell, type_info,
};

use crate::ir::Builder;
use crate::ir::typed::{Int, Ref, Text, handles, routine, structs};
use crate::language::MAX_RANK;
use crate::lower::routines::records::{CallSite, Head, Subject};

/// Bytes of what [`numbers()`] fills: an address, a size, and as many numbers as a shape may have dims.
pub(crate) const NUMBERS_SIZE: u32 = 16 + 8 * MAX_RANK as u32;

structs! {
    /// A `TVMFFIAny`.
    Any AnyFields: ANY.size, ANY.align => {
        type_index: Field<i32> = any::TYPE_INDEX.offset,
        small_len: Field<u32> = any::SMALL_LEN.offset,
        // The type index and the word beside it.
        head: Field<u64> = any::TYPE_INDEX.offset,
        payload: Field<u64> = any::PAYLOAD.offset,
        number: Field<i64> = any::PAYLOAD.offset,
        object: Field<Ref<Object>> = any::PAYLOAD.offset,
        // The bytes of a small text.
        bytes: Nested<u8> = any::PAYLOAD.offset,
    }
    /// An object: its header, and of the cell behind it what the type says.
    Object ObjectFields: OBJECT.size, OBJECT.align => {
        type_index: Field<i32> = object::TYPE_INDEX.offset,
        text: Nested<ByteArray> = OBJECT.size as i32,
        tensor: Nested<DlTensor> = OBJECT.size as i32,
        error: Nested<ErrorCell> = OBJECT.size as i32,
        // Elements and size of an array or a list; a shape has its size there, too.
        elements: Field<Ref<Any>> = seq_cell::DATA.in_object(),
        size: Field<u64> = seq_cell::SIZE.in_object(),
    }
    /// An integer that is an object: its header, and the number of its words.
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
        backtrace: Nested<ByteArray> = error_cell::BACKTRACE.offset,
        update_backtrace: Field<Ref<u8>> = error_cell::UPDATE_BACKTRACE.offset,
    }
    /// A `DLTensor`.
    DlTensor DlTensorFields: DL_TENSOR.size, DL_TENSOR.align => {
        data: Field<Ref<u8>> = dl_tensor::DATA.offset,
        // The type and the index of the device.
        device: Field<u64> = dl_tensor::DEVICE_TYPE.offset,
        device_type: Field<u32> = dl_tensor::DEVICE_TYPE.offset,
        ndim: Field<i32> = dl_tensor::NDIM.offset,
        // The rank and the element type, which are neighbours.
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
        // Extents, strides and elements follow it in a block that is allocated here.
        dims: Nested<i64> = DL_MANAGED_TENSOR_VERSIONED.size as i32,
    }
    /// A `TVMFFITypeInfo`.
    TypeInfo TypeInfoFields: TYPE_INFO.size, TYPE_INFO.align => {
        type_index: Field<i32> = type_info::TYPE_INDEX.offset,
        depth: Field<i32> = type_info::TYPE_DEPTH.offset,
        key: Nested<ByteArray> = type_info::TYPE_KEY.offset,
        ancestors: Field<Ref<Ref<TypeInfo>>> = type_info::TYPE_ANCESTORS.offset,
    }
    /// The integers of a shape: its cell, or the same filled with those of a sequence.
    Numbers NumbersFields: NUMBERS_SIZE, 8 => {
        data: Field<Ref<i64>> = shape_cell::DATA.offset,
        size: Field<u64> = shape_cell::SIZE.offset,
        values: Nested<i64> = SHAPE_CELL.size as i32,
    }
    /// One of several texts in a row.
    KnownText KnownTextFields: 4, 1 => {
        len: Unaligned<u32> = 0,
        bytes: Nested<u8> = 4,
    }
    /// An entry of a table of names: where it is in the table, and its length.
    NameEntry NameEntryFields: 8, 8 => {
        offset: Field<u32> = 0,
        len: Field<u32> = 4,
    }
    /// What is known of a function that is called by name, see [`named`].
    NamedCallee NamedCalleeFields: named::NAME, 8 => {
        cache: Field<Ref<Ref<Object>>> = named::CACHE as i32,
        context: Field<Ref<Ref<u8>>> = named::CONTEXT as i32,
        len: Field<u64> = named::LENGTH as i32,
        name: Nested<u8> = named::NAME as i32,
    }
    /// A tensor and its place.
    PlacedTensor PlacedTensorFields: 16, 8 => {
        tensor: Field<Ref<DlTensor>> = 0,
        place: Field<u64> = 8,
    }
    /// A message while it is composed.
    MessageBuffer MessageBufferFields: TEXT + MAX_TEXT, 8 => {
        // The record that it is about, from which everything else is found.
        head: Field<Ref<Head>> = 0,
        // The numbers of the elements that the loops are at.
        indices: Field<Ref<i64>> = 8,
        // The values that are left.
        values: Field<Ref<i64>> = 16,
        // What the last place was of.
        subject: Field<Ref<Subject>> = 24,
        length: Field<u64> = 32,
        message: Nested<u8> = TEXT as i32,
    }
}

/// NAMED
pub(crate) mod named {
    /// Where the address of the variable is that holds the function once it has been looked up.
    pub(crate) const CACHE: u32 = 0;

    /// Where the address of the library's context is.
    pub(crate) const CONTEXT: u32 = 8;

    /// Where the length of the name is.
    pub(crate) const LENGTH: u32 = 16;

    /// Where the name is, which ends with a NUL.
    pub(crate) const NAME: u32 = 24;

    /// The bytes, with room for the addresses.
    pub(crate) fn encode(name: &str) -> Vec<u8> {
        let mut bytes = vec![0; LENGTH as usize];
        bytes.extend((name.len() as u64).to_le_bytes());
        bytes.extend(name.as_bytes());
        bytes.push(0);
        bytes
    }
}

/// Where the text of a message is, and how many bytes there is room for; the rest is cut off.
const TEXT: u32 = 40;
pub(crate) const MAX_TEXT: u32 = 4096;

handles! {
    /// Who fails if something does: a place of a function, or the function.
    pub(crate) struct Caller {
        site: Ref<CallSite>,
    }
}

/// A text by its address and length.
#[routine(inline)]
pub(crate) fn slice(data: &u8, len: u64) -> Text {
    Text { data, len }
}

/// The text of an array of bytes.
#[routine(inline)]
pub(crate) fn bytes(array: &ByteArray) -> Text {
    Text { data: array.data, len: array.len }
}

/// An array of bytes that has been written.
#[routine(inline)]
pub(crate) fn filled(array: &ByteArray, data: &u8, len: u64) -> &ByteArray {
    array.data = data;
    array.len = len;
    array
}

/// Writes all 16 bytes of a value.
#[routine(inline)]
pub(crate) fn write(to: &Any, index: i32, payload: u64) {
    to.head = index as u32 as u64;
    to.payload = payload;
}

/// The constant of a type index, as routines compare it.
impl crate::ir::typed::Const for TypeIndex {
    type Handle = Int<i32>;

    fn constant(self, b: &mut Builder<'_>) -> Int<i32> {
        crate::ir::typed::constant(b, self.0)
    }
}
