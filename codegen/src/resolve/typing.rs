//! Resolves expressions to terms: looks names up and chooses operators by the kinds of their operands.

use abi_spec::Scalar;

use super::Explained;
use super::argument::Argument;
use super::fits::{check_extent, check_number};
use super::ids::ValueId;
use super::named::{self, Symbol};
use super::names::{Meaning, Names};
use super::operator::{self, Arithmetic, Binary, Division, Exact, Unary};
use super::term::{Node, OfGlobal, OfTensor, Property, Quote, ShownTerm, Term};
use super::value::Source;
use crate::declaration::{BinaryOp, Builtin, Expr, Kind, ParamType, is_text, literal_scalar};

impl Names<'_> {
    /// Resolves an expression.
    pub(super) fn term(&self, expr: &Expr) -> Explained<Term> {
        match expr {
            Expr::Int(value) => Ok(Term::int(*value)),
            Expr::Unsigned(value) => Ok(Term::new(Kind::Unsigned, Node::Int(value.cast_signed()))),
            Expr::Float(value) if value.is_finite() => {
                Ok(Term::new(Kind::Float, Node::Float(*value)))
            }
            Expr::Float(value) => Err(format!("{value} is not a finite number")),
            Expr::Text(text) => Ok(Term::new(Kind::Text, Node::Text(text.clone()))),
            Expr::Null => Ok(Term::new(Kind::Ptr, Node::Null)),
            Expr::Name(name) => self.named(name),
            Expr::Member(of, member) => self.member(of, *member),
            Expr::Element(of, _) | Expr::Field(of, _) => self.element_term(expr, of),
            Expr::Neg(inner) => self.negation(expr, inner),
            Expr::Binary(op, lhs, rhs) => self.binary(expr, *op, lhs, rhs),
            Expr::Call(builtin, lhs, rhs) => self.call(expr, *builtin, lhs, rhs),
            Expr::Stream(of) => self.stream(of),
            Expr::Global(global) => self.global(global, OfGlobal::Address),
            Expr::CurrentDevice => Ok(Term::new(Kind::Int, Node::CurrentDevice)),
            Expr::DeviceAttribute(of, attribute) => {
                let id = self.platform.attribute(*attribute);
                if !self.platform.has_attribute(id) {
                    return Err(format!("{id} is no attribute of a device"));
                }
                self.device_attribute(of, id)
            }
            Expr::Cast(scalar, inner) => self.cast(expr, *scalar, inner),
            Expr::Bool(truth) => Ok(Term::new(Kind::Bool, Node::Int(i64::from(*truth)))),
            Expr::Compare(op, lhs, rhs) => self.comparison(*op, lhs, rhs),
            Expr::Not(inner) => {
                let node = Node::Unary(Unary::Not, self.truth(inner)?.into());
                Ok(Term::new(Kind::Bool, node))
            }
            Expr::Logic(op, lhs, rhs) => {
                let operands = [self.truth(lhs)?, self.truth(rhs)?];
                Ok(Term::new(Kind::Bool, Node::Logic(*op, operands.into())))
            }
            Expr::Function(_) => Err("a function is a value of the FFI only".to_owned()),
            Expr::None | Expr::Array(_) | Expr::Shape(_) => {
                let reason = "is an argument of a function of the FFI only";
                Err(format!("`{expr}` {reason}: `x.is_some` asks whether `x` is there"))
            }
        }
    }

    fn named(&self, name: &str) -> Explained<Term> {
        Ok(match self.meaning(name) {
            Some(Meaning::Symbol(symbol)) => {
                let Symbol { value, local, .. } = &self.symbols[symbol];
                let kind = match (value, local) {
                    (Some(value), _) => self.kind_of_value(*value),
                    (None, Some(local)) => self.locals[*local].kind,
                    (None, None) => Kind::Int,
                };
                Term::new(kind, Node::Symbol(symbol))
            }
            Some(Meaning::Value(value)) => self.whole(value),
            Some(Meaning::Output(output)) => Term::new(Kind::Ptr, Node::Output(output)),
            Some(Meaning::Local(local)) => Term::new(self.locals[local].kind, Node::Local(local)),
            Some(Meaning::Map(_)) => {
                return Err(format!("`{name}` is a tensor map, which only a launch takes"));
            }
            Some(Meaning::Dtype(tensor)) => {
                Term::new(Kind::DType, Node::Property(tensor, Property::Tensor(OfTensor::DType)))
            }
            None => {
                named::check_symbol(name)?;
                return Err(format!("nothing determines the symbol `{name}`"));
            }
        })
    }

    /// Returns the term of a whole value.
    pub(super) fn whole(&self, value: ValueId) -> Term {
        Term::new(self.kind_of_value(value), Node::Value(value))
    }

    fn kind_of_value(&self, value: ValueId) -> Kind {
        if let Source::Rest(_) = self.values[value].source {
            return Kind::Several;
        }
        match self.values[value].ty {
            ParamType::Scalar(scalar) => kind_of_scalar(*scalar),
            ParamType::Leaf(leaf) => leaf.facts().kind,
            ParamType::Shape(_) | ParamType::Tuple(_) => Kind::Several,
            ParamType::Literal(literals) => match literal_scalar(literals) {
                Some(scalar) => kind_of_scalar(scalar),
                None if is_text(literals) => Kind::Text,
                None => Kind::Ptr,
            },
            ParamType::Tensor(_)
            | ParamType::Object(_)
            | ParamType::Sequence(..)
            | ParamType::Mapping(..)
            | ParamType::Optional(_)
            | ParamType::Union(_) => Kind::Ptr,
        }
    }

    /// Resolves an operand of arithmetic.
    pub(super) fn number(&self, expr: &Expr) -> Explained<Term> {
        as_number(expr, self.term(expr)?)
    }

    /// Resolves a condition, or an operand of a logical operator.
    pub(super) fn truth(&self, expr: &Expr) -> Explained<Term> {
        let term = self.term(expr)?;
        if term.kind == Kind::Bool {
            return Ok(term);
        }
        Err(format!("`{expr}` is {}, not a truth", term.kind.noun()))
    }

    /// Converts two operands to one type; returns true if they are floats.
    fn both(&self, [lhs, rhs]: [(&Expr, Term); 2]) -> Explained<([Term; 2], bool)> {
        let [a, b] = [as_number(lhs.0, lhs.1)?, as_number(rhs.0, rhs.1)?];
        let float = a.is_float() || b.is_float();
        let operands = match float {
            true => [a.into_float(), b.into_float()],
            false => [self.int64(lhs.0, a), self.int64(rhs.0, b)],
        };
        Ok((operands, float))
    }

    /// Converts a truth or a `uint64` to an `int64`, which it must fit; leaves other kinds unchanged.
    pub(super) fn int64(&self, expr: &Expr, term: Term) -> Term {
        let measures = matches!(term.node, Node::Symbol(symbol) if self.symbols[symbol].measures);
        if term.kind != Kind::Unsigned || measures {
            return term.into_int();
        }
        Term::new(Kind::Int, Node::Narrow(Scalar::Int64, term.into(), expr.to_string()))
    }

    fn negation(&self, expr: &Expr, inner: &Expr) -> Explained<Term> {
        let term = self.number(inner)?;
        if term.is_float() {
            return Ok(Term::new(Kind::Float, Node::Unary(Unary::Fneg, term.into())));
        }
        exact(expr, Exact::Sub, [Term::int(0), self.int64(inner, term)])
    }

    fn binary(&self, expr: &Expr, op: BinaryOp, lhs: &Expr, rhs: &Expr) -> Explained<Term> {
        let operands = [(lhs, self.term(lhs)?), (rhs, self.term(rhs)?)];
        let are_data = operands.each_ref().map(|(_, term)| self.is_data(term));
        let sum = (BinaryOp::Add, [false, true]);
        let is_offset = matches!((op, are_data), (BinaryOp::Add | BinaryOp::Sub, [true, false]));
        if is_offset || (op, are_data) == sum {
            return self.offset(op, operands);
        }
        // The remainder of an address tells how it is aligned.
        let operands = match (operands, are_data, op) {
            ([(of, _), divisor], [true, false], BinaryOp::Rem) => {
                [(of, self.cast(of, Scalar::Int64, of)?), divisor]
            }
            (operands, _, _) => operands,
        };
        let (operands, float) = self.both(operands)?;
        let meaning = operator::arithmetic(op, float);
        let meaning = meaning.ok_or_else(|| format!("`{}` takes integers", op.text()))?;
        self.operation(expr, meaning, operands, rhs)
    }

    fn call(&self, expr: &Expr, callee: Builtin, lhs: &Expr, rhs: &Expr) -> Explained<Term> {
        let operands = [(lhs, self.term(lhs)?), (rhs, self.term(rhs)?)];
        let (operands, float) = self.both(operands)?;
        let meaning = operator::builtin(callee, float);
        let meaning = meaning.ok_or_else(|| format!("`{}` takes integers", callee.text()))?;
        self.operation(expr, meaning, operands, rhs)
    }

    fn operation(
        &self,
        expr: &Expr,
        op: Arithmetic,
        operands: [Term; 2],
        rhs: &Expr,
    ) -> Explained<Term> {
        let kind = operands[0].kind;
        let constants = (operands[0].constant(), operands[1].constant());
        match op {
            Arithmetic::Exact(op) => exact(expr, op, operands),
            Arithmetic::Total(op) => {
                if let (Binary::Integers(op), (Some(a), Some(b))) = (op, constants) {
                    return Ok(Term::int(op.fold(a, b)));
                }
                Ok(Term::new(kind, Node::Binary(op, operands.into())))
            }
            Arithmetic::Division(_) if constants.1 == Some(0) => {
                Err(format!("division by `{rhs}`, which is zero"))
            }
            Arithmetic::Division(op) => {
                if let (Some(a), Some(b)) = constants {
                    return literal(expr, op.fold(a, b));
                }
                if constants.1 == Some(-1) && op != Division::Rem {
                    let [dividend, _] = operands;
                    return exact(expr, Exact::Sub, [Term::int(0), dividend]);
                }
                let quote = self.quote(expr.to_string(), &[expr])?;
                Ok(Term::new(kind, Node::Divide(op, operands.into(), quote)))
            }
        }
    }

    fn cast(&self, expr: &Expr, scalar: Scalar, inner: &Expr) -> Explained<Term> {
        let term = self.term(inner)?;
        if scalar == Scalar::Ptr {
            let operands = [Term::new(Kind::Ptr, Node::Null), self.bytes(inner, term)?];
            return Ok(Term::new(Kind::Ptr, Node::Offset(false, operands.into())));
        }
        if scalar == Scalar::Int64 && self.is_data(&term) {
            let number = Term::new(Kind::Unsigned, Node::Unary(Unary::Number, term.into()));
            return Ok(self.int64(expr, number));
        }
        let term = if scalar.is_int() { term.into_number() } else { term };
        let is_literal = scalar.is_int() && term.constant().is_some();
        let term = if is_literal { term } else { as_number(inner, term)? };
        check_number(&term, scalar)?;
        if scalar == Scalar::Float64 {
            return Ok(term.into_float());
        }
        if scalar.is_float() {
            return Ok(Term::new(Kind::Float, Node::Round(scalar, term.into_float().into())));
        }
        if term.is_float() {
            return Err(format!("`{scalar}` takes an integer, not the float `{inner}`"));
        }
        let same = if term.kind == Kind::Unsigned { Scalar::Uint64 } else { Scalar::Int64 };
        if scalar == same {
            return Ok(term);
        }
        let node = if scalar == Scalar::Bool {
            Node::Unary(Unary::Truth, term.into())
        } else {
            Node::Narrow(scalar, term.into(), expr.to_string())
        };
        Ok(Term::new(kind_of_scalar(scalar), node))
    }

    /// Builds the quote of expressions.
    pub(super) fn quote(&self, text: String, exprs: &[&Expr]) -> Explained<Quote> {
        let mut found: Vec<&Expr> = Vec::new();
        exprs.iter().for_each(|expr| collect_shown(expr, &mut found));
        found.retain(|expr| !self.may_have_no_device(expr));
        let shown = |expr: &&Expr| Ok(ShownTerm { text: expr.to_string(), term: self.term(expr)? });
        Ok(Quote { text, shown: found.iter().map(shown).collect::<Explained<_>>()? })
    }
}

impl<'a> Names<'a> {
    /// Resolves a dim: an expression over symbols only.
    pub(super) fn dim(&self, expr: &Expr) -> Explained<Term> {
        over_symbols(expr)?;
        Ok(self.int64(expr, self.term(expr)?))
    }

    /// Resolves an extent of a returned tensor: an integer that is known before the call.
    pub(super) fn extent(&self, expr: &Expr) -> Explained<Term> {
        self.no_output(expr)?;
        let term = self.dim(expr)?;
        if term.kind != Kind::Int {
            return Err(format!("`{expr}` is not an integer"));
        }
        check_extent(&term)?;
        Ok(term)
    }

    /// Checks that an expression does not mention an allocated tensor, which is unknown before the call.
    pub(super) fn no_output(&self, expr: &Expr) -> Explained<()> {
        if self.output_of(expr).is_some() {
            return Err(format!("`{expr}` is a result, which is not known before the call"));
        }
        expr.children().try_for_each(|child| self.no_output(child))
    }

    /// Resolves an argument of a C function.
    pub(super) fn argument(&self, expr: &Expr) -> Explained<Argument> {
        let term = self.term(expr)?;
        if let Some(value) = self.value_of(expr) {
            return Ok(Argument::Value(value));
        }
        if let Node::Text(text) = term.node {
            return Ok(Argument::Text(text));
        }
        // A number of the body, or a captured one, which may be a symbol of the types that a function knows.
        let local = if let Node::Local(local) = term.node {
            Some(local)
        } else if let Node::Symbol(symbol) = term.node {
            self.symbols[symbol].local
        } else {
            None
        };
        let narrow = local.and_then(|local| self.locals[local].scalar);
        let scalar = match (expr, term.kind) {
            (Expr::Cast(scalar, _), _) => *scalar,
            (_, Kind::Float) if let Some(scalar) = narrow.filter(|&to| to != Scalar::Float64) => {
                let rounded = Term::new(Kind::Float, Node::Round(scalar, term.into()));
                return Ok(Argument::Term(rounded, scalar));
            }
            _ if let Some(scalar) = narrow => scalar,
            (_, Kind::Bool) => Scalar::Bool,
            (_, Kind::Int) => Scalar::Int64,
            (_, Kind::Unsigned) => {
                return Err(format!("`{expr}` is above int64: `uint64({expr})` passes it"));
            }
            (_, Kind::Float) => Scalar::Float64,
            (_, Kind::DType) => Scalar::Uint32,
            (_, Kind::Ptr) => Scalar::Ptr,
            (_, Kind::Device | Kind::Text | Kind::Several) => {
                return Err(format!("`{expr}` cannot be an argument of a C function"));
            }
        };
        Ok(Argument::Term(term, scalar))
    }
}

/// Checks that the term of an operand is a number; a truth counts as one.
pub(super) fn as_number(expr: &Expr, term: Term) -> Explained<Term> {
    match term.kind {
        Kind::Unsigned if term.constant().is_some() => {
            Err(format!("`{expr}` is above int64: only a `uint64` compares with it"))
        }
        Kind::Int | Kind::Unsigned | Kind::Float => Ok(term),
        Kind::Bool => Ok(term.into_number()),
        Kind::Ptr | Kind::DType | Kind::Device | Kind::Text | Kind::Several => {
            Err(format!("`{expr}` is {}, not a number", term.kind.noun()))
        }
    }
}

/// Builds an operation of integers.
fn exact(expr: &Expr, op: Exact, operands: [Term; 2]) -> Explained<Term> {
    if let (Some(a), Some(b)) = (operands[0].constant(), operands[1].constant()) {
        return literal(expr, op.fold(a, b));
    }
    Ok(Term::new(Kind::Int, Node::Exact(op, operands.into(), expr.to_string())))
}

/// Builds the value of an expression of literals.
fn literal(expr: &Expr, value: i128) -> Explained<Term> {
    let value = i64::try_from(value);
    value.map(Term::int).map_err(|_| format!("`{expr}` is out of the range of int64"))
}

pub(super) fn kind_of_scalar(scalar: Scalar) -> Kind {
    if scalar == Scalar::Ptr {
        Kind::Ptr
    } else if scalar == Scalar::Bool {
        Kind::Bool
    } else if scalar == Scalar::Uint64 {
        Kind::Unsigned
    } else if scalar.is_float() {
        Kind::Float
    } else {
        Kind::Int
    }
}

/// Collects the names and members of an expression, each once, in order.
fn collect_shown<'e>(expr: &'e Expr, shown: &mut Vec<&'e Expr>) {
    if let Expr::Name(_)
    | Expr::Member(..)
    | Expr::Element(..)
    | Expr::Field(..)
    | Expr::DeviceAttribute(..)
    | Expr::CurrentDevice
    | Expr::Global(_) = expr
    {
        if !shown.contains(&expr) {
            shown.push(expr);
        }
        return;
    }
    expr.children().for_each(|child| collect_shown(child, shown));
}

fn over_symbols(expr: &Expr) -> Explained<()> {
    if let Expr::Int(_) | Expr::Name(_) = expr {
        return Ok(());
    }
    if let Expr::Neg(_) | Expr::Binary(..) | Expr::Call(..) = expr {
        return expr.children().try_for_each(over_symbols);
    }
    if let Expr::Unsigned(_) = expr {
        return Err(format!("`{expr}` is above int64"));
    }
    Err(format!("`{expr}` is no expression over symbols"))
}
