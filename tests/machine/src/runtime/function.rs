//! Function objects, calls and the registry.

use abi_spec::TypeIndex;
use abi_spec::layout::{FUNCTION_CELL, byte_array, function_cell};
use codegen::ir::{Signature, Type};

use super::container;
use super::object::ObjectBody;
use super::value::FAILED;
use crate::finding::{Finding, ensure};
use crate::link::Machine;
use crate::run::Outcome;
use crate::word::Word;

/// Name of the function in the field `safe_call` of function objects.
pub(super) const THUNK: &str = "(safe_call of the runtime's functions)";

/// `TVMFFISafeCallType`
pub(crate) fn safe_call() -> Signature {
    Signature::new(&[Type::Ptr, Type::Ptr, Type::I32, Type::Ptr], Some(Type::I32))
}

impl Machine<'_> {
    /// Makes a function object with one reference.
    pub(crate) fn created(&mut self, context: Word, call: Word, deleter: Word) -> Word {
        self.function_object(ObjectBody::Created { context, call, deleter })
    }

    pub(crate) fn function_object(&mut self, body: ObjectBody) -> Word {
        let index = TypeIndex::FUNCTION.0;
        let object = self.object(index, "function object", FUNCTION_CELL.size as usize, body);
        let thunk = self.model(THUNK).expect("the model has it");
        let at = object.offset(function_cell::SAFE_CALL.in_object().into());
        self.memory.store(at, thunk, 8, 8).expect("the cell is there");
        object
    }

    /// Returns a function of the registry, borrowed; those of the runtime are made at their first use.
    pub fn global(&mut self, name: &str) -> Option<Word> {
        if let Some(known) = self.runtime.globals.get(name) {
            return Some(*known);
        }
        let made = self.function_object(ObjectBody::Model(container::global(name)?));
        self.memory.keep(made);
        self.runtime.globals.insert(name.to_owned(), made);
        Some(made)
    }

    /// Registers a function; the registry takes over its reference.
    pub fn register(&mut self, name: &str, function: Word) {
        self.memory.keep(function);
        self.runtime.globals.insert(name.to_owned(), function);
    }

    /// Returns the functions of the registry that have been looked up, by name.
    pub fn globals(&self) -> impl Iterator<Item = (&str, Word)> {
        self.runtime.globals.iter().map(|(name, function)| (&**name, *function))
    }
}

/// `TVMFFIFunctionCreate`
pub(super) fn create(machine: &mut Machine<'_>, args: &[Word]) -> Outcome {
    let &[context, call, deleter, out] = args else { unreachable!("four are declared") };
    machine.memory.function(call)?;
    let object = machine.created(context, call, deleter);
    machine.memory.store(out, object, 8, 8)?;
    Ok(Word::NULL)
}

/// `TVMFFIFunctionGetGlobal`
pub(super) fn get_global(machine: &mut Machine<'_>, args: &[Word]) -> Outcome {
    let name = machine.name_in(args[0])?;
    let found = machine.global(&name).unwrap_or(Word::NULL);
    if !found.is_null() {
        machine.retain(found)?;
    }
    machine.memory.store(args[1], found, 8, 8)?;
    Ok(Word::NULL)
}

fn set(machine: &mut Machine<'_>, name: &str, function: Word, replace: bool) -> Outcome {
    if !replace && machine.runtime.globals.contains_key(name) {
        let message = format!("Global Function `{name}` is already registered");
        machine.raise("RuntimeError", message.as_bytes());
        return Ok(FAILED);
    }
    machine.retain(function)?;
    if let Some(before) = machine.runtime.globals.insert(name.to_owned(), function) {
        machine.release(before)?;
    }
    Ok(Word::NULL)
}

/// `TVMFFIFunctionSetGlobal`
pub(super) fn set_global(machine: &mut Machine<'_>, args: &[Word]) -> Outcome {
    let name = machine.name_in(args[0])?;
    set(machine, &name, args[1], args[2].as_int32() != 0)
}

/// `TVMFFIFunctionSetGlobalFromMethodInfo`: the name is the first field, the function the last.
pub(super) fn set_global_from_method_info(machine: &mut Machine<'_>, args: &[Word]) -> Outcome {
    const METHOD: i64 = 56;
    let name = machine.name_in(args[0].offset(byte_array::DATA.offset.into()))?;
    let method = machine.memory.load_any(args[0].offset(METHOD))?;
    set(machine, &name, method.payload, args[1].as_int32() != 0)
}

/// `TVMFFIFunctionCall`: all arguments must be valid, and the result must hold no object.
pub(super) fn call(machine: &mut Machine<'_>, args: &[Word]) -> Outcome {
    let &[function, values, count, result] = args else { unreachable!("four are declared") };
    let index = machine.type_index(function)?;
    ensure(index == TypeIndex::FUNCTION.0, || format!("an object of {index} is called"))?;
    for value in machine.memory.load_anys(values, i64::from(count.as_int32()))? {
        machine.check_value(value)?;
    }
    let before = machine.memory.load_any(result)?;
    ensure(!before.is_object(), || "the place for a result holds an object".to_owned())?;
    let at = function.offset(function_cell::SAFE_CALL.in_object().into());
    let safe_call = machine.memory.load(at, 8, 8)?;
    // The callee may drop the last reference to the function that is called.
    machine.retain(function)?;
    let status = machine.call(safe_call, &[function, values, count, result])?;
    machine.release(function)?;
    if status.is_null() {
        machine.check_value(machine.memory.load_any(result)?)?;
    }
    Ok(status)
}

/// `safe_call` of all function objects: calls the function that the object was made of.
pub(super) fn thunk(machine: &mut Machine<'_>, args: &[Word]) -> Outcome {
    let function = args[0];
    match machine.body(function).cloned() {
        Some(ObjectBody::Created { context, call, deleter }) => {
            let is_plain = context.is_null() && deleter.is_null();
            let handle = if is_plain { function } else { context };
            machine.call(call, &[handle, args[1], args[2], args[3]])
        }
        Some(ObjectBody::Model(model)) => model(machine, args),
        Some(ObjectBody::Iterator { map, at }) => {
            container::step(machine, [map, function], at, args)
        }
        _ => Err(Finding::new("an object that is no function is called")),
    }
}
