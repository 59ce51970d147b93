//! Counting the arguments, filling in those that were left out, and passing values on.

use abi_spec::layout::{ANY, any};
use abi_spec::{Scalar, TypeIndex};

use super::scalar::abi_type;
use super::wrapper::{ValueState, Wrapper};
use crate::declaration::{Literal, ParamType, Signature};
use crate::expr::{Expr, Member};
use crate::ir::{
    AbiType, Binary, Block, Builder, Cond, Convert, Data, Hint, Linkage, SymbolKind, Type, Value,
};
use crate::kind::{Kind, is_text, literal_scalar};
use crate::scope::Scope;
use crate::values::Source;

/// Requires an acceptable number of arguments. Yields their address, and how many there
/// are where that varies, defaults included.
pub(super) fn count(
    b: &mut Builder<'_>,
    signature: &Signature,
    bad: Block,
) -> (Value, Option<Value>) {
    let (args, num_args) = (b.param(1), b.param(2));
    let (least, most) = (signature.required() as i64, signature.most());
    if most == Some(signature.required()) {
        let counted = b.compare_const(Cond::Eq, num_args, least);
        b.guard(counted, bad);
        return (args, None);
    }
    let enough = b.compare_const(Cond::Sge, num_args, least);
    b.guard(enough, bad);
    if let Some(most) = most {
        let fits = b.compare_const(Cond::Sle, num_args, most as i64);
        b.guard(fits, bad);
    }
    let (args, num_args) = fill_in(b, signature, args, num_args);
    (args, Some(num_args))
}

/// Where arguments are left out, all are copied and the defaults appended.
fn fill_in(
    b: &mut Builder<'_>,
    signature: &Signature,
    args: Value,
    num_args: Value,
) -> (Value, Value) {
    let params = signature.arguments();
    let total = params.iter().filter(|param| !param.variadic).count();
    if total == signature.required() {
        return (args, num_args);
    }
    let (short, join) = (b.block("short"), b.block("counted"));
    let all = b.block_param(join, Type::Ptr, Hint::from("all_args"));
    let count = b.block_param(join, Type::I32, Hint::from("all_num_args"));
    let complete = b.compare_const(Cond::Sge, num_args, total as i64);
    let whole = b.block("whole");
    b.branch(complete, whole, short);
    b.switch_to(whole);
    b.jump(join, &[args, num_args]);
    b.switch_to(short);
    let copy = b.stack_slot(total as u32 * ANY.size, 8);
    for (index, param) in params[..total].iter().enumerate() {
        let at = index as i32 * ANY.size as i32;
        if let Some(default) = &param.default {
            store_literal(b, default, copy, at);
            let given = b.compare_const(Cond::Sgt, num_args, index as i64);
            b.if_then(given, |b| copy_any(b, args, copy, at));
        } else {
            copy_any(b, args, copy, at);
        }
    }
    let filled = b.i32(total as i32);
    b.jump(join, &[copy, filled]);
    b.switch_to(join);
    (all, count)
}

fn copy_any(b: &mut Builder<'_>, from: Value, to: Value, at: i32) {
    for field in [any::TYPE_INDEX, any::PAYLOAD] {
        let word = b.load(Type::I64, from, at + field.offset);
        b.store(word, to, at + field.offset);
    }
}

/// Writes a literal as a `TVMFFIAny`; text as a `const char*`.
fn store_literal(b: &mut Builder<'_>, literal: &Literal, to: Value, at: i32) {
    let (index, payload) = match literal {
        Literal::None => (TypeIndex::NONE, b.i64(0)),
        Literal::Bool(value) => (TypeIndex::BOOL, b.i64(i64::from(*value))),
        Literal::Int(value) => (TypeIndex::INT, b.i64(*value)),
        Literal::Float(value) => (TypeIndex::FLOAT, b.f64(*value)),
        Literal::Str(text) => {
            let mut bytes = text.clone().into_bytes();
            bytes.push(0);
            (TypeIndex::RAW_STR, constant_bytes(b, bytes))
        }
    };
    let head = b.i64(index.0.into());
    b.store(head, to, at + any::TYPE_INDEX.offset);
    b.store(payload, to, at + any::PAYLOAD.offset);
}

/// The address of constant bytes, of which a module has one copy.
pub(super) fn constant_bytes(b: &mut Builder<'_>, bytes: Vec<u8>) -> Value {
    let module = &mut *b.module;
    let prefix = "tvm_ffi_codegen.constant.";
    let is_same = |data: &&Data| {
        !data.writable && data.bytes == bytes && module.name(data.symbol).starts_with(prefix)
    };
    if let Some(data) = module.data.iter().find(is_same) {
        let symbol = data.symbol;
        return b.address(symbol);
    }
    let count = module.data.iter().filter(|d| module.name(d.symbol).starts_with(prefix)).count();
    let symbol = module.declare(&format!("{prefix}{count}"), Linkage::Local, SymbolKind::Data);
    module.data.push(Data::constant(symbol, bytes, 1));
    b.address(symbol)
}

/// The C types that an argument of the body is passed as: one, unless it is made of several values.
pub(super) fn c_types(scope: &Scope<'_>, arg: &Expr) -> Vec<AbiType> {
    if let Some(value) = scope.value_of(arg) {
        return c_types_of_value(scope, value);
    }
    let flag = abi_type(Scalar::Bool);
    vec![match (arg, scope.kind(arg)) {
        (Expr::Cast(scalar, _), _) => abi_type(*scalar),
        (Expr::Member(_, Member::IsSome | Member::IsContiguous), _) => flag,
        (_, Ok(Kind::Int)) => Type::I64.into(),
        (_, Ok(Kind::Float)) => Type::F64.into(),
        (_, Ok(Kind::DType)) => Type::I32.into(),
        (_, Ok(Kind::Ptr | Kind::Device | Kind::Text | Kind::Several) | Err(_)) => Type::Ptr.into(),
    }]
}

fn c_types_of_value(scope: &Scope<'_>, value: usize) -> Vec<AbiType> {
    let pair = || vec![Type::Ptr.into(), Type::I64.into()];
    if let Source::Rest(_) = scope.values[value].source {
        return pair();
    }
    match scope.values[value].ty {
        ParamType::Scalar(scalar) => vec![abi_type(*scalar)],
        ParamType::Str | ParamType::Bytes | ParamType::Shape(_) => pair(),
        ParamType::DType => vec![Type::I32.into()],
        ParamType::Device => vec![Type::I32.into(), Type::I32.into()],
        ParamType::Tuple(elements) => {
            let elements = (0..elements.len()).filter_map(|index| scope.element(value, index));
            elements.flat_map(|element| c_types_of_value(scope, element)).collect()
        }
        ParamType::Literal(literals) if is_text(literals) => pair(),
        ParamType::Literal(literals) => {
            vec![literal_scalar(literals).map_or(Type::Ptr.into(), abi_type)]
        }
        ParamType::Tensor(_)
        | ParamType::Object(_)
        | ParamType::Sequence(..)
        | ParamType::Mapping(..)
        | ParamType::Optional(_)
        | ParamType::Union(_)
        | ParamType::Any
        | ParamType::Stream => vec![Type::Ptr.into()],
    }
}

impl Wrapper<'_, '_> {
    /// An argument of the body in the types of [`c_types`].
    pub(super) fn pass(&mut self, arg: &Expr) -> Vec<Value> {
        if let Some(value) = self.resolved.scope.value_of(arg) {
            return self.pass_value(value);
        }
        vec![match arg {
            Expr::Cast(scalar, inner) => self.cast(*scalar, inner),
            Expr::Member(_, Member::IsSome | Member::IsContiguous) => {
                let truth = self.expression(arg);
                self.b.convert(Convert::Trunc, truth, Type::I8)
            }
            Expr::Member(_, Member::DType) => {
                let dtype = self.expression(arg);
                self.b.convert(Convert::Trunc, dtype, Type::I32)
            }
            Expr::Int(_)
            | Expr::Float(_)
            | Expr::Text(_)
            | Expr::Null
            | Expr::Name(_)
            | Expr::Member(..)
            | Expr::Element(..)
            | Expr::Field(..)
            | Expr::Neg(_)
            | Expr::Binary(..)
            | Expr::Call(..)
            | Expr::Stream(_) => self.expression(arg),
        }]
    }

    fn pass_value(&mut self, value: usize) -> Vec<Value> {
        match self.values[value].clone() {
            ValueState::Scalar(state) => vec![state.native],
            ValueState::Tensor(state) => vec![self.or_zero(value, state.dl)],
            ValueState::Pair(data, size) => vec![data, size],
            ValueState::Tuple(_) => {
                let scope = &self.resolved.scope;
                let elements = (0..).map_while(|index| scope.element(value, index));
                elements
                    .collect::<Vec<_>>()
                    .into_iter()
                    .flat_map(|at| self.pass_value(at))
                    .collect()
            }
            ValueState::Word(word) if *self.resolved.scope.values[value].ty == ParamType::DType => {
                vec![self.b.convert(Convert::Trunc, word, Type::I32)]
            }
            ValueState::Word(word)
                if *self.resolved.scope.values[value].ty == ParamType::Device =>
            {
                self.device_numbers(word).into()
            }
            ValueState::Word(word) => vec![word],
            ValueState::Pending => unreachable!("values are loaded before they are used"),
        }
    }

    /// Type and index of a device, each an `I32`.
    pub(super) fn device_numbers(&mut self, word: Value) -> [Value; 2] {
        let ty = self.b.convert(Convert::Trunc, word, Type::I32);
        let index = self.b.binary_const(Binary::Lshr, word, 32);
        [ty, self.b.convert(Convert::Trunc, index, Type::I32)]
    }
}
