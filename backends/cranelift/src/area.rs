//! Areas in memory by which functions that preserve all registers of their callers get their arguments and hand on their
//! result.
//!
//! Only cold blocks call them. A value of the hot path that is live across an ordinary call there takes a register that
//! callees save, so that the hot path saves that register first and restores it at its end. Cranelift's convention
//! `preserve_all` saves all registers in the callee instead, but has no results; and arguments in registers would make the
//! hot path move values away from those. So a caller has one area in its frame, of 8 bytes for each argument: the callee
//! reads them there and writes its result into the first. Even the address of the area travels in a floating-point register,
//! of which the hot path uses few.

use codegen::ir;
use cranelift_codegen::ir::{
    FuncRef, Function, InstBuilder, MemFlagsData, StackSlot, StackSlotData, StackSlotKind, Value,
};

use crate::function::Body;
use crate::types::{self, ty};

/// The size of a value in an area, in bytes, and the base-2 logarithm of its alignment.
const WORD: u32 = 8;
const SHIFT: u8 = 3;

/// Returns the offset of an argument.
fn offset(index: usize) -> i32 {
    index as i32 * WORD as i32
}

/// Reads the parameters of a function from its area, whose address is the parameter of its first block. Returns the
/// address.
pub(crate) fn read(body: &mut Body<'_>, given: Value, params: &[ir::Value]) -> Value {
    let area = body.ins().bitcast(types::POINTER, MemFlagsData::new(), given);
    for (index, param) in params.iter().enumerate() {
        let of = ty(body.source.ty(*param));
        let value = body.ins().load(of, MemFlagsData::trusted(), area, offset(index));
        body.values[param.index()] = value;
    }
    area
}

/// Returns from a function that has an area, with its result.
pub(crate) fn leave(body: &mut Body<'_>, area: Value, result: Option<Value>) {
    if let Some(result) = result {
        body.ins().store(MemFlagsData::trusted(), result, area, 0);
    }
    body.ins().return_(&[]);
}

/// Calls a function that has an area; returns its result.
pub(crate) fn call(
    body: &mut Body<'_>,
    callee: FuncRef,
    args: &[ir::Value],
    result: Option<ir::Type>,
) -> Option<Value> {
    let args = body.list(args);
    let slot = slot(body.cursor.func, &mut body.area, args.len());
    let area = body.ins().stack_addr(types::POINTER, slot, 0);
    for (index, arg) in args.into_iter().enumerate() {
        body.ins().store(MemFlagsData::trusted(), arg, area, offset(index));
    }
    let passed = body.ins().bitcast(types::AREA, MemFlagsData::new(), area);
    body.ins().call(callee, &[passed]);
    result.map(|of| body.ins().load(ty(of), MemFlagsData::trusted(), area, 0))
}

/// Returns the area of a caller, with room for so many arguments and a result.
fn slot(func: &mut Function, area: &mut Option<StackSlot>, count: usize) -> StackSlot {
    let size = count.max(1) as u32 * WORD;
    match *area {
        Some(slot) => {
            let data = &mut func.sized_stack_slots[slot];
            data.size = data.size.max(size);
            slot
        }
        None => {
            let data = StackSlotData::new(StackSlotKind::ExplicitSlot, size, SHIFT);
            *area.insert(func.create_sized_stack_slot(data))
        }
    }
}
