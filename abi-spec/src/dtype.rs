//! Element types of tensors.

/// `DLDataType` of DLPack.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash)]
pub struct DType {
    /// A `DLDataTypeCode`.
    pub code: u8,
    /// Bits of one lane.
    pub bits: u8,
    /// Lanes of one element.
    pub lanes: u16,
}
