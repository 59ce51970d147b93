//! Resolves the definition of a function: parameters, constraints, outputs and body.

use super::argument::Argument;
use super::body::{Body, KernelCall};
use super::c_type::ResultConvention;
use super::captured::Capture;
use super::function::{Function, Kept};
use super::ids::LookUpId;
use super::knowledge::Knowledge;
use super::launch;
use super::look_up::When;
use super::names::Names;
use super::order::{Order, receive};
use super::presence::{Facts, Point};
use super::prototype;
use super::statement::Block;
use super::step::Step;
use super::term::Term;
use super::{Faults, Items, Located};
use crate::declaration::{self, Location, ParamType, Platform, ResultType};
use crate::error::Part;

/// Resolves a function of the library.
pub(super) fn resolve<'a>(
    declared: &'a crate::Function,
    items: &Items<'a>,
) -> Result<Function<'a>, Faults> {
    let platform = launch::platform::of(declared, items);
    let location = declared.location.as_ref();
    let resolved = resolve_in(declared, location, items, platform, Vec::new(), 0);
    resolved.map(|(function, _)| function)
}

/// Resolves a function at a location that holds what it captures. Its statements are counted from `count` on; also
/// returns the number after them.
pub(super) fn resolve_in<'a>(
    declared: &'a crate::Function,
    location: Option<&'a Location>,
    items: &Items<'a>,
    platform: Platform,
    captures: Vec<Capture<'a>>,
    mut count: usize,
) -> Result<(Function<'a>, usize), Faults> {
    let one = |fault| vec![fault];
    let images = items.used(declared);
    let (mut names, mut captured) =
        Names::new(declared, platform, images, captures).map_err(one)?;
    names.inquiry = items.inquiry;
    let order = Order::new(&names, &mut captured).map_err(one)?;
    let Order { mut steps, mut knowledge, .. } = order;
    let facts = constraints(&mut names, &knowledge, &mut steps)?;
    let here = Point { knowledge: &knowledge, facts: &facts };
    let extents = outputs(&names, here).map_err(one)?;
    let mut closures = Vec::new();
    for (output, extents) in names.outputs.keys().zip(extents) {
        names.outputs[output].extents = extents;
    }
    let body = match &declared.body {
        declaration::Body::Call(call) => {
            one_call(&mut names, &mut knowledge, &facts, call).map_err(one)?
        }
        declaration::Body::Block(statements) => {
            let mut block = Block::new(&mut names, knowledge, facts, items, (location, count));
            let statements = block.body(statements)?;
            (count, closures) = block.into_parts();
            Body::Block(statements)
        }
    };
    let Names { images, values, symbols, outputs, locals, maps, look_ups, .. } = names;
    let function = Function {
        declared,
        location,
        shown: &declared.signature,
        platform,
        images,
        values,
        symbols,
        outputs,
        locals,
        maps,
        look_ups,
        captured,
        steps,
        body,
        closures,
        kept: Kept::default(),
    };
    Ok((function, count))
}

/// Resolves the constraints, all of them if some have faults. Returns the facts that follow from them.
fn constraints<'a>(
    names: &mut Names<'a>,
    knowledge: &Knowledge,
    steps: &mut Vec<Step<'a>>,
) -> Result<Facts, Faults> {
    let (mut facts, mut faults) = (Facts::default(), Faults::new());
    for (index, constraint) in names.function.signature.constraints.iter().enumerate() {
        let here = Point { knowledge, facts: &facts };
        let condition = names.condition(here, (index, constraint)).and_then(|condition| {
            let follows = here.check(names, &condition.test)?;
            Ok((condition, follows))
        });
        match condition {
            Ok((condition, follows)) => {
                facts.extend(follows.holds);
                steps.push(Step::Require(condition));
            }
            Err(reason) => faults.push((Part::Constraint(index), reason)),
        }
    }
    if faults.is_empty() { Ok(facts) } else { Err(faults) }
}

fn outputs(names: &Names<'_>, here: Point<'_>) -> Located<Vec<Vec<Term>>> {
    let mut all = Vec::with_capacity(names.outputs.len());
    for (index, output) in names.function.signature.outputs().iter().enumerate() {
        let at = |reason| (Part::Output(index), reason);
        let mut extents = Vec::new();
        for expr in output.tensor.extents() {
            let term = names.extent(expr).map_err(at)?;
            here.check(names, &term).map_err(at)?;
            extents.push(term);
        }
        all.push(extents);
    }
    Ok(all)
}

/// Resolves the arguments of a body that is one call, and the elements that they and the callee name.
fn arguments(
    names: &mut Names<'_>,
    here: Point<'_>,
    call: &declaration::KernelCall,
) -> Located<(Vec<Argument>, Vec<LookUpId>)> {
    let (mut args, mut look_ups) = (Vec::with_capacity(call.args.len()), Vec::new());
    names.elements.clear();
    let address = names.look_up(here, call.address(), When::AT_FIRST);
    look_ups.extend(address.map_err(|reason| (Part::Callee, reason))?);
    for (index, expr) in call.args.iter().enumerate() {
        let at = |reason| (Part::Argument(index), reason);
        look_ups.extend(names.look_up(here, [expr], When::AT_FIRST).map_err(at)?);
        let argument = names.argument(expr).map_err(at)?;
        if let Argument::Term(term, _) = &argument {
            here.check(names, term).map_err(at)?;
        }
        args.push(argument);
    }
    Ok((args, look_ups))
}

/// Resolves a body that is one call.
fn one_call<'a>(
    names: &mut Names<'a>,
    knowledge: &mut Knowledge,
    facts: &Facts,
    call: &'a declaration::KernelCall,
) -> Located<Body<'a>> {
    let here = Point { knowledge, facts };
    let (args, look_ups) = arguments(names, here, call)?;
    let at = |reason| (Part::Callee, reason);
    let callee = names.kernel(call).map_err(at)?;
    callee.address().map_or(Ok(()), |address| here.check(names, address).map(drop)).map_err(at)?;
    let result = match &names.function.signature.result {
        ResultType::None | ResultType::Allocated(_) => None,
        ResultType::Value(ty) => Some(ty),
    };
    let status = call.status.as_deref();
    let yields = ResultConvention::of(result, status.is_some());
    let prototype = prototype::of_call(names, call, &args, &yields);
    let signature = prototype.signature();
    let inquiry = names.inquiry_after(call);
    let call = KernelCall { callee, signature, prototype, args, yields, status, inquiry };
    let result = match result {
        Some(ParamType::Scalar(_)) | None => None,
        Some(ty) => {
            let at = |(_, reason)| (Part::Result, reason);
            Some(receive(names, knowledge, facts, "result".to_owned(), ty).map_err(at)?)
        }
    };
    Ok(Body::Call { call: Box::new(call), look_ups, result })
}
