//! One function.

use abi_spec::symbol;

use super::check::Checks;
use super::failure::Exits;
use super::failure::records::{self, Records};
use super::routines::Routine;
use super::scoped::Scoped;
use super::state::{Devices, Frame, Scope, SymbolState, ValueState};
use super::value::exported;
use super::wrapper::Wrapper;
use super::{body, library, prologue};
use crate::ir::{Block, Builder, Linkage, Module, Value};
use crate::resolve::function::Function;
use crate::resolve::ids::{Table, ValueId};

/// Adds the wrapper of one function to the module; yields the record of the function.
pub(crate) fn wrapper<'a>(
    module: &mut Module,
    function: &'a Function<'a>,
    linkage: Linkage,
    records: &mut Records,
) -> u32 {
    if !function.callees().is_empty() {
        library::embed::context(module);
    }
    let mut b = exported(module, &symbol::function_symbol(&function.declared.signature.name));
    let host = records.host(function, function.declared.location.as_ref());
    let miscounted = b.cold_block("miscounted");
    let counted = prologue::arguments::count(&mut b, &function.declared.signature, miscounted);
    let mut exits = Exits::new(function);
    exits.is_at(function.declared.location.as_ref(), host);
    let mut w = start(b, function, counted, (exits, records), linkage);
    w.fail_count(miscounted, host);
    w.device_table(&function.steps);
    w.check_steps(&function.steps);
    body::statement::body(&mut w);
    w.write_leave();
    let function = w.b.finish();
    module.functions.push(function);
    host
}

/// A wrapper that knows its arguments, and nothing of them.
fn start<'a, 'm>(
    mut b: Builder<'m>,
    function: &'a Function<'a>,
    (args, num_args): (Value, Option<Value>),
    (exits, records): (Exits, &'m mut Records),
    linkage: Linkage,
) -> Wrapper<'a, 'm> {
    let (values, runs) = (&function.values, prologue::runs::runs(function));
    // Each group of checks says where it leaves for.
    let checks = Checks { fail: b.current(), mask: None };
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
        checks,
        exits,
        records,
        devices: Devices::default(),
        places: Table::like(values, None),
        held: Vec::new(),
        branched: None,
        linkage,
        outlined: prologue::outline::outlined(function, &runs),
        runs,
        outlines_texts: prologue::outline::outlines_texts(function),
        outlines_calls: body::outlined::outlines_calls(function),
    }
}

impl Wrapper<'_, '_> {
    /// Ends the block for calls with too many arguments, or too few.
    fn fail_count(&mut self, block: Block, host: u32) {
        let here = self.b.current();
        self.b.switch_to(block);
        let (host, given) = (records::address(&mut self.b, host), self.b.param(2));
        let status = self.routine(Routine::FailCount, &[host, given]);
        self.b.ret(status);
        self.b.switch_to(here);
    }
}

/// The name hint of each value.
fn names(b: &mut Builder<'_>, function: &Function<'_>) -> Table<ValueId, u32> {
    let paths = function.values.values().map(|value| prologue::scope::printable(&value.path));
    paths.map(|path| b.name(path)).collect()
}
