//! Encoding the constant from which a failure is explained; its form is in [`codes`](super::codes).

mod outcome;

use std::collections::HashMap;

use abi_spec::Scalar;

use super::codes::{Class, LeafKind, Op, Rpn, RuleCode, Suffix, header};
use super::scalar::half_format;
use crate::declaration::{Comparison, Device, ParamType, Tensor};
use crate::expr::{BinaryOp, Builtin, Expr, Member};
use crate::linear::Linear;
use crate::resolve::{Place, Resolved, Rule, Step};
use crate::scope::{Kind, Meaning, Scope, constant};

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
}

/// Encodes a function.
pub(super) fn encode(resolved: &Resolved<'_>) -> Vec<u8> {
    let scope = &resolved.scope;
    let mut e = Encoder {
        scope,
        words: Vec::with_capacity(256),
        text: Vec::with_capacity(256),
        known: HashMap::new(),
        fixups: Vec::new(),
    };
    e.text(&scope.function.signature.header().to_string());
    e.backtrace();
    e.words(&[0, 0]);
    e.word(scope.function.signature.arguments().len() as u32);
    e.words(&[0, scope.symbols.len() as u32]);
    resolved.steps.iter().for_each(|step| e.step(step));
    e.word(Op::End as u32);
    e.words[header::TENSORS as usize] = 4 * e.words.len() as u32;
    for (index, param) in scope.function.signature.params.iter().enumerate() {
        if let ParamType::Tensor(_) = param.ty {
            e.argument(index);
            e.name(index);
        }
    }
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

    fn word(&mut self, word: u32) {
        self.words.push(word);
    }

    fn words(&mut self, words: &[u32]) {
        self.words.extend_from_slice(words);
    }

    fn text(&mut self, text: &str) {
        self.whole_text(&elide(text));
    }

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

    fn param_slot(&self, param: usize) -> u32 {
        (self.scope.symbols.len() + param) as u32
    }

    fn name(&mut self, param: usize) {
        let scope = self.scope;
        self.text(&scope.function.signature.params[param].name);
    }

    fn place(&mut self, place: Place) {
        self.name(place.param());
        let (suffix, index) = suffix(place);
        self.words(&[suffix as u32, index]);
    }

    fn argument(&mut self, param: usize) {
        self.word(self.scope.argument(param).unwrap_or_default() as u32);
    }

    fn head(&mut self, op: Op, place: Place) {
        self.word(op as u32);
        self.place(place);
        self.argument(place.param());
        self.word(self.param_slot(place.param()));
    }

    fn step(&mut self, step: &Step<'_>) {
        match step {
            Step::Scalar { param, scalar } => self.scalar(*param, *scalar),
            Step::Header { param, tensor } => self.header(*param, tensor),
            Step::Occurrence { place, rule } => {
                self.head(Op::Occurrence, *place);
                let (suffix, index) = suffix(*place);
                self.words(&[suffix as u32, index]);
                self.rule(rule);
            }
            Step::Compact { param } => self.head(Op::Compact, Place::Value { param: *param }),
            Step::Data { param, align } => {
                self.head(Op::Data, Place::Value { param: *param });
                self.wide(align - 1);
            }
            Step::Settle { symbol, place, linear } => {
                let (_, dim) = suffix(*place);
                let tensor = self.param_slot(place.param());
                self.words(&[Op::Settle as u32, *symbol as u32, tensor, dim]);
                self.linear(linear);
            }
            Step::Constraint(index) => self.constraint(*index),
            Step::Extent(expr) => {
                self.word(Op::Argument as u32);
                self.expression(expr);
            }
            Step::Argument(index) => {
                self.word(Op::Argument as u32);
                let scope = self.scope;
                self.expression(&scope.function.body.args[*index]);
            }
        }
    }

    fn scalar(&mut self, param: usize, scalar: Scalar) {
        if self.scope.argument(param).is_none() {
            let slot = self.param_slot(param);
            return self.words(&[Op::Context as u32, slot]);
        }
        self.head(Op::Scalar, Place::Value { param });
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
        self.text(scalar.name());
        let (mantissa, bias) = half_format(scalar);
        self.words(&[mantissa as u32, bias as u32]);
    }

    fn header(&mut self, param: usize, tensor: &Tensor) {
        self.head(Op::Header, Place::Value { param });
        let rank = tensor.rank().map_or(u32::MAX, |rank| rank as u32);
        let device = match tensor.device {
            Device::Any => 0,
            Device::Type(ty) => ty.0 as u32,
        };
        self.words(&[rank, tensor.dtype.to_word(), device]);
        self.word(self.scope.tensors_before(param) as u32);
    }

    fn rule(&mut self, rule: &Rule<'_>) {
        match rule {
            Rule::Any => self.word(RuleCode::Any as u32),
            Rule::Symbol(symbol) => {
                self.words(&[RuleCode::Symbol as u32, *symbol as u32]);
                let name = self.scope.symbols[*symbol].name;
                self.text(name);
            }
            Rule::Equal(expr) => {
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
        self.word(Op::Constraint as u32);
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
        let float = self.is_float(&constraint.lhs) || self.is_float(&constraint.rhs);
        self.pair(&constraint.lhs, &constraint.rhs, float);
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
        self.words(&[op as u32, Rpn::End as u32]);
    }

    fn is_float(&self, expr: &Expr) -> bool {
        self.scope.kind(expr) == Ok(Kind::Float)
    }

    fn expression(&mut self, expr: &Expr) {
        self.rpn(expr);
        self.word(Rpn::End as u32);
    }

    /// Two operands, as floats if `float`.
    fn pair(&mut self, lhs: &Expr, rhs: &Expr, float: bool) {
        for expr in [lhs, rhs] {
            self.rpn(expr);
            if float && !self.is_float(expr) {
                self.word(Rpn::ToFloat as u32);
            }
        }
    }

    fn wide(&mut self, bits: u64) {
        self.words(&[bits as u32, (bits >> 32) as u32]);
    }

    fn constant(&mut self, bits: u64) {
        self.word(Rpn::Const as u32);
        self.wide(bits);
    }

    fn rpn(&mut self, expr: &Expr) {
        match expr {
            Expr::Int(value) => self.constant(*value as u64),
            Expr::Float(value) => self.constant(value.to_bits()),
            Expr::Null => self.constant(0),
            Expr::Name(name) => {
                let slot = match self.scope.meaning(name) {
                    // The address of what is not allocated yet: nothing that can fail depends on it.
                    Some(Meaning::Output(_)) => return self.constant(0),
                    Some(Meaning::Symbol(symbol)) => symbol as u32,
                    Some(Meaning::Scalar(param, _) | Meaning::Tensor(param)) => {
                        self.param_slot(param)
                    }
                    None => unreachable!("names are resolved before they are lowered"),
                };
                self.words(&[Rpn::Slot as u32, slot]);
            }
            Expr::Member(of, member) => self.member(of, *member),
            Expr::Neg(inner) => {
                self.rpn(inner);
                let op = if self.is_float(inner) { Rpn::Fneg } else { Rpn::Neg };
                self.word(op as u32);
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
                self.word(rpn as u32);
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
                self.word(rpn as u32);
            }
            // Computing a stream never fails and constraints do not mention streams.
            Expr::Stream(_) => self.constant(0),
            Expr::Cast(scalar, inner) => self.cast(*scalar, inner, expr),
        }
    }

    fn division(&mut self, op: Rpn, expr: &Expr) {
        self.word(op as u32);
        self.text(&expr.to_string());
        self.leaves(&[expr]);
    }

    fn member(&mut self, of: &Expr, member: Member) {
        if let Some(output) = self.scope.output_of(of) {
            return match self.scope.output_value(output, member) {
                Some(expr) => self.rpn(&expr),
                None => self.constant(0),
            };
        }
        let Some((param, tensor)) = self.scope.tensor(of) else {
            unreachable!("only tensors have members")
        };
        let slot = self.param_slot(param);
        let (op, dim) = match member {
            Member::Data => (Rpn::Data, None),
            Member::Shape(dim) => (Rpn::Extent, Some(dim)),
            Member::Strides(dim) => (Rpn::Stride, Some(dim)),
            Member::Ndim => (Rpn::Ndim, None),
            Member::DeviceId => (Rpn::DeviceId, None),
            Member::ByteOffset => (Rpn::ByteOffset, None),
        };
        if let (Some(dim), None) = (dim, tensor.rank()) {
            self.words(&[Rpn::Rank as u32, slot, dim]);
            self.place(Place::Value { param });
            self.argument(param);
        }
        self.words(&[op as u32, slot]);
        dim.into_iter().for_each(|dim| self.word(dim));
    }

    fn cast(&mut self, scalar: Scalar, inner: &Expr, expr: &Expr) {
        self.rpn(inner);
        if scalar.is_float() && !self.is_float(inner) {
            self.word(Rpn::ToFloat as u32);
        }
        match scalar {
            Scalar::Bool => self.word(Rpn::Truth as u32),
            Scalar::Float64 | Scalar::Int64 | Scalar::Ptr => {}
            Scalar::Float32 => self.word(Rpn::RoundSingle as u32),
            Scalar::Float16 | Scalar::BFloat16 => {
                let (mantissa, bias) = half_format(scalar);
                self.words(&[Rpn::RoundHalf as u32, mantissa as u32, bias as u32]);
            }
            Scalar::Int8
            | Scalar::Int16
            | Scalar::Int32
            | Scalar::Uint8
            | Scalar::Uint16
            | Scalar::Uint32
            | Scalar::Uint64 => {
                self.word(Rpn::Narrow as u32);
                self.text(&expr.to_string());
                self.text(scalar.name());
                self.words(&[scalar.bits(), u32::from(scalar.is_signed())]);
            }
        }
    }

    fn leaves(&mut self, exprs: &[&Expr]) {
        let mut leaves: Vec<&Expr> = Vec::new();
        exprs.iter().for_each(|expr| collect_leaves(expr, &mut leaves));
        let start = self.words.len();
        self.words(&[0, leaves.len() as u32]);
        for leaf in leaves {
            self.text(&leaf.to_string());
            let kind = match self.scope.kind(leaf) {
                Ok(Kind::Int) => LeafKind::Int,
                Ok(Kind::Float) => LeafKind::Float,
                Ok(Kind::Ptr) | Err(_) => LeafKind::Ptr,
            };
            self.word(kind as u32);
            self.expression(leaf);
        }
        self.words[start] = (self.words.len() - start - 1) as u32;
    }
}

fn suffix(place: Place) -> (Suffix, u32) {
    match place {
        Place::Value { .. } => (Suffix::None, 0),
        Place::Extent { dim, .. } => (Suffix::Shape, dim as u32),
        Place::Stride { dim, .. } => (Suffix::Strides, dim as u32),
    }
}

/// The names and members of an expression, in order, without repetition.
fn collect_leaves<'e>(expr: &'e Expr, leaves: &mut Vec<&'e Expr>) {
    if matches!(expr, Expr::Name(_) | Expr::Member(..)) {
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
