//! Types, signatures and attributes.

use codegen::backend::{self, Facts, Side};
use codegen::ir;
use inkwell::AddressSpace;
use inkwell::attributes::{Attribute, AttributeLoc};
use inkwell::context::ContextRef;
use inkwell::module::Module;
use inkwell::types::{BasicType, BasicTypeEnum, FunctionType};
use inkwell::values::{CallSiteValue, FunctionValue, MetadataValue};

use crate::machine::Processor;

/// The types, attributes and facts of emission into one module, looked up once.
pub(crate) struct Types<'ctx> {
    pub(crate) context: ContextRef<'ctx>,
    pub(crate) attributes: Attributes,
    /// The facts of the module's target.
    pub(crate) facts: Facts,
    /// The attributes that name the processor.
    processor: Vec<Attribute>,
    weights: Weights<'ctx>,
}

/// The attributes that emission uses.
#[derive(Clone, Copy, Debug)]
pub(crate) struct Attributes {
    pub(crate) cold: Attribute,
    pub(crate) minsize: Attribute,
    pub(crate) noinline: Attribute,
    pub(crate) optnone: Attribute,
    /// The attribute by which frames above a page touch every page.
    pub(crate) probe: Attribute,
    /// The attribute by which a function has an unwind table, one that is exact at every instruction.
    pub(crate) table: Attribute,
    /// The attribute by which no code becomes a call of a C library's function.
    pub(crate) no_builtins: Attribute,
    pub(crate) signext: Attribute,
    pub(crate) zeroext: Attribute,
}

/// Branch weights: the metadata for a likely `then`, and for a likely `otherwise`.
struct Weights<'ctx> {
    kind: u32,
    then: MetadataValue<'ctx>,
    otherwise: MetadataValue<'ctx>,
}

impl<'ctx> Types<'ctx> {
    pub(crate) fn new(module: &Module<'ctx>, processor: Option<&Processor>) -> Self {
        let context = module.get_context();
        let triple = module.get_triple();
        let triple = triple.as_str().to_string_lossy();
        let processor = processor.into_iter().flat_map(Processor::attributes);
        let string = |(name, value): (&str, &str)| context.create_string_attribute(name, value);
        Types {
            context,
            processor: processor.map(string).collect(),
            attributes: Attributes::new(context),
            facts: Facts::of_text(&triple),
            weights: Weights::new(context),
        }
    }

    /// Returns the type of a value in a register.
    pub(crate) fn ty(&self, of: ir::Type) -> BasicTypeEnum<'ctx> {
        type_in(self.context, of)
    }

    /// Returns the type of a function. Extensions are attributes, not part of the type.
    pub(crate) fn signature(&self, source: &ir::Signature) -> FunctionType<'ctx> {
        signature_of(self.context, source, |abi| self.passed(abi))
    }

    /// Returns the type of a parameter or result.
    fn passed(&self, abi: ir::AbiType) -> BasicTypeEnum<'ctx> {
        if abi.extend == ir::Extend::BFloat16 && self.facts.halves_alike {
            return self.context.f16_type().into();
        }
        passed_in(self.context, abi)
    }

    /// Returns the type of a function that has `i1` for truth values, and `bfloat` for 16-bit floats of that type,
    /// wherever `own`, the type of an existing function, has them.
    pub(crate) fn like(
        &self,
        source: &ir::Signature,
        own: FunctionType<'ctx>,
    ) -> FunctionType<'ctx> {
        let truth: BasicTypeEnum<'ctx> = self.context.bool_type().into();
        let bfloat: BasicTypeEnum<'ctx> = self.context.bf16_type().into();
        let choose = |abi: &ir::AbiType, own: Option<BasicTypeEnum<'ctx>>| match own {
            Some(own) if abi.extend == ir::Extend::Truth && own == truth => own,
            Some(own) if abi.extend == ir::Extend::BFloat16 && own == bfloat => own,
            Some(_) | None => self.passed(*abi),
        };
        let types = own.get_param_types();
        let own_param = |i: usize| types.get(i).and_then(|&ty| BasicTypeEnum::try_from(ty).ok());
        let given = source.params.iter().enumerate();
        let given: Vec<_> = given.map(|(i, abi)| choose(abi, own_param(i)).into()).collect();
        match &source.result {
            Some(abi) => choose(abi, own.get_return_type()).fn_type(&given, false),
            None => self.context.void_type().fn_type(&given, false),
        }
    }

    /// Sets the attributes of a function that is defined here.
    pub(crate) fn describe(&self, function: FunctionValue<'ctx>, source: &ir::Function) {
        let attributes = &self.attributes;
        let mut add = |attribute| function.add_attribute(AttributeLoc::Function, attribute);
        add(attributes.table);
        if self.facts.probes {
            add(attributes.probe);
        }
        if backend::needs_no_builtins(source) {
            add(attributes.no_builtins);
        }
        self.processor.iter().copied().for_each(&mut add);
        if source.cold {
            attributes.of_cold().into_iter().for_each(&mut add);
        }
        let is_long = backend::is_long(source);
        if source.no_inline || is_long {
            add(attributes.noinline);
        }
        if is_long {
            add(attributes.optnone);
        }
        for (place, extend) in self.extensions(&source.signature, [Side::Receiver, Side::Sender]) {
            function.add_attribute(place, extend);
        }
    }

    /// Sets the extension attributes of an imported function.
    pub(crate) fn extend_import(&self, function: FunctionValue<'ctx>, source: &ir::Signature) {
        for (place, extend) in self.extensions(source, [Side::Sender, Side::Receiver]) {
            function.add_attribute(place, extend);
        }
    }

    /// Sets the extension attributes of a call.
    pub(crate) fn extend_call(&self, call: CallSiteValue<'ctx>, source: &ir::Signature) {
        for (place, extend) in self.extensions(source, [Side::Sender, Side::Receiver]) {
            call.add_attribute(place, extend);
        }
    }

    /// Returns the extension attributes and their places, for one side of the arguments and of the result.
    fn extensions(
        &self,
        source: &ir::Signature,
        [argument, result]: [Side; 2],
    ) -> impl Iterator<Item = (AttributeLoc, Attribute)> {
        let params = source.params.iter().enumerate();
        let params = params.map(move |(i, &abi)| {
            (AttributeLoc::Param(i as u32), self.facts.argument(abi, argument))
        });
        let result =
            source.result.map(|abi| (AttributeLoc::Return, self.facts.result(abi, result)));
        params.chain(result).filter_map(|(place, extend)| Some((place, self.extension(extend)?)))
    }

    fn extension(&self, extend: ir::Extend) -> Option<Attribute> {
        match extend {
            ir::Extend::No | ir::Extend::Float16 | ir::Extend::BFloat16 => None,
            ir::Extend::Sign => Some(self.attributes.signext),
            ir::Extend::Zero | ir::Extend::Truth => Some(self.attributes.zeroext),
        }
    }

    /// Returns the branch weights, as metadata kind and value; cold edges are unlikely.
    pub(crate) fn weights(
        &self,
        then: bool,
        otherwise: bool,
    ) -> Option<(u32, MetadataValue<'ctx>)> {
        match (then, otherwise) {
            (true, false) => Some((self.weights.kind, self.weights.otherwise)),
            (false, true) => Some((self.weights.kind, self.weights.then)),
            (true, true) | (false, false) => None,
        }
    }
}

impl Attributes {
    pub(crate) fn new(context: ContextRef<'_>) -> Self {
        /// The kind of table that is exact at every instruction.
        const EXACT: u64 = 2;
        let valued = |name, value| {
            let kind = Attribute::get_named_enum_kind_id(name);
            context.create_enum_attribute(kind, value)
        };
        let flag = |name| valued(name, 0);
        Attributes {
            cold: flag("cold"),
            minsize: flag("minsize"),
            noinline: flag("noinline"),
            optnone: flag("optnone"),
            no_builtins: context.create_string_attribute("no-builtins", ""),
            table: valued("uwtable", EXACT),
            probe: context.create_string_attribute("probe-stack", "inline-asm"),
            signext: flag("signext"),
            zeroext: flag("zeroext"),
        }
    }

    /// Returns the attributes of cold functions.
    pub(crate) fn of_cold(&self) -> [Attribute; 3] {
        [self.cold, self.minsize, self.noinline]
    }
}

impl<'ctx> Weights<'ctx> {
    /// Returns weights as clang's for `__builtin_expect`.
    fn new(context: ContextRef<'ctx>) -> Self {
        let weight = |weight| context.i32_type().const_int(weight, false).into();
        let node = |then, otherwise| {
            let name = context.metadata_string("branch_weights").into();
            context.metadata_node(&[name, weight(then), weight(otherwise)])
        };
        Weights {
            kind: context.get_kind_id("prof"),
            then: node(LIKELY, UNLIKELY),
            otherwise: node(UNLIKELY, LIKELY),
        }
    }
}

/// Removes all attributes of a function, of its result and of its parameters.
pub(crate) fn clear_attributes(function: FunctionValue<'_>) {
    let params = (0..function.count_params()).map(AttributeLoc::Param);
    for place in params.chain([AttributeLoc::Return, AttributeLoc::Function]) {
        let texts = function.attributes(place).into_iter().filter(|one| one.is_string());
        for text in texts {
            let name = text.get_string_kind_id().to_string_lossy();
            function.remove_string_attribute(place, &name);
        }
        for kind in 1..=Attribute::get_last_enum_kind_id() {
            function.remove_enum_attribute(place, kind);
        }
    }
}

const LIKELY: u64 = 2000;
const UNLIKELY: u64 = 1;

/// Returns the type of a value in a register.
fn type_in(context: ContextRef<'_>, ty: ir::Type) -> BasicTypeEnum<'_> {
    match ty {
        ir::Type::Bool => context.bool_type().into(),
        ir::Type::I8 => context.i8_type().into(),
        ir::Type::I16 => context.i16_type().into(),
        ir::Type::I32 => context.i32_type().into(),
        ir::Type::I64 => context.i64_type().into(),
        ir::Type::F32 => context.f32_type().into(),
        ir::Type::F64 => context.f64_type().into(),
        ir::Type::Ptr => context.ptr_type(AddressSpace::default()).into(),
    }
}

/// Returns the type of a parameter or result. LLVM has types for 16-bit floats.
fn passed_in(context: ContextRef<'_>, abi: ir::AbiType) -> BasicTypeEnum<'_> {
    match abi.extend {
        ir::Extend::No | ir::Extend::Sign | ir::Extend::Zero | ir::Extend::Truth => {
            type_in(context, abi.ty)
        }
        ir::Extend::Float16 => context.f16_type().into(),
        ir::Extend::BFloat16 => context.bf16_type().into(),
    }
}

/// Returns the type of a function in a context.
pub(crate) fn signature_in<'ctx>(
    context: ContextRef<'ctx>,
    source: &ir::Signature,
) -> FunctionType<'ctx> {
    signature_of(context, source, |abi| passed_in(context, abi))
}

/// Returns the type of a function whose parameters and result are passed as `passed` says.
fn signature_of<'ctx>(
    context: ContextRef<'ctx>,
    source: &ir::Signature,
    passed: impl Fn(ir::AbiType) -> BasicTypeEnum<'ctx>,
) -> FunctionType<'ctx> {
    let params: Vec<_> = source.params.iter().map(|&abi| passed(abi).into()).collect();
    match source.result {
        Some(abi) => passed(abi).fn_type(&params, false),
        None => context.void_type().fn_type(&params, false),
    }
}
