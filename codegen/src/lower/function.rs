//! The wrapper of one function, from its parameters to its return.

use super::body::{Kept, entry_linkage, entry_symbol};
use super::emitter::source_location;
use super::failure::records::{Records, Reporter};
use super::torch::allocator_symbol;
use super::value::ffi_function;
use super::{body, library, prologue};
use crate::declaration::reserved::spelled_label;
use crate::ir::{Builder, Linkage, Module};
use crate::resolve::body::Entry;
use crate::resolve::function::Function;
use crate::resolve::implied::signature_of_values;

/// Prefix of the symbols of functions that bodies make.
const CLOSURES: &str = "tvm_ffi_codegen.closure.";

/// A function that gets a wrapper: one of the library, or one that a body makes.
pub(crate) struct Wrapper<'f, 'a> {
    pub(crate) function: &'f Function<'a>,
    /// Symbol of the wrapper.
    pub(crate) symbol: String,
    entry: Entry,
    /// Beginning of the symbols of the functions that its body makes.
    closures: String,
}

/// Returns the wrappers of a function of the library and of those that bodies in it make, in the order of definition.
pub(crate) fn wrappers<'f, 'a>(function: &'f Function<'a>, entry: Entry) -> Vec<Wrapper<'f, 'a>> {
    let name = &function.declared.signature.name;
    let into = if entry.into { "into." } else { "" };
    // Backticks tell a dot of the name from those before and after it.
    let closures = format!("{CLOSURES}{into}{}", spelled_label(name));
    let mut all = Vec::new();
    let symbol = entry_symbol(name, entry);
    add_wrappers(&mut all, Wrapper { function, symbol, entry, closures });
    all
}

fn add_wrappers<'f, 'a>(all: &mut Vec<Wrapper<'f, 'a>>, wrapper: Wrapper<'f, 'a>) {
    let made = wrapper.function.closures.iter().enumerate();
    let symbols =
        made.map(|(index, made)| (body::closure_symbol(&wrapper.closures, index), &made.function));
    let made: Vec<_> = symbols.collect();
    all.push(wrapper);
    for (symbol, function) in made {
        let closures = symbol.clone();
        add_wrappers(all, Wrapper { function, symbol, entry: Entry::default(), closures });
    }
}

/// Adds the code of a function of the library, and the wrappers of the functions that its body makes, to the module;
/// returns the offset of the record of the function.
pub(crate) fn wrapper<'a>(
    module: &mut Module,
    (function, entry): (&'a Function<'a>, Entry),
    linkage: Linkage,
    records: &mut Records,
) -> u32 {
    let own = [entry_linkage(entry)].into_iter().chain(std::iter::repeat(Linkage::Local));
    let defined = wrappers(function, entry).into_iter().zip(own);
    let hosts: Vec<u32> =
        defined.map(|(wrapper, own)| define(module, &wrapper, (own, linkage), records)).collect();
    // The first wrapper is that of the function itself.
    hosts[0]
}

/// Adds the function that [allocates the results](allocator_symbol) of a function to the module.
pub(crate) fn allocator<'a>(
    module: &mut Module,
    function: &'a Function<'a>,
    reporter: Reporter<'_>,
) {
    let symbol = allocator_symbol(&function.shown.name);
    let mut b = ffi_function(module, &symbol, Linkage::Local);
    b.about(function.shown.header().to_string());
    let c = prologue::prologue(b, function, reporter);
    let function = body::allocation(c);
    module.functions.push(function);
}

fn define<'a>(
    module: &mut Module,
    wrapper: &Wrapper<'a, 'a>,
    (own, linkage): (Linkage, Linkage),
    records: &mut Records,
) -> u32 {
    let Wrapper { function, symbol, entry, closures } = wrapper;
    if !function.callees().is_empty() || !function.closures.is_empty() {
        library::exports::context(module);
    }
    if !function.closures.is_empty() {
        library::exports::keeper(module);
    }
    let values = signature_of_values(function.declared).filter(|_| entry.checked);
    let takes_values = values.is_some();
    let mut b = match values {
        Some(signature) => Builder::function(module, symbol, own, signature),
        None => ffi_function(module, symbol, own),
    };
    let header = function.shown.header().to_string();
    let record = records.host(function, function.location, &header);
    let mut reporter = Reporter { record, records, linkage };
    b.about(header);
    if let Some(location) = function.location {
        let location = source_location(b.module, location);
        b.locate(location);
    }
    let c = if entry.checked {
        prologue::behind_checks(b, (function, takes_values), reporter.lend())
    } else {
        prologue::prologue(b, function, reporter.lend())
    };
    let mut host_function = body::body(c, closures);
    if !function.captured.is_empty() || entry.checked {
        host_function.remove_unused_loads();
    }
    module.functions.push(host_function);
    let kept = Kept::of(function);
    for index in 0..kept.len() {
        first_launch(module, (wrapper, &kept, index), reporter.lend());
    }
    record
}

/// Adds the function of the first call of launch number `index` of those that a closure keeps to the module.
fn first_launch<'a>(
    module: &mut Module,
    (wrapper, kept, index): (&Wrapper<'a, 'a>, &Kept<'a>, usize),
    reporter: Reporter<'_>,
) {
    let symbol = body::first_symbol(&wrapper.symbol, index);
    let mut b = Builder::function(module, &symbol, Linkage::Local, body::first_signature());
    b.about(wrapper.function.shown.header().to_string());
    let c = prologue::of_held(b, wrapper.function, reporter);
    let mut function = body::first_launch(c, kept, index);
    function.remove_unused_loads();
    module.functions.push(function);
}
