//! Parameters and results that may be in use after a call, or elsewhere during it, which callers should pass as
//! objects, and parameters that are returned.

use rustc_hash::FxHashMap;

use super::body::{Action, Callee, Packed, PackedCall, Plain, Received, Returned};
use super::captured::CaptureSource;
use super::function::{Function, Kept};
use super::ids::Id as _;
use crate::declaration::Signature;

/// Each function by its name, and what it keeps.
type KeptByName<'a> = FxHashMap<&'a str, (&'a Signature, Kept)>;

/// Returns what functions keep. A parameter is kept if the body returns it, puts it into an array, gives it to
/// a function that it makes, or hands it to a function of the FFI, unless that is one of the library, which takes it as
/// a tensor and does not keep it. It is kept, too, if it has tensors, and the body asks for the object of one, of
/// whichever parameter. So is a result that the function allocates.
pub(super) fn find<'a>(functions: &[Function<'a>]) -> Vec<Kept> {
    let name = |function: &Function<'a>| -> &'a str { &function.shown.name };
    // Functions that call each other keep nothing for that alone.
    let mut known: KeptByName<'a> = functions
        .iter()
        .map(|function| (name(function), (function.shown, Kept::default())))
        .collect();
    // A function keeps what it hands to one that keeps it: when that is found of one, those that call it are looked at
    // again.
    let mut callers: FxHashMap<&str, Vec<&Function<'a>>> = FxHashMap::default();
    for function in functions {
        for (callee, _) in function.entered() {
            callers.entry(callee).or_default().push(function);
        }
    }
    let mut pending: Vec<&Function<'a>> = functions.iter().collect();
    while let Some(function) = pending.pop() {
        let found = (function.shown, kept(function, &known));
        if known.insert(name(function), found.clone()) != Some(found) {
            pending.extend(callers.get(name(function)).into_iter().flatten());
        }
    }
    let all = functions.iter().map(|function| known.remove(name(function)));
    all.map(|found| found.map(|(_, kept)| kept).unwrap_or_default()).collect()
}

/// Returns what a function keeps, as far as that is known of those that it calls.
fn kept<'a>(function: &Function<'a>, known: &KeptByName<'a>) -> Kept {
    let params = &function.shown.params;
    let asks = function.declared.body.asks_object();
    let is_asked = params.iter().map(|param| asks && !param.ty.tensors().is_empty()).collect();
    let all = Kept { params: is_asked, returned: vec![false; params.len()], results: asks };
    let mut finder = Finder { function, known, all, origins: FxHashMap::default() };
    for given in function.closures.iter().flat_map(|closure| &closure.given) {
        match given {
            CaptureSource::Plain(plain) => finder.keep(plain),
            CaptureSource::Map(_) => {}
        }
    }
    // Statements of the body itself: what functions that it makes do with a value is theirs, since they hold it.
    for statement in function.own_statements() {
        match &statement.action {
            Action::Call { call, result, .. } => finder.call(call, result.as_ref()),
            Action::Return(Returned::Packed(packed, _)) => packed.for_each_plain(&mut |plain| {
                finder.keep(plain);
                finder.give_back(plain);
            }),
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
    finder.all
}

/// Finder of what a function keeps and returns, while its statements are read.
struct Finder<'f, 'a> {
    function: &'f Function<'a>,
    known: &'f KeptByName<'a>,
    all: Kept,
    /// Parameters of the function that a value of the body may be or contain, by its [`Value::param`]: results of
    /// calls.
    ///
    /// [`Value::param`]: super::value::Value::param
    origins: FxHashMap<usize, Vec<usize>>,
}

impl Finder<'_, '_> {
    /// Notes that a value is kept.
    fn keep(&mut self, plain: &Plain<'_>) {
        match plain {
            Plain::Value(value) => {
                if let Some(kept) = self.all.params.get_mut(self.function.values[*value].param) {
                    *kept = true;
                }
            }
            Plain::Output(output) => {
                self.all.results |= output.index() < self.function.results().count();
            }
            Plain::None | Plain::Term(_) | Plain::Text(_) => {}
        }
    }

    /// Notes that a value is returned.
    fn give_back(&mut self, plain: &Plain<'_>) {
        for param in self.params_of(plain) {
            self.all.returned[param] = true;
        }
    }

    /// Returns the parameters that a value may be or contain.
    fn params_of(&self, plain: &Plain<'_>) -> Vec<usize> {
        let Plain::Value(value) = plain else { return Vec::new() };
        let param = self.function.values[*value].param;
        if param < self.all.returned.len() {
            return vec![param];
        }
        self.origins.get(&param).cloned().unwrap_or_default()
    }

    /// Notes what a call keeps, and what its result may be.
    fn call(&mut self, call: &PackedCall<'_>, result: Option<&Received<'_>>) {
        for (place, arg) in call.args.iter().enumerate() {
            if !is_lent(call, place, self.known) {
                arg.for_each_plain(&mut |plain| self.keep(plain));
            }
        }
        let Some(received) = result else { return };
        let Callee::Symbol { name, entry: Some(_) } = call.callee else { return };
        let Some((_, kept)) = self.known.get(name) else { return };
        let mut from = Vec::new();
        for (place, arg) in call.args.iter().enumerate() {
            if kept.returned.get(place) == Some(&true) {
                arg.for_each_plain(&mut |plain| from.extend(self.params_of(plain)));
            }
        }
        self.origins.insert(self.function.values[received.value].param, from);
    }
}

/// Returns true if a call only lends its argument number `place`: the function is one of the library, takes it as a
/// tensor and does not keep it.
fn is_lent(call: &PackedCall<'_>, place: usize, known: &KeptByName<'_>) -> bool {
    let Callee::Symbol { name, entry: Some(_) } = call.callee else { return false };
    let is_plain = matches!(call.args[place], Packed::Plain(_));
    is_plain
        && known.get(name).is_some_and(|(signature, kept)| {
            let param = signature.params.get(place);
            param.is_some_and(|param| param.ty.required().0.tensor().is_some())
                && !kept.param(place)
        })
}
