//! Names and kinds: what each name of a function stands for and what each expression yields.

mod outputs;

use abi_spec::Scalar;

use crate::declaration::{
    Comparison, Constraint, Dim, Function, ParamType, Shape, Strides, Tensor,
};
use crate::error::Part;
use crate::expr::{BinaryOp, Builtin, Expr, Member};

/// A symbol: an integer that extents, strides and integer parameters agree on.
#[derive(Clone, Debug)]
pub(crate) struct SymbolInfo<'a> {
    /// Its name.
    pub(crate) name: &'a str,
    /// Where it is first mentioned.
    pub(crate) part: Part,
    /// The integer parameter of the same name.
    pub(crate) param: Option<usize>,
}

/// Symbols of one function, integer parameters included: the routine that explains failures has room
/// for so many.
pub(crate) const MAX_SYMBOLS: usize = 1024;

/// What a name stands for.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum Meaning {
    /// A symbol; every integer parameter is one.
    Symbol(usize),
    /// A parameter that is no integer.
    Scalar(usize, Scalar),
    /// A tensor parameter.
    Tensor(usize),
    /// A tensor that is allocated for the kernel.
    Output(usize),
}

/// What an expression yields in arithmetic.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum Kind {
    /// An `int64`; also bools.
    Int,
    /// A `float64`.
    Float,
    /// An address.
    Ptr,
}

/// The names of one function.
#[derive(Debug)]
pub(crate) struct Scope<'a> {
    /// The declaration.
    pub(crate) function: &'a Function,
    /// In the order in which they are first mentioned.
    pub(crate) symbols: Vec<SymbolInfo<'a>>,
}

impl<'a> Scope<'a> {
    /// Collects the symbols.
    pub(crate) fn new(function: &'a Function) -> Result<Self, (Part, String)> {
        let mut scope = Scope { function, symbols: Vec::new() };
        for (index, param) in function.signature.params.iter().enumerate() {
            match &param.ty {
                ParamType::Scalar(scalar) if scalar.is_int() => {
                    scope.mention(&param.name, Part::Param(index))?;
                }
                ParamType::Scalar(_) => {}
                ParamType::Tensor(tensor) => scope.collect(index, tensor)?,
            }
        }
        scope.check_outputs()?;
        Ok(scope)
    }

    fn collect(&mut self, index: usize, tensor: &'a Tensor) -> Result<(), (Part, String)> {
        if let Shape::Dims(dims) = &tensor.shape {
            for (dim, extent) in dims.iter().enumerate() {
                self.collect_dim(extent, Part::Dim(index, dim))?;
            }
        }
        if let Strides::List(list) = &tensor.strides {
            for (dim, stride) in list.iter().enumerate() {
                self.collect_dim(stride, Part::Stride(index, dim))?;
            }
        }
        Ok(())
    }

    fn collect_dim(&mut self, dim: &'a Dim, part: Part) -> Result<(), (Part, String)> {
        match dim {
            Dim::Any => Ok(()),
            Dim::Expr(expr) => self.collect_expr(expr, part),
        }
    }

    fn collect_expr(&mut self, expr: &'a Expr, part: Part) -> Result<(), (Part, String)> {
        if let Expr::Name(name) = expr {
            return self.mention(name, part);
        }
        expr.children().try_for_each(|child| self.collect_expr(child, part))
    }

    fn mention(&mut self, name: &'a str, part: Part) -> Result<(), (Part, String)> {
        if self.symbols.iter().any(|symbol| symbol.name == name) {
            return Ok(());
        }
        let param = self.function.signature.params.iter().position(|param| param.name == name);
        if let Some(param) = param {
            match &self.function.signature.params[param].ty {
                ParamType::Scalar(scalar) if scalar.is_int() => {}
                ParamType::Scalar(scalar) => {
                    let reason = format!("`{name}` is a {scalar} parameter, not a symbol");
                    return Err((part, reason));
                }
                ParamType::Tensor(_) => {
                    return Err((part, format!("`{name}` is a tensor, not a symbol")));
                }
            }
        }
        if self.symbols.len() == MAX_SYMBOLS {
            return Err((part, format!("more than {MAX_SYMBOLS} symbols")));
        }
        self.symbols.push(SymbolInfo { name, part, param });
        Ok(())
    }

    /// The position of a parameter among the arguments of a call; `None` for `self`.
    pub(crate) fn argument(&self, param: usize) -> Option<usize> {
        if self.function.signature.has_self() { param.checked_sub(1) } else { Some(param) }
    }

    /// The declaration of a tensor parameter.
    pub(crate) fn tensor_of_param(&self, param: usize) -> Option<&'a Tensor> {
        match &self.function.signature.params[param].ty {
            ParamType::Tensor(tensor) => Some(tensor),
            ParamType::Scalar(_) => None,
        }
    }

    /// How many tensors there are among the parameters before this one.
    pub(crate) fn tensors_before(&self, param: usize) -> usize {
        (0..param).filter(|&before| self.tensor_of_param(before).is_some()).count()
    }

    /// The symbol that an integer parameter is an occurrence of.
    pub(crate) fn symbol_of_param(&self, param: usize) -> Option<usize> {
        self.symbols.iter().position(|symbol| symbol.param == Some(param))
    }

    /// The symbol that an expression consists of.
    pub(crate) fn symbol_of(&self, expr: &Expr) -> Option<usize> {
        let Expr::Name(name) = expr else {
            return None;
        };
        self.symbols.iter().position(|symbol| symbol.name == name)
    }

    /// What a name stands for.
    pub(crate) fn meaning(&self, name: &str) -> Option<Meaning> {
        if let Some(symbol) = self.symbols.iter().position(|symbol| symbol.name == name) {
            return Some(Meaning::Symbol(symbol));
        }
        let params = &self.function.signature.params;
        let Some(index) = params.iter().position(|param| param.name == name) else {
            return self.output(name).map(Meaning::Output);
        };
        Some(match params[index].ty {
            ParamType::Scalar(scalar) => Meaning::Scalar(index, scalar),
            ParamType::Tensor(_) => Meaning::Tensor(index),
        })
    }

    /// The scalar parameter that an expression consists of.
    pub(crate) fn bare_scalar(&self, expr: &Expr) -> Option<(usize, Scalar)> {
        let Expr::Name(name) = expr else {
            return None;
        };
        match self.meaning(name)? {
            Meaning::Symbol(symbol) => {
                let param = self.symbols[symbol].param?;
                match self.function.signature.params[param].ty {
                    ParamType::Scalar(scalar) => Some((param, scalar)),
                    ParamType::Tensor(_) => None,
                }
            }
            Meaning::Scalar(param, scalar) => Some((param, scalar)),
            Meaning::Tensor(_) | Meaning::Output(_) => None,
        }
    }

    /// The tensor parameter that an expression names.
    pub(crate) fn tensor(&self, expr: &Expr) -> Option<(usize, &'a Tensor)> {
        let Expr::Name(name) = expr else {
            return None;
        };
        let params = &self.function.signature.params;
        params.iter().enumerate().find_map(|(index, param)| match &param.ty {
            ParamType::Tensor(tensor) if param.name == *name => Some((index, tensor)),
            ParamType::Tensor(_) | ParamType::Scalar(_) => None,
        })
    }

    /// Calls `f` with every occurrence of a symbol in an expression.
    pub(crate) fn visit_symbols(&self, expr: &Expr, f: &mut impl FnMut(usize)) {
        if let Some(symbol) = self.symbol_of(expr) {
            f(symbol);
        }
        expr.children().for_each(|child| self.visit_symbols(child, f));
    }

    /// What an expression yields, or why it yields nothing.
    pub(crate) fn kind(&self, expr: &Expr) -> Result<Kind, String> {
        match expr {
            Expr::Int(_) => Ok(Kind::Int),
            Expr::Float(value) if value.is_finite() => Ok(Kind::Float),
            Expr::Float(value) => Err(format!("{value} is not a finite number")),
            Expr::Null => Ok(Kind::Ptr),
            Expr::Name(name) => match self.meaning(name) {
                Some(Meaning::Symbol(_) | Meaning::Scalar(_, Scalar::Bool)) => Ok(Kind::Int),
                Some(Meaning::Scalar(_, Scalar::Ptr) | Meaning::Tensor(_) | Meaning::Output(_)) => {
                    Ok(Kind::Ptr)
                }
                Some(Meaning::Scalar(..)) => Ok(Kind::Float),
                None => Err(format!("nothing determines the symbol `{name}`")),
            },
            Expr::Member(of, member) => self.member(of, *member),
            Expr::Neg(inner) => self.number(inner),
            Expr::Binary(op, lhs, rhs) => self.binary(*op, lhs, rhs),
            Expr::Call(builtin, lhs, rhs) => self.builtin(*builtin, lhs, rhs),
            Expr::Stream(of) => match (self.tensor(of), self.output_of(of)) {
                (Some(_), _) | (_, Some(_)) => Ok(Kind::Ptr),
                (None, None) => Err(format!("stream takes a tensor, not `{of}`")),
            },
            Expr::Cast(scalar, inner) => self.cast(*scalar, inner),
        }
    }

    fn member(&self, of: &Expr, member: Member) -> Result<Kind, String> {
        if let Some(output) = self.output_of(of) {
            return self.output_member(output, member);
        }
        let Some((_, tensor)) = self.tensor(of) else {
            return Err(format!("`{of}` is not a tensor and has no members"));
        };
        let (Member::Shape(index) | Member::Strides(index)) = member else {
            return Ok(if member == Member::Data { Kind::Ptr } else { Kind::Int });
        };
        match tensor.rank() {
            Some(rank) if index as usize >= rank => {
                Err(format!("`{of}` has rank {rank}, which leaves no dim {index}"))
            }
            Some(_) | None => Ok(Kind::Int),
        }
    }

    /// The kind of an operand of arithmetic.
    fn number(&self, expr: &Expr) -> Result<Kind, String> {
        match self.kind(expr)? {
            Kind::Ptr => Err(format!("`{expr}` is an address, not a number")),
            kind @ (Kind::Int | Kind::Float) => Ok(kind),
        }
    }

    fn both(&self, lhs: &Expr, rhs: &Expr) -> Result<Kind, String> {
        Ok(match (self.number(lhs)?, self.number(rhs)?) {
            (Kind::Int, Kind::Int) => Kind::Int,
            _ => Kind::Float,
        })
    }

    fn binary(&self, op: BinaryOp, lhs: &Expr, rhs: &Expr) -> Result<Kind, String> {
        let kind = self.both(lhs, rhs)?;
        match (op, kind) {
            (BinaryOp::Rem, Kind::Float) => Err("`%` takes integers".to_owned()),
            (BinaryOp::Div | BinaryOp::Rem, Kind::Int) => divisor(rhs).map(|()| kind),
            _ => Ok(kind),
        }
    }

    fn builtin(&self, builtin: Builtin, lhs: &Expr, rhs: &Expr) -> Result<Kind, String> {
        let kind = self.both(lhs, rhs)?;
        match (builtin, kind) {
            (Builtin::CeilDiv, Kind::Int) => divisor(rhs).map(|()| kind),
            (Builtin::CeilDiv, _) => Err("`ceildiv` takes integers".to_owned()),
            (Builtin::Min | Builtin::Max, _) => Ok(kind),
        }
    }

    fn cast(&self, scalar: Scalar, inner: &Expr) -> Result<Kind, String> {
        let kind = self.number(inner)?;
        if scalar == Scalar::Ptr {
            return Err("nothing converts to `ptr`".to_owned());
        }
        if scalar.is_float() {
            return Ok(Kind::Float);
        }
        match kind {
            Kind::Int => Ok(Kind::Int),
            Kind::Float | Kind::Ptr => {
                Err(format!("`{scalar}` takes an integer, not the float `{inner}`"))
            }
        }
    }

    /// Dims are integer expressions over symbols.
    pub(crate) fn check_dim(&self, expr: &Expr) -> Result<(), String> {
        match expr {
            Expr::Int(_) | Expr::Name(_) | Expr::Neg(_) | Expr::Binary(..) | Expr::Call(..) => {}
            Expr::Float(_) | Expr::Null | Expr::Member(..) | Expr::Stream(_) | Expr::Cast(..) => {
                return Err(format!("`{expr}` is no expression over symbols"));
            }
        }
        expr.children().try_for_each(|child| self.check_dim(child))?;
        self.kind(expr).map(|_| ())
    }

    /// Numbers compare with numbers; addresses for equality with addresses.
    pub(crate) fn check_constraint(&self, constraint: &Constraint) -> Result<(), String> {
        let Constraint { lhs, op, rhs, .. } = constraint;
        self.no_output(lhs)?;
        self.no_output(rhs)?;
        if mentions_stream(lhs) || mentions_stream(rhs) {
            return Err("a stream is not known before the call".to_owned());
        }
        match (self.kind(lhs)?, self.kind(rhs)?) {
            (Kind::Ptr, Kind::Ptr) if matches!(op, Comparison::Eq | Comparison::Ne) => Ok(()),
            (Kind::Ptr, Kind::Ptr) => Err("addresses compare with == and != only".to_owned()),
            (Kind::Ptr, _) | (_, Kind::Ptr) => {
                Err(format!("`{lhs}` and `{rhs}` cannot be compared"))
            }
            _ => Ok(()),
        }
    }

    /// True if computing the expression may raise.
    pub(crate) fn can_fail(&self, expr: &Expr) -> bool {
        let here = match expr {
            Expr::Binary(BinaryOp::Div | BinaryOp::Rem, lhs, rhs) => {
                self.both(lhs, rhs) == Ok(Kind::Int) && constant(rhs).is_none()
            }
            Expr::Call(Builtin::CeilDiv, _, rhs) => constant(rhs).is_none(),
            Expr::Cast(scalar, _) => scalar.is_int() && *scalar != Scalar::Int64,
            Expr::Member(of, Member::Shape(_) | Member::Strides(_)) => {
                self.tensor(of).is_some_and(|(_, tensor)| tensor.rank().is_none())
            }
            Expr::Int(_)
            | Expr::Float(_)
            | Expr::Null
            | Expr::Name(_)
            | Expr::Member(..)
            | Expr::Neg(_)
            | Expr::Binary(..)
            | Expr::Call(..)
            | Expr::Stream(_) => false,
        };
        here || expr.children().any(|child| self.can_fail(child))
    }
}

fn mentions_stream(expr: &Expr) -> bool {
    matches!(expr, Expr::Stream(_)) || expr.children().any(mentions_stream)
}

fn divisor(expr: &Expr) -> Result<(), String> {
    match constant(expr) {
        Some(0) => Err(format!("division by `{expr}`, which is zero")),
        Some(_) | None => Ok(()),
    }
}

/// The value of an integer expression without names; `None` where there is none.
pub(crate) fn constant(expr: &Expr) -> Option<i64> {
    match expr {
        Expr::Int(value) => Some(*value),
        Expr::Neg(inner) => constant(inner).map(i64::wrapping_neg),
        Expr::Binary(op, lhs, rhs) => {
            let (a, b) = (constant(lhs)?, constant(rhs)?);
            match op {
                BinaryOp::Add => Some(a.wrapping_add(b)),
                BinaryOp::Sub => Some(a.wrapping_sub(b)),
                BinaryOp::Mul => Some(a.wrapping_mul(b)),
                BinaryOp::Div => floor_div(a, b),
                BinaryOp::Rem => Some(a.wrapping_sub(floor_div(a, b)?.wrapping_mul(b))),
            }
        }
        Expr::Call(builtin, lhs, rhs) => {
            let (a, b) = (constant(lhs)?, constant(rhs)?);
            match builtin {
                Builtin::Min => Some(a.min(b)),
                Builtin::Max => Some(a.max(b)),
                Builtin::CeilDiv => floor_div(a, b).map(|quotient| {
                    let inexact = quotient.wrapping_mul(b) != a;
                    quotient.wrapping_add(i64::from(inexact))
                }),
            }
        }
        Expr::Float(_)
        | Expr::Null
        | Expr::Name(_)
        | Expr::Member(..)
        | Expr::Stream(_)
        | Expr::Cast(..) => None,
    }
}

/// Floor division, wrapping; `None` for a zero divisor.
pub(crate) fn floor_div(a: i64, b: i64) -> Option<i64> {
    if b == 0 {
        return None;
    }
    let (quotient, remainder) = (a.wrapping_div(b), a.wrapping_rem(b));
    Some(if remainder != 0 && (remainder < 0) != (b < 0) { quotient - 1 } else { quotient })
}

impl Tensor {
    /// The number of dims, if it is fixed.
    pub(crate) fn rank(&self) -> Option<usize> {
        match &self.shape {
            Shape::AnyRank => None,
            Shape::Dims(dims) => Some(dims.len()),
        }
    }

    /// Required alignment in bytes: as declared, or that of one lane.
    pub(crate) fn alignment(&self) -> u64 {
        let lane = self.dtype.lane_bytes() as u64;
        self.align.unwrap_or(lane & lane.wrapping_neg())
    }
}
