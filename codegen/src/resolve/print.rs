//! Prints resolved declarations: [`Resolved`] as text, for readers who look for the reason of a check, or of its place.
//!
//! Every line is one thing, and what belongs to it is indented below. The lines of a function, of which those without
//! contents are left out:
//!
//! ```text
//! function SIGNATURE              the declared signature
//!   values                        parameters, results in the body, and what is nested in them
//!     INDEX PATH: TYPE, FACTS     `?` after the path if None is accepted; `i`, `j`, `k` are indices of loops
//!   symbols
//!     NAME: bound by PLACES       the first place that is there binds; later ones are compared
//!   outputs                       allocated tensors, those of the signature first
//!   locals, maps                  what the body names: numbers, truths, addresses; tensor maps
//!   look-ups                      elements that expressions name, and the steps that check them
//!   captured                      what a function that a body makes holds, and the steps that have checked it
//!   prologue                      the steps of the arguments, in the order in which failures are reported
//!   body                          one call, or actions
//!   closure INDEX given VALUES    a function that the body makes
//! ```
//!
//! The facts of a value: its origin; `guard V`, the nearest value that must not be None for this one to exist;
//! `holds V`, the values nested in it; `dynamic` in a loop or a union; `matched` if the number of the type that fits is
//! kept; `element type of V`; `kept` if an argument may be in use after the call.
//!
//! The steps, about a value or a place such as `x.shape[0]`:
//!
//! ```text
//! SCALAR V, header V, value V     type, and what depends on the value alone; of a tensor down to its extents
//! PLACE: N                        the number is the symbol, or binds it
//! PLACE: N from TERM              the number is the term, or binds the symbol by it
//! PLACE = TERM                    the number is the term; `if known` applies where these symbols are bound
//! PLACE: any                      an extent is not negative
//! folded V, compact V             strides
//! data V align BYTES              address of the elements
//! bind N by compact PLACE         where no stride has bound the symbol
//! each V, one of V, type TYPE     the steps below, for every element, or for the types of a union
//! require TERM                    a condition
//! ```
//!
//! Terms are printed by operator: `add`, `div`, `fmul`, `ult` and others are those of `resolve::operator` in lower
//! case, and `narrow`, `round` and `mixed` convert and compare as `resolve::term` says. `checked` is a property that
//! the value may lack. An argument of a C function is a value in the C types of its type (`x`), a term in the C type of
//! a scalar (`n: int64`), or a text.

mod body;
mod launch;
mod lines;
mod step;
mod term;

use std::fmt::{self, Display, Formatter};

use super::Resolved;
use super::captured::{CaptureSource, Captured};
use super::external::External;
use super::function::{Closure, Function};
use super::ids::{Home, Id, LocalId, LookUpId, MapId, OutputId, SymbolId, ValueId};
use super::look_up::LookUp;
use super::named::{Output, Symbol};
use super::step::{Rule, Step, Topic};
use super::value::{INDEX, Source, Value};
use crate::declaration::reserved::spelled;
use lines::Lines;

/// Prints functions in order, each with its values, its checks and its body, then the C functions of those that are
/// `extern`.
///
/// The text is for readers, and deterministic; it is no language that anything reads, and may change with each version.
///
/// ```
/// let text = "f(x: Tensor([n], float32)) -> None where n > 1 = k(x.data, n / 2);";
/// let library: tvm_ffi_codegen::Library = text.parse()?;
/// assert_eq!(library.resolve()?.to_string(), "\
/// function f(x: Tensor([n], float32)) -> None where n > 1
///   values
///     0 x: Tensor([n], float32), argument 0
///   symbols
///     n: bound by x.shape[0]
///   prologue
///     header x
///     x.shape[0]: n
///     compact x
///     data x align 4
///     require gt(n, 1)
///   body
///     call k(x.data: ptr, div(n, 2): int64) as void(void*, int64_t)
/// ");
/// # Ok::<(), tvm_ffi_codegen::Error>(())
/// ```
impl Display for Resolved<'_> {
    fn fmt(&self, f: &mut Formatter<'_>) -> fmt::Result {
        for function in &self.functions {
            f.write_str(&print_function(function).text)?;
        }
        let mut lines = Lines::default();
        for external in &self.externals {
            lines.line(c_function(external));
        }
        f.write_str(&lines.text)
    }
}

/// Prints a function.
fn print_function(function: &Function<'_>) -> Lines {
    let mut lines = Lines::default();
    let signature = &function.declared.signature;
    lines.nested(format!("function {signature}"), |lines| Printer(function).function(lines));
    lines
}

/// Returns the lines of a function, each with the name of what it is about.
pub(crate) fn named_lines(function: &Function<'_>) -> Vec<(String, Option<String>)> {
    let Lines { text, topics, .. } = print_function(function);
    text.lines().map(str::to_owned).zip(topics).collect()
}

/// Returns the prototype of the C function of a function that is `extern`.
fn c_function(external: &External<'_>) -> String {
    let params = external.params.iter();
    let params = params.flat_map(|of| of.types().into_iter().map(|(part, ty)| (of.name, part, ty)));
    let params = params.map(|(name, part, ty)| format!("{name}{part}: {}", ty.spelling()));
    let result = external.result.ty().map(|ty| format!("result: {}", ty.spelling()));
    let params: Vec<String> = params.chain(result).collect();
    format!("extern {}({})", external.symbol, params.join(", "))
}

/// Returns a path with letters for the indices that are known at run time only: `i` for the outermost loop, `j` for
/// the next.
pub(crate) fn path(path: &str) -> String {
    ["i", "j", "k"].iter().zip('\u{1}'..).fold(path.to_owned(), |path, (index, depth)| {
        path.replace(&format!("{INDEX}{depth}"), index)
    })
}

/// Returns the facts about a value besides path and type: its origin first.
pub(super) fn facts(value: &Value<'_>) -> String {
    let origin = match value.source {
        Source::Result => "result".to_owned(),
        Source::Captured(number) => format!("captured {number}"),
        Source::LookUp(found) => format!("look-up {}", found.index()),
        Source::Context => "context".to_owned(),
        Source::Argument(argument) => format!("argument {argument}"),
        Source::Rest(first) => format!("rest {first}"),
        Source::Element { of, index } => format!("element {index} of {}", of.index()),
        Source::Each { of } => format!("each of {}", of.index()),
        Source::Key { of } => format!("key of {}", of.index()),
        Source::Mapped { of } => format!("mapped of {}", of.index()),
        Source::Alternative { of } => format!("alternative of {}", of.index()),
    };
    let mut all = vec![origin];
    all.extend((value.depth > 0).then(|| format!("depth {}", value.depth)));
    all.extend(value.dynamic.then(|| "dynamic".to_owned()));
    all.extend(value.guard.map(|guard| format!("guard {}", guard.index())));
    if !value.children.is_empty() {
        let children = value.children.iter().map(|child| child.index().to_string());
        all.push(format!("holds {}", children.collect::<Vec<_>>().join(" ")));
    }
    all.extend(value.matched.then(|| "matched".to_owned()));
    all.extend(value.dtype_of.map(|of| format!("element type of {}", of.index())));
    all.join(", ")
}

/// Printer of a function.
pub(super) struct Printer<'f, 'a>(pub(super) &'f Function<'a>);

impl<'a> Printer<'_, 'a> {
    fn function(&self, lines: &mut Lines) {
        let Printer(function) = self;
        lines.section_of("values", function.values.iter(), |lines, (id, value)| {
            let line = self.value_line(id, value);
            lines.about(self.topic(Topic::value(id)), |lines| lines.line(line));
        });
        let symbols = function.symbols.iter();
        lines.section("symbols", symbols.map(|(id, symbol)| self.symbol_line(id, symbol)));
        lines.section("outputs", function.outputs.values().map(|output| self.output_line(output)));
        lines.section("locals", function.locals.keys().map(|local| self.local_line(local)));
        let maps = function.maps.iter();
        lines.section("maps", maps.map(|(id, of)| format!("{} of {}", map(id), self.home(*of))));
        lines.section_of("look-ups", function.look_ups.values(), |lines, look_up| {
            lines.nested(self.look_up_line(look_up), |lines| {
                self.steps(lines, &look_up.received.steps);
            });
        });
        lines.section_of("captured", &function.captured, |lines, captured| {
            self.captured(lines, captured);
        });
        lines.nested("prologue", |lines| self.steps(lines, &function.steps));
        lines.nested("body", |lines| self.body(lines));
        for (index, closure) in function.closures.iter().enumerate() {
            self.closure(lines, index, closure);
        }
    }

    fn value_line(&self, id: ValueId, value: &Value<'_>) -> String {
        let optional = if value.optional { "?" } else { "" };
        let is_argument = matches!(value.source, Source::Argument(_) | Source::Rest(_));
        let kept = if is_argument && self.0.is_kept(value.param) { ", kept" } else { "" };
        let (path, facts) = (self.value(id), facts(value));
        format!("{} {path}{optional}: {}, {facts}{kept}", id.index(), value.ty)
    }

    fn symbol_line(&self, id: SymbolId, symbol: &Symbol<'_>) -> String {
        if let Some(local) = symbol.local {
            return format!("{}: the local {}", spelled(symbol.name), self.local(local));
        }
        format!("{}: bound by {}", spelled(symbol.name), self.binders(id).join(", "))
    }

    /// Returns what may bind a symbol, in order, up to the first that binds it in every call.
    fn binders(&self, wanted: SymbolId) -> Vec<String> {
        let (mut found, mut is_bound) = (Vec::new(), false);
        let mut note = |step: &Step<'_>| {
            if let Step::Occurrence { place, rule } = step
                && let Rule::Symbol(symbol) | Rule::Solve { symbol, .. } = rule
                && *symbol == wanted
                && !is_bound
            {
                found.push(self.place(*place));
                is_bound = place.always_counts(&self.0.values);
            } else if let Step::BindCompact { symbol, place, .. } = step
                && *symbol == wanted
                && !is_bound
            {
                found.push(format!("compact {}", self.place(*place)));
            }
        };
        self.all_steps().into_iter().for_each(|steps| Step::visit_all(steps, &mut note));
        found
    }

    /// Returns the steps of the arguments, then those of everything else that the function receives.
    fn all_steps(&self) -> Vec<&[Step<'a>]> {
        let Printer(function) = self;
        let mut all: Vec<&[Step<'a>]> = Vec::new();
        for captured in &function.captured {
            if let Captured::Value(_, steps) = captured {
                all.push(steps);
            }
        }
        all.push(&function.steps);
        all.extend(function.look_ups.values().map(|look_up| &look_up.received.steps[..]));
        all.extend(self.received().into_iter().map(|received| &received.steps[..]));
        all
    }

    fn output_line(&self, output: &Output<'_>) -> String {
        let extents: Vec<String> = output.extents.iter().map(|extent| self.term(extent)).collect();
        let home = match output.home {
            Some(home) => format!("device of {}", self.home(home)),
            None => format!("first device of type {}", output.tensor.device),
        };
        let dtype = output.dtype_of.map(|of| format!(", element type of {}", self.value(of)));
        let (name, tensor) = (spelled(output.name), &output.tensor);
        format!(
            "{name}: {tensor}, extents [{}], {home}{}",
            extents.join(", "),
            dtype.unwrap_or_default()
        )
    }

    fn local_line(&self, id: LocalId) -> String {
        let local = &self.0.locals[id];
        let mut text = format!("{}: {}", self.local(id), term::word(local.kind));
        if let Some(scalar) = local.scalar {
            text += &format!(" in {scalar}");
        }
        if let Some(value) = local.of {
            text += &format!(", {}", self.value(value));
        }
        text += if local.is_stream { ", stream" } else { "" };
        text + if local.is_lent { ", lent" } else { "" } + if local.is_read { ", read" } else { "" }
    }

    fn look_up_line(&self, look_up: &LookUp<'_>) -> String {
        let (of, index) = (self.value(look_up.of), self.term(&look_up.index));
        let mut text = format!("{}: element {index} of {of}", look_up.text);
        let facts = [
            (look_up.when.changed, ", changed: checked again"),
            (look_up.when.held, ", held"),
            (look_up.late, ", late: where its operand is evaluated"),
        ];
        facts.iter().filter(|(holds, _)| *holds).for_each(|(_, fact)| text += fact);
        text
    }

    fn captured(&self, lines: &mut Lines, captured: &Captured<'_>) {
        match captured {
            Captured::Local(id) => lines.line(format!("local {}", self.local(*id))),
            Captured::Value(id, steps) => {
                lines.nested(format!("value {}", self.value(*id)), |lines| {
                    self.steps(lines, steps);
                });
            }
            Captured::Output(id) => lines.line(format!("output {}", self.output(*id))),
            Captured::Map(id) => lines.line(map(*id)),
        }
    }

    fn closure(&self, lines: &mut Lines, index: usize, closure: &Closure<'_>) {
        let given = closure.given.iter().map(|given| match given {
            CaptureSource::Plain(plain) => self.plain(plain),
            CaptureSource::Map(id) => map(*id),
        });
        let given: Vec<String> = given.collect();
        let signature = &closure.function.declared.signature;
        let heading = format!("closure {index} given [{}]: {signature}", given.join(", "));
        lines.nested(heading, |lines| {
            lines.within(|lines| Printer(&closure.function).function(lines));
        });
    }
}

/// Names.
impl Printer<'_, '_> {
    fn topic(&self, topic: Topic) -> String {
        topic.name(&self.0.values)
    }

    pub(super) fn value(&self, id: ValueId) -> String {
        path(&self.0.values[id].path)
    }

    pub(super) fn symbol(&self, id: SymbolId) -> String {
        spelled(self.0.symbols[id].name).to_string()
    }

    fn local(&self, id: LocalId) -> String {
        spelled(self.0.locals[id].name).to_string()
    }

    fn output(&self, id: OutputId) -> String {
        spelled(self.0.outputs[id].name).to_string()
    }

    fn look_up(&self, id: LookUpId) -> String {
        format!("look up {}", self.0.look_ups[id].text)
    }

    fn home(&self, home: Home) -> String {
        match home {
            Home::Value(id) => self.value(id),
            Home::Output(id) => self.output(id),
        }
    }
}

/// Names a tensor map, which has no name of its own here.
fn map(id: MapId) -> String {
    format!("map {}", id.index())
}
