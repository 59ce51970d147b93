//! Operations in the bodies of functions.

use codegen::backend::Side;
use codegen::ir;
use melior::dialect::llvm::r#type::{array, r#struct};
use melior::ir::attribute::{DenseI32ArrayAttribute, DenseI64ArrayAttribute, TypeAttribute};
use melior::ir::{Attribute, Block, Identifier, Operation, Type, Value, ValueLike};

use super::{Named, Ops, build};
use crate::raw;

/// A comparison of integers or pointers.
pub(crate) const ICMP: &str = "llvm.icmp";
/// A comparison of floats.
pub(crate) const FCMP: &str = "llvm.fcmp";

/// The weights of an edge into a cold block and of the other edge.
const UNLIKELY: [i32; 2] = [1, 2000];

/// The orderings of atomic accesses by their numbers in `AtomicOrdering`.
const ACQUIRE: i64 = 4;
const RELEASE: i64 = 5;
const ACQUIRE_RELEASE: i64 = 6;

/// The reference of code to a symbol.
#[derive(Clone, Copy, Debug)]
pub(crate) struct Reference<'c> {
    /// The name of the symbol or of its alias.
    pub(crate) name: Attribute<'c>,
    /// True for an alias: the dialect calls aliases only through their address.
    pub(crate) alias: bool,
    /// The calling convention, if the caller's module has the function.
    pub(crate) convention: Option<Attribute<'c>>,
    /// The type in the caller's module, if it differs: truth values may be `i1` there.
    pub(crate) function: Option<Type<'c>>,
}

impl<'c> Ops<'c> {
    pub(crate) fn constant(&self, ty: Type<'c>, value: Attribute<'c>) -> Operation<'c> {
        self.op("llvm.mlir.constant", &[], &[ty], &[(self.names.value, value)])
    }

    pub(crate) fn address_of(&self, symbol: Attribute<'c>) -> Operation<'c> {
        let name = (self.names.global_name, symbol);
        self.op("llvm.mlir.addressof", &[], &[self.types.ptr], &[name])
    }

    /// Allocates `size` bytes; `one` is a constant 1.
    pub(crate) fn alloca(&self, one: Value<'c, '_>, size: u32, align: u32) -> Operation<'c> {
        let bytes = array(self.types.i8, size);
        let ty = (self.names.elem_type, TypeAttribute::new(bytes).into());
        self.op("llvm.alloca", &[one], &[self.types.ptr], &[ty, self.alignment(align)])
    }

    pub(crate) fn load(&self, ty: Type<'c>, address: Value<'c, '_>, align: u32) -> Operation<'c> {
        self.op("llvm.load", &[address], &[ty], &[self.alignment(align)])
    }

    pub(crate) fn store(
        &self,
        value: Value<'c, '_>,
        address: Value<'c, '_>,
        align: u32,
    ) -> Operation<'c> {
        self.op("llvm.store", &[value, address], &[], &[self.alignment(align)])
    }

    pub(crate) fn atomic_load(
        &self,
        ty: Type<'c>,
        address: Value<'c, '_>,
        align: u32,
    ) -> Operation<'c> {
        let ordering = (self.names.ordering, self.integer(self.types.i64, ACQUIRE));
        self.op("llvm.load", &[address], &[ty], &[self.alignment(align), ordering])
    }

    pub(crate) fn atomic_store(
        &self,
        value: Value<'c, '_>,
        address: Value<'c, '_>,
        align: u32,
    ) -> Operation<'c> {
        let ordering = (self.names.ordering, self.integer(self.types.i64, RELEASE));
        self.op("llvm.store", &[value, address], &[], &[self.alignment(align), ordering])
    }

    /// Exchanges a value; yields the old value, and whether it was the expected one.
    pub(crate) fn compare_exchange(
        &self,
        ty: Type<'c>,
        operands: [Value<'c, '_>; 3],
    ) -> Operation<'c> {
        let ordering = |name, value| {
            (Identifier::new(self.context, name), self.integer(self.types.i64, value))
        };
        let orderings =
            [ordering("success_ordering", ACQUIRE_RELEASE), ordering("failure_ordering", ACQUIRE)];
        let result = r#struct(self.context, &[ty, self.types.i1], false);
        self.op("llvm.cmpxchg", &operands, &[result], &orderings)
    }

    /// Computes a value and a truth.
    pub(crate) fn with_flag(
        &self,
        name: &str,
        ty: Type<'c>,
        operands: [Value<'c, '_>; 2],
    ) -> Operation<'c> {
        let result = r#struct(self.context, &[ty, self.types.i1], false);
        self.op(name, &operands, &[result], &[])
    }

    /// Extracts an element of a structure.
    pub(crate) fn extract(
        &self,
        ty: Type<'c>,
        structure: Value<'c, '_>,
        position: i64,
    ) -> Operation<'c> {
        self.op("llvm.extractvalue", &[structure], &[ty], &[self.position(position)])
    }

    /// Replaces an element of a structure.
    pub(crate) fn insert(
        &self,
        ty: Type<'c>,
        structure: Value<'c, '_>,
        part: Value<'c, '_>,
        position: i64,
    ) -> Operation<'c> {
        self.op("llvm.insertvalue", &[structure, part], &[ty], &[self.position(position)])
    }

    fn position(&self, position: i64) -> Named<'c> {
        (self.names.position, DenseI64ArrayAttribute::new(self.context, &[position]).into())
    }

    /// Computes `base + offset` for a constant byte offset except `i32::MIN`, which means an operand.
    pub(crate) fn offset(&self, base: Value<'c, '_>, offset: i32) -> Operation<'c> {
        let index = DenseI32ArrayAttribute::new(self.context, &[offset]).into();
        self.element_pointer(&[base], index)
    }

    /// Computes `base + offset` for a byte offset of type `i64`.
    pub(crate) fn ptr_add(&self, base: Value<'c, '_>, offset: Value<'c, '_>) -> Operation<'c> {
        self.element_pointer(&[base, offset], self.dynamic_index)
    }

    fn element_pointer(&self, operands: &[Value<'c, '_>], index: Attribute<'c>) -> Operation<'c> {
        let byte = (self.names.elem_type, self.byte);
        let index = (self.names.raw_constant_indices, index);
        self.op("llvm.getelementptr", operands, &[self.types.ptr], &[byte, index])
    }

    /// Compares by `llvm.icmp` or `llvm.fcmp`; `predicate` is a number of the enumeration of its predicates.
    pub(crate) fn compare(
        &self,
        name: &str,
        predicate: i64,
        lhs: Value<'c, '_>,
        rhs: Value<'c, '_>,
    ) -> Operation<'c> {
        let predicate = (self.names.predicate, self.integer(self.types.i64, predicate));
        self.op(name, &[lhs, rhs], &[self.types.i1], &[predicate])
    }

    /// Calls `callee`, or without a callee the first operand.
    pub(crate) fn call(
        &self,
        callee: Option<&Reference<'c>>,
        signature: &ir::Signature,
        operands: &[Value<'c, '_>],
    ) -> Operation<'c> {
        let function = callee.and_then(|callee| callee.function);
        let own = function.and_then(|function| raw::function_parts(self.context, function));
        let own = own.map(|(_, result)| result);
        let result = signature.result.map(|abi| own.unwrap_or(self.types.ty(abi.ty)));
        let mut attributes = vec![
            (self.names.operand_segment_sizes, self.sizes(&[operands.len(), 0])),
            (self.names.op_bundle_sizes, self.no_sizes),
        ];
        attributes.extend(callee.map(|callee| (self.names.callee, callee.name)));
        let convention = callee.and_then(|callee| callee.convention);
        attributes.extend(convention.map(|convention| (self.names.convention, convention)));
        attributes.extend(self.extensions(signature, [Side::Sender, Side::Receiver]));
        self.op("llvm.call", operands, result.as_slice(), &attributes)
    }

    /// Calls an intrinsic that returns a value of the type of its argument.
    pub(crate) fn intrinsic(&self, name: &str, argument: Value<'c, '_>) -> Operation<'c> {
        let attributes = [
            (self.names.intrin, self.string(name)),
            (self.names.operand_segment_sizes, self.sizes(&[1, 0])),
            (self.names.op_bundle_sizes, self.no_sizes),
        ];
        self.op("llvm.call_intrinsic", &[argument], &[argument.r#type()], &attributes)
    }

    fn sizes(&self, sizes: &[usize]) -> Attribute<'c> {
        let sizes: Vec<i32> = sizes.iter().map(|&size| size as i32).collect();
        DenseI32ArrayAttribute::new(self.context, &sizes).into()
    }

    pub(crate) fn br(&self, block: &Block<'c>, args: &[Value<'c, '_>]) -> Operation<'c> {
        build(self.start("llvm.br", args, &[]).add_successors(&[block]))
    }

    /// Branches; `operands` are the condition, then the arguments of both blocks.
    pub(crate) fn cond_br(
        &self,
        operands: &[Value<'c, '_>],
        blocks: [&Block<'c>; 2],
        args: [usize; 2],
        cold: [bool; 2],
    ) -> Operation<'c> {
        let sizes = (self.names.operand_segment_sizes, self.sizes(&[1, args[0], args[1]]));
        let weights = match cold {
            [true, false] => Some(UNLIKELY),
            [false, true] => Some([UNLIKELY[1], UNLIKELY[0]]),
            [true, true] | [false, false] => None,
        };
        let weights = weights.map(|weights| {
            let weights = DenseI32ArrayAttribute::new(self.context, &weights);
            (self.names.branch_weights, weights.into())
        });
        let start = self.start("llvm.cond_br", operands, &[sizes]);
        build(start.add_attributes(weights.as_slice()).add_successors(&blocks))
    }
}
