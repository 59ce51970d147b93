//! Operations of the `llvm` dialect as LLVM 22 spells them: names of attributes, operand segments, branch weights. No
//! other file of this crate depends on a spelling that a version of LLVM may change.

mod inst;
mod symbol;

use backend_llvm::object::Processor;
use codegen::backend::Facts;
use melior::Context;
use melior::dialect::llvm::attributes::{Linkage, linkage};
use melior::ir::attribute::{
    DenseI32ArrayAttribute, FlatSymbolRefAttribute, FloatAttribute, IntegerAttribute,
    StringAttribute, TypeAttribute,
};
use melior::ir::operation::OperationBuilder;
use melior::ir::{Attribute, Block, Identifier, Location, Operation, Type, Value};

use crate::types::Types;

pub(crate) use inst::{FCMP, ICMP, Reference};
pub(crate) use symbol::{
    ARG_ATTRS, CONVENTION, FUNC, GLOBAL, RES_ATTRS, SIGNEXT, ZEROEXT, is_defined,
    is_of_declaration, is_variable, name,
};

/// A named attribute.
pub(crate) type Named<'c> = (Identifier<'c>, Attribute<'c>);

/// A builder of operations, with types and attributes looked up once per module.
#[derive(Clone, Copy, Debug)]
pub(crate) struct Ops<'c> {
    pub(crate) context: &'c Context,
    pub(crate) types: Types<'c>,
    /// The facts of the module's target.
    pub(crate) facts: Facts,
    /// The location of operations, which diagnostics print.
    location: Location<'c>,
    names: OpNames<'c>,
    unit: Attribute<'c>,
    /// The alignments 1 to 16, by their logarithm.
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
    once: Attribute<'c>,
    weak: Attribute<'c>,
    common: Attribute<'c>,
    /// The attributes that name the processor.
    processor: [Option<(&'static str, Attribute<'c>)>; 2],
}

/// Parses an attribute of the `llvm` dialect.
pub(crate) fn parse<'c>(context: &'c Context, text: &str) -> Attribute<'c> {
    Attribute::parse(context, text).expect("an attribute of the dialect, which is loaded")
}

/// The names of attributes.
#[derive(Clone, Copy, Debug)]
struct OpNames<'c> {
    alignment: Identifier<'c>,
    arg_attrs: Identifier<'c>,
    branch_weights: Identifier<'c>,
    callee: Identifier<'c>,
    convention: Identifier<'c>,
    elem_type: Identifier<'c>,
    function_type: Identifier<'c>,
    global_name: Identifier<'c>,
    global_type: Identifier<'c>,
    intrin: Identifier<'c>,
    linkage: Identifier<'c>,
    op_bundle_sizes: Identifier<'c>,
    operand_segment_sizes: Identifier<'c>,
    ordering: Identifier<'c>,
    position: Identifier<'c>,
    predicate: Identifier<'c>,
    raw_constant_indices: Identifier<'c>,
    res_attrs: Identifier<'c>,
    sym_name: Identifier<'c>,
    value: Identifier<'c>,
}

impl<'c> OpNames<'c> {
    fn new(context: &'c Context) -> Self {
        let id = |name| Identifier::new(context, name);
        OpNames {
            alignment: id("alignment"),
            arg_attrs: id(ARG_ATTRS),
            branch_weights: id("branch_weights"),
            callee: id("callee"),
            convention: id(CONVENTION),
            elem_type: id("elem_type"),
            function_type: id("function_type"),
            global_name: id("global_name"),
            global_type: id("global_type"),
            intrin: id("intrin"),
            linkage: id(symbol::LINKAGE),
            op_bundle_sizes: id("op_bundle_sizes"),
            operand_segment_sizes: id("operandSegmentSizes"),
            ordering: id("ordering"),
            position: id("position"),
            predicate: id("predicate"),
            raw_constant_indices: id("rawConstantIndices"),
            res_attrs: id(RES_ATTRS),
            sym_name: id("sym_name"),
            value: id("value"),
        }
    }
}

impl<'c> Ops<'c> {
    /// Returns a builder; the `llvm` dialect must be loaded.
    pub(crate) fn new(context: &'c Context, triple: &str) -> Self {
        let facts = Facts::of_text(triple);
        let types = Types::new(context, &facts);
        let alignment = |bytes| IntegerAttribute::new(types.i64, bytes).into();
        Ops {
            context,
            types,
            facts,
            location: Location::unknown(context),
            names: OpNames::new(context),
            unit: Attribute::unit(context),
            alignments: [1, 2, 4, 8, 16].map(alignment),
            byte: TypeAttribute::new(types.i8).into(),
            no_sizes: DenseI32ArrayAttribute::new(context, &[]).into(),
            dynamic_index: DenseI32ArrayAttribute::new(context, &[i32::MIN]).into(),
            external: linkage(context, Linkage::External),
            internal: linkage(context, Linkage::Internal),
            private: linkage(context, Linkage::Private),
            once: parse(context, "#llvm.linkage<linkonce_odr>"),
            weak: linkage(context, Linkage::Weak),
            common: linkage(context, Linkage::Common),
            processor: [None; 2],
        }
    }

    /// Returns a builder of functions for a processor.
    pub(crate) fn with_processor(self, processor: Option<&Processor>) -> Self {
        let Some(Processor { cpu, features }) = processor else { return self };
        let list: Vec<String> =
            features.split(',').map(|feature| format!("\"{feature}\"")).collect();
        let list = format!("#llvm.target_features<[{}]>", list.join(", "));
        let list = (!features.is_empty()).then(|| ("target_features", parse(self.context, &list)));
        Ops { processor: [Some(("target_cpu", self.string(cpu))), list], ..self }
    }

    /// Returns a builder of operations whose location has a name too.
    pub(crate) fn at(&self, name: &str) -> Self {
        self.placed(Location::name(self.context, name, self.location))
    }

    /// Returns a builder of operations at a location.
    pub(crate) fn placed(&self, location: Location<'c>) -> Self {
        Ops { location, ..*self }
    }

    /// Returns an operation without regions or successors.
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

    /// Returns an empty block; its parameters have types and perhaps names.
    pub(crate) fn block<'n>(
        &self,
        params: impl Iterator<Item = (Type<'c>, Option<&'n str>)>,
    ) -> Block<'c> {
        let location =
            |name: Option<&str>| name.map_or(self.location, |name| self.at(name).location);
        let params: Vec<_> = params.map(|(ty, name)| (ty, location(name))).collect();
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

    pub(crate) fn string(&self, text: &str) -> Attribute<'c> {
        StringAttribute::new(self.context, text).into()
    }

    /// Returns a reference to a symbol.
    pub(crate) fn symbol(&self, name: &str) -> Attribute<'c> {
        FlatSymbolRefAttribute::new(self.context, name).into()
    }
}

/// Builds an operation. Only operations that infer their results could fail.
fn build(builder: OperationBuilder<'_>) -> Operation<'_> {
    builder.build().expect("an operation with explicit results")
}
