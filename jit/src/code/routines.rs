//! The cold routines that say why a check failed, and that all code of one runtime shares: they were compiled
//! with this crate, or are once.

use std::collections::HashMap;
use std::sync::{Mutex, PoisonError};

use backend_cranelift::recorded::Recorded;
use tvm_ffi_codegen::Loader;

use super::address::{Address, FunctionRange};
use super::assembly::{Assembly, Linked, Observers, Text, announce};
use super::debugger::Announced;
use super::machine::OptLevel;
use crate::error::Error;
use crate::runtime::Runtime;

/// The routines of each runtime, by its identity. They stay as long as the runtime, which is for ever.
static ROUTINES: Mutex<Vec<(usize, &'static LoadedRoutines)>> = Mutex::new(Vec::new());

/// Compiled routines.
struct LoadedRoutines {
    addresses: HashMap<String, Address>,
    ranges: Vec<FunctionRange>,
    frames: Vec<u8>,
    told: Mutex<(Observers, Vec<Announced>)>,
    _text: Text,
}

/// The routines of a runtime, by name, there from the first call on; observers learn of them once.
pub(crate) fn routines(
    runtime: &'static Runtime,
    observers: Observers,
) -> Result<&'static HashMap<String, Address>, Error> {
    let mut known = ROUTINES.lock().unwrap_or_else(PoisonError::into_inner);
    let found = known.iter().find(|(id, _)| *id == runtime.id());
    let routines = match found {
        Some((_, routines)) => *routines,
        None => {
            let routines: &'static LoadedRoutines = Box::leak(Box::new(compile(runtime)?));
            known.push((runtime.id(), routines));
            routines
        }
    };
    drop(known);
    if observers != Observers::default() {
        routines.tell(observers)?;
    }
    Ok(&routines.addresses)
}

fn compile(runtime: &'static Runtime) -> Result<LoadedRoutines, Error> {
    let mut assembly = Assembly::new(runtime, OptLevel::None, None)?;
    match prebuilt::in_process() {
        Some(bytes) => assembly.replay(Recorded::from_bytes(bytes).map_err(Error::Backend)?)?,
        None => assembly.emit(&tvm_ffi_codegen::routines(Loader::HOST))?,
    }
    // Observers are told later.
    let linked = assembly.link(Observers::default())?;
    let Linked { functions, ranges, frames, text, .. } = linked;
    let (addresses, told) = (functions.into_iter().collect(), Mutex::default());
    Ok(LoadedRoutines { addresses, ranges, frames, told, _text: text })
}

impl LoadedRoutines {
    fn tell(&self, observers: Observers) -> Result<(), Error> {
        let mut told = self.told.lock().unwrap_or_else(PoisonError::into_inner);
        let news = Observers {
            debugger: observers.debugger && !told.0.debugger,
            profiler: observers.profiler && !told.0.profiler,
        };
        told.1.extend(announce(&self.ranges, &self.frames, news)?);
        told.0 = told.0 | news;
        Ok(())
    }
}
