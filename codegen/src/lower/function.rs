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
use crate::resolve::ids::{Table, ValueId};

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
    let labels = ["miscounted", "fail", "refused"];
    let [miscounted, fail, refused] = labels.map(|label| b.cold_block(label));
    let signature = &function.declared.signature;
    let counted = prologue::arguments::count(&mut b, signature, miscounted);
    let checks = Checks { fail, mask: None };
    let mut w = start(b, function, counted, descriptor, (checks, linkage), std::mem::take(used));
    w.refused = Some((fail, refused));
    w.device_table(&function.steps);
    w.check_steps(&function.steps);
    w.refused = None;
    body::statement::body(&mut w);
    w.write_leave();
    w.failures([miscounted, fail, refused]);
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
    let (values, runs) = (&function.values, prologue::runs::runs(function));
    Wrapper {
        names: names(&mut b, function),
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
        refused: None,
        devices: Devices::default(),
        places: Table::like(values, None),
        held: Vec::new(),
        branched: None,
        in_union: false,
        descriptor,
        linkage,
        outlined: prologue::outline::outlined(function, &runs),
        runs,
        outlines_texts: prologue::outline::outlines_texts(function),
        outlines_calls: body::outlined::outlines_calls(function),
    }
}

/// The name hint of each value.
fn names(b: &mut Builder<'_>, function: &Function<'_>) -> Table<ValueId, u32> {
    let paths = function.values.values().map(|value| prologue::scope::printable(&value.path));
    paths.map(|path| b.name(path)).collect()
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
