//! Scalars that a C function writes through arguments, beside the status that it returns.

use abi_spec::Scalar;
use abi_spec::layout::ANY;

use crate::ir::{Cond, Type, Value};
use crate::lower::body::packed;
use crate::lower::checks::Checker;
use crate::lower::emitter::frame::Slot;
use crate::lower::failure::site::Failed;
use crate::lower::routines::Routine;
use crate::lower::routines::complaints::Complaint;
use crate::lower::value::write_any;
use crate::resolve::accepted::result_index;
use crate::resolve::c_type::abi_type;

/// Bytes of the frame that each scalar gets.
const SIZE: u32 = 8;

/// Returns the addresses for scalars, in order. They hold 0 until the function writes to them.
pub(super) fn pass(c: &mut Checker<'_, '_>, scalars: &[Scalar]) -> Vec<Value> {
    if scalars.is_empty() {
        return Vec::new();
    }
    let first = c.e.slot(Slot::Scratch, SIZE * scalars.len() as u32);
    let zero = c.e.b.i64(0);
    let mut address = |index: usize| {
        let at = SIZE as i32 * index as i32;
        c.e.b.store(zero, first, at);
        if at == 0 { first } else { c.e.b.ptr_offset(first, at.into()) }
    };
    (0..scalars.len()).map(&mut address).collect()
}

/// Loads the only scalar that a function has written, in its C type.
pub(super) fn load(c: &mut Checker<'_, '_>, scalar: Scalar, addresses: &[Value]) -> Value {
    c.e.b.load(abi_type(scalar).ty, addresses[0], 0)
}

/// Makes the array of the scalars that a function has written, in `slot`, a `TVMFFIAny`.
pub(super) fn make_array(
    c: &mut Checker<'_, '_>,
    scalars: &[Scalar],
    addresses: &[Value],
    slot: Value,
) {
    let values = c.e.area(scalars.len());
    for (index, (&scalar, &address)) in scalars.iter().zip(addresses).enumerate() {
        let native = c.e.b.load(abi_type(scalar).ty, address, 0);
        let wide = widen(c, scalar, native);
        if scalar == Scalar::Uint64 {
            require_int64(c, wide);
        }
        let at = c.e.b.ptr_offset(values, i64::from(ANY.size) * index as i64);
        write_any(&mut c.e.b, at, result_index(scalar), wide);
    }
    packed::make_with(c, Routine::MakeArray, values, scalars.len(), slot);
}

/// Converts a scalar in its C type to `I64`, `F64` or `Ptr`. A `bool` is true unless its byte is 0.
pub(super) fn widen(c: &mut Checker<'_, '_>, scalar: Scalar, native: Value) -> Value {
    if scalar == Scalar::Bool {
        let truth = c.e.b.compare_const(Cond::Ne, native, 0);
        return c.e.b.widen_bool(truth, Type::I64);
    }
    c.e.widen(native, scalar)
}

/// Leaves with an error if a `uint64` of a result, an `I64`, is above the only integer type of the FFI.
pub(super) fn require_int64(c: &mut Checker<'_, '_>, value: Value) {
    let too_large = c.e.b.compare_const(Cond::Slt, value, 0);
    let next = c.e.b.enter_cold_if(too_large, "too_large");
    let raised = c.exits.fail_at(&mut c.e, &Failed::of(Complaint::ResultRange, ""), &[value]);
    c.e.exit(Some(raised));
    c.e.b.switch_to(next);
}
