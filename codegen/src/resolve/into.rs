//! Functions that write into tensors of their callers: `@matmul(x, w) into y`.
//!
//! For a function that allocates its results, another function is derived from its declaration. It has the results as
//! further parameters, so that they are checked as arguments are, and returns None. Callers see one function: errors
//! show the declared signature.

use abi_spec::DeviceType;
use rustc_hash::FxHashSet;

use super::body::{Action, Callee, Entry, Packed, PackedCall, Plain};
use super::function::Function;
use super::statement::Block;
use super::term::{Kind, Node, Term};
use super::xla::made::returned;
use super::{Explained, Items, definition, value};
use crate::declaration::limit::Limit;
use crate::declaration::{
    self, Body, Constraint, Device, Expr, Literal, Member, Output, Param, ResultType, Signature,
    StatementKind,
};
use crate::error::{Error, Part};

impl<'a> Block<'_, 'a> {
    /// Gives a call of the function `path` tensors to write.
    pub(super) fn give(
        &self,
        call: &mut PackedCall<'a>,
        into: &'a [Expr],
        path: &str,
    ) -> Explained<()> {
        let Callee::Symbol { name, entry: Some(entry) } = &mut call.callee else {
            return Err(format!(
                "`{path}` is no function of this library: only one writes `into` tensors"
            ));
        };
        let signature = &self.items.functions[*name].signature;
        let (given, results) = (into.len(), signature.outputs().len());
        if given != results {
            let reason = format!("returns {results} tensors that it allocates, not {given}");
            return Err(format!("`{}` {reason}", signature.header()));
        }
        if signature.most().is_none() {
            let reason = "takes any number of arguments, so that no tensors can follow them";
            return Err(format!("`{}` {reason}", signature.header()));
        }
        entry.into = true;
        call.args.extend(omitted(signature, call.args.len()));
        let outputs = signature.outputs();
        for (at, (expr, output)) in into.iter().zip(outputs).enumerate() {
            let packed = self.packed(expr)?;
            let is_tensor = match &packed {
                Packed::Plain(Plain::Output(_)) => true,
                Packed::Plain(Plain::Value(value)) => self.names.values[*value].tensor().is_some(),
                Packed::Plain(Plain::None | Plain::Term(_) | Plain::Text(_))
                | Packed::Array(_)
                | Packed::Function(_)
                | Packed::Shape(_) => false,
            };
            if !is_tensor {
                return Err(format!("`{expr}` is no tensor to write into"));
            }
            if self.is_read_value(&packed) {
                return Err(format!("`{expr}` is only read, and `{path}` writes into it"));
            }
            if into[..at].contains(expr) {
                return Err(format!("`{path}` would write two results into `{expr}`"));
            }
            if !self.may_be(&packed, &output.tensor.clone().into()) {
                let (name, tensor) = (&output.name, &output.tensor);
                return Err(format!(
                    "`{name}` of `{path}` is of type `{tensor}`, which `{expr}` is not"
                ));
            }
            call.args.push(packed);
        }
        Ok(())
    }
}

/// Returns the defaults of the parameters after the first `given`.
pub(super) fn omitted(signature: &Signature, given: usize) -> Vec<Packed<'_>> {
    let params = signature.arguments().iter().skip(given);
    params.filter_map(|param| param.default.as_ref()).map(literal).collect()
}

/// Returns a default as a value of the FFI.
fn literal(literal: &Literal) -> Packed<'_> {
    Packed::Plain(match literal {
        Literal::None => Plain::None,
        Literal::Bool(value) => Plain::Term(Term::new(Kind::Bool, Node::Int((*value).into()))),
        Literal::Int(value) => Plain::Term(Term::int(*value)),
        Literal::Float(value) => Plain::Term(Term::new(Kind::Float, Node::Float(*value))),
        Literal::Str(text) => Plain::Text(text),
    })
}

/// Derives and resolves the functions that calls give tensors to write, and those that other hosts enter likewise.
pub(super) fn functions<'a>(
    functions: &[Function<'a>],
    entered: &[(usize, Entry)],
    items: &Items<'a>,
) -> Result<Vec<Function<'a>>, Error> {
    let callers = functions.iter().enumerate().flat_map(|(caller, function)| {
        given(function).into_iter().map(move |(part, name)| (caller, function.declared, part, name))
    });
    let into = entered.iter().filter(|(_, entry)| entry.into).map(|&(function, _)| {
        let declared = functions[function].declared;
        (function, declared, Part::Result, &declared.signature.name[..])
    });
    let (mut all, mut seen) = (Vec::new(), FxHashSet::default());
    for (caller, declared, part, name) in callers.chain(into) {
        if !seen.insert(name) {
            continue;
        }
        let fault = |reason: String| {
            let reason = format!("`{name}` cannot write into tensors: {reason}");
            Error::invalid(caller, declared, part, reason)
        };
        let of = items.functions[name];
        let derived = declaration(of).map_err(fault)?;
        let resolved = definition::resolve(derived, items).map_err(|faults| {
            fault(faults.into_iter().next().map(|(_, reason)| reason).unwrap_or_default())
        })?;
        let mut resolved = Function { shown: &of.signature, ..resolved };
        let place = returned(derived).and_then(|(_, writes)| resolved.place_of(writes));
        if let (Some(place), Some((_, closure))) = (place, returned(of)) {
            resolved.closures[place].function.shown = &closure.signature;
        }
        all.push(resolved);
    }
    Ok(all)
}

/// Returns the statements of a function, and of those that it makes, that give tensors to write, each with the name of
/// the callee.
fn given<'a>(function: &Function<'a>) -> Vec<(Part, &'a str)> {
    let callee = |statement: &&super::body::Statement<'a>| {
        let Action::Call { call, .. } = &statement.action else { return None };
        let Callee::Symbol { name, entry: Some(Entry { into: true, .. }) } = call.callee else {
            return None;
        };
        Some((statement.number.map_or(Part::Callee, Part::Statement), name))
    };
    function.statements().iter().filter_map(callee).collect()
}

/// Returns the declaration of the function that gets the tensors to write; for one that returns a closure, of the
/// function whose closure gets them.
pub(super) fn declaration(of: &declaration::Function) -> Explained<&declaration::Function> {
    let Some((_, closure)) = returned(of) else { return Ok(of.into.keep(writing(of)?)) };
    let writes = writing(closure)?;
    let mut derived = of.clone();
    if let Body::Block(statements) = &mut derived.body
        && let Some(last) = statements.last_mut()
    {
        last.kind = StatementKind::Return(Some(Expr::function(writes)));
    }
    Ok(of.into.keep(derived))
}

/// Returns the declaration of a function that gets the tensors that another one allocates and returns.
fn writing(of: &declaration::Function) -> Explained<declaration::Function> {
    let mut derived = of.clone();
    let Signature { params, result, constraints, .. } = &mut derived.signature;
    let outputs = std::mem::replace(result, ResultType::None);
    let ResultType::Allocated(outputs) = outputs else {
        return Err("it allocates none".to_owned());
    };
    if params.len() + outputs.len() > Limit::Params.max() {
        return Err(format!("it would have more than {} parameters", Limit::Params.max()));
    }
    let values = value::values(&of.signature);
    for Output { name, mut tensor } in outputs {
        let home = value::same_device(&values, tensor.device);
        let of_home = home.and_then(|home| values[home].tensor());
        tensor.device = match (tensor.device, of_home) {
            (Device::Any, None) => Device::Type(DeviceType::CPU),
            (Device::Any, Some(home)) => home.device,
            (device @ Device::Type(_), _) => device,
        };
        if let (Device::Any, Some(home)) = (tensor.device, home) {
            // Tensors on one type of device are on the same device.
            let home = &of.signature.params[values[home].param].name;
            let [own, other] = [&name, home].map(|of| Expr::name(of).member(Member::DeviceType));
            constraints.push(Constraint::from(own.equal(other)));
        }
        params.push(Param::new(name, tensor));
    }
    Ok(derived)
}
