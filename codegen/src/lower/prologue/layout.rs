//! Compact strides and data of tensors. Usual tensors pass inline; a routine judges the others in a cold block.
//!
//! After the routine, extents and data are loaded again from the tensor: a value that is live across its call would
//! take a callee-saved register, which costs every call of the wrapper.

use abi_spec::layout::dl_tensor;

use crate::ir::{Binary, Block, Cond, Convert, Type, Value};
use crate::lower::check::Checks;
use crate::lower::emitter::state::{Origin, SymbolState};
use crate::lower::routines::Routine;
use crate::lower::wrapper::Wrapper;
use crate::resolve::ids::ValueId;

impl Wrapper<'_, '_> {
    /// Notes that a tensor must have compact strides, which are checked together with its data.
    pub(crate) fn compact(&mut self, value: ValueId) {
        let scalar = self.rank(value) == 0 && !self.function.any_rank(value);
        self.tensor_state(value).compact = !scalar;
    }

    /// Checks the data pointer of a tensor, its alignment and, if noted, its compact strides.
    pub(crate) fn data(&mut self, value: ValueId, align: u64) {
        if self.is_outlined(value) {
            self.settle(value, align);
            return;
        }
        if self.function.any_rank(value) && !self.trailing(value) {
            return self.data_of_any_rank(value, align);
        }
        let unusual = self.b.cold_block("unusual");
        let next = self.b.block("next");
        let hint = self.hint(value, "address", None);
        let known = self.b.block_param(next, Type::Ptr, hint);
        let mut found = vec![self.usual(value, align, unusual)];
        found.extend(self.extents_again(value, next));
        self.b.jump(next, &found);
        self.b.switch_to(unusual);
        let dl = self.settle(value, align);
        let found = self.read_again(value, dl);
        self.b.jump(next, &found);
        self.b.switch_to(next);
        self.remember(value, |state| state.address = Some(known));
    }

    /// Rebinds each symbol that equals an extent of a tensor to a new parameter of `next`. Returns the arguments for
    /// these parameters. Leaves symbols alone if the tensor is an element or may be absent.
    fn extents_again(&mut self, value: ValueId, next: Block) -> Vec<Value> {
        if !self.is_once(value) || !self.dominates_uses(value) {
            self.tensor_state(value).symbols.clear();
        }
        let mut before = Vec::new();
        for (dim, symbol) in self.tensor_state(value).symbols.clone() {
            let hint = self.hint(value, "shape", Some(dim));
            let param = self.b.block_param(next, Type::I64, hint);
            before.push(self.extent(value, dim));
            let origin = match self.symbols[symbol] {
                SymbolState::Bound(_, origin) => origin,
                SymbolState::Unbound | SymbolState::Maybe(..) => Origin::UNNAMED,
            };
            self.symbols[symbol] = SymbolState::Bound(param, origin);
            self.tensor_state(value).extents[dim] = Some(param);
        }
        before
    }

    /// Loads the address of the data and the extents of the rebound symbols from a tensor that the routine has
    /// accepted.
    fn read_again(&mut self, value: ValueId, dl: Value) -> Vec<Value> {
        let data = self.b.load(Type::Ptr, dl, dl_tensor::DATA.offset);
        let offset = self.b.load(Type::I64, dl, dl_tensor::BYTE_OFFSET.offset);
        let mut found = vec![self.b.ptr_add(data, offset)];
        let symbols = self.tensor_state(value).symbols.clone();
        if !symbols.is_empty() {
            let shape = self.declared_dims_of(value, dl, dl_tensor::SHAPE);
            let extents =
                symbols.iter().map(|(dim, _)| self.b.load(Type::I64, shape, 8 * *dim as i32));
            found.extend(extents);
        }
        found
    }

    /// Emits the call of the routine for a tensor of any rank.
    fn data_of_any_rank(&mut self, value: ValueId, align: u64) {
        let [some, next] = ["some", "next"].map(|label| self.b.block(label));
        let there = self.there(value);
        self.b.branch(there, some, next);
        self.b.switch_to(some);
        self.settle(value, align);
        self.b.jump(next, &[]);
        self.b.switch_to(next);
    }

    /// Branches to `unusual` unless the data pointer is not NULL, it is aligned, and the strides are compact; returns the
    /// address of the data.
    ///
    /// Extents that stay in registers are loaded before the first branch. One other load stands between any two
    /// branches; otherwise LLVM would merge the conditions.
    fn usual(&mut self, value: ValueId, align: u64, unusual: Block) -> Value {
        let checks = self.checks.or_go_to(unusual);
        let compact = self.tensor_state(value).compact;
        if compact && self.trailing(value) {
            // The routine judges the strides of a tensor that is not its own view.
            let (ndim, dims) = (self.ndim32(value), self.rank(value) as i64);
            checks.equal_const(&mut self.b, ndim, dims);
        }
        let extents = (1..self.rank(value)).filter(|_| compact);
        let extents: Vec<Value> = extents.map(|dim| self.extent(value, dim)).collect();
        let data = self.data_pointer(value);
        checks.non_null(&mut self.b, data);
        let address = self.address(value);
        if align > 1 {
            let word = self.b.convert(Convert::PtrToInt, address, Type::I64);
            checks.aligned(&mut self.b, word, align);
        }
        if compact {
            self.usual_strides(value, &extents, unusual);
        }
        address
    }

    /// Branches to `unusual` unless the strides are NULL or compact. `extents` are those of all dims but the first.
    fn usual_strides(&mut self, value: ValueId, extents: &[Value], unusual: Block) {
        let strides = self.field(value, Type::Ptr, dl_tensor::STRIDES.offset, "strides");
        let strides = self.or_zero(value, strides);
        let [some, done] = ["strides", "next"].map(|label| self.b.block(label));
        let absent = self.b.compare_const(Cond::Eq, strides, 0);
        self.b.branch(absent, done, some);
        self.b.switch_to(some);
        let checks = Checks { fail: unusual, mask: None, passed: false };
        let mut compact = None;
        for dim in (0..=extents.len()).rev() {
            let stride = self.b.load(Type::I64, strides, 8 * dim as i32);
            let hint = self.hint(value, "strides", Some(dim));
            self.b.hint(stride, hint);
            match compact {
                None => checks.equal_const(&mut self.b, stride, 1),
                Some(compact) => checks.equal(&mut self.b, stride, compact),
            }
            if let Some(&extent) = dim.checked_sub(1).map(|right| &extents[right]) {
                let product = compact.map(|compact| self.b.binary(Binary::Mul, compact, extent));
                compact = product.or(Some(extent));
            }
        }
        self.b.jump(done, &[]);
        self.b.switch_to(done);
    }

    /// Emits the call of the routine that judges data and strides. Leaves with an error if the routine refuses the
    /// tensor. Returns the `DLTensor*` that the routine returns.
    fn settle(&mut self, value: ValueId, align: u64) -> Value {
        let (dl, compact) = (self.dl(value), self.tensor_state(value).compact);
        let mask = self.b.i64(align as i64 - 1);
        let compact = self.b.i32(i32::from(compact));
        let settled = self.routine_value(Routine::Settle, &[dl, mask, compact]);
        let exit = self.layout_exit(value, settled);
        let word = self.b.convert(Convert::PtrToInt, settled, Type::I64);
        let refused = self.b.binary_const(Binary::And, word, 1);
        self.checks.or_go_to(exit).equal_const(&mut self.b, refused, 0);
        settled
    }
}
