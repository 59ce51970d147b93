//! The route through the machine for host IR, with its model of the runtime and kernels that are closures.

mod frame;
mod kernels;
mod notes;
mod read;

use std::cell::RefCell;
use std::collections::HashMap;
use std::rc::Rc;

use abi_spec::TypeIndex;
use abi_spec::layout::{function_cell, seq_cell};
use codegen::linker::FORGET;
use codegen::{Library, Loader, Options, Routines, ir};
use machine::runtime::Value;
use machine::{Fault, Finding, Machine, Word};

use crate::outcome::{End, Outcome};
use crate::route::{Call, Reason, Route};
pub use frame::Change;
use frame::Frame;
use kernels::Kernels;

/// Place of the routines in the machine.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Linked {
    /// In every module.
    Inside,
    /// In a module of routines, linked with the module of the wrappers.
    Beside,
}

/// A lowered library for the machine.
#[derive(Debug)]
pub struct InMachine {
    modules: Vec<Rc<ir::Module>>,
    /// For each argument of the functions, by their names, true if it is a tensor that is only read.
    reads: Rc<HashMap<String, Vec<bool>>>,
    /// The call of the runtime that fails.
    pub fault: Option<Fault>,
    /// True if the kernels' allocator allocates tensors; otherwise the C library's `malloc` does.
    pub allocator: bool,
    /// Kernels of images and the sizes of their parameters, if there is a driver.
    pub driver: Option<Vec<(&'static str, Vec<u64>)>>,
}

/// Result of [`InMachine::run_faulty`].
#[derive(Debug)]
pub struct Run {
    /// Outcome of the call.
    pub outcome: Result<Outcome, Reason>,
    /// Number of fallible calls that it made.
    pub fallible_calls: u64,
}

thread_local! {
    static ROUTINES: Rc<ir::Module> = Rc::new(codegen::linker::routines(Loader::Dl));
}

impl InMachine {
    /// Lowers a library.
    ///
    /// # Panics
    /// If the library is invalid, or the lowered module does not verify.
    pub fn new(library: &Library, linked: Linked) -> InMachine {
        let routines = match linked {
            Linked::Inside => Routines::Embedded,
            Linked::Beside => Routines::Shared,
        };
        let options = Options { routines, metadata: false, in_process: true, ..Options::default() };
        let resolved = library.resolve().unwrap_or_else(|error| panic!("{error}"));
        let module = codegen::lower(&resolved, &options);
        ir::verify(&module).unwrap_or_else(|error| panic!("{error}"));
        let mut modules = vec![Rc::new(module)];
        if linked == Linked::Beside {
            modules.push(ROUTINES.with(Rc::clone));
        }
        let reads = library.functions.iter().map(|function| {
            let params = function.signature.arguments().iter();
            (function.signature.name.clone(), params.map(|param| param.ty.only_reads()).collect())
        });
        let reads = Rc::new(reads.collect());
        InMachine { modules, reads, fault: None, allocator: true, driver: None }
    }

    /// Copies the modules, so that they can be changed.
    pub fn copied(&self) -> InMachine {
        let own = |module: &Rc<ir::Module>| Rc::new(ir::Module::clone(module));
        let (modules, driver) = (self.modules.iter().map(own).collect(), self.driver.clone());
        InMachine { modules, reads: Rc::clone(&self.reads), driver, ..*self }
    }

    /// Returns the modules for changes; only if the routines are inside, because those beside are shared.
    pub fn modules_mut(&mut self) -> impl Iterator<Item = &mut ir::Module> {
        self.modules.iter_mut().filter_map(Rc::get_mut)
    }

    /// Makes a call in a fresh machine.
    pub fn run_faulty(&self, call: &Call<'_>, fault: Option<Fault>) -> Run {
        let mut calls = Vec::new();
        let mut outcomes = self.each(std::slice::from_ref(call), fault, &mut calls);
        Run { outcome: outcomes.remove(0), fallible_calls: calls[0] }
    }

    /// Calls a function that returns a function, and calls that when everything lent for the first call is gone and
    /// `change` has happened to all lists. A first call that fails is the outcome.
    pub fn run_later(&self, call: &Call<'_>, change: Change) -> Result<Outcome, Reason> {
        let kernels = Rc::new(Kernels::default());
        let machine = &mut self.machine(&kernels);
        machine.budget = BUDGET;
        let reads = self.reads(call);
        performed(machine, &kernels, call, reads, |machine, frame| {
            later(machine, call, frame, change)
        })
    }

    /// Makes a call of a function that may give values to [`KEEP`], and looks at them when everything that was lent for
    /// the call is gone.
    pub fn run_kept(&self, call: &Call<'_>) -> Result<Outcome, Reason> {
        let kernels = Rc::new(Kernels::default());
        let machine = &mut self.machine(&kernels);
        machine.budget = BUDGET;
        let all = Rc::new(RefCell::new(Vec::new()));
        let keeper = Rc::clone(&all);
        let keep = machine.closure(
            KEEP,
            Rc::new(move |machine, args| {
                let value = machine.memory.load_any(args[1])?;
                machine.retain(value.payload)?;
                keeper.borrow_mut().push(value);
                machine.memory.store_any(args[3], Value::NONE)?;
                Ok(Word::NULL)
            }),
        );
        machine.register(KEEP, keep);
        performed(machine, &kernels, call, self.reads(call), |machine, frame| {
            let before = machine.memory.count();
            let (status, result) = called(machine, call, frame)?;
            let end = end(machine, status, result)?;
            for value in all.take() {
                check_kept(machine, value)?;
                machine.release_value(value)?;
            }
            settled(machine, frame, before, end)
        })
    }

    fn each(
        &self,
        calls: &[Call<'_>],
        fault: Option<Fault>,
        fallible: &mut Vec<u64>,
    ) -> Vec<Result<Outcome, Reason>> {
        let kernels = Rc::new(Kernels::default());
        let mut machine = self.machine(&kernels);
        let mut each = |call: &Call<'_>| {
            (machine.fault, machine.fallible_calls, machine.failed) = (None, 0, None);
            machine.budget = BUDGET;
            let outcome =
                performed(&mut machine, &kernels, call, self.reads(call), |machine, frame| {
                    ended(machine, call, frame, fault)
                });
            fallible.push(machine.fallible_calls);
            outcome
        };
        calls.iter().map(&mut each).collect()
    }

    /// Links the modules in a new machine.
    /// Returns for each argument of a call true if it is a tensor that is only read.
    fn reads(&self, call: &Call<'_>) -> &[bool] {
        self.reads.get(call.function).map_or(&[], Vec::as_slice)
    }

    fn machine(&self, kernels: &Rc<Kernels>) -> Machine<'_> {
        let modules: Vec<&ir::Module> = self.modules.iter().map(|module| &**module).collect();
        let mut machine = Machine::link(&modules, &|name| kernels::kernel(name, kernels));
        if self.allocator {
            machine.runtime.allocator = kernels::allocator::allocator(&mut machine, kernels);
        }
        for id in 0..2 {
            let stream = Word::int(crate::ffi::STREAM + i64::from(id));
            machine.set_stream((abi_spec::DeviceType::CUDA.0, id), stream);
        }
        if let Some(images) = &self.driver {
            machine.cuda.is_installed = true;
            let names = images.iter().map(|(name, sizes)| ((*name).to_owned(), sizes.clone()));
            machine.cuda.kernels = names.collect();
            machine.cuda.globals = GLOBALS.map(|(name, size)| (name.to_owned(), size)).into();
            register_loaded(&mut machine);
        }
        machine
    }
}

/// Device variables of the images of a driver, and the bytes of each.
const GLOBALS: [(&str, u64); 2] = [("state", 64), ("factors", 12)];

/// Name of the function of the registry that images may call once they are loaded.
pub const LOADED: &str = "tests.loaded";

/// Registers the function [`LOADED`], which finds fault with handles that are not those of a loaded image on the device
/// that is current, and with a second call for a device.
fn register_loaded(machine: &mut Machine<'_>) {
    let devices = RefCell::new(Vec::new());
    let loaded = machine.closure(
        LOADED,
        Rc::new(move |machine, args| {
            let value = |at: i64| args[1].offset(16 * at);
            let [library, module, device] = [0, 1, 2].map(|at| machine.memory.load_any(value(at)));
            let (library, module, device) = (library?, module?, device?);
            let indices = [library.index, module.index, device.index];
            let expected = [TypeIndex::OPAQUE_PTR, TypeIndex::OPAQUE_PTR, TypeIndex::INT];
            let is_typed = indices == expected.map(|index| index.0) && args[2].as_int32() == 3;
            let device = device.payload.bits as i32;
            let is_loaded = machine.cuda.has_handles(library.payload, module.payload, device);
            let is_first = !devices.borrow().contains(&device);
            devices.borrow_mut().push(device);
            if !(is_typed && is_loaded && is_first) {
                let reason =
                    format!("an image is loaded wrongly: {is_typed} {is_loaded} {is_first}");
                return Err(Finding::new(reason));
            }
            machine.memory.store_any(args[3], Value::NONE)?;
            Ok(Word::NULL)
        }),
    );
    machine.register(LOADED, loaded);
}

/// Name of the function of the registry that keeps its first argument, an object.
pub const KEEP: &str = "tests.keep";

/// Limit of instructions per call.
const BUDGET: u64 = 20_000_000;

impl Route for InMachine {
    fn name(&self) -> String {
        format!("machine, {} modules", self.modules.len())
    }

    fn run(&self, calls: &[Call<'_>]) -> Vec<Result<Outcome, Reason>> {
        self.each(calls, self.fault, &mut Vec::new())
    }
}

/// Contents of the result before a call: no object, and no value that a callee would write.
const NOISE: Value =
    Value { index: -0x5a5a_5a5b, small: 0xa5a5_a5a5, payload: Word::bits(0xa5a5_a5a5_a5a5_a5a5) };

/// Makes a call by `run`; a finding of the machine makes the outcome a broken one. The memory of tensors that are only
/// read, as `reads` says for each argument, is read-only.
fn performed(
    machine: &mut Machine<'_>,
    kernels: &Rc<Kernels>,
    call: &Call<'_>,
    reads: &[bool],
    run: impl FnOnce(&mut Machine<'_>, &mut Frame) -> Result<End, Box<Finding>>,
) -> Result<Outcome, Reason> {
    let broken = |finding: Box<Finding>| End::Broken(finding.to_string());
    let mut frame = match Frame::new(machine, kernels, call.arguments, reads) {
        Ok(frame) => frame?,
        Err(finding) => {
            return Ok(Outcome { recorded: String::new(), end: broken(finding) });
        }
    };
    kernels.notes.begin_anew();
    let end = match run(machine, &mut frame) {
        Ok(end) => end,
        Err(finding) => broken(finding),
    };
    let mut recorded = vec![kernels.notes.take()];
    recorded.retain(|text| !text.is_empty());
    recorded.extend(kernels.called.take());
    Ok(Outcome { recorded: recorded.join(", "), end })
}

/// Calls the function; returns the status, and the address of the result, which is read when what was lent for the call
/// is gone.
fn called(
    machine: &mut Machine<'_>,
    call: &Call<'_>,
    frame: &mut Frame,
) -> Result<(i32, Word), Box<Finding>> {
    let symbol = format!("__tvm_ffi_{}", call.function);
    let function = machine.symbol(&symbol).unwrap_or_else(|| panic!("no {symbol}"));
    let count = call.count.unwrap_or(call.arguments.len() as i32);
    let result = machine.memory.variable("result", vec![0; 16], 8);
    machine.memory.store_any(result, NOISE)?;
    let status = machine.call(function, &[Word::NULL, frame.args, Word::int32(count), result]);
    machine.fault = None;
    let status = status?.as_int32();
    frame.take_back(machine);
    Ok((status, result))
}

/// Calls a function that returns a function, then that.
fn later(
    machine: &mut Machine<'_>,
    call: &Call<'_>,
    frame: &mut Frame,
    change: Change,
) -> Result<End, Box<Finding>> {
    let before = machine.memory.count();
    let (status, result) = called(machine, call, frame)?;
    let made = machine.memory.load_any(result)?;
    if status != 0 || made.index != TypeIndex::FUNCTION.0 {
        let end = end(machine, status, result)?;
        return settled(machine, frame, before, end);
    }
    frame.change_lists(machine, change)?;
    let at = made.payload.offset(function_cell::SAFE_CALL.in_object().into());
    let function = machine.memory.load(at, 8, 8)?;
    machine.memory.store_any(result, NOISE)?;
    let args = [made.payload, Word::NULL, Word::int32(0), result];
    let status = machine.call(function, &args)?.as_int32();
    let end = end(machine, status, result)?;
    machine.release_value(made)?;
    settled(machine, frame, before, end)
}

/// Checks that no element of an array that was made is a borrowed value. Arrays of the caller may hold what they will.
fn check_kept(machine: &Machine<'_>, array: Value) -> Result<(), Box<Finding>> {
    let field = |field: abi_spec::layout::Field| array.payload.offset(field.in_object().into());
    let data = machine.memory.load(field(seq_cell::DATA), 8, 8)?;
    let size = machine.memory.load(field(seq_cell::SIZE), 8, 8)?;
    let borrowed = TypeIndex::DL_TENSOR_PTR.0..=TypeIndex::OBJECT_RVALUE_REF.0;
    for element in machine.memory.load_anys(data, size.as_int())? {
        if borrowed.contains(&element.index) {
            return Err(Finding::new(format!("{element:?} is kept")));
        }
        if element.is_object() {
            machine.references(element.payload)?;
        }
    }
    Ok(())
}

/// Checks what a call has left: references, and blocks of the heap since there were `before` regions.
fn settled(
    machine: &mut Machine<'_>,
    frame: &mut Frame,
    before: usize,
    end: End,
) -> Result<End, Box<Finding>> {
    if let End::Broken(_) = end {
        return Ok(end);
    }
    if let Some(forget) = machine.symbol(FORGET) {
        machine.call(forget, &[])?;
    }
    frame.check_balance(machine)?;
    let left: Vec<&str> = machine.memory.left_since(before).collect();
    if !left.is_empty() {
        return Ok(End::Broken(format!("left on the heap: {}", left.join(", "))));
    }
    check_registry(machine)?;
    frame.give_back(machine)?;
    Ok(end)
}

fn ended(
    machine: &mut Machine<'_>,
    call: &Call<'_>,
    frame: &mut Frame,
    fault: Option<Fault>,
) -> Result<End, Box<Finding>> {
    let before = machine.memory.count();
    let contexts = machine.cuda.contexts.clone();
    let events = machine.cuda.events.clone();
    machine.fault = fault;
    let (status, result) = called(machine, call, frame)?;
    let end = end(machine, status, result)?;
    if let End::Broken(_) = end {
        return Ok(end);
    }
    let is_popped = machine.failed.as_deref() != Some("cuCtxPopCurrent_v2");
    if is_popped && contexts != machine.cuda.contexts {
        return Ok(End::Broken("contexts of the driver are left".to_owned()));
    }
    let is_destroyed = machine.failed.as_deref() != Some("cuEventDestroy_v2");
    if is_destroyed && events != machine.cuda.events {
        return Ok(End::Broken("events of the driver are left".to_owned()));
    }
    settled(machine, frame, before, end)
}

/// Checks that functions of the registry have the registry's reference and one for each handle that is kept.
fn check_registry(machine: &Machine<'_>) -> Result<(), Box<Finding>> {
    for (name, function) in machine.globals() {
        let references = machine.references(function)? as usize;
        let kept = function.origin.map_or(0, |region| machine.memory.holders(region));
        if references != 1 + kept {
            let reason = format!("`{name}` has {references} references, and {kept} keep it");
            return Err(Finding::new(reason));
        }
    }
    Ok(())
}

fn end(machine: &mut Machine<'_>, status: i32, result: Word) -> Result<End, Box<Finding>> {
    let error = machine.take_error()?;
    let found = machine.memory.load_any(result)?;
    let broken = |reason: String| Ok(End::Broken(reason));
    match (status, error) {
        (0, None) => {
            let value = read::value(machine, found)?;
            machine.release_value(found)?;
            Ok(value.map_or_else(End::Broken, End::Result))
        }
        (0, Some(error)) => broken(format!("success, but the slot holds {error:?}")),
        (-1, Some(error)) if found == NOISE => {
            let message = String::from_utf8_lossy(&error.message).into_owned();
            Ok(End::Error { kind: error.kind, message })
        }
        (-1, Some(_)) => broken(format!("an error, but the result is {found:?}")),
        (-1, None) => broken("a failure without an error".to_owned()),
        (status, error) => broken(format!("the status is {status}, the error {error:?}")),
    }
}
