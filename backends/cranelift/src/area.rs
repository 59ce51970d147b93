//! Areas in memory by which functions that preserve all registers of their callers get their arguments and hand on
//! their result.
//!
//! Calls of them stand in cold blocks only. A value of the hot path that is live across an ordinary call there takes a
//! register that callees save, so that the hot path saves that register first and restores it at its end. Cranelift's
//! convention `preserve_all` saves all registers in the callee instead, but has no results; and arguments in registers
//! would make the hot path move values away from those. So a caller has one area in its frame, of 8 bytes for each
//! argument: the callee reads them there and writes its result into the first. Even the address of the area travels in
//! a floating-point register, of which the hot path uses few.

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

impl Body<'_> {
    /// Reads the parameters of the function from its area, whose address is the parameter of its first block. Returns
    /// the address.
    pub(crate) fn read_area(&mut self, given: Value, params: &[ir::Value]) -> Value {
        let area = self.ins().bitcast(types::POINTER, MemFlagsData::new(), given);
        for (index, param) in params.iter().enumerate() {
            let of = ty(self.source.ty(*param));
            let value = self.ins().load(of, MemFlagsData::trusted(), area, offset(index));
            self.values[param.index()] = value;
        }
        area
    }

    /// Returns from the function, which has an area, with its result.
    pub(crate) fn leave_area(&mut self, area: Value, result: Option<Value>) {
        if let Some(result) = result {
            self.ins().store(MemFlagsData::trusted(), result, area, 0);
        }
        self.ins().return_(&[]);
    }

    /// Calls a function that has an area; returns its result.
    pub(crate) fn call_by_area(
        &mut self,
        callee: FuncRef,
        args: &[ir::Value],
        result: Option<ir::Type>,
    ) -> Option<Value> {
        let args = self.list(args);
        let slot = slot(self.cursor.func, &mut self.area, args.len());
        let area = self.ins().stack_addr(types::POINTER, slot, 0);
        for (index, arg) in args.into_iter().enumerate() {
            self.ins().store(MemFlagsData::trusted(), arg, area, offset(index));
        }
        let passed = self.ins().bitcast(types::AREA, MemFlagsData::new(), area);
        self.ins().call(callee, &[passed]);
        result.map(|of| self.ins().load(ty(of), MemFlagsData::trusted(), area, 0))
    }
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
