//! Types, signatures and attributes.

use codegen::ir;
use inkwell::AddressSpace;
use inkwell::attributes::{Attribute, AttributeLoc};
use inkwell::context::ContextRef;
use inkwell::module::Module;
use inkwell::types::{BasicType, BasicTypeEnum, FunctionType};
use inkwell::values::{CallSiteValue, FunctionValue, MetadataValue};

/// What emission into one module asks LLVM for once.
pub(crate) struct Types<'ctx> {
    pub(crate) context: ContextRef<'ctx>,
    pub(crate) attributes: Attributes,
    /// The C ABI of riscv64 keeps 32-bit integers sign-extended in registers.
    riscv: bool,
    /// Symbols are exported from a DLL only if they say so.
    pub(crate) coff: bool,
    /// There is a section for constants that are out of the reach of code.
    pub(crate) large: bool,
    weights: Weights<'ctx>,
}

/// The attributes that emission uses.
#[derive(Clone, Copy, Debug)]
pub(crate) struct Attributes {
    pub(crate) nounwind: Attribute,
    pub(crate) cold: [Attribute; 3],
    pub(crate) noinline: Attribute,
    pub(crate) optnone: Attribute,
    pub(crate) signext: Attribute,
    pub(crate) zeroext: Attribute,
}

/// How likely the edges of a branch are.
struct Weights<'ctx> {
    kind: u32,
    then: MetadataValue<'ctx>,
    otherwise: MetadataValue<'ctx>,
}

impl<'ctx> Types<'ctx> {
    pub(crate) fn new(module: &Module<'ctx>) -> Self {
        let context = module.get_context();
        let triple = module.get_triple();
        let triple = triple.as_str().to_string_lossy();
        Types {
            context,
            attributes: Attributes::new(context),
            riscv: triple.starts_with("riscv64"),
            coff: triple.contains("-windows"),
            large: has_large(&triple),
            weights: Weights::new(context),
        }
    }

    /// The type of a value in a register.
    pub(crate) fn ty(&self, of: ir::Type) -> BasicTypeEnum<'ctx> {
        ty(self.context, of)
    }

    /// The type of a function. Extension is an attribute, not part of it.
    pub(crate) fn signature(&self, source: &ir::Signature) -> FunctionType<'ctx> {
        signature(self.context, source)
    }

    /// The attribute of a parameter or result, if it has one.
    pub(crate) fn extension(&self, abi: ir::AbiType) -> Option<Attribute> {
        match abi.extend {
            ir::Extend::No if self.riscv && abi.ty == ir::Type::I32 => {
                Some(self.attributes.signext)
            }
            ir::Extend::No => None,
            ir::Extend::Sign => Some(self.attributes.signext),
            ir::Extend::Zero => Some(self.attributes.zeroext),
        }
    }

    /// The attributes of the parameters and the result of a function that is declared or defined here.
    pub(crate) fn extend(&self, function: FunctionValue<'ctx>, source: &ir::Signature) {
        for (place, attribute) in self.extensions(source) {
            function.add_attribute(place, attribute);
        }
    }

    /// The attributes of a call. The callee may be anybody's: that its result is extended is true only
    /// if it says so.
    pub(crate) fn extend_call(
        &self,
        call: CallSiteValue<'ctx>,
        source: &ir::Signature,
        callee: Option<FunctionValue<'ctx>>,
    ) {
        for (place, attribute) in self.extensions(source) {
            let id = attribute.get_enum_kind_id();
            let promised = |callee: FunctionValue<'ctx>| callee.get_enum_attribute(place, id);
            if place != AttributeLoc::Return || callee.is_none_or(|f| promised(f).is_some()) {
                call.add_attribute(place, attribute);
            }
        }
    }

    /// Where extension attributes stand.
    fn extensions(
        &self,
        source: &ir::Signature,
    ) -> impl Iterator<Item = (AttributeLoc, Attribute)> {
        let params = source.params.iter().enumerate();
        let params = params.map(|(i, &abi)| (AttributeLoc::Param(i as u32), abi));
        let all = params.chain(source.result.map(|abi| (AttributeLoc::Return, abi)));
        all.filter_map(|(place, abi)| Some((place, self.extension(abi)?)))
    }

    /// What a branch says of its edges, of which cold ones are unlikely: kind and value.
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
        let flag = |name| {
            let kind = Attribute::get_named_enum_kind_id(name);
            context.create_enum_attribute(kind, 0)
        };
        Attributes {
            nounwind: flag("nounwind"),
            cold: [flag("cold"), flag("minsize"), flag("noinline")],
            noinline: flag("noinline"),
            optnone: flag("optnone"),
            signext: flag("signext"),
            zeroext: flag("zeroext"),
        }
    }
}

impl<'ctx> Weights<'ctx> {
    /// As clang says it of `__builtin_expect`.
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

const LIKELY: u64 = 2000;
const UNLIKELY: u64 = 1;

/// The type of a value in a register.
fn ty(context: ContextRef<'_>, ty: ir::Type) -> BasicTypeEnum<'_> {
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

/// The type of a function in a context.
pub(crate) fn signature<'ctx>(
    context: ContextRef<'ctx>,
    source: &ir::Signature,
) -> FunctionType<'ctx> {
    let params: Vec<_> = source.params.iter().map(|abi| ty(context, abi.ty).into()).collect();
    match source.result {
        Some(abi) => ty(context, abi.ty).fn_type(&params, false),
        None => context.void_type().fn_type(&params, false),
    }
}

/// True for x86-64 in ELF.
fn has_large(triple: &str) -> bool {
    let other = ["-windows", "-apple", "-darwin", "-macos"];
    triple.starts_with("x86_64") && !other.iter().any(|system| triple.contains(system))
}
