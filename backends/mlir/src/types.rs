//! Types and signatures.

use codegen::backend::Facts;
use codegen::ir;
use melior::Context;
use melior::dialect::llvm::r#type::{function, pointer, void};
use melior::ir::Type;
use melior::ir::r#type::IntegerType;

use crate::raw;

/// The types of host IR in one context, looked up once.
#[derive(Clone, Copy, Debug)]
pub(crate) struct Types<'c> {
    pub(crate) i1: Type<'c>,
    pub(crate) i8: Type<'c>,
    pub(crate) i16: Type<'c>,
    pub(crate) i32: Type<'c>,
    pub(crate) i64: Type<'c>,
    pub(crate) f16: Type<'c>,
    pub(crate) bf16: Type<'c>,
    /// The type in which C's `__bf16` is passed to functions that are declared here.
    passed_bf16: Type<'c>,
    pub(crate) f32: Type<'c>,
    pub(crate) f64: Type<'c>,
    pub(crate) ptr: Type<'c>,
    pub(crate) void: Type<'c>,
}

impl<'c> Types<'c> {
    /// Returns the types; the `llvm` dialect must be loaded.
    pub(crate) fn new(context: &'c Context, facts: &Facts) -> Self {
        let (f16, bf16) = (Type::float16(context), Type::bfloat16(context));
        let int = |bits| Type::from(IntegerType::new(context, bits));
        Types {
            i1: int(1),
            i8: int(8),
            i16: int(16),
            i32: int(32),
            i64: int(64),
            f16,
            bf16,
            passed_bf16: if facts.halves_alike { f16 } else { bf16 },
            f32: Type::float32(context),
            f64: Type::float64(context),
            ptr: pointer(context, 0),
            void: void(context),
        }
    }

    /// Returns the type of a value.
    pub(crate) fn ty(&self, ty: ir::Type) -> Type<'c> {
        match ty {
            ir::Type::Bool => self.i1,
            ir::Type::I8 => self.i8,
            ir::Type::I16 => self.i16,
            ir::Type::I32 => self.i32,
            ir::Type::I64 => self.i64,
            ir::Type::F32 => self.f32,
            ir::Type::F64 => self.f64,
            ir::Type::Ptr => self.ptr,
        }
    }

    /// Returns the type of a parameter or result. LLVM has types for 16-bit floats.
    pub(crate) fn passed(&self, abi: ir::AbiType) -> Type<'c> {
        match abi.extend {
            ir::Extend::No | ir::Extend::Sign | ir::Extend::Zero | ir::Extend::Truth => {
                self.ty(abi.ty)
            }
            ir::Extend::Float16 => self.f16,
            ir::Extend::BFloat16 => self.passed_bf16,
        }
    }

    /// Returns the type of a function.
    pub(crate) fn signature(&self, source: &ir::Signature) -> Type<'c> {
        let params: Vec<Type> = source.params.iter().map(|&abi| self.passed(abi)).collect();
        let result = source.result.map_or(self.void, |abi| self.passed(abi));
        function(result, &params, false)
    }

    /// Returns the type of a function that has `i1` for truth values, and `bf16` for 16-bit floats of that type,
    /// wherever `own`, the type of an existing function, has them.
    pub(crate) fn like(
        &self,
        context: &'c Context,
        source: &ir::Signature,
        own: Type<'c>,
    ) -> Type<'c> {
        let Some((params, result)) = raw::function_parts(context, own) else {
            return self.signature(source);
        };
        let choose = |abi: &ir::AbiType, own: Option<&Type<'c>>| match own {
            Some(own) if abi.extend == ir::Extend::Truth && *own == self.i1 => *own,
            Some(own) if abi.extend == ir::Extend::BFloat16 && *own == self.bf16 => *own,
            Some(_) | None => self.passed(*abi),
        };
        let given = source.params.iter().enumerate();
        let given: Vec<Type> = given.map(|(i, abi)| choose(abi, params.get(i))).collect();
        let result = source.result.as_ref().map_or(self.void, |abi| choose(abi, Some(&result)));
        function(result, &given, false)
    }
}
