//! Operators: arithmetic, conditions, conversions, and the types of their operands.

use std::fmt;

use super::signature::Type;

/// Defines an enum with the list of its variants.
macro_rules! listed {
    ($(#[$doc:meta])* $name:ident { $($(#[$variant_doc:meta])* $variant:ident,)* }) => {
        $(#[$doc])*
        #[derive(Clone, Copy, Debug, PartialEq, Eq, Hash)]
        pub enum $name {
            $($(#[$variant_doc])* $variant,)*
        }

        impl $name {
            /// All variants, in order.
            pub(super) const ALL: &[$name] = &[$($name::$variant),*];
        }
    };
}

listed! {
    /// Arithmetic. Integer operations wrap; [`Checked`] has those that notice it.
    Binary {
        /// Integer sum.
        Add,
        /// Integer difference.
        Sub,
        /// Integer product, low half.
        Mul,
        /// Signed quotient, rounded to zero. Undefined for a zero divisor and for `MIN / -1`.
        Sdiv,
        /// Signed remainder of [`Binary::Sdiv`]; undefined where the quotient is.
        Srem,
        /// Unsigned quotient. Undefined for a zero divisor.
        Udiv,
        /// Unsigned remainder. Undefined for a zero divisor.
        Urem,
        /// Bitwise and; also on `Bool`.
        And,
        /// Bitwise or; also on `Bool`.
        Or,
        /// Bitwise exclusive or; also on `Bool`.
        Xor,
        /// Shift left. The amount must be below the width.
        Shl,
        /// Logical shift right. The amount must be below the width.
        Lshr,
        /// Arithmetic shift right. The amount must be below the width.
        Ashr,
        /// Floating-point sum.
        Fadd,
        /// Floating-point difference.
        Fsub,
        /// Floating-point product.
        Fmul,
        /// Floating-point quotient.
        Fdiv,
    }
}

impl Binary {
    /// Returns true if the operands may be of this type.
    pub(super) fn takes(self, ty: Type) -> bool {
        match self {
            Binary::Add | Binary::Sub | Binary::Mul => ty.is_int(),
            Binary::Sdiv | Binary::Srem | Binary::Udiv | Binary::Urem => ty.is_int(),
            Binary::Shl | Binary::Lshr | Binary::Ashr => ty.is_int(),
            Binary::And | Binary::Or | Binary::Xor => ty.is_int() || ty == Type::Bool,
            Binary::Fadd | Binary::Fsub | Binary::Fmul | Binary::Fdiv => ty.is_float(),
        }
    }
}

listed! {
    /// Signed arithmetic on `I64` that notices if the result leaves the type.
    Checked {
        /// Sum.
        CheckedAdd,
        /// Difference.
        CheckedSub,
        /// Product.
        CheckedMul,
    }
}

listed! {
    /// Conditions. `S` signed, `U` unsigned (also for pointers), `F` floating point, where every ordered
    /// condition is false on NaN and `Fne` is true.
    Cond {
        /// Equality of integers or pointers.
        Eq,
        /// Inequality of integers or pointers.
        Ne,
        /// Signed less.
        Slt,
        /// Signed less or equal.
        Sle,
        /// Signed greater.
        Sgt,
        /// Signed greater or equal.
        Sge,
        /// Unsigned less.
        Ult,
        /// Unsigned less or equal.
        Ule,
        /// Unsigned greater.
        Ugt,
        /// Unsigned greater or equal.
        Uge,
        /// Floating-point equal, ordered.
        Feq,
        /// Floating-point not equal, or unordered.
        Fne,
        /// Floating-point less, ordered.
        Flt,
        /// Floating-point less or equal, ordered.
        Fle,
        /// Floating-point greater, ordered.
        Fgt,
        /// Floating-point greater or equal, ordered.
        Fge,
    }
}

impl Cond {
    /// Returns true if the operands may be of this type.
    pub(super) fn takes(self, ty: Type) -> bool {
        match self {
            Cond::Eq | Cond::Ne | Cond::Ult | Cond::Ule | Cond::Ugt | Cond::Uge => {
                ty.is_int() || ty == Type::Ptr
            }
            Cond::Slt | Cond::Sle | Cond::Sgt | Cond::Sge => ty.is_int(),
            Cond::Feq | Cond::Fne | Cond::Flt | Cond::Fle | Cond::Fgt | Cond::Fge => ty.is_float(),
        }
    }
}

listed! {
    /// Conversions.
    Convert {
        /// Zero extension to a wider integer; also from `Bool`.
        Zext,
        /// Sign extension to a wider integer.
        Sext,
        /// Truncation to a narrower integer.
        Trunc,
        /// A signed integer to the nearest float.
        SintToFloat,
        /// An unsigned integer to the nearest float.
        UintToFloat,
        /// `F32` to `F64`.
        Promote,
        /// `F64` to the nearest `F32`.
        Demote,
        /// An integer to a float of the same size or back, bit for bit.
        Bitcast,
        /// `Ptr` to `I64`.
        PtrToInt,
        /// `I64` to `Ptr`.
        IntToPtr,
    }
}

impl Convert {
    /// Returns true if a value of the first type converts to the second.
    pub(super) fn takes(self, from: Type, to: Type) -> bool {
        let ints = from.is_int() && to.is_int();
        match self {
            Convert::Zext if from == Type::Bool => to.is_int(),
            Convert::Zext | Convert::Sext => ints && from.bytes() < to.bytes(),
            Convert::Trunc => ints && from.bytes() > to.bytes(),
            Convert::SintToFloat | Convert::UintToFloat => from.is_int() && to.is_float(),
            Convert::Promote => from == Type::F32 && to == Type::F64,
            Convert::Demote => from == Type::F64 && to == Type::F32,
            Convert::Bitcast => {
                let changes = from.is_int() && to.is_float() || from.is_float() && to.is_int();
                changes && from.bytes() == to.bytes()
            }
            Convert::PtrToInt => from == Type::Ptr && to == Type::I64,
            Convert::IntToPtr => from == Type::I64 && to == Type::Ptr,
        }
    }
}

/// Returns the word of an operator in the text form: `SintToFloat` is `sint_to_float`.
pub(super) fn mnemonic(op: &impl fmt::Debug) -> String {
    let mut text = String::new();
    for c in format!("{op:?}").chars() {
        if c.is_ascii_uppercase() && !text.is_empty() {
            text.push('_');
        }
        text.push(c.to_ascii_lowercase());
    }
    text
}

#[cfg(test)]
mod tests {
    use std::fs;
    use std::path::Path;

    use super::*;

    /// Returns the text of all file tests that run in the interpreter and in the code of every backend.
    fn files() -> String {
        let folder = Path::new(env!("CARGO_MANIFEST_DIR")).join("filetests/machine");
        let files = fs::read_dir(folder).expect("the folder is there");
        let text = |file: std::io::Result<fs::DirEntry>| fs::read_to_string(file?.path());
        files.map(text).collect::<Result<String, _>>().expect("files can be read")
    }

    #[test]
    fn every_operator_is_in_a_file_test() {
        let binary = Binary::ALL.iter().map(|op| format!("= {} %", mnemonic(op)));
        let convert = Convert::ALL.iter().map(|op| format!("= {} %", mnemonic(op)));
        let checked = Checked::ALL.iter().map(|op| format!("= {} %", mnemonic(op)));
        let cond = Cond::ALL.iter().map(|cond| format!("= compare {} %", mnemonic(cond)));
        let files = files();
        let all = binary.chain(checked).chain(convert).chain(cond);
        let missing: Vec<String> = all.filter(|words| !files.contains(words)).collect();
        assert!(missing.is_empty(), "{missing:?}");
    }
}
