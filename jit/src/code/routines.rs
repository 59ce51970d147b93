//! The cold routines that explain failed checks. All code of one runtime shares them. They are compiled when this crate
//! is built, or else once in each process.

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

/// The routines of each runtime, by its identity. They are never freed, as runtimes never are.
static ROUTINES: Mutex<Vec<(usize, &'static LoadedRoutines)>> = Mutex::new(Vec::new());

/// Routines in memory.
struct LoadedRoutines {
    addresses: HashMap<String, Address>,
    ranges: Vec<FunctionRange>,
    frames: Vec<u8>,
    /// The observers that know the routines, and the debugger's handles.
    told: Mutex<(Observers, Vec<Announced>)>,
    _text: Text,
}

/// Returns the addresses of a runtime's routines by name. The first call loads them. Each observer learns of them
/// once.
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
    // `tell` announces them later.
    let linked = assembly.link(Observers::default())?;
    let Linked { functions, ranges, frames, text, .. } = linked;
    let (addresses, told) = (functions.into_iter().collect(), Mutex::default());
    Ok(LoadedRoutines { addresses, ranges, frames, told, _text: text })
}

impl LoadedRoutines {
    /// Announces the routines to observers that do not know them.
    fn tell(&self, observers: Observers) -> Result<(), Error> {
        let mut told = self.told.lock().unwrap_or_else(PoisonError::into_inner);
        let news = Observers {
            debugger: observers.debugger && !told.0.debugger,
            profiler: observers.profiler && !told.0.profiler,
        };
        told.1.extend(announce(&self.ranges, &self.frames, &[], news)?);
        told.0 = told.0 | news;
        Ok(())
    }
}
