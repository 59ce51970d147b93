//! Values of the machine.

use crate::memory::Region;

/// A value: its bits, and the region that it points into if it is derived from a pointer.
///
/// The bits above the width of the value's type are 0.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub struct Word {
    /// Bits of the value.
    pub bits: u64,
    /// Region of the pointer that the value is derived from; `None` for numbers and NULL.
    pub origin: Option<Region>,
}

impl Word {
    /// NULL, or the number 0.
    pub const NULL: Word = Word { bits: 0, origin: None };

    /// Creates a number without a region.
    pub const fn bits(bits: u64) -> Word {
        Word { bits, origin: None }
    }

    /// Creates a 64-bit integer.
    pub const fn int(value: i64) -> Word {
        Word::bits(value as u64)
    }

    /// Creates a 32-bit integer.
    pub const fn int32(value: i32) -> Word {
        Word::bits(value as u32 as u64)
    }

    /// Returns the 64-bit integer.
    pub const fn as_int(self) -> i64 {
        self.bits as i64
    }

    /// Returns the 32-bit integer in the lower half.
    pub const fn as_int32(self) -> i32 {
        self.bits as i32
    }

    /// Returns true for NULL and for 0.
    pub const fn is_null(self) -> bool {
        self.bits == 0
    }

    /// Returns the address `bytes` further on, wrapping.
    pub const fn offset(self, bytes: i64) -> Word {
        Word { bits: self.bits.wrapping_add(bytes as u64), origin: self.origin }
    }
}
