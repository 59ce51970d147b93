//! Functions of the environment and of libraries: streams, imports, symbols, slots that are filled once.

use super::value::FAILED;
use crate::finding::{Finding, ensure};
use crate::link::Machine;
use crate::run::Outcome;
use crate::word::Word;

/// Version that the model reports.
const VERSION: [i32; 3] = [0, 1, 16];

/// `TVMFFIGetVersion`
pub(super) fn get_version(machine: &mut Machine<'_>, args: &[Word]) -> Outcome {
    for (index, number) in VERSION.into_iter().enumerate() {
        machine.memory.store(args[0].offset(4 * index as i64), Word::int32(number), 4, 4)?;
    }
    Ok(Word::NULL)
}

/// `TVMFFIEnvSetStream`: the real one crashes on a negative device type.
pub(super) fn set_stream(machine: &mut Machine<'_>, args: &[Word]) -> Outcome {
    let device = (args[0].as_int32(), args[1].as_int32());
    ensure(device.0 >= 0, || format!("a stream is set for device type {}", device.0))?;
    let before = machine.set_stream(device, args[2]).unwrap_or(Word::NULL);
    if !args[3].is_null() {
        machine.memory.store(args[3], before, 8, 8)?;
    }
    Ok(Word::NULL)
}

/// `TVMFFIEnvGetStream`
pub(super) fn get_stream(machine: &mut Machine<'_>, args: &[Word]) -> Outcome {
    let device = (args[0].as_int32(), args[1].as_int32());
    Ok(machine.runtime.streams.get(&device).copied().unwrap_or(Word::NULL))
}

/// `TVMFFIEnvCheckSignals`: no signal is pending.
pub(super) fn check_signals(_: &mut Machine<'_>, _: &[Word]) -> Outcome {
    Ok(Word::NULL)
}

/// `TVMFFIEnvRegisterCAPI`
pub(super) fn register_c_api(machine: &mut Machine<'_>, args: &[Word]) -> Outcome {
    machine.memory.c_string(args[0]).map(|_| Word::NULL)
}

/// `TVMFFIEnvModLookupFromImports`: searches imports, then the registry; the result is borrowed.
pub(super) fn look_up(machine: &mut Machine<'_>, args: &[Word]) -> Outcome {
    let name = String::from_utf8_lossy(&machine.memory.c_string(args[1])?).into_owned();
    let imported = machine.runtime.imports.get(&name).copied();
    let Some(found) = imported.or_else(|| machine.global(&name)) else {
        let message =
            format!("Cannot find function {name} in the imported modules or global registry.");
        machine.raise("RuntimeError", message.as_bytes());
        return Ok(FAILED);
    };
    machine.memory.store(args[2], found, 8, 8)?;
    Ok(Word::NULL)
}

/// `TVMFFIEnvModRegisterContextSymbol`
pub(super) fn register_context_symbol(machine: &mut Machine<'_>, args: &[Word]) -> Outcome {
    machine.memory.c_string(args[0]).map(|_| Word::NULL)
}

/// `TVMFFIEnvModRegisterSystemLibSymbol`
pub(super) fn register_system_symbol(machine: &mut Machine<'_>, args: &[Word]) -> Outcome {
    let name = String::from_utf8_lossy(&machine.memory.c_string(args[0])?).into_owned();
    machine.runtime.system_symbols.insert(name, args[1]);
    Ok(Word::NULL)
}

/// `TVMFFIHandleInitOnce`: all slots share one lock, so that a nested call deadlocks.
pub(super) fn init_once(machine: &mut Machine<'_>, args: &[Word]) -> Outcome {
    if !machine.memory.load(args[0], 8, 8)?.is_null() {
        return Ok(Word::NULL);
    }
    ensure(!machine.runtime.initialising, || "a slot is filled inside another".to_owned())?;
    machine.runtime.initialising = true;
    let place = machine.memory.variable("result of an init function", vec![0; 8], 8);
    let status = machine.call(args[1], &[place]);
    machine.runtime.initialising = false;
    let status = status?;
    if !status.is_null() {
        return Ok(status);
    }
    let handle = machine.memory.load(place, 8, 8)?;
    machine.memory.end(place);
    if handle.is_null() {
        machine.raise("RuntimeError", b"init_func must return a non-NULL handle");
        return Ok(FAILED);
    }
    machine.memory.store(args[0], handle, 8, 8)?;
    Ok(Word::NULL)
}

/// `TVMFFIHandleDeinitOnce`
pub(super) fn deinit_once(machine: &mut Machine<'_>, args: &[Word]) -> Result<Word, Box<Finding>> {
    let handle = machine.memory.load(args[0], 8, 8)?;
    machine.memory.store(args[0], Word::NULL, 8, 8)?;
    if handle.is_null() { Ok(Word::NULL) } else { machine.call(args[1], &[handle]) }
}
