//! Finds conditions of a `where` clause that never hold. Each condition restricts the possible values of terms for the
//! next one; every unknown value counts as possible.

use abi_spec::Scalar;

use super::possible::{Possible, Relation};
use crate::declaration::{Dim, Expr, Kind, Literal, Logic, ParamType, Shape};
use crate::resolve::function::Function;
use crate::resolve::ids::{SymbolId, Table, ValueId};
use crate::resolve::operator::{Binary, Division, Exact, Unary};
use crate::resolve::step::{Place, Rule, Step};
use crate::resolve::term::{Node, OfSeveral, OfTensor, Property, Term};

/// Largest number of conditions that are examined.
const FOLLOWED: usize = 64;

/// Returns the first condition that never holds, and the reason.
pub(super) fn find(function: &Function<'_>) -> Option<(usize, &'static str)> {
    let tests = function.steps.iter().filter_map(|step| {
        let Step::Require(condition) = step else { return None };
        Some(&condition.test)
    });
    let tests: Vec<&Term> = tests.take(FOLLOWED).collect();
    let extents = extents(function);
    let mut facts = Facts::new(function, &extents);
    for (index, test) in tests.iter().enumerate() {
        if !Facts::new(function, &extents).value(test).has(1) {
            return Some((index, "the types leave no value for which it does"));
        }
        facts.require(test);
        if tests[..=index].iter().any(|test| !facts.value(test).has(1)) {
            return Some((index, "no value satisfies the conditions before and this one"));
        }
    }
    None
}

/// Returns the symbols that are extents of tensors which are not optional.
fn extents(function: &Function<'_>) -> Table<SymbolId, bool> {
    let mut found = Table::like(&function.symbols, false);
    for step in &function.steps {
        if let Step::Occurrence { place: Place::Extent { value, .. }, rule } = step
            && let Rule::Symbol(symbol) = rule
        {
            found[*symbol] |= function.values[*value].guard.is_none();
        }
    }
    found
}

/// Facts about terms.
struct Facts<'f> {
    function: &'f Function<'f>,
    extents: &'f Table<SymbolId, bool>,
    /// Possible values of terms, as far as conditions restrict them.
    left: Vec<(Term, Possible)>,
    /// Possible relations between pairs of terms.
    relations: Vec<(Term, Term, Relation)>,
    /// Texts that values are known to equal.
    texts: Vec<(ValueId, String)>,
}

impl<'f> Facts<'f> {
    fn new(function: &'f Function<'f>, extents: &'f Table<SymbolId, bool>) -> Self {
        Facts { function, extents, left: Vec::new(), relations: Vec::new(), texts: Vec::new() }
    }

    /// Adds the facts that follow from a condition.
    fn require(&mut self, test: &Term) {
        if let Node::Logic(Logic::And, operands) = &test.node {
            operands.iter().for_each(|one| self.require(one));
        } else if let Node::Unary(Unary::Not, denied) = &test.node {
            self.leave(denied, Possible::one(0));
        } else if let Node::SameText(value, text) = &test.node {
            self.texts.push((*value, text.clone()));
        } else if let Node::Binary(op, operands) = &test.node {
            self.compare(*op, operands);
        } else {
            self.leave(test, Possible::one(1));
        }
    }

    fn compare(&mut self, op: Binary, operands: &[Term; 2]) {
        let [a, b] = operands;
        let Some(wanted) = Relation::of(op) else { return };
        let relation = self.relation(op, operands).and(wanted);
        let values = [self.value(a), self.value(b)];
        self.leave(a, relation.narrow(&values[0], &values[1]));
        self.leave(b, relation.turned().narrow(&values[1], &values[0]));
        self.relations.push((a.clone(), b.clone(), relation));
    }

    /// Restricts the possible values of a term.
    fn leave(&mut self, term: &Term, values: Possible) {
        match self.left.iter_mut().find(|(known, _)| known == term) {
            Some((_, left)) => *left = left.and(&values),
            None => self.left.push((term.clone(), values)),
        }
    }

    /// Returns the possible relations between two terms.
    fn relation(&self, op: Binary, [a, b]: &[Term; 2]) -> Relation {
        let found = Relation::between(&self.value(a), &self.value(b), op.takes_floats());
        let found = if a == b { found.and(Relation::SAME) } else { found };
        self.relations.iter().fold(found, |found, (c, d, known)| {
            if (a, b) == (c, d) {
                found.and(*known)
            } else if (a, b) == (d, c) {
                found.and(known.turned())
            } else {
                found
            }
        })
    }

    /// Returns the possible values of a term.
    fn value(&self, term: &Term) -> Possible {
        let found = self.node(term);
        let left = self.left.iter().find(|(known, _)| known == term);
        left.map_or(found.clone(), |(_, left)| found.and(left))
    }

    fn node(&self, Term { kind, node }: &Term) -> Possible {
        match node {
            Node::Int(value) if *kind == Kind::Unsigned => {
                Possible::one(value.cast_unsigned().into())
            }
            Node::Int(value) => Possible::one((*value).into()),
            Node::Float(value) => Possible::one(Possible::float(*value)),
            Node::Symbol(symbol) => self.symbol(*symbol, *kind),
            Node::Value(value) => self.given(*value, *kind),
            Node::Property(value, property) => self.property(*value, *property, *kind),
            Node::Unary(op, operand) => unary(*op, &self.value(operand)),
            Node::Binary(op, operands) => match Relation::of(*op) {
                Some(wanted) => self.relation(*op, operands).truth(wanted),
                None => arithmetic(*op, operands.each_ref().map(|one| self.value(one))),
            },
            Node::Exact(op, operands, _) => {
                exact(*op, operands.each_ref().map(|one| self.value(one)))
            }
            Node::Mixed(..) => Possible::TRUTH,
            Node::Logic(op, operands) => logic(*op, operands.each_ref().map(|one| self.value(one))),
            Node::Divide(op, operands, _) => {
                let [a, b] = operands.each_ref().map(|one| self.value(one));
                division(*op, &a, &b)
            }
            Node::Narrow(scalar, operand, _) => {
                self.value(operand).and(&of_scalar(*scalar, Kind::Unsigned))
            }
            Node::SameText(value, text) => self.same_text(*value, text),
            Node::Number { .. }
            | Node::Text(_)
            | Node::Null
            | Node::Local(_)
            | Node::Output(_)
            | Node::OutputData(_)
            | Node::Round(..)
            | Node::Offset(..)
            | Node::Stream(_)
            | Node::OutputStream(_)
            | Node::DeviceAttribute { .. } => of_kind(*kind),
        }
    }

    fn symbol(&self, symbol: SymbolId, kind: Kind) -> Possible {
        let declared = &self.function.symbols[symbol];
        let scalar = declared.value.and_then(|value| self.function.values[value].ty.scalar());
        let found = scalar.map_or(of_kind(kind), |scalar| of_scalar(scalar, kind));
        if self.extents[symbol] { found.and(&Possible::NATURAL) } else { found }
    }

    /// Returns the possible values of a number that is, or is nested in, an argument.
    fn given(&self, value: ValueId, kind: Kind) -> Possible {
        let value = &self.function.values[value];
        if value.guard.is_some() {
            return of_kind(kind);
        }
        if let ParamType::Scalar(scalar) = value.ty {
            return of_scalar(*scalar, kind);
        }
        let ParamType::Literal(literals) = value.ty else { return of_kind(kind) };
        let number = |literal: &Literal| match literal {
            Literal::Int(value) => Some(i128::from(*value)),
            Literal::Bool(truth) => Some(i128::from(*truth)),
            Literal::None | Literal::Float(_) | Literal::Str(_) => None,
        };
        let all = literals.iter().map(number).collect::<Option<_>>();
        all.map_or(of_kind(kind), Possible::of)
    }

    fn property(&self, id: ValueId, property: Property, kind: Kind) -> Possible {
        let value = &self.function.values[id];
        if value.guard.is_some() {
            return of_kind(kind);
        }
        if let Property::Tensor(OfTensor::Extent { checked: true, .. }) = property {
            return Possible::NATURAL;
        }
        if let Property::Tensor(OfTensor::Extent { dim, checked: false }) = property {
            let dims = value.ty.shape().map_or(&[][..], Shape::dims);
            let Some(Dim::Expr(Expr::Int(extent))) = dims.get(dim as usize) else {
                return Possible::NATURAL;
            };
            return Possible::one((*extent).into());
        }
        if let Property::Tensor(OfTensor::Ndim) | Property::Several(OfSeveral::NumberCount) =
            property
        {
            let rank = value.ty.shape().and_then(Shape::rank);
            let least = value.ty.shape().map_or(0, Shape::least_rank);
            let most = i64::MAX.into();
            return rank.map_or(Possible::Between(least as i128, most), |rank| {
                Possible::one(rank as i128)
            });
        }
        if let Property::Tensor(OfTensor::DType) = property {
            let accepted = self.function.accepted(id);
            return Possible::of(accepted.iter().map(|dtype| dtype.to_word().into()).collect());
        }
        match property {
            Property::Several(OfSeveral::TextSize | OfSeveral::RestSize { .. }) => {
                Possible::NATURAL
            }
            Property::Length => Possible::NATURAL,
            Property::Tensor(_) | Property::Several(_) | Property::TypeOfDevice => of_kind(kind),
            Property::IndexOfDevice | Property::IsSome => of_kind(kind),
        }
    }

    fn same_text(&self, value: ValueId, text: &str) -> Possible {
        if let Some((_, known)) = self.texts.iter().find(|(of, _)| *of == value) {
            return truths(known != text, known == text);
        }
        let value = &self.function.values[value];
        let ParamType::Literal(literals) = value.ty else { return Possible::TRUTH };
        let may_be = literals.iter().any(|literal| *literal == Literal::Str(text.to_owned()));
        truths(true, may_be || value.guard.is_some())
    }
}

impl Relation {
    /// Returns the possible results of a comparison under these relations.
    fn truth(self, wanted: Relation) -> Possible {
        truths(self.exceeds(wanted), !self.and(wanted).is_none())
    }
}

fn truths(no: bool, yes: bool) -> Possible {
    let all = [(no, 0), (yes, 1)];
    Possible::of(all.into_iter().filter(|(is, _)| *is).map(|(_, value)| value).collect())
}

/// Returns all values of a kind.
fn of_kind(kind: Kind) -> Possible {
    match kind {
        Kind::Int => Possible::INT,
        Kind::Unsigned => Possible::UNSIGNED,
        Kind::Bool => Possible::TRUTH,
        Kind::Float => Possible::floats(),
        Kind::Ptr | Kind::DType | Kind::Device | Kind::Text | Kind::Several => Possible::ANY,
    }
}

/// Returns all values of a scalar. As an `int64` a larger `uint64` wraps.
fn of_scalar(scalar: Scalar, kind: Kind) -> Possible {
    if scalar == Scalar::Bool {
        return Possible::TRUTH;
    }
    if !scalar.is_int() || (scalar == Scalar::Uint64 && kind != Kind::Unsigned) {
        return of_kind(kind);
    }
    let values = 1_i128 << scalar.bits();
    if scalar.is_signed() {
        Possible::Between(-values / 2, values / 2 - 1)
    } else {
        Possible::Between(0, values - 1)
    }
}

fn logic(op: Logic, [a, b]: [Possible; 2]) -> Possible {
    let both = |value| a.has(value) && b.has(value);
    let one = |value| a.has(value) || b.has(value);
    match op {
        Logic::And => truths(one(0), both(1)),
        Logic::Or => truths(both(0), one(1)),
    }
}

fn unary(op: Unary, operand: &Possible) -> Possible {
    match op {
        Unary::Fneg => Possible::floats(),
        Unary::Not => truths(operand.has(1), operand.has(0)),
        Unary::Number => Possible::UNSIGNED,
        Unary::Truth => truths(operand.has(0), operand.without(0).ends().is_some()),
        Unary::ToFloat | Unary::UnsignedToFloat => {
            let float = |value: i128| Possible::float(value as f64);
            let ends = operand.ends().map(|(least, most)| (float(least), float(most)));
            ends.map_or(Possible::of(Vec::new()), |(least, most)| Possible::Between(least, most))
        }
    }
}

fn arithmetic(op: Binary, [a, b]: [Possible; 2]) -> Possible {
    type Ends = (i128, i128);
    let each = |a, b| i128::from(op.fold(a, b));
    match op {
        Binary::Min => a.combine(&b, each, |a: Ends, b: Ends| Some((a.0.min(b.0), a.1.min(b.1)))),
        Binary::Max => a.combine(&b, each, |a: Ends, b: Ends| Some((a.0.max(b.0), a.1.max(b.1)))),
        Binary::Fadd | Binary::Fsub | Binary::Fmul | Binary::Fdiv => Possible::floats(),
        Binary::Fmin | Binary::Fmax => Possible::floats(),
        Binary::Eq | Binary::Ne | Binary::Lt | Binary::Le | Binary::Gt => Possible::TRUTH,
        Binary::Ge | Binary::Ult | Binary::Ule | Binary::Ugt | Binary::Uge => Possible::TRUTH,
        Binary::Feq | Binary::Fne => Possible::TRUTH,
        Binary::Flt | Binary::Fle | Binary::Fgt | Binary::Fge => Possible::TRUTH,
    }
}

/// Returns the possible results of an operation that fails if its result is no `int64`.
fn exact(op: Exact, [a, b]: [Possible; 2]) -> Possible {
    type Ends = (i128, i128);
    let each = |a, b| op.fold(a, b);
    match op {
        Exact::Add => a.combine(&b, each, |a: Ends, b: Ends| Some((a.0 + b.0, a.1 + b.1))),
        Exact::Sub => a.combine(&b, each, |a: Ends, b: Ends| Some((a.0 - b.1, a.1 - b.0))),
        Exact::Mul => a.combine(&b, each, |a: Ends, b: Ends| {
            let corners = [a.0 * b.0, a.0 * b.1, a.1 * b.0, a.1 * b.1];
            corners.iter().min().copied().zip(corners.iter().max().copied())
        }),
    }
}

/// Returns the possible quotients by a positive constant; any integer for other divisors.
fn division(op: Division, a: &Possible, b: &Possible) -> Possible {
    let Some(by) = b.single().filter(|by| *by > 0) else { return Possible::INT };
    a.combine(
        &Possible::one(by),
        |a, b| op.fold(a, b),
        |(least, most), _| {
            Some(match op {
                Division::Div => (least.div_euclid(by), most.div_euclid(by)),
                Division::CeilDiv => (-(-least).div_euclid(by), -(-most).div_euclid(by)),
                Division::Rem if (0..by).contains(&least) && (0..by).contains(&most) => {
                    (least, most)
                }
                Division::Rem => (0, by - 1),
            })
        },
    )
}
