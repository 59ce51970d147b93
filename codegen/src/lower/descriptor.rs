//! Encoding the constant from which a failure is explained; its form is in [`codes`](super::codes).

mod outcome;

use std::collections::HashMap;

use abi_spec::Scalar;

use super::accept;
use super::codes::{Class, LeafKind, LiteralCode, Op, Rpn, RuleCode, Suffix, Used};
use super::expression::{named_word, text_and_value};
use super::scalar::half_format;
use crate::declaration::{Comparison, Device, Literal, ParamType, Shape, Tensor};
use crate::expr::{BinaryOp, Builtin, Expr, Member};
use crate::kind::{Kind, constant};
use crate::linear::Linear;
use crate::resolve::{Place, Resolved, Rule, Step};
use crate::scope::{Meaning, Scope};
use crate::values::{self, Source};

/// At most so many bytes of a signature, expression or name are quoted; the rest is elided.
pub(super) const MAX_QUOTED: usize = 1024;

struct Encoder<'a> {
    scope: &'a Scope<'a>,
    words: Vec<u32>,
    /// Text so far; its offsets are made absolute at the end.
    text: Vec<u8>,
    /// Where each text starts.
    known: HashMap<String, u32>,
    /// Positions of words that hold an offset into `text`.
    fixups: Vec<usize>,
    /// What the routines must know.
    used: &'a mut Used,
}

/// Encodes a function.
pub(super) fn encode(resolved: &Resolved<'_>, used: &mut Used) -> Vec<u8> {
    let scope = &resolved.scope;
    let mut e = Encoder {
        scope,
        words: Vec::with_capacity(256),
        text: Vec::with_capacity(256),
        known: HashMap::new(),
        fixups: Vec::new(),
        used,
    };
    let signature = &scope.function.signature;
    e.text(&signature.header().to_string());
    e.backtrace();
    e.words(&[0, 0]);
    e.word(signature.required() as u32);
    e.word(signature.most().map_or(u32::MAX, |most| most as u32));
    let symbols = scope.symbols.len();
    e.words(&[symbols as u32, (symbols + scope.values.len()) as u32]);
    resolved.steps.iter().for_each(|step| e.guarded(step));
    e.op(Op::End);
    e.statuses();
    e.result();
    e.finish()
}

impl Encoder<'_> {
    fn finish(mut self) -> Vec<u8> {
        let base = 4 * self.words.len() as u32;
        for &at in &self.fixups {
            self.words[at] += base;
        }
        let mut bytes: Vec<u8> = Vec::with_capacity(base as usize + self.text.len());
        bytes.extend(self.words.iter().flat_map(|word| word.to_le_bytes()));
        bytes.extend(self.text);
        bytes
    }

    fn op(&mut self, op: Op) {
        self.used.op(op);
        self.word(op as u32);
    }

    fn code(&mut self, code: Rpn) {
        self.used.code(code);
        self.word(code as u32);
    }

    fn word(&mut self, word: u32) {
        self.words.push(word);
    }

    fn words(&mut self, words: &[u32]) {
        self.words.extend_from_slice(words);
    }

    fn text(&mut self, text: &str) {
        self.whole_text(&elide(text));
    }

    /// A text that is compared or given as it is, not quoted: all of it.
    fn whole_text(&mut self, text: &str) {
        let offset = match self.known.get(text) {
            Some(&offset) => offset,
            None => {
                let offset = self.text.len() as u32;
                self.text.extend_from_slice(text.as_bytes());
                self.known.insert(text.to_string(), offset);
                offset
            }
        };
        self.fixups.push(self.words.len());
        self.words(&[offset, text.len() as u32]);
    }

    fn slot(&self, value: usize) -> u32 {
        (self.scope.symbols.len() + value) as u32
    }

    fn argument(&mut self, value: usize) {
        self.word(self.scope.argument(value).unwrap_or_default() as u32);
    }

    fn head(&mut self, op: Op, place: Place) {
        self.op(op);
        self.operand_head(place);
    }

    fn operand_head(&mut self, place: Place) {
        let scope = self.scope;
        self.text(&scope.values[place.value()].path);
        let (suffix, index) = suffix(place);
        self.words(&[suffix as u32, index]);
        self.argument(place.value());
        self.word(self.slot(place.value()));
    }

    /// Writes words after their number.
    fn counted(&mut self, write: impl FnOnce(&mut Self)) {
        let start = self.words.len();
        self.word(0);
        write(self);
        self.words[start] = (self.words.len() - start - 1) as u32;
    }

    /// Steps after the number of their words.
    fn steps(&mut self, steps: &[Step<'_>]) {
        self.counted(|e| {
            steps.iter().for_each(|step| e.guarded(step));
            e.op(Op::End);
        });
    }

    /// A step that applies only where its value is there, and what it is compared with is known.
    fn guarded(&mut self, step: &Step<'_>) {
        let (value, first) = match step {
            Step::Scalar { value, .. } | Step::Header { value, .. } | Step::Value { value } => {
                (*value, true)
            }
            Step::Occurrence { place, .. } => (place.value(), false),
            Step::Compact { value }
            | Step::Data { value, .. }
            | Step::Each { value, .. }
            | Step::OneOf { value, .. } => (*value, false),
            Step::Settle { .. } | Step::Constraint(_) | Step::Extent(_) | Step::Argument(_) => {
                return self.step(step);
            }
        };
        let source = self.scope.values[value].source;
        let mut guards: Vec<usize> = values::optionals(&self.scope.values, value).collect();
        guards.reverse();
        let own = guards.pop_if(|last| *last == value && first);
        let uncertain = if let Step::Occurrence { rule: Rule::Equal(_, uncertain), .. } = step {
            &uncertain[..]
        } else {
            &[]
        };
        let presents = guards.into_iter().map(|at| (Op::Present, self.slot(at)));
        let bounds = uncertain.iter().map(|&symbol| (Op::Bound, symbol as u32));
        let conditions: Vec<(Op, u32)> = presents.chain(bounds).collect();
        self.under(&conditions, |e| {
            if first {
                e.locate(value, source);
            }
            let own: Vec<(Op, u32)> = own.map(|at| (Op::Present, e.slot(at))).into_iter().collect();
            e.under(&own, |e| e.step(step));
        });
    }

    /// Writes steps under conditions, the outermost first.
    fn under(&mut self, conditions: &[(Op, u32)], write: impl FnOnce(&mut Self)) {
        let Some((&(op, slot), rest)) = conditions.split_first() else { return write(self) };
        self.op(op);
        self.word(slot);
        self.counted(|e| e.under(rest, write));
    }

    /// Says where a value is; that of a loop is known from the loop.
    fn locate(&mut self, value: usize, source: Source) {
        let slot = self.slot(value);
        match source {
            Source::Argument(index) | Source::Rest(index) => {
                self.op(Op::Argument);
                self.words(&[slot, index as u32]);
            }
            Source::Element { of, index } => {
                let tuple = self.slot(of);
                self.op(Op::Element);
                self.words(&[slot, tuple, index as u32]);
            }
            Source::Context
            | Source::Each { .. }
            | Source::Key { .. }
            | Source::Mapped { .. }
            | Source::Alternative { .. } => {}
        }
    }

    fn step(&mut self, step: &Step<'_>) {
        match step {
            Step::Scalar { value, scalar } => self.scalar(*value, *scalar),
            Step::Header { value, tensor } => self.header(*value, tensor),
            Step::Value { value } => self.value(*value),
            Step::Occurrence { place, rule } => {
                self.head(Op::Occurrence, *place);
                self.rule(rule, *place);
            }
            Step::Compact { value } => self.head(Op::Compact, Place::Value { value: *value }),
            Step::Data { value, align } => {
                self.head(Op::Data, Place::Value { value: *value });
                self.wide(align - 1);
            }
            Step::Settle { symbol, place, linear } => {
                let (_, dim) = suffix(*place);
                let tensor = self.slot(place.value());
                self.op(Op::Settle);
                self.words(&[*symbol as u32, tensor, dim]);
                self.linear(linear);
            }
            Step::Each { value, steps } => self.each(*value, steps),
            Step::OneOf { value, types } => {
                self.head(Op::OneOf, Place::Value { value: *value });
                self.expected(*value);
                self.word(types.len() as u32);
                let slots = self.children(*value);
                for (slot, steps) in slots.into_iter().zip(types) {
                    self.word(slot);
                    self.steps(steps);
                }
            }
            Step::Constraint(index) => self.constraint(*index),
            Step::Extent(expr) => {
                self.op(Op::Evaluate);
                self.expression(expr);
            }
            Step::Argument(index) => {
                self.op(Op::Evaluate);
                let scope = self.scope;
                self.expression(&scope.function.body.args[*index]);
            }
        }
    }

    fn each(&mut self, value: usize, steps: &[Step<'_>]) {
        let scope = self.scope;
        let children = self.children(value);
        let op = if children.len() == 1 { Op::Each } else { Op::Entries };
        self.head(op, Place::Value { value });
        self.word(values::loops(&scope.values, scope.values[value].source) as u32);
        self.words(&children);
        self.steps(steps);
    }

    /// The slots of what is nested directly in a value.
    fn children(&self, value: usize) -> Vec<u32> {
        let values = &self.scope.values;
        let is_child = |&at: &usize| values[at].source.parent() == Some(value);
        (value + 1..values.len()).filter(is_child).map(|at| self.slot(at)).collect()
    }

    /// The text of what a value was expected to be.
    fn expected(&mut self, value: usize) {
        let declared = &self.scope.values[value];
        let text = accept::expected(declared.ty, declared.optional);
        self.text(&text);
    }

    fn scalar(&mut self, value: usize, scalar: Scalar) {
        if self.scope.values[value].source == Source::Context {
            let slot = self.slot(value);
            self.op(Op::Context);
            return self.words(&[slot]);
        }
        self.head(Op::Scalar, Place::Value { value });
        let class = if scalar.is_int() {
            Class::Int
        } else if scalar.is_float() {
            Class::Float
        } else if scalar == Scalar::Bool {
            Class::Bool
        } else {
            Class::Ptr
        };
        self.words(&[class as u32, scalar.bits(), u32::from(scalar.is_signed())]);
        self.expected(value);
        let (mantissa, bias) = half_format(scalar);
        self.words(&[mantissa as u32, bias as u32]);
        self.text(scalar.name());
    }

    fn header(&mut self, value: usize, tensor: &Tensor) {
        self.head(Op::Header, Place::Value { value });
        let rank = tensor.rank().map_or(u32::MAX, |rank| rank as u32);
        let device = match tensor.device {
            Device::Any => 0,
            Device::Type(ty) => ty.0 as u32,
        };
        let many = values::is_dynamic(&self.scope.values, value);
        self.words(&[rank, device, u32::from(many)]);
        let names: Vec<String> = tensor.dtypes.iter().map(|dtype| dtype.to_string()).collect();
        self.text(&names.join("|"));
        let accepted = tensor.accepted();
        self.word(accepted.len() as u32);
        accepted.iter().for_each(|dtype| self.word(dtype.to_word()));
        self.expected(value);
    }

    /// Everything about a value of another type.
    fn value(&mut self, value: usize) {
        let place = Place::Value { value };
        let ty: &ParamType = self.scope.values[value].ty;
        if let ParamType::Any | ParamType::Union(_) = ty {
            return;
        }
        self.head(Op::Type, place);
        self.expected(value);
        let accepted = accept::accepted(ty);
        self.wide(accepted.low);
        self.wide(accepted.high);
        match ty {
            ParamType::DType => self.head(Op::Dtype, place),
            ParamType::Device => {
                self.head(Op::Device, place);
                self.expected(value);
            }
            ParamType::Shape(shape) => {
                self.head(Op::Numbers, place);
                self.word(shape.rank().map_or(u32::MAX, |rank| rank as u32));
            }
            ParamType::Object(_) => {
                if let Some(key) = accept::dynamic_key(ty) {
                    self.head(Op::Instance, place);
                    self.expected(value);
                    self.text(key);
                }
            }
            ParamType::Tuple(elements) => {
                self.head(Op::Size, place);
                self.word(elements.len() as u32);
            }
            ParamType::Literal(literals) => self.literals(value, literals),
            ParamType::Scalar(_)
            | ParamType::Tensor(_)
            | ParamType::Str
            | ParamType::Bytes
            | ParamType::Sequence(..)
            | ParamType::Mapping(..)
            | ParamType::Optional(_)
            | ParamType::Union(_)
            | ParamType::Any
            | ParamType::Stream => {}
        }
    }

    fn literals(&mut self, value: usize, literals: &[Literal]) {
        self.head(Op::Literal, Place::Value { value });
        self.expected(value);
        let some = literals.iter().filter(|literal| **literal != Literal::None);
        self.word(some.clone().count() as u32);
        for literal in some {
            match literal {
                Literal::Int(number) => {
                    self.word(LiteralCode::Int as u32);
                    self.wide(*number as u64);
                }
                Literal::Bool(truth) => {
                    self.word(LiteralCode::Int as u32);
                    self.wide(u64::from(*truth));
                }
                Literal::Str(text) => {
                    self.word(LiteralCode::Text as u32);
                    self.whole_text(text);
                }
                Literal::None | Literal::Float(_) => unreachable!("not in literal types"),
            }
        }
    }

    fn rule(&mut self, rule: &Rule<'_>, place: Place) {
        match rule {
            Rule::Any => self.word(RuleCode::Any as u32),
            Rule::Symbol(symbol) => {
                let many = values::is_dynamic(&self.scope.values, place.value());
                let code = if many { RuleCode::SymbolOfMany } else { RuleCode::Symbol };
                self.words(&[code as u32, *symbol as u32]);
                let name = self.scope.symbols[*symbol].name;
                self.text(name);
            }
            Rule::Equal(expr, _) => {
                self.word(RuleCode::Equal as u32);
                let shown = if constant(expr).is_some() { String::new() } else { expr.to_string() };
                self.text(&shown);
                self.expression(expr);
            }
            Rule::Solve { symbol, expr, linear } => {
                self.words(&[RuleCode::Solve as u32, *symbol as u32]);
                let name = self.scope.symbols[*symbol].name;
                self.text(name);
                self.text(&expr.to_string());
                self.linear(linear);
            }
        }
    }

    fn linear(&mut self, linear: &Linear) {
        self.expression(&linear.coefficient);
        self.expression(&linear.constant);
    }

    fn constraint(&mut self, index: usize) {
        let scope = self.scope;
        let constraint = &scope.function.signature.constraints[index];
        self.op(Op::Constraint);
        match &constraint.message {
            Some(message) => {
                self.text("");
                self.text(message);
            }
            None => {
                self.text("Violated ");
                self.text(&constraint.comparison().to_string());
            }
        }
        self.leaves(&[&constraint.lhs, &constraint.rhs]);
        if let Some((text, value)) = text_and_value(scope, constraint) {
            let slot = self.slot(value);
            self.code(Rpn::SameText);
            self.words(&[slot]);
            self.whole_text(text);
            if constraint.op == Comparison::Ne {
                self.code(Rpn::Not);
            }
            return self.code(Rpn::End);
        }
        let float = self.is_float(&constraint.lhs) || self.is_float(&constraint.rhs);
        self.comparand(&constraint.lhs, &constraint.rhs, float);
        self.comparand(&constraint.rhs, &constraint.lhs, float);
        let op = match (constraint.op, float) {
            (Comparison::Eq, false) => Rpn::Eq,
            (Comparison::Ne, false) => Rpn::Ne,
            (Comparison::Lt, false) => Rpn::Lt,
            (Comparison::Le, false) => Rpn::Le,
            (Comparison::Gt, false) => Rpn::Gt,
            (Comparison::Ge, false) => Rpn::Ge,
            (Comparison::Eq, true) => Rpn::Feq,
            (Comparison::Ne, true) => Rpn::Fne,
            (Comparison::Lt, true) => Rpn::Flt,
            (Comparison::Le, true) => Rpn::Fle,
            (Comparison::Gt, true) => Rpn::Fgt,
            (Comparison::Ge, true) => Rpn::Fge,
        };
        self.code(op);
        self.code(Rpn::End);
    }

    fn is_float(&self, expr: &Expr) -> bool {
        self.scope.kind(expr) == Ok(Kind::Float)
    }

    fn expression(&mut self, expr: &Expr) {
        self.rpn(expr);
        self.code(Rpn::End);
    }

    /// Two operands, as floats if `float`.
    fn pair(&mut self, lhs: &Expr, rhs: &Expr, float: bool) {
        for expr in [lhs, rhs] {
            self.rpn(expr);
            if float && !self.is_float(expr) {
                self.code(Rpn::ToFloat);
            }
        }
    }

    /// An operand of a comparison. Text in quotes is what it names.
    fn comparand(&mut self, expr: &Expr, other: &Expr, float: bool) {
        if let (Expr::Text(text), Ok(kind)) = (expr, self.scope.kind(other)) {
            return self.constant(named_word(text, kind) as u64);
        }
        self.rpn(expr);
        if float && !self.is_float(expr) {
            self.code(Rpn::ToFloat);
        }
    }

    fn wide(&mut self, bits: u64) {
        self.words(&[bits as u32, (bits >> 32) as u32]);
    }

    fn constant(&mut self, bits: u64) {
        self.code(Rpn::Const);
        self.wide(bits);
    }

    fn rpn(&mut self, expr: &Expr) {
        match expr {
            Expr::Int(value) => self.constant(*value as u64),
            Expr::Float(value) => self.constant(value.to_bits()),
            Expr::Null | Expr::Text(_) => self.constant(0),
            Expr::Name(name) => {
                let slot = match self.scope.meaning(name) {
                    // The address of what is not allocated yet: nothing that can fail depends on it.
                    Some(Meaning::Output(_)) => return self.constant(0),
                    Some(Meaning::Symbol(symbol)) => symbol as u32,
                    Some(Meaning::Value(value)) => self.slot(value),
                    None => unreachable!("names are resolved before they are lowered"),
                };
                self.code(Rpn::Slot);
                self.words(&[slot]);
            }
            Expr::Member(of, member) => self.member(of, *member),
            Expr::Element(..) | Expr::Field(..) => self.element(expr),
            Expr::Neg(inner) => {
                self.rpn(inner);
                let op = if self.is_float(inner) { Rpn::Fneg } else { Rpn::Neg };
                self.code(op);
            }
            Expr::Binary(op, lhs, rhs) => {
                let float = self.is_float(lhs) || self.is_float(rhs);
                self.pair(lhs, rhs, float);
                let rpn = match (op, float) {
                    (BinaryOp::Add, false) => Rpn::Add,
                    (BinaryOp::Sub, false) => Rpn::Sub,
                    (BinaryOp::Mul, false) => Rpn::Mul,
                    (BinaryOp::Div, false) => return self.division(Rpn::Div, expr),
                    (BinaryOp::Rem, _) => return self.division(Rpn::Rem, expr),
                    (BinaryOp::Add, true) => Rpn::Fadd,
                    (BinaryOp::Sub, true) => Rpn::Fsub,
                    (BinaryOp::Mul, true) => Rpn::Fmul,
                    (BinaryOp::Div, true) => Rpn::Fdiv,
                };
                self.code(rpn);
            }
            Expr::Call(builtin, lhs, rhs) => {
                let float = self.is_float(lhs) || self.is_float(rhs);
                self.pair(lhs, rhs, float);
                let rpn = match (builtin, float) {
                    (Builtin::CeilDiv, _) => return self.division(Rpn::CeilDiv, expr),
                    (Builtin::Min, false) => Rpn::Min,
                    (Builtin::Max, false) => Rpn::Max,
                    (Builtin::Min, true) => Rpn::Fmin,
                    (Builtin::Max, true) => Rpn::Fmax,
                };
                self.code(rpn);
            }
            // Computing a stream never fails and constraints do not mention streams.
            Expr::Stream(_) => self.constant(0),
            Expr::Cast(scalar, inner) => self.cast(*scalar, inner, expr),
        }
    }

    fn division(&mut self, op: Rpn, expr: &Expr) {
        self.code(op);
        self.text(&expr.to_string());
        self.leaves(&[expr]);
    }

    fn element(&mut self, expr: &Expr) {
        if let Some(value) = self.scope.value_of(expr) {
            let slot = self.slot(value);
            self.code(Rpn::Slot);
            return self.words(&[slot]);
        }
        let Some((value, index)) = self.scope.number_of_shape(expr) else {
            unreachable!("only tuples and shapes have elements")
        };
        let slot = self.slot(value);
        if let ParamType::Shape(Shape::AnyRank) = self.scope.values[value].ty {
            self.code(Rpn::Count);
            self.words(&[slot, index]);
            self.operand_head(Place::Value { value });
        }
        self.code(Rpn::Number);
        self.words(&[slot, index]);
    }

    fn member(&mut self, of: &Expr, member: Member) {
        if let Some(output) = self.scope.output_of(of) {
            return match self.scope.output_value(output, member) {
                Some(expr) => self.rpn(&expr),
                None => self.constant(0),
            };
        }
        let Some(value) = self.scope.value_of(of) else { unreachable!("only values have members") };
        let slot = self.slot(value);
        let declared = &self.scope.values[value];
        let (op, dim) = match (declared.ty, member) {
            (_, Member::IsSome) => (Rpn::IsSome, None),
            (_, Member::Size) => match (declared.ty, declared.source) {
                (_, Source::Rest(first)) => {
                    self.code(Rpn::RestSize);
                    return self.words(&[first as u32]);
                }
                (ParamType::Shape(_), _) => (Rpn::NumberCount, None),
                (ParamType::Sequence(..), _) => (Rpn::Length, None),
                _ => (Rpn::TextSize, None),
            },
            (ParamType::Device, Member::DeviceType) => (Rpn::TypeOfDevice, None),
            (ParamType::Device, _) => (Rpn::IndexOfDevice, None),
            (ParamType::Tensor(_), Member::Data) => (Rpn::Data, None),
            (_, Member::Data) => unreachable!("the address of text cannot be computed with"),
            (_, Member::Shape(dim)) => (Rpn::Extent, Some(dim)),
            (_, Member::Strides(dim)) => (Rpn::Stride, Some(dim)),
            (_, Member::Ndim) => (Rpn::Ndim, None),
            (_, Member::DType) => (Rpn::Dtype, None),
            (_, Member::Numel) => (Rpn::Numel, None),
            (_, Member::IsContiguous) => (Rpn::IsCompact, None),
            (_, Member::DeviceType) => (Rpn::DeviceType, None),
            (_, Member::DeviceId) => (Rpn::DeviceId, None),
            (_, Member::ByteOffset) => (Rpn::ByteOffset, None),
        };
        let free = self.scope.tensor_of(value).is_some_and(|tensor| tensor.rank().is_none());
        if let Some(dim) = dim
            && free
        {
            self.code(Rpn::Rank);
            self.words(&[slot, dim]);
            self.operand_head(Place::Value { value });
        }
        self.code(op);
        self.word(slot);
        dim.into_iter().for_each(|dim| self.word(dim));
    }

    fn cast(&mut self, scalar: Scalar, inner: &Expr, expr: &Expr) {
        self.rpn(inner);
        if scalar.is_float() && !self.is_float(inner) {
            self.code(Rpn::ToFloat);
        }
        match scalar {
            Scalar::Bool => self.code(Rpn::Truth),
            Scalar::Float64 | Scalar::Int64 | Scalar::Ptr => {}
            Scalar::Float32 => self.code(Rpn::RoundSingle),
            Scalar::Float16 | Scalar::BFloat16 => {
                let (mantissa, bias) = half_format(scalar);
                self.code(Rpn::RoundHalf);
                self.words(&[mantissa as u32, bias as u32]);
            }
            Scalar::Int8
            | Scalar::Int16
            | Scalar::Int32
            | Scalar::Uint8
            | Scalar::Uint16
            | Scalar::Uint32
            | Scalar::Uint64 => {
                self.code(Rpn::Narrow);
                self.text(&expr.to_string());
                self.text(scalar.name());
                self.words(&[scalar.bits(), u32::from(scalar.is_signed())]);
            }
        }
    }

    fn leaves(&mut self, exprs: &[&Expr]) {
        let mut leaves: Vec<&Expr> = Vec::new();
        exprs.iter().for_each(|expr| collect_leaves(expr, &mut leaves));
        self.counted(|e| {
            e.word(leaves.len() as u32);
            leaves.into_iter().for_each(|leaf| e.leaf(leaf));
        });
    }

    fn leaf(&mut self, leaf: &Expr) {
        self.text(&leaf.to_string());
        let kind = match self.scope.kind(leaf) {
            Ok(Kind::Int) => LeafKind::Int,
            Ok(Kind::Float) => LeafKind::Float,
            Ok(Kind::DType) => LeafKind::DType,
            Ok(Kind::Device) => LeafKind::Device,
            Ok(Kind::Text) => LeafKind::Text,
            Ok(Kind::Ptr | Kind::Several) | Err(_) => LeafKind::Ptr,
        };
        self.used.leaf(kind);
        self.word(kind as u32);
        match (kind, self.scope.value_of(leaf)) {
            // The routine finds the text by itself.
            (LeafKind::Text, Some(value)) => {
                let slot = self.slot(value);
                self.constant(slot.into());
                self.code(Rpn::End);
            }
            _ => self.expression(leaf),
        }
    }
}

fn suffix(place: Place) -> (Suffix, u32) {
    match place {
        Place::Value { .. } => (Suffix::None, 0),
        Place::Extent { dim, .. } => (Suffix::Shape, dim as u32),
        Place::Stride { dim, .. } => (Suffix::Strides, dim as u32),
        Place::Number { dim, .. } => (Suffix::Number, dim as u32),
    }
}

/// The names and members of an expression, in order, without repetition.
fn collect_leaves<'e>(expr: &'e Expr, leaves: &mut Vec<&'e Expr>) {
    let is_leaf =
        matches!(expr, Expr::Name(_) | Expr::Member(..) | Expr::Element(..) | Expr::Field(..));
    if is_leaf {
        if !leaves.contains(&expr) {
            leaves.push(expr);
        }
        return;
    }
    expr.children().for_each(|child| collect_leaves(child, leaves));
}

/// A text that is too long to be quoted loses its end.
fn elide(text: &str) -> std::borrow::Cow<'_, str> {
    if text.len() <= MAX_QUOTED {
        return text.into();
    }
    let end = (0..=MAX_QUOTED - 3).rev().find(|&at| text.is_char_boundary(at)).unwrap_or(0);
    format!("{}...", &text[..end]).into()
}
