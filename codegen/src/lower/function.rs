//! The wrapper of one function, from its parameters to its return.

use abi_spec::symbol;

use super::check::Checks;
use super::emitter::Emitter;
use super::failure::Exits;
use super::failure::records::{self, Records};
use super::routines::Routine;
use super::value::ffi_function;
use super::wrapper::{Devices, Forms, Shapes, Wrapper};
use super::{body, library, prologue};
use crate::ir::{Block, Linkage, Module};
use crate::resolve::function::Function;

/// Prefix of the symbols of functions that bodies make.
const CLOSURES: &str = "tvm_ffi_codegen.closure.";

/// Adds the wrapper of a function of the library, and those of the functions that its body makes, to the module; returns
/// the offset of its record.
pub(crate) fn wrapper<'a>(
    module: &mut Module,
    function: &'a Function<'a>,
    linkage: Linkage,
    records: &mut Records,
) -> u32 {
    let name = &function.declared.signature.name;
    let symbols =
        Symbols { own: symbol::function_symbol(name), closures: format!("{CLOSURES}{name}") };
    lower_one(module, function, &symbols, (Linkage::Export, linkage), records)
}

/// Symbols of a function: its own, and the beginning of those of the functions that its body makes.
struct Symbols {
    own: String,
    closures: String,
}

fn lower_one<'a>(
    module: &mut Module,
    function: &'a Function<'a>,
    symbols: &Symbols,
    (own, linkage): (Linkage, Linkage),
    records: &mut Records,
) -> u32 {
    let host = define(module, function, symbols, (own, linkage), records);
    for (index, closure) in function.closures.iter().enumerate() {
        let name = body::closure::symbol(&symbols.closures, index);
        let symbols = Symbols { own: name.clone(), closures: name };
        lower_one(module, &closure.function, &symbols, (Linkage::Local, linkage), records);
    }
    host
}

fn define<'a>(
    module: &mut Module,
    function: &'a Function<'a>,
    symbols: &Symbols,
    (own, linkage): (Linkage, Linkage),
    records: &mut Records,
) -> u32 {
    if !function.callees().is_empty() || !function.closures.is_empty() {
        library::exports::context(module);
    }
    if !function.closures.is_empty() {
        library::exports::keeper(module);
    }
    let mut b = ffi_function(module, &symbols.own, own);
    let header = function.declared.signature.header().to_string();
    let host = records.host(function, function.declared.location.as_ref(), &header);
    b.about(header);
    let miscounted = b.cold_block("miscounted");
    let counted = prologue::arguments::count(&mut b, &function.declared.signature, miscounted);
    let exits = Exits::new(function, host);
    let emitter = Emitter::new(b, function, counted, linkage, symbols.closures.clone());
    let mut w = start(emitter, (exits, records));
    w.fail_count(miscounted, host);
    w.device_table(&function.steps);
    w.unpack_held();
    w.check_steps(&function.steps);
    body::statement::body(&mut w);
    w.write_leave();
    let is_closure = !function.captured.is_empty();
    let mut function = w.emitter.b.finish();
    if is_closure {
        function.remove_unused_loads();
    }
    module.functions.push(function);
    host
}

/// Begins a wrapper, after the code that counts the arguments. No argument is loaded yet.
fn start<'a, 'm>(
    emitter: Emitter<'a, 'm>,
    (exits, records): (Exits<'a>, &'m mut Records),
) -> Wrapper<'a, 'm> {
    let function = emitter.function;
    // A placeholder: each group of checks sets its exit.
    let checks = Checks { fail: emitter.b.current(), mask: None, passed: false };
    let runs = prologue::runs::runs(function);
    let forms = Forms {
        outlined: prologue::outline::outlined(function, &runs),
        runs,
        texts: prologue::outline::outlines_texts(function),
        calls: body::outlined::outlines_calls(function),
    };
    let shapes = Shapes { tested: Vec::new(), bound: Vec::new() };
    let devices = Devices::default();
    let find_element = Wrapper::look_element_up;
    Wrapper {
        emitter,
        checks,
        overflows: Vec::new(),
        overflow_exit: None,
        exits,
        records,
        devices,
        shapes,
        forms,
        find_element,
    }
}

impl Wrapper<'_, '_> {
    /// Emits the block that raises the error of a wrong number of arguments.
    fn fail_count(&mut self, block: Block, host: u32) {
        let here = self.b.current();
        self.b.switch_to(block);
        let (host, given) = (records::address(&mut self.b, host), self.b.param(2));
        let status = self.routine(Routine::FailCount, &[host, given]);
        self.b.ret(status);
        self.b.switch_to(here);
    }
}
