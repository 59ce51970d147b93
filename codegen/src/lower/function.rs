//! One function: its wrapper and its descriptor.

use abi_spec::symbol;

use super::check::Checks;
use super::explain::codes::Used;
use super::explain::descriptor::{self, Descriptor};
use super::explain::print::print;
use super::state::{SymbolState, ValueState};
use super::value::safe_call;
use super::wrapper::Wrapper;
use super::{body, prologue};
use crate::ir::{Builder, Data, Linkage, Module, Symbol, SymbolKind};
use crate::resolve::function::Function;
use crate::resolve::ids::Table;

/// Adds the wrapper of one function, and its descriptor, to the module.
pub(crate) fn wrapper<'a>(
    module: &mut Module,
    function: &'a Function<'a>,
    linkage: Linkage,
    used: &mut Used,
) {
    let signature = &function.declared.signature;
    let (descriptor, room) = declare_descriptor(module, function, used);
    let name = symbol::function_symbol(&signature.name);
    let mut b = Builder::function(module, &name, Linkage::Export, safe_call());
    for (i, name) in ["handle", "args", "num_args", "result"].into_iter().enumerate() {
        let param = b.param(i);
        b.hint(param, name);
    }
    let values = &function.values;
    let names =
        values.values().map(|value| b.name(&prologue::scope::printable(&value.path))).collect();
    let (miscounted, fail) = (b.cold_block("miscounted"), b.cold_block("fail"));
    let given = b.param(2);
    let (args, num_args) = prologue::arguments::count(&mut b, signature, miscounted);
    let mut w = Wrapper {
        b,
        function,
        args,
        num_args,
        values: Table::like(values, ValueState::Pending),
        present: Table::like(values, None),
        symbols: Table::like(&function.symbols, SymbolState::Unbound),
        known_sign: Table::like(&function.symbols, false),
        outputs: Table::default(),
        checks: Checks { fail, mask: None },
        first_device: None,
        tensors: Vec::new(),
        devices: None,
        places: Table::like(values, None),
        held: Vec::new(),
        in_union: false,
        descriptor,
        room,
        linkage,
        names,
        outlined: prologue::outline::outlined(function),
    };
    w.device_table();
    w.check_steps(&function.steps);
    body::statement::body(&mut w);
    w.b.switch_to(miscounted);
    let args = w.b.param(1);
    w.explain(args, given);
    w.b.switch_to(fail);
    let (args, num_args) = (w.args, w.num_args());
    w.explain(args, num_args);
    let function = w.b.finish();
    module.functions.push(function);
}

fn declare_descriptor(
    module: &mut Module,
    function: &Function<'_>,
    used: &mut Used,
) -> (Symbol, u32) {
    let name = format!("tvm_ffi_codegen.descriptor.{}", function.declared.signature.name);
    let symbol = module.declare(&name, Linkage::Local, SymbolKind::Data);
    let Descriptor { bytes, room } = descriptor::encode(function, used);
    module.data.push(Data::constant(symbol, bytes, 8));
    module.printers.push((symbol, print));
    (symbol, room)
}
