//! Strides and data of tensors: what nearly all tensors pass is tested in line, what others may pass too is
//! left to a routine.

use crate::ir::{Binary, Cond, Convert, Type, Value};
use crate::lower::check::Checks;
use crate::lower::explain::routines::Routine;
use crate::lower::wrapper::Wrapper;
use crate::resolve::ids::ValueId;

impl Wrapper<'_, '_> {
    /// Strides equal to the compact ones pass at once; others may still be legal.
    pub(crate) fn compact(&mut self, value: ValueId) {
        let rank = self.rank(value);
        if self.is_outlined(value) || rank == 0 && !self.function.any_rank(value) {
            return;
        }
        let unusual = self.b.cold_block("unusual");
        self.tensor_state(value).unusual = Some(unusual);
        if self.function.any_rank(value) {
            return;
        }
        // Whatever is used after the checks is loaded before the first branch to what is unusual.
        self.address(value);
        let extents: Vec<Value> = (1..rank).map(|dim| self.extent(value, dim)).collect();
        let strides = self.strides_pointer(value);
        let strides = self.or_zero(value, strides);
        let [some, done] = ["strides", "next"].map(|label| self.b.block(label));
        let absent = self.b.compare_const(Cond::Eq, strides, 0);
        self.b.branch(absent, done, some);
        self.b.switch_to(some);
        let checks = Checks { fail: unusual, mask: None };
        let mut compact = self.b.i64(1);
        for dim in (0..rank).rev() {
            let stride = self.b.load(Type::I64, strides, 8 * dim as i32);
            let hint = self.hint(value, "strides", Some(dim));
            self.b.hint(stride, hint);
            checks.equal(&mut self.b, stride, compact);
            if dim > 0 {
                let extent = extents[dim - 1];
                let last = dim + 1 == rank;
                compact = if last { extent } else { self.b.binary(Binary::Mul, compact, extent) };
            }
        }
        self.b.jump(done, &[]);
        self.b.switch_to(done);
    }

    /// A data pointer that is not NULL passes at once; NULL is legal where there are no elements.
    pub(crate) fn data(&mut self, value: ValueId, align: u64) {
        if self.is_outlined(value) {
            return;
        }
        let data = self.data_pointer(value);
        let compact = self.tensor_state(value).unusual.take();
        let unusual = compact.unwrap_or_else(|| self.b.cold_block("unusual"));
        let next = self.b.block("next");
        if self.function.any_rank(value) {
            let there = self.there(value);
            self.b.branch(there, unusual, next);
        } else {
            let address = (align > 1).then(|| self.address(value));
            let checks = self.checks.or_go_to(unusual);
            checks.non_null(&mut self.b, data);
            if let Some(address) = address {
                let address = self.b.convert(Convert::PtrToInt, address, Type::I64);
                checks.aligned(&mut self.b, address, align);
            }
            self.b.jump(next, &[]);
        }
        self.b.switch_to(unusual);
        let settled = self.settled(value, align, compact.is_some());
        self.b.branch(settled, next, self.checks.fail);
        self.b.switch_to(next);
    }

    /// A `Bool`: the data of a tensor and, if so declared, its compact strides are legal.
    fn settled(&mut self, value: ValueId, align: u64, compact: bool) -> Value {
        let dl = self.tensor_state(value).dl;
        let mask = self.b.i64(align as i64 - 1);
        let compact = self.b.i32(i32::from(compact));
        let settled = self.routine_value(Routine::Settle, &[dl, mask, compact]);
        self.b.compare_const(Cond::Ne, settled, 0)
    }
}
