//! The wrapper of one function, from its parameters to its return.

use abi_spec::symbol;

use super::check::Checks;
use super::emitter::Emitter;
use super::failure::Exits;
use super::failure::records::{self, Records};
use super::routines::Routine;
use super::value::exported;
use super::wrapper::{Devices, Forms, Shapes, Wrapper};
use super::{body, library, prologue};
use crate::ir::{Block, Linkage, Module};
use crate::resolve::function::Function;

/// Adds the wrapper of a function to the module; returns the offset of its record.
pub(crate) fn wrapper<'a>(
    module: &mut Module,
    function: &'a Function<'a>,
    linkage: Linkage,
    records: &mut Records,
) -> u32 {
    if !function.callees().is_empty() {
        library::exports::context(module);
    }
    let mut b = exported(module, &symbol::function_symbol(&function.declared.signature.name));
    b.about(function.declared.signature.header().to_string());
    let host = records.host(function, function.declared.location.as_ref());
    let miscounted = b.cold_block("miscounted");
    let counted = prologue::arguments::count(&mut b, &function.declared.signature, miscounted);
    let exits = Exits::new(function, host);
    let emitter = Emitter::new(b, function, counted, linkage);
    let mut w = start(emitter, (exits, records));
    w.fail_count(miscounted, host);
    w.device_table(&function.steps);
    w.check_steps(&function.steps);
    body::statement::body(&mut w);
    w.write_leave();
    let function = w.emitter.b.finish();
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
    let mentions = prologue::strides::mentions(function);
    let shapes = Shapes { tested: Vec::new(), bound: Vec::new(), mentions };
    let devices = Devices::default();
    let find_element = Wrapper::look_element_up;
    Wrapper { emitter, checks, exits, records, devices, shapes, forms, find_element }
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
