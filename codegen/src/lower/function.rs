//! One function: its wrapper and its descriptor.

use abi_spec::symbol;

use super::check::Checks;
use super::explain::codes::Used;
use super::explain::descriptor::{self, Descriptor};
use super::explain::print::print;
use super::scoped::Scoped;
use super::state::{Devices, Frame, Scope, SymbolState, ValueState};
use super::value::exported;
use super::wrapper::{Described, Wrapper};
use super::{body, library, prologue};
use crate::ir::{Builder, Data, Linkage, Module, SymbolKind, Value};
use crate::resolve::function::Function;
use crate::resolve::ids::Table;

/// Adds the wrapper of one function, and its descriptor, to the module; yields the number of that among the data.
pub(crate) fn wrapper<'a>(
    module: &mut Module,
    function: &'a Function<'a>,
    linkage: Linkage,
    used: &mut Used,
) -> usize {
    if !function.callees().is_empty() {
        library::embed::context(module);
    }
    let descriptor = declare_descriptor(module, function, used);
    let index = descriptor.index;
    let mut b = exported(module, &symbol::function_symbol(&function.declared.signature.name));
    let (miscounted, fail) = (b.cold_block("miscounted"), b.cold_block("fail"));
    let given = b.param(2);
    let signature = &function.declared.signature;
    let counted = prologue::arguments::count(&mut b, signature, miscounted);
    let checks = Checks { fail, mask: None };
    let mut w = start(b, function, counted, descriptor, (checks, linkage), std::mem::take(used));
    w.device_table(&function.steps);
    w.check_steps(&function.steps);
    body::statement::body(&mut w);
    w.write_leave();
    w.b.switch_to(miscounted);
    let args = w.b.param(1);
    w.explain(args, given);
    w.b.switch_to(fail);
    let (args, num_args) = (w.args, w.num_args());
    w.explain(args, num_args);
    *used = w.used;
    let function = w.b.finish();
    module.functions.push(function);
    index
}

/// A wrapper that knows its arguments, and nothing of them.
fn start<'a, 'm>(
    mut b: Builder<'m>,
    function: &'a Function<'a>,
    (args, num_args): (Value, Option<Value>),
    descriptor: Described,
    (checks, linkage): (Checks, Linkage),
    used: Used,
) -> Wrapper<'a, 'm> {
    let values = &function.values;
    let name = |value: &crate::resolve::value::Value<'_>| prologue::scope::printable(&value.path);
    let names = values.values().map(|value| b.name(name(value))).collect();
    Wrapper {
        b,
        function,
        args,
        num_args,
        values: Scoped::like(values, ValueState::Pending),
        present: Scoped::like(values, None),
        symbols: Scoped::like(&function.symbols, SymbolState::Unbound),
        known_sign: Scoped::like(&function.symbols, false),
        outputs: Table::like(&function.outputs, None),
        locals: Table::like(&function.locals, None),
        frame: Frame::new(),
        scope: Scope::OUTER,
        born: Table::like(values, Scope::OUTER),
        used,
        checks,
        devices: Devices::default(),
        places: Table::like(values, None),
        held: Vec::new(),
        branched: None,
        in_union: false,
        descriptor,
        linkage,
        names,
        outlined: prologue::outline::outlined(function),
        outlines_texts: prologue::outline::outlines_texts(function),
        outlines_calls: body::outlined::outlines_calls(function),
    }
}

fn declare_descriptor(module: &mut Module, function: &Function<'_>, used: &mut Used) -> Described {
    let name = descriptor::symbol(&function.declared.signature.name);
    let symbol = module.declare(&name, Linkage::Local, SymbolKind::Data);
    let Descriptor { bytes, room, sections } = descriptor::encode(function, used);
    let index = module.data.len();
    module.data.push(Data::constant(symbol, bytes, 8));
    module.printers.push((symbol, print));
    Described { symbol, index, room, sections }
}
