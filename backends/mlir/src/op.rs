//! Operations of the `llvm` dialect as LLVM 22 spells them: names of attributes, operand segments,
//! branch weights. Nothing else in this crate knows a spelling that a version of LLVM may change.

mod symbol;

use codegen::ir;
use melior::Context;
use melior::dialect::llvm::attributes::{Linkage, linkage};
use melior::dialect::llvm::r#type::array;
use melior::ir::attribute::{
    DenseI32ArrayAttribute, FlatSymbolRefAttribute, FloatAttribute, IntegerAttribute,
    StringAttribute, TypeAttribute,
};
use melior::ir::operation::OperationBuilder;
use melior::ir::{Attribute, Block, Identifier, Location, Operation, Type, Value};

use crate::symbols::Reference;
use crate::types::{Types, has_large};

pub(crate) use symbol::{ARG_ATTRS, CONVENTION, FUNC, GLOBAL, LINKAGE, RES_ATTRS};

/// A named attribute.
pub(crate) type Named<'c> = (Identifier<'c>, Attribute<'c>);

/// A comparison of integers or pointers.
pub(crate) const ICMP: &str = "llvm.icmp";
/// A comparison of floats.
pub(crate) const FCMP: &str = "llvm.fcmp";

/// How likely an edge into a cold block is, against the other edge.
const UNLIKELY: [i32; 2] = [1, 2000];

/// What building operations needs, looked up once per module.
#[derive(Clone, Copy, Debug)]
pub(crate) struct Ops<'c> {
    pub(crate) context: &'c Context,
    pub(crate) types: Types<'c>,
    /// The target is riscv64.
    pub(crate) riscv: bool,
    /// There is a section for constants that are out of the reach of code.
    pub(crate) large: bool,
    /// What diagnostics call the code being emitted.
    location: Location<'c>,
    names: Names<'c>,
    unit: Attribute<'c>,
    /// Alignments by their logarithm.
    alignments: [Attribute<'c>; 5],
    /// `i8`.
    byte: Attribute<'c>,
    /// `array<i32>`.
    no_sizes: Attribute<'c>,
    /// `array<i32: -2147483648>`: one index, which is an operand.
    dynamic_index: Attribute<'c>,
    external: Attribute<'c>,
    internal: Attribute<'c>,
    private: Attribute<'c>,
}

/// Names of attributes.
#[derive(Clone, Copy, Debug)]
struct Names<'c> {
    alignment: Identifier<'c>,
    arg_attrs: Identifier<'c>,
    branch_weights: Identifier<'c>,
    callee: Identifier<'c>,
    convention: Identifier<'c>,
    elem_type: Identifier<'c>,
    function_type: Identifier<'c>,
    global_name: Identifier<'c>,
    global_type: Identifier<'c>,
    linkage: Identifier<'c>,
    op_bundle_sizes: Identifier<'c>,
    operand_segment_sizes: Identifier<'c>,
    predicate: Identifier<'c>,
    raw_constant_indices: Identifier<'c>,
    res_attrs: Identifier<'c>,
    sym_name: Identifier<'c>,
    value: Identifier<'c>,
}

impl<'c> Names<'c> {
    fn new(context: &'c Context) -> Self {
        let id = |name| Identifier::new(context, name);
        Names {
            alignment: id("alignment"),
            arg_attrs: id(ARG_ATTRS),
            branch_weights: id("branch_weights"),
            callee: id("callee"),
            convention: id(CONVENTION),
            elem_type: id("elem_type"),
            function_type: id("function_type"),
            global_name: id("global_name"),
            global_type: id("global_type"),
            linkage: id(LINKAGE),
            op_bundle_sizes: id("op_bundle_sizes"),
            operand_segment_sizes: id("operandSegmentSizes"),
            predicate: id("predicate"),
            raw_constant_indices: id("rawConstantIndices"),
            res_attrs: id(RES_ATTRS),
            sym_name: id("sym_name"),
            value: id("value"),
        }
    }
}

impl<'c> Ops<'c> {
    /// The `llvm` dialect must be loaded.
    pub(crate) fn new(context: &'c Context, triple: &str) -> Self {
        let types = Types::new(context);
        let alignment = |bytes| IntegerAttribute::new(types.i64, bytes).into();
        Ops {
            context,
            types,
            riscv: triple.starts_with("riscv64"),
            large: has_large(triple),
            location: Location::unknown(context),
            names: Names::new(context),
            unit: Attribute::unit(context),
            alignments: [1, 2, 4, 8, 16].map(alignment),
            byte: TypeAttribute::new(types.i8).into(),
            no_sizes: DenseI32ArrayAttribute::new(context, &[]).into(),
            dynamic_index: DenseI32ArrayAttribute::new(context, &[i32::MIN]).into(),
            external: linkage(context, Linkage::External),
            internal: linkage(context, Linkage::Internal),
            private: linkage(context, Linkage::Private),
        }
    }

    /// The same, for code that diagnostics call `name`.
    pub(crate) fn at(&self, name: &str) -> Self {
        let location = Location::name(self.context, name, Location::unknown(self.context));
        Ops { location, ..*self }
    }

    /// An operation without regions or successors.
    pub(crate) fn op(
        &self,
        name: &str,
        operands: &[Value<'c, '_>],
        results: &[Type<'c>],
        attributes: &[Named<'c>],
    ) -> Operation<'c> {
        build(self.start(name, operands, attributes).add_results(results))
    }

    fn start(
        &self,
        name: &str,
        operands: &[Value<'c, '_>],
        attributes: &[Named<'c>],
    ) -> OperationBuilder<'c> {
        OperationBuilder::new(name, self.location).add_operands(operands).add_attributes(attributes)
    }

    /// An empty block.
    pub(crate) fn block(&self, params: impl Iterator<Item = Type<'c>>) -> Block<'c> {
        let params: Vec<_> = params.map(|ty| (ty, self.location)).collect();
        Block::new(&params)
    }

    pub(crate) fn integer(&self, ty: Type<'c>, value: i64) -> Attribute<'c> {
        IntegerAttribute::new(ty, value).into()
    }

    pub(crate) fn float(&self, ty: Type<'c>, value: f64) -> Attribute<'c> {
        FloatAttribute::new(self.context, ty, value).into()
    }

    fn alignment(&self, bytes: u32) -> Named<'c> {
        let known = self.alignments.get(bytes.trailing_zeros() as usize).copied();
        let value = known.unwrap_or_else(|| self.integer(self.types.i64, i64::from(bytes)));
        (self.names.alignment, value)
    }

    fn string(&self, text: &str) -> Attribute<'c> {
        StringAttribute::new(self.context, text).into()
    }

    /// How operations refer to a symbol.
    pub(crate) fn symbol(&self, name: &str) -> Attribute<'c> {
        FlatSymbolRefAttribute::new(self.context, name).into()
    }

    pub(crate) fn constant(&self, ty: Type<'c>, value: Attribute<'c>) -> Operation<'c> {
        self.op("llvm.mlir.constant", &[], &[ty], &[(self.names.value, value)])
    }

    pub(crate) fn address_of(&self, symbol: Attribute<'c>) -> Operation<'c> {
        let name = (self.names.global_name, symbol);
        self.op("llvm.mlir.addressof", &[], &[self.types.ptr], &[name])
    }

    /// `size` bytes; `one` is a constant 1.
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

    /// `base + offset` for a constant in bytes; not `i32::MIN`, which stands for an operand.
    pub(crate) fn offset(&self, base: Value<'c, '_>, offset: i32) -> Operation<'c> {
        let index = DenseI32ArrayAttribute::new(self.context, &[offset]).into();
        self.element_pointer(&[base], index)
    }

    /// `base + offset` for an `i64` in bytes.
    pub(crate) fn ptr_add(&self, base: Value<'c, '_>, offset: Value<'c, '_>) -> Operation<'c> {
        self.element_pointer(&[base, offset], self.dynamic_index)
    }

    fn element_pointer(&self, operands: &[Value<'c, '_>], index: Attribute<'c>) -> Operation<'c> {
        let byte = (self.names.elem_type, self.byte);
        let index = (self.names.raw_constant_indices, index);
        self.op("llvm.getelementptr", operands, &[self.types.ptr], &[byte, index])
    }

    /// `llvm.icmp` or `llvm.fcmp`; `predicate` is the number of its enumeration.
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

    /// A call of `callee`, or of the first operand.
    pub(crate) fn call(
        &self,
        callee: Option<&Reference<'c>>,
        signature: &ir::Signature,
        operands: &[Value<'c, '_>],
    ) -> Operation<'c> {
        let result = signature.result.map(|abi| self.types.ty(abi.ty));
        let mut attributes = vec![
            (self.names.operand_segment_sizes, self.sizes(&[operands.len(), 0])),
            (self.names.op_bundle_sizes, self.no_sizes),
        ];
        attributes.extend(callee.map(|callee| (self.names.callee, callee.name)));
        let convention = callee.and_then(|callee| callee.convention);
        attributes.extend(convention.map(|convention| (self.names.convention, convention)));
        let extends = callee.is_none_or(|callee| callee.extends);
        attributes.extend(self.named_extensions(signature, extends));
        self.op("llvm.call", operands, result.as_slice(), &attributes)
    }

    fn sizes(&self, sizes: &[usize]) -> Attribute<'c> {
        let sizes: Vec<i32> = sizes.iter().map(|&size| size as i32).collect();
        DenseI32ArrayAttribute::new(self.context, &sizes).into()
    }

    pub(crate) fn br(&self, block: &Block<'c>, args: &[Value<'c, '_>]) -> Operation<'c> {
        build(self.start("llvm.br", args, &[]).add_successors(&[block]))
    }

    /// `operands` are the condition, then the arguments of both blocks.
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

/// Building fails only where an operation must infer its results, which none of ours does.
fn build(builder: OperationBuilder<'_>) -> Operation<'_> {
    builder.build().expect("an operation with explicit results")
}
