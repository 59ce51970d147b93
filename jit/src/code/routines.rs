//! The cold routines that explain failed checks. All code of one runtime shares them. They are compiled when this crate
//! is built, or else once in each process, and each is loaded when code first refers to it.

use std::collections::HashMap;
use std::ops::Range;
use std::sync::Mutex;

use backend_cranelift::recorded::{Recorded, Replay, record};
use cranelift_module::Module;
use tvm_ffi_codegen::Loader;

use super::address::Address;
use super::callers::Known;
use super::debugger::Announced;
use super::frames::{self, Registered};
use super::machine::{Allocator, OptLevel, isa};
use super::memory::Memory;
use super::missing::{Missing, lock};
use super::native::Native;
use super::observers::{Observers, announce};
use crate::error::Error;
use crate::runtime::{Runtime, process_symbol};

/// The routines of each runtime, by its identity. They are never freed, as runtimes never are.
static ROUTINES: Mutex<Vec<(usize, &'static SharedRoutines)>> = Mutex::new(Vec::new());

/// The routines of a runtime.
pub(crate) struct SharedRoutines(Mutex<State>);

/// The module of the routines, to which loading adds functions.
struct State {
    replay: Replay<'static>,
    native: Native,
    runtime: &'static Runtime,
    missing: Missing,
    memory: Memory,
    /// The addresses of the exported functions that are loaded.
    addresses: HashMap<&'static str, Address>,
    parts: Vec<Part>,
    /// The observers that know all parts.
    observers: Observers,
    /// Why loading has failed once, after which the module is not used any more.
    failed: Option<Error>,
}

/// Functions that were loaded together.
struct Part {
    /// The numbers of the functions in the module.
    functions: Range<usize>,
    announced: Vec<Announced>,
    _registered: Vec<Registered>,
    _known: Known,
}

/// Returns the routines of a runtime. Each observer learns once of those that are loaded, now or later.
pub(crate) fn routines(
    runtime: &'static Runtime,
    observers: Observers,
) -> Result<&'static SharedRoutines, Error> {
    let mut known = lock(&ROUTINES);
    let found = known.iter().find(|(id, _)| *id == runtime.id());
    let routines = match found {
        Some((_, routines)) => *routines,
        None => {
            let state = Mutex::new(State::new(runtime)?);
            let routines: &'static SharedRoutines = Box::leak(Box::new(SharedRoutines(state)));
            known.push((runtime.id(), routines));
            routines
        }
    };
    drop(known);
    if observers != Observers::default() {
        lock(&routines.0).tell(observers)?;
    }
    Ok(routines)
}

impl SharedRoutines {
    /// Returns true for the name of a routine.
    pub(crate) fn has(&self, name: &str) -> bool {
        lock(&self.0).replay.has(name)
    }

    /// Returns the address of a routine, which is loaded if it has to be; `None` for other names, and if that fails.
    pub(crate) fn find(&self, name: &str) -> Option<Address> {
        let mut state = lock(&self.0);
        if state.replay.has(name) {
            state.load([name]).ok()?;
        }
        state.addresses.get(name).copied()
    }

    /// Loads the routines among these names together.
    pub(crate) fn load<'n>(&self, names: impl IntoIterator<Item = &'n str>) -> Result<(), Error> {
        lock(&self.0).load(names)
    }
}

impl State {
    fn new(runtime: &'static Runtime) -> Result<State, Error> {
        let bytes = match prebuilt::in_process() {
            Some(bytes) => bytes,
            None => Box::leak(compile()?.into_boxed_slice()),
        };
        let replay = Replay::new(Recorded::from_bytes(bytes).map_err(Error::Backend)?);
        let memory =
            Memory::lasting().map_err(|error| Error::Memory { reason: error.to_string() })?;
        let missing = Missing::default();
        let asked = missing.clone();
        let address = move |name: &str| {
            let found = runtime.symbol(name).map(|symbol| symbol.cast());
            asked.or_note(name, found.or_else(|| process_symbol(name)))
        };
        let native = Native::new(OptLevel::None, &memory, address)?;
        let (addresses, parts) = (HashMap::new(), Vec::new());
        let (observers, failed) = (Observers::default(), None);
        Ok(State { replay, native, runtime, missing, memory, addresses, parts, observers, failed })
    }

    fn load<'n>(&mut self, names: impl IntoIterator<Item = &'n str>) -> Result<(), Error> {
        let is_new = |name: &&str| !self.addresses.contains_key(name) && self.replay.has(name);
        let names: Vec<&str> = names.into_iter().filter(is_new).collect();
        if names.is_empty() {
            return Ok(());
        }
        if let Some(failed) = &self.failed {
            return Err(failed.clone());
        }
        // Stays if this thread panics.
        self.failed = Some(Error::Memory { reason: "routines were loaded in part".to_owned() });
        let added = self.add(&names);
        if added.is_err() && self.parts.is_empty() {
            // Lets the next library try again: no code runs yet that has variables of the routines.
            *self = State { observers: self.observers, ..State::new(self.runtime)? };
        } else {
            self.failed = added.as_ref().err().cloned();
        }
        let mut part = added?;
        let announced = part.announce(&self.native, self.observers);
        self.parts.push(part);
        announced
    }

    /// Adds routines, with all that they need, to what is loaded.
    fn add(&mut self, names: &[&str]) -> Result<Part, Error> {
        let (defined, areas) = (self.native.defined.len(), self.memory.code().len());
        let replayed = self.replay.define(names.iter().copied(), &mut self.native);
        let replayed = replayed.map_err(Error::Backend)?;
        let mut exported = Vec::new();
        for one in replayed {
            self.native.set_unwind(one.id, one.unwind);
            exported.extend(one.exported.then_some((one.name, one.id)));
        }
        self.native.finalize()?;
        self.missing.check()?;
        let functions = defined..self.native.defined.len();
        let known = self.native.frames(functions.clone());
        let registered = frames::register(self.native.module.isa(), known)?;
        let code = self.memory.code().into_iter().skip(areas);
        let known = Known::new(code, self.runtime);
        let address = |id| Address(self.native.module.get_finalized_function(id));
        self.addresses.extend(exported.into_iter().map(|(name, id)| (name, address(id))));
        Ok(Part { functions, announced: Vec::new(), _registered: registered, _known: known })
    }

    /// Announces what is loaded to observers that do not know it.
    fn tell(&mut self, observers: Observers) -> Result<(), Error> {
        let news = Observers {
            debugger: observers.debugger && !self.observers.debugger,
            profiler: observers.profiler && !self.observers.profiler,
        };
        for part in &mut self.parts {
            part.announce(&self.native, news)?;
        }
        self.observers = self.observers | news;
        Ok(())
    }
}

impl Part {
    /// Announces the functions to observers.
    fn announce(&mut self, native: &Native, observers: Observers) -> Result<(), Error> {
        if observers != Observers::default() {
            let frames = native.frames(self.functions.clone());
            let frames = frames::section(native.module.isa(), &frames)?;
            let ranges = native.ranges(self.functions.clone());
            self.announced.extend(announce(&ranges, &frames, &[], observers)?);
        }
        Ok(())
    }
}

/// Compiles the routines for this machine.
fn compile() -> Result<Vec<u8>, Error> {
    let isa = isa(OptLevel::None, Allocator::Backtracking)?;
    record(isa, &tvm_ffi_codegen::linker::routines(Loader::HOST)).map_err(Error::Backend)
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::code::pool::LARGEST;
    use crate::runtime::runtime;

    #[test]
    fn a_routine_is_loaded_once_with_what_it_needs() {
        let [first, other, unused] = ["fail_count", "fail_number", "launch_failed"]
            .map(|name| format!("tvm_ffi_codegen.{name}"));
        let mut state = State::new(runtime()).unwrap();
        assert!(state.native.defined.is_empty());
        let mut load = |names: &[&str]| {
            state.load(names.iter().copied()).unwrap();
            let known = [&first, &other, &unused].map(|name| state.addresses.contains_key(&**name));
            (state.native.defined.len(), known)
        };
        let (alone, known) = load(&[&first, "malloc", "tvm_ffi_codegen.none"]);
        assert!(alone > 1 && known == [true, false, false], "{alone} {known:?}");
        assert_eq!(load(&[&first]).0, alone);
        let (both, known) = load(&[&first, &other]);
        assert!(both > alone && known == [true, true, false], "{both} {known:?}");
        assert_eq!(state.parts.len(), 2);
    }

    /// Routines call each other by offsets, whenever they are loaded.
    #[test]
    fn all_routines_are_in_one_place() {
        let module = tvm_ffi_codegen::linker::routines(Loader::HOST);
        let mut state = State::new(runtime()).unwrap();
        let names = module.functions.iter().map(|function| module.name(function.symbol));
        let names: Vec<&str> = names.collect();
        // More loads than a program makes, which needs few pieces.
        names[..names.len() / 4].iter().for_each(|&name| state.load([name]).unwrap());
        state.load(names).unwrap();
        let code = state.memory.code();
        let (first, last) = (code.first().unwrap(), code.last().unwrap());
        assert!(last.end - first.start <= LARGEST && code.len() > 8, "{code:x?}");
    }

    /// A load that fails before any other has succeeded leaves nothing behind.
    #[test]
    fn a_first_load_that_fails_is_tried_again() {
        let name = "tvm_ffi_codegen.fail_count";
        let mut state = State::new(runtime()).unwrap();
        let missing = state.missing.clone();
        missing.or_note("nowhere", None);
        let failed = state.load([name]).unwrap_err();
        assert!(matches!(&failed, Error::Undefined { symbols } if symbols == &["nowhere"]));
        state.load([name]).unwrap();
        let missing = state.missing.clone();
        missing.or_note("nowhere", None);
        let failed = state.load(["tvm_ffi_codegen.fail_number"]).unwrap_err();
        assert_eq!(state.load(["tvm_ffi_codegen.fail_number"]).unwrap_err(), failed);
        state.load([name]).unwrap();
    }
}
