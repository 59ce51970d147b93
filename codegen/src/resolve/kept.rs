//! Parameters and results that may be in use after a call, or elsewhere during it, which callers should pass as objects.

use rustc_hash::FxHashMap;

use super::body::{Action, Callee, Packed, PackedCall, Plain, Returned};
use super::captured::Given;
use super::function::{Function, Kept};
use super::ids::Id as _;
use crate::declaration::Signature;

/// Each function by its name, and what it keeps.
type Known<'a> = FxHashMap<&'a str, (&'a Signature, Kept)>;

/// Returns what functions keep. A parameter is kept if the body returns it, puts it into an array, gives it to
/// a function that it makes, or hands it to a function of the FFI, unless that is one of the library, which takes it as a
/// tensor and does not keep it. It is kept, too, if it has tensors, and the body asks for the object of one, of whichever
/// parameter. So is a result that the function allocates.
pub(super) fn find<'a>(functions: &[Function<'a>]) -> Vec<Kept> {
    let name = |function: &Function<'a>| -> &'a str { &function.shown.name };
    // Functions that call each other keep nothing for that alone.
    let mut known: Known<'a> = functions
        .iter()
        .map(|function| (name(function), (function.shown, Kept::default())))
        .collect();
    let mut pending: Vec<&Function<'a>> = functions.iter().collect();
    while !pending.is_empty() {
        let mut has_changed = false;
        for function in &pending {
            let found = (function.shown, kept(function, &known));
            has_changed |= known.insert(name(function), found.clone()) != Some(found);
        }
        pending.retain(|function| has_changed && !function.entered().is_empty());
    }
    let all = functions.iter().map(|function| known.remove(name(function)));
    all.map(|found| found.map(|(_, kept)| kept).unwrap_or_default()).collect()
}

/// Returns what a function keeps, as far as that is known of those that it calls.
fn kept<'a>(function: &Function<'a>, known: &Known<'a>) -> Kept {
    let params = &function.shown.params;
    let asks = function.declared.body.asks_object();
    let params = params.iter().map(|param| asks && !param.ty.tensors().is_empty()).collect();
    let mut all = Kept { params, results: asks };
    let results = function.results().count();
    let mut keep = |plain: &Plain<'_>| match plain {
        Plain::Value(value) => {
            if let Some(kept) = all.params.get_mut(function.values[*value].param) {
                *kept = true;
            }
        }
        Plain::Output(output) => all.results |= output.index() < results,
        Plain::None | Plain::Term(_) | Plain::Text(_) => {}
    };
    for given in function.closures.iter().flat_map(|closure| &closure.given) {
        match given {
            Given::Plain(plain) => keep(plain),
            Given::Map(_) => {}
        }
    }
    // Statements of the body itself: what functions that it makes do with a value is theirs, since they hold it.
    for statement in function.own_statements() {
        match &statement.action {
            Action::Call { call, .. } => {
                let args = call.args.iter().enumerate();
                args.filter(|(place, _)| !is_lent(call, *place, known))
                    .for_each(|(_, arg)| arg.for_each_plain(&mut keep));
            }
            Action::Return(Returned::Packed(packed, _)) => packed.for_each_plain(&mut keep),
            Action::Return(Returned::None | Returned::Outputs | Returned::Scalar(..))
            | Action::Name
            | Action::Let { .. }
            | Action::Make { .. }
            | Action::Kernel { .. }
            | Action::Allocate(_)
            | Action::TensorMap { .. }
            | Action::Launch(_)
            | Action::Command(_)
            | Action::If { .. }
            | Action::For { .. }
            | Action::Match(_)
            | Action::Raise { .. } => {}
        }
    }
    all
}

/// Returns true if a call only lends its argument number `place`: the function is one of the library, takes it as a tensor
/// and does not keep it.
fn is_lent(call: &PackedCall<'_>, place: usize, known: &Known<'_>) -> bool {
    let Callee::Symbol { name, entry: Some(_) } = call.callee else { return false };
    let is_plain = matches!(call.args[place], Packed::Plain(_));
    is_plain
        && known.get(name).is_some_and(|(signature, kept)| {
            let param = signature.params.get(place);
            param.is_some_and(|param| param.ty.required().0.tensor().is_some())
                && !kept.param(place)
        })
}
