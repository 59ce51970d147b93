//! Model of the functions of the C library and of its loader that host IR calls.

use abi_spec::c_library::{FREE, MALLOC, loader};
use codegen::ir::{Signature, Type};

use crate::cuda;
use crate::fault::Failing;
use crate::finding::ensure;
use crate::link::Machine;
use crate::run::Outcome;
use crate::runtime::{Found, Model};
use crate::word::Word;

/// Returns the function of a name.
pub(crate) fn function(name: &str) -> Option<Found> {
    const { assert!(abi_spec::c_library::ALL.len() == 7) };
    use Type::{I32, I64, Ptr};
    let found = |model: Model, params: &[Type], result: Option<Type>, failing| {
        Some((model, Some(Signature::new(params, result)), failing))
    };
    match name {
        MALLOC => found(malloc, &[I64], Some(Ptr), Failing::Null),
        FREE => found(free, &[Ptr], None, Failing::Never),
        loader::DLOPEN => found(open, &[Ptr, I32], Some(Ptr), Failing::Null),
        loader::DLSYM => found(find, &[Ptr, Ptr], Some(Ptr), Failing::Null),
        loader::DLERROR => found(nothing_said, &[], Some(Ptr), Failing::Never),
        loader::LOAD_LIBRARY => found(open, &[Ptr], Some(Ptr), Failing::Null),
        loader::GET_PROC_ADDRESS => found(find, &[Ptr, Ptr], Some(Ptr), Failing::Null),
        "pthread_self" => found(this_thread, &[], Some(I64), Failing::Never),
        "usleep" => found(pause, &[I32], Some(I32), Failing::Never),
        "GetCurrentThreadId" => found(this_thread, &[], Some(I32), Failing::Never),
        "Sleep" => found(pause, &[I32], None, Failing::Never),
        _ => None,
    }
}

/// Bytes above which an allocation fails.
const LARGEST: u64 = 1 << 24;

fn malloc(machine: &mut Machine<'_>, args: &[Word]) -> Outcome {
    if args[0].bits > LARGEST {
        return Ok(Word::NULL);
    }
    Ok(machine.memory.heap("block of malloc", args[0].bits as usize, 16))
}

fn free(machine: &mut Machine<'_>, args: &[Word]) -> Outcome {
    if !args[0].is_null() {
        machine.memory.free(args[0])?;
    }
    Ok(Word::NULL)
}

/// Handles of the only library that exists, and of the process itself.
const LIBRARY: Word = Word::bits(0x0011_b0a7);
const PROCESS: Word = Word::bits(0x0011_b0a8);

/// Functions of the process that are looked up.
const OF_PROCESS: [&str; 4] = ["pthread_self", "usleep", "GetCurrentThreadId", "Sleep"];

/// Number of the only thread.
const THREAD: Word = Word::bits(0x7007);

fn this_thread(_: &mut Machine<'_>, _: &[Word]) -> Outcome {
    Ok(THREAD)
}

fn pause(_: &mut Machine<'_>, _: &[Word]) -> Outcome {
    ensure(false, || "the only thread waits for another one".to_owned())?;
    Ok(Word::NULL)
}

/// Returns NULL: a loader may have nothing to say.
fn nothing_said(_: &mut Machine<'_>, _: &[Word]) -> Outcome {
    Ok(Word::NULL)
}

fn open(machine: &mut Machine<'_>, args: &[Word]) -> Outcome {
    if args[0].is_null() {
        return Ok(PROCESS);
    }
    let name = machine.memory.c_string(args[0])?;
    if name == b"kernel32.dll" {
        return Ok(PROCESS);
    }
    let is_driver = cuda::LIBRARIES.iter().any(|library| library.as_bytes() == name);
    Ok(if is_driver && machine.cuda.is_installed { LIBRARY } else { Word::NULL })
}

fn find(machine: &mut Machine<'_>, args: &[Word]) -> Outcome {
    let is_library = [LIBRARY, PROCESS].contains(&args[0]);
    ensure(is_library, || "a symbol is looked up in no library".to_owned())?;
    let name = String::from_utf8_lossy(&machine.memory.c_string(args[1])?).into_owned();
    let is_there = match args[0] == PROCESS {
        true => OF_PROCESS.contains(&&*name),
        false => cuda::function(&name).is_some(),
    };
    Ok(if is_there { machine.model(&name).unwrap_or(Word::NULL) } else { Word::NULL })
}
