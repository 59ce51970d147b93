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
    const { assert!(abi_spec::c_library::ALL.len() == 6) };
    use Type::{I32, I64, Ptr};
    let found = |model: Model, params: &[Type], result: Option<Type>, failing| {
        Some((model, Some(Signature::new(params, result)), failing))
    };
    match name {
        MALLOC => found(malloc, &[I64], Some(Ptr), Failing::Null),
        FREE => found(free, &[Ptr], None, Failing::Never),
        loader::DLOPEN => found(open, &[Ptr, I32], Some(Ptr), Failing::Null),
        loader::DLSYM => found(find, &[Ptr, Ptr], Some(Ptr), Failing::Null),
        loader::LOAD_LIBRARY => found(open, &[Ptr], Some(Ptr), Failing::Null),
        loader::GET_PROC_ADDRESS => found(find, &[Ptr, Ptr], Some(Ptr), Failing::Null),
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

/// Handle of the only library that exists.
const LIBRARY: Word = Word::bits(0x0011_b0a7);

fn open(machine: &mut Machine<'_>, args: &[Word]) -> Outcome {
    let name = machine.memory.c_string(args[0])?;
    let is_driver = cuda::LIBRARIES.iter().any(|library| library.as_bytes() == name);
    Ok(if is_driver && machine.cuda.is_installed { LIBRARY } else { Word::NULL })
}

fn find(machine: &mut Machine<'_>, args: &[Word]) -> Outcome {
    ensure(args[0] == LIBRARY, || "a symbol is looked up in no library".to_owned())?;
    let name = String::from_utf8_lossy(&machine.memory.c_string(args[1])?).into_owned();
    let is_driver = cuda::function(&name).is_some();
    Ok(if is_driver { machine.model(&name).unwrap_or(Word::NULL) } else { Word::NULL })
}
