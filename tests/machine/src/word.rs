//! Values of the machine.

use crate::memory::Region;

/// A value: its bits, and the region that it points into if it was made from a pointer.
///
/// The bits above the width of the value's type are 0.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub struct Word {
    /// The bits.
    pub bits: u64,
    /// Where the pointer that it was made from points; `None` for numbers and for NULL.
    pub origin: Option<Region>,
}

impl Word {
    /// NULL, and 0.
    pub const NULL: Word = Word { bits: 0, origin: None };

    /// A number that points nowhere.
    pub const fn bits(bits: u64) -> Word {
        Word { bits, origin: None }
    }

    /// A 64-bit integer.
    pub const fn int(value: i64) -> Word {
        Word::bits(value as u64)
    }

    /// A 32-bit integer.
    pub const fn int32(value: i32) -> Word {
        Word::bits(value as u32 as u64)
    }

    /// As a 64-bit integer.
    pub const fn as_int(self) -> i64 {
        self.bits as i64
    }

    /// As a 32-bit integer: the lower half.
    pub const fn as_int32(self) -> i32 {
        self.bits as i32
    }

    /// True for NULL, and for 0.
    pub const fn is_null(self) -> bool {
        self.bits == 0
    }

    /// The address some bytes further on; it wraps.
    pub const fn offset(self, bytes: i64) -> Word {
        Word { bits: self.bits.wrapping_add(bytes as u64), origin: self.origin }
    }
}
