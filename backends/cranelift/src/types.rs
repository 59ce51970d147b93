//! Types and signatures.

use codegen::backend::{Facts, Machine, Side};
use codegen::ir;
use cranelift_codegen::ir::{
    AbiParam, ArgumentExtension, Function, SigRef, Signature, Type, types,
};
use cranelift_codegen::isa::{CallConv, TargetIsa};

/// The type of truth values, the result of `icmp`.
pub(crate) const BOOL: Type = types::I8;

/// The type of an address; targets are 64-bit.
pub(crate) const POINTER: Type = types::I64;

/// The type in which the address of an area is passed.
pub(crate) const AREA: Type = types::F64;

/// The type that is passed where C has a 16-bit float, whose bits are the low ones: both are in the same register.
pub(crate) const HALF: Type = types::F32;

/// The type of a 16-bit float on the stack under Apple's convention, where it has a place of its own size.
const PACKED_HALF: Type = types::F16;

/// Number of arguments of each class that arm64 passes in registers.
const ARM64_REGISTERS: usize = 8;

/// Returns the type of a value in a register.
pub(crate) fn ty(ty: ir::Type) -> Type {
    match ty {
        ir::Type::Bool => BOOL,
        ir::Type::I8 => types::I8,
        ir::Type::I16 => types::I16,
        ir::Type::I32 => types::I32,
        ir::Type::I64 => types::I64,
        ir::Type::F32 => types::F32,
        ir::Type::F64 => types::F64,
        ir::Type::Ptr => POINTER,
    }
}

/// Returns the signature under the C calling convention of the target. Senders extend narrow integers as the convention
/// says; Cranelift's code never relies on the extension of values that it receives.
pub(crate) fn signature(isa: &dyn TargetIsa, source: &ir::Signature) -> Signature {
    let facts = Facts::of(isa.triple());
    let mut signature = Signature::new(isa.default_call_conv());
    let argument = |&abi| parameter(abi, facts.argument(abi, Side::Sender));
    signature.params.extend(source.params.iter().map(argument));
    let result = |abi| parameter(abi, facts.result(abi, Side::Sender));
    signature.returns.extend(source.result.map(result));
    let machine = Machine::of_architecture(isa.triple().architecture);
    if let Some(registers) = machine.and_then(|machine| machine.facts().floats) {
        floats_as_integers(&mut signature.params, registers);
    }
    if isa.default_call_conv() == CallConv::AppleAarch64 {
        pack(&mut signature.params, &source.params);
    }
    signature
}

/// Returns the signature of functions that [preserve](codegen::backend::Plan::preserves_registers) all registers of
/// their callers. Its parameter is the address of an area, see `area`; it travels in a floating-point register.
pub(crate) fn preserving() -> Signature {
    let mut signature = Signature::new(CallConv::PreserveAll);
    signature.params.push(AbiParam::new(AREA));
    signature
}

/// Returns true if callees with a signature preserve all registers of their callers.
pub(crate) fn is_preserving(signature: &Signature) -> bool {
    signature.call_conv == CallConv::PreserveAll
}

/// Turns the floats after those in floating-point registers into integers: they use the integer registers before the
/// stack, but Cranelift would use the stack.
fn floats_as_integers(params: &mut [AbiParam], registers: usize) {
    let floats = params.iter_mut().filter(|param| param.value_type.is_float());
    floats.skip(registers).for_each(|param| param.value_type = param.value_type.as_int());
}

/// Makes the parameters on the stack those of Apple's convention for arm64, which packs them by their own sizes:
/// Cranelift would store narrow integers as extended ones, over what follows them, and a 16-bit float takes no more
/// than its size.
fn pack(params: &mut [AbiParam], sources: &[ir::AbiType]) {
    let (mut integers, mut floats) = (0, 0);
    for (param, source) in params.iter_mut().zip(sources) {
        let before = if param.value_type.is_float() { &mut floats } else { &mut integers };
        if *before >= ARM64_REGISTERS {
            param.extension = ArgumentExtension::None;
            if source.extend.is_half() {
                param.value_type = PACKED_HALF;
            }
        }
        *before += 1;
    }
}

/// Returns a parameter or result.
fn parameter(abi: ir::AbiType, extend: ir::Extend) -> AbiParam {
    if abi.extend.is_half() {
        return AbiParam::new(HALF);
    }
    let parameter = AbiParam::new(ty(abi.ty));
    match extend {
        ir::Extend::No | ir::Extend::Float16 | ir::Extend::BFloat16 => parameter,
        ir::Extend::Sign => parameter.sext(),
        ir::Extend::Zero | ir::Extend::Truth => parameter.uext(),
    }
}

/// Returns the reference of a function to a signature; equal signatures share one.
pub(crate) fn import(func: &mut Function, signature: &Signature) -> SigRef {
    let known = func.dfg.signatures.iter().find(|(_, known)| *known == signature);
    match known {
        Some((reference, _)) => reference,
        None => func.import_signature(signature.clone()),
    }
}
