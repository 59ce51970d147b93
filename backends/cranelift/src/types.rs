//! Types and signatures.

use codegen::ir;
use cranelift_codegen::ir::{AbiParam, Function, SigRef, Signature, Type, types};
use cranelift_codegen::isa::TargetIsa;
use target_lexicon::Architecture;

/// The type of a comparison's result, as `icmp` yields it.
pub(crate) const BOOL: Type = types::I8;

/// The type of an address; targets are 64-bit.
pub(crate) const POINTER: Type = types::I64;

/// The type of a value in a register.
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

/// The signature under the C calling convention of the target.
pub(crate) fn signature(isa: &dyn TargetIsa, source: &ir::Signature) -> Signature {
    let mut signature = Signature::new(isa.default_call_conv());
    signature.params.extend(source.params.iter().map(|&abi| parameter(isa, abi)));
    signature.returns.extend(source.result.map(|abi| parameter(isa, abi)));
    signature
}

/// The reference by which one function knows a signature; the same for equal signatures.
pub(crate) fn import(func: &mut Function, signature: &Signature) -> SigRef {
    let known = func.dfg.signatures.iter().find(|(_, known)| *known == signature);
    match known {
        Some((reference, _)) => reference,
        None => func.import_signature(signature.clone()),
    }
}

/// A parameter or result. The C ABI of riscv64 keeps 32-bit integers sign-extended in registers.
fn parameter(isa: &dyn TargetIsa, abi: ir::AbiType) -> AbiParam {
    let parameter = AbiParam::new(ty(abi.ty));
    let riscv = matches!(isa.triple().architecture, Architecture::Riscv64(_));
    match abi.extend {
        ir::Extend::No if riscv && abi.ty == ir::Type::I32 => parameter.sext(),
        ir::Extend::No => parameter,
        ir::Extend::Sign => parameter.sext(),
        ir::Extend::Zero => parameter.uext(),
    }
}
