//! The state of an explanation: one per failing call, in the frame of the routine that was called.

use crate::ir::{Builder, Type, Value};

/// Declares the fields, 8 bytes each.
macro_rules! fields {
    ($($(#[$doc:meta])* $name:ident: $ty:ident,)*) => {
        /// A field of the state.
        #[derive(Clone, Copy, Debug, PartialEq, Eq)]
        pub(crate) enum Field { $($(#[$doc])* $name,)* }

        impl Field {
            const COUNT: i32 = [$(Field::$name),*].len() as i32;

            fn ty(self) -> Type {
                match self { $(Field::$name => Type::$ty,)* }
            }
        }
    };
}

fields! {
    /// Not 0 while a fault is no error, since another type of a union may do.
    Quiet: I64,
    /// The descriptor.
    Descriptor: Ptr,
    /// The text of the backtrace.
    Frame: Ptr,
    /// Its texts.
    Texts: Ptr,
    /// Bytes of them, and of the sites after them.
    TextSize: I64,
    /// The next word to be read.
    Pc: Ptr,
    /// The end of the words.
    End: Ptr,
    /// The handle of the call.
    Handle: Ptr,
    /// The arguments.
    Args: Ptr,
    /// How many there are.
    NumArgs: I64,
    /// What the message is about: a head, or the text of a site.
    First: Ptr,
    /// The values of the message that are left.
    Values: Ptr,
    /// The length of the message so far.
    Length: I64,
    /// How many symbols there are.
    Symbols: I64,
    /// How many slots.
    SlotCount: I64,
    /// How deep loops nest.
    LoopCount: I64,
    /// How many operands there may be.
    OperandCount: I64,
    /// For how many devices there is room.
    DeviceRoom: I64,
    /// How many are known.
    DeviceCount: I64,
    /// The operands of an expression.
    Operands: Ptr,
    /// For each depth the index of the element that is being checked.
    Loops: Ptr,
    /// The first device of each type: type and index in 32 bits each, and the place or 0.
    Devices: Ptr,
    /// For each symbol: 0 while it is not bound, else the place that bound it, or 1; in a union the mark of
    /// that.
    Origins: Ptr,
    /// The value of each slot.
    Slots: Ptr,
    /// The address of the `TVMFFIAny` of each slot; 0 if the value is not there.
    Anys: Ptr,
}

/// Bytes of a message; the rest is cut off.
pub(crate) const MAX_TEXT: i32 = 4096;

/// Where the message is.
pub(crate) const TEXT: i32 = 8 * Field::COUNT;

/// Where the arrays are.
const ARRAYS: i32 = TEXT + MAX_TEXT;

/// Bytes of a device.
pub(crate) const DEVICE_SIZE: i64 = 16;

impl Builder<'_> {
    /// Reads a field.
    pub(crate) fn field(&mut self, s: Value, field: Field) -> Value {
        self.load(field.ty(), s, 8 * field as i32)
    }

    /// Writes a field.
    pub(crate) fn set_field(&mut self, s: Value, field: Field, value: Value) {
        self.store(value, s, 8 * field as i32);
    }

    /// Room for a state and so many bytes of arrays.
    pub(crate) fn state_slot(&mut self, arrays: u32) -> Value {
        self.stack_slot(ARRAYS as u32 + arrays, 8)
    }

    /// Room for a state without text.
    pub(crate) fn fields_slot(&mut self) -> Value {
        self.stack_slot(TEXT as u32, 8)
    }

    /// The address of the arrays.
    pub(crate) fn arrays(&mut self, s: Value) -> Value {
        self.ptr_offset(s, ARRAYS.into())
    }
}
