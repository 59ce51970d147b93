//! Every operation, condition and conversion on every type it takes, at boundary values, against Rust.

use codegen::ir::{Binary, Cond, Convert, Module, Type};

use crate::functions;
use crate::jit;

const INTS: [Type; 4] = [Type::I8, Type::I16, Type::I32, Type::I64];
const FLOATS: [Type; 2] = [Type::F32, Type::F64];

/// Returns the boundary values of a type, as bits.
fn values(ty: Type) -> Vec<u64> {
    let f32s = [0.0, -0.0, 1.0, -1.5, 0.1, f32::MAX, f32::MIN_POSITIVE, 1e-45, f32::INFINITY];
    let f64s = [0.0, -0.0, 1.0, -1.5, 0.1, f64::MAX, 5e-324, 1e300, f64::NEG_INFINITY];
    match ty {
        Type::Bool => vec![0, 1],
        Type::F32 => f32s.into_iter().chain([f32::NAN]).map(|x| x.to_bits().into()).collect(),
        Type::F64 => f64s.into_iter().chain([f64::NAN]).map(f64::to_bits).collect(),
        Type::I8 | Type::I16 | Type::I32 | Type::I64 | Type::Ptr => {
            let top = 1_u64 << (width(ty) - 1);
            let word = [0, 1, 2, 3, 7, 10, 0x55, top - 1, top, top + 1, 0x1234_5678_9abc_def0];
            word.into_iter().chain([-1_i64 as u64, -2_i64 as u64]).map(|x| x & mask(ty)).collect()
        }
    }
}

fn width(ty: Type) -> u32 {
    if ty == Type::Bool { 1 } else { 8 * ty.bytes() }
}

fn mask(ty: Type) -> u64 {
    u64::MAX >> (64 - width(ty))
}

fn signed(ty: Type, bits: u64) -> i64 {
    (bits << (64 - width(ty))) as i64 >> (64 - width(ty))
}

/// Returns a float of either width as `f64`, which holds every `f32`.
fn float(ty: Type, bits: u64) -> f64 {
    if ty == Type::F32 { f32::from_bits(bits as u32).into() } else { f64::from_bits(bits) }
}

/// Returns true for equal values, and for two NaNs, which may differ in sign and payload.
fn same(ty: Type, a: u64, b: u64) -> bool {
    a == b || (ty.is_float() && float(ty, a).is_nan() && float(ty, b).is_nan())
}

/// Returns the documented result of [`Binary`]; `None` where it is undefined.
fn binary(op: Binary, ty: Type, a: u64, b: u64) -> Option<u64> {
    let (sa, sb) = (signed(ty, a), signed(ty, b));
    let overflow = b == 0 || (sa == signed(ty, 1 << (width(ty) - 1)) && sb == -1);
    let amount = b as u32;
    let result = match op {
        Binary::Add => a.wrapping_add(b),
        Binary::Sub => a.wrapping_sub(b),
        Binary::Mul => a.wrapping_mul(b),
        Binary::Sdiv | Binary::Srem if overflow => return None,
        Binary::Sdiv => (sa / sb) as u64,
        Binary::Srem => (sa % sb) as u64,
        Binary::Udiv => a.checked_div(b)?,
        Binary::Urem => a.checked_rem(b)?,
        Binary::And => a & b,
        Binary::Or => a | b,
        Binary::Xor => a ^ b,
        Binary::Shl | Binary::Lshr | Binary::Ashr if b >= width(ty).into() => return None,
        Binary::Shl => a << amount,
        Binary::Lshr => a >> amount,
        Binary::Ashr => (sa >> amount) as u64,
        Binary::Fadd | Binary::Fsub | Binary::Fmul | Binary::Fdiv => {
            return Some(arith(op, ty, a, b));
        }
    };
    Some(result & mask(ty))
}

fn arith(op: Binary, ty: Type, a: u64, b: u64) -> u64 {
    macro_rules! at {
        ($float:ty, $bits:ty) => {{
            let (a, b) = (<$float>::from_bits(a as $bits), <$float>::from_bits(b as $bits));
            let result = match op {
                Binary::Fadd => a + b,
                Binary::Fsub => a - b,
                Binary::Fmul => a * b,
                _ => a / b,
            };
            u64::from(result.to_bits())
        }};
    }
    if ty == Type::F32 { at!(f32, u32) } else { at!(f64, u64) }
}

fn compare(cond: Cond, ty: Type, a: u64, b: u64) -> bool {
    let (sa, sb) = (signed(ty, a), signed(ty, b));
    let (fa, fb) = (float(ty, a), float(ty, b));
    match cond {
        Cond::Eq => a == b,
        Cond::Ne => a != b,
        Cond::Slt => sa < sb,
        Cond::Sle => sa <= sb,
        Cond::Sgt => sa > sb,
        Cond::Sge => sa >= sb,
        Cond::Ult => a < b,
        Cond::Ule => a <= b,
        Cond::Ugt => a > b,
        Cond::Uge => a >= b,
        Cond::Feq => fa == fb,
        Cond::Fne => fa != fb,
        Cond::Flt => fa < fb,
        Cond::Fle => fa <= fb,
        Cond::Fgt => fa > fb,
        Cond::Fge => fa >= fb,
    }
}

fn convert(op: Convert, from: Type, to: Type, a: u64) -> u64 {
    let narrow = to == Type::F32;
    let result = match op {
        Convert::Zext | Convert::Trunc | Convert::Bitcast => a,
        Convert::PtrToInt | Convert::IntToPtr => a,
        Convert::Sext => signed(from, a) as u64,
        Convert::SintToFloat if narrow => (signed(from, a) as f32).to_bits().into(),
        Convert::SintToFloat => (signed(from, a) as f64).to_bits(),
        Convert::UintToFloat if narrow => (a as f32).to_bits().into(),
        Convert::UintToFloat => (a as f64).to_bits(),
        Convert::Promote => float(from, a).to_bits(),
        Convert::Demote => (float(from, a) as f32).to_bits().into(),
    };
    result & mask(to)
}

/// Returns a module with a function for every operation on every type.
fn binary_module() -> (Module, Vec<(Binary, Type)>) {
    use Binary::*;
    let int = [Add, Sub, Mul, Sdiv, Srem, Udiv, Urem, And, Or, Xor, Shl, Lshr, Ashr];
    let bitwise = [And, Or, Xor].map(|op| (op, Type::Bool));
    let on_ints = int.into_iter().flat_map(|op| INTS.map(|ty| (op, ty)));
    let on_floats = [Fadd, Fsub, Fmul, Fdiv].into_iter().flat_map(|op| FLOATS.map(|ty| (op, ty)));
    let cases: Vec<(Binary, Type)> = on_ints.chain(on_floats).chain(bitwise).collect();
    let mut module = Module::default();
    for &(op, ty) in &cases {
        functions::define(&mut module, &format!("{op:?}_{ty}"), &[ty, ty], |b, v| {
            b.binary(op, v[0], v[1])
        });
    }
    (module, cases)
}

#[test]
fn binary_operations() {
    let (module, cases) = binary_module();
    for running in jit::run(&module, &[]) {
        for &(op, ty) in &cases {
            for (a, b) in pairs(ty) {
                let Some(expected) = binary(op, ty, a, b) else { continue };
                let found = running.call(&format!("{op:?}_{ty}"), &[a, b]);
                assert!(same(ty, found, expected), "{op:?} {ty} {a:#x} {b:#x}: {found:#x}");
            }
        }
    }
}

fn pairs(ty: Type) -> impl Iterator<Item = (u64, u64)> {
    values(ty).into_iter().flat_map(move |a| values(ty).into_iter().map(move |b| (a, b)))
}

/// Returns a module with a function for every condition on every type.
fn condition_module() -> (Module, Vec<(Cond, Type)>) {
    use Cond::*;
    let on_ints = [Eq, Ne, Slt, Sle, Sgt, Sge, Ult, Ule, Ugt, Uge];
    let on_ptrs = [Eq, Ne, Ult, Ule, Ugt, Uge].map(|cond| (cond, Type::Ptr));
    let on_floats = [Feq, Fne, Flt, Fle, Fgt, Fge];
    let ints = on_ints.into_iter().flat_map(|cond| INTS.map(|ty| (cond, ty)));
    let floats = on_floats.into_iter().flat_map(|cond| FLOATS.map(|ty| (cond, ty)));
    let cases: Vec<(Cond, Type)> = ints.chain(floats).chain(on_ptrs).collect();
    let mut module = Module::default();
    for &(cond, ty) in &cases {
        functions::define(&mut module, &format!("{cond:?}_{ty}"), &[ty, ty], |b, v| {
            b.compare(cond, v[0], v[1])
        });
    }
    (module, cases)
}

#[test]
fn conditions() {
    let (module, cases) = condition_module();
    for running in jit::run(&module, &[]) {
        for &(cond, ty) in &cases {
            for (a, b) in pairs(ty) {
                let found = running.call(&format!("{cond:?}_{ty}"), &[a, b]);
                assert_eq!(
                    found,
                    u64::from(compare(cond, ty, a, b)),
                    "{cond:?} {ty} {a:#x} {b:#x}"
                );
            }
        }
    }
}

/// Returns a module with a function for every conversion between every two types.
fn conversion_module() -> (Module, Vec<(Convert, Type, Type)>) {
    use Convert::*;
    let ints = |op| INTS.into_iter().flat_map(move |from| INTS.map(|to| (op, from, to)));
    let mut cases: Vec<(Convert, Type, Type)> = ints(Zext).chain(ints(Sext)).collect();
    cases.retain(|(_, from, to)| from.bytes() < to.bytes());
    cases.extend(ints(Trunc).filter(|(_, from, to)| from.bytes() > to.bytes()));
    cases.extend(INTS.map(|to| (Zext, Type::Bool, to)));
    for op in [SintToFloat, UintToFloat] {
        cases.extend(INTS.into_iter().flat_map(|from| FLOATS.map(|to| (op, from, to))));
    }
    cases.extend([(Promote, Type::F32, Type::F64), (Demote, Type::F64, Type::F32)]);
    for (int, float) in [(Type::I32, Type::F32), (Type::I64, Type::F64)] {
        cases.extend([(Bitcast, int, float), (Bitcast, float, int)]);
    }
    cases.extend([(PtrToInt, Type::Ptr, Type::I64), (IntToPtr, Type::I64, Type::Ptr)]);
    let mut module = Module::default();
    for &(op, from, to) in &cases {
        functions::define(&mut module, &format!("{op:?}_{from}_{to}"), &[from], |b, v| {
            b.convert(op, v[0], to)
        });
    }
    (module, cases)
}

#[test]
fn conversions() {
    let (module, cases) = conversion_module();
    for running in jit::run(&module, &[]) {
        for &(op, from, to) in &cases {
            for a in values(from) {
                let found = running.call(&format!("{op:?}_{from}_{to}"), &[a]);
                let expected = convert(op, from, to, a);
                assert!(same(to, found, expected), "{op:?} {from} to {to} of {a:#x}: {found:#x}");
            }
        }
    }
}

/// Returns the modules of every operation, condition and conversion.
pub(crate) fn modules() -> [Module; 3] {
    [binary_module().0, condition_module().0, conversion_module().0]
}
