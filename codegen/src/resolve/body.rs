//! What follows the parameters: constraints, the tensors that are returned, and the body.

use abi_spec::Scalar;

use super::Items;
use super::function::{Argument, Body, Call, Function};
use super::knowledge::Knowledge;
use super::names::Names;
use super::order::{Order, inside};
use super::prototype::{self, Result as KernelResult};
use super::statement::Block;
use super::step::Step;
use super::term::{Kind, Node, Term};
use crate::declaration::{Body as Declared, Expr, KernelCall, ParamType, ResultType};
use crate::error::Part;

/// Finds the meaning of a function, or why it has none.
pub(super) fn resolve<'a>(
    declared: &'a crate::Function,
    items: &Items<'a>,
) -> Result<Function<'a>, (Part, String)> {
    let mut names = Names::new(declared)?;
    let mut order = Order::new(&names)?;
    constraints(&names, &mut order)?;
    let extents = outputs(&names, &mut order)?;
    let args = match &declared.body {
        Declared::Call(call) => arguments(&names, &mut order, call)?,
        Declared::Block(_) => Vec::new(),
    };
    let Order { steps, mut knowledge, .. } = order;
    for (output, extents) in names.outputs.keys().zip(extents) {
        names.outputs[output].extents = extents;
    }
    let body = match &declared.body {
        Declared::Call(call) => one_call(&mut names, &mut knowledge, call, args)?,
        Declared::Block(statements) => {
            Body::Block(Block::new(&mut names, knowledge, items).body(statements)?)
        }
    };
    let Names { values, symbols, outputs, locals, .. } = names;
    Ok(Function { declared, values, symbols, outputs, locals, steps, body })
}

fn constraints<'a>(names: &Names<'a>, order: &mut Order<'_, 'a>) -> Result<(), (Part, String)> {
    for (index, constraint) in names.function.signature.constraints.iter().enumerate() {
        let at = |reason| (Part::Constraint(index), reason);
        let condition = names.condition(constraint).map_err(at)?;
        order.inside(&condition.test).map_err(at)?;
        order.steps.push(Step::Require(condition));
    }
    Ok(())
}

fn outputs<'a>(
    names: &Names<'a>,
    order: &mut Order<'_, 'a>,
) -> Result<Vec<Vec<Term>>, (Part, String)> {
    let mut all = Vec::with_capacity(names.outputs.len());
    for (index, output) in names.function.signature.outputs().iter().enumerate() {
        let at = |reason| (Part::Output(index), reason);
        let mut extents = Vec::new();
        for expr in output.tensor.extents() {
            let term = names.extent(expr).map_err(at)?;
            order.evaluate(&term).map_err(at)?;
            extents.push(term);
        }
        all.push(extents);
    }
    Ok(all)
}

fn arguments<'a>(
    names: &Names<'a>,
    order: &mut Order<'_, 'a>,
    call: &'a KernelCall,
) -> Result<Vec<Argument>, (Part, String)> {
    let mut args = Vec::with_capacity(call.args.len());
    for (index, expr) in call.args.iter().enumerate() {
        let at = |reason| (Part::Argument(index), reason);
        let argument = names.argument(expr).map_err(at)?;
        if let Argument::Term(term, _) = &argument {
            order.evaluate(term).map_err(at)?;
        }
        args.push(argument);
    }
    Ok(args)
}

/// A body that is one call, which yields the result of the function.
fn one_call<'a>(
    names: &mut Names<'a>,
    knowledge: &mut Knowledge,
    call: &'a KernelCall,
    args: Vec<Argument>,
) -> Result<Body<'a>, (Part, String)> {
    let result = match &names.function.signature.result {
        ResultType::None | ResultType::Allocated(_) => KernelResult::None,
        ResultType::Value(ParamType::Scalar(scalar)) => KernelResult::Scalar(*scalar),
        ResultType::Value(_) => KernelResult::Written,
    };
    let types = prototype::of_call(names, call, &args, result);
    let (symbol, prototype) = (&call.symbol, types.signature());
    let call = Call { symbol, prototype, types, args, status: call.status.as_deref() };
    let result = match (&names.function.signature.result, result) {
        (ResultType::Value(ty), KernelResult::Written) => {
            let at = |(_, reason)| (Part::Result, reason);
            Some(super::received::receive(names, knowledge, "result".to_owned(), ty).map_err(at)?)
        }
        _ => None,
    };
    Ok(Body::Call { call, result })
}

impl<'a> Names<'a> {
    /// Dims are integer expressions over symbols.
    pub(super) fn dim(&self, expr: &Expr) -> Result<Term, String> {
        over_symbols(expr)?;
        self.term(expr).map(Term::into_int)
    }

    /// An extent of a tensor that is returned is a number that is known before the call.
    fn extent(&self, expr: &Expr) -> Result<Term, String> {
        self.no_output(expr)?;
        let term = self.dim(expr)?;
        if term.kind == Kind::Int { Ok(term) } else { Err(format!("`{expr}` is not an integer")) }
    }

    /// Nothing is known of results before the call.
    pub(super) fn no_output(&self, expr: &Expr) -> Result<(), String> {
        if self.output_of(expr).is_some() {
            return Err(format!("`{expr}` is a result, which is not known before the call"));
        }
        expr.children().try_for_each(|child| self.no_output(child))
    }

    /// What a C function is given. Everything that has a value can be passed on.
    pub(super) fn argument(&self, expr: &Expr) -> Result<Argument, String> {
        let term = self.term(expr)?;
        if let Some(value) = self.value_of(expr) {
            return Ok(Argument::Value(value));
        }
        if let Node::Text(text) = term.node {
            return Ok(Argument::Text(text));
        }
        let scalar = match (expr, term.kind) {
            (Expr::Cast(scalar, _), _) => *scalar,
            (_, Kind::Bool) => Scalar::Bool,
            (_, Kind::Int) => Scalar::Int64,
            (_, Kind::Unsigned) => {
                return Err(format!("`{expr}` is above int64: only a `uint64` compares with it"));
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

impl Order<'_, '_> {
    /// A term that the body computes with nothing but what the parameters determine.
    fn evaluate(&mut self, term: &Term) -> Result<(), String> {
        self.inside(term)
    }

    /// Requires that a term, which is in no parameter, mentions no symbol that is known within one only.
    fn inside(&self, term: &Term) -> Result<(), String> {
        inside(self.names, &self.knowledge, term, None)
    }
}

fn over_symbols(expr: &Expr) -> Result<(), String> {
    match expr {
        Expr::Int(_) | Expr::Name(_) | Expr::Neg(_) | Expr::Binary(..) | Expr::Call(..) => {
            expr.children().try_for_each(over_symbols)
        }
        Expr::Unsigned(_)
        | Expr::Float(_)
        | Expr::Text(_)
        | Expr::Null
        | Expr::Member(..)
        | Expr::Element(..)
        | Expr::Field(..)
        | Expr::Stream(_)
        | Expr::Cast(..)
        | Expr::Bool(_)
        | Expr::None
        | Expr::Compare(..)
        | Expr::Not(_)
        | Expr::Logic(..)
        | Expr::Array(_)
        | Expr::Shape(_) => Err(format!("`{expr}` is no expression over symbols")),
    }
}
