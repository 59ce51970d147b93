//! Arrays, shapes and maps, and the global functions that make and read them.

use abi_spec::TypeIndex;
use abi_spec::layout::{SEQ_CELL, SHAPE_CELL, seq_cell, shape_cell};

use super::Model;
use super::object::{ELEMENT, ObjectBody};
use super::value::{FAILED, Value};
use crate::finding::Finding;
use crate::link::Machine;
use crate::run::Outcome;
use crate::word::Word;

/// Returns a global function of the runtime by its name.
pub(super) fn global(name: &str) -> Option<Model> {
    Some(match name {
        "ffi.Array" => |machine, args| sequence(machine, args, TypeIndex::ARRAY),
        "ffi.List" => |machine, args| sequence(machine, args, TypeIndex::LIST),
        "ffi.GetRegisteredTypeKeys" => super::types::keys,
        "ffi.ListSetItem" => set_item,
        "ffi.ListClear" => clear,
        "ffi.Map" => |machine, args| mapping(machine, args, TypeIndex::MAP),
        "ffi.Dict" => |machine, args| mapping(machine, args, TypeIndex::DICT),
        "ffi.Shape" => shape,
        "ffi.MapSize" => |machine, args| size(machine, args, TypeIndex::MAP),
        "ffi.DictSize" => |machine, args| size(machine, args, TypeIndex::DICT),
        "ffi.MapForwardIterFunctor" => |machine, args| iterator(machine, args, TypeIndex::MAP),
        "ffi.DictForwardIterFunctor" => |machine, args| iterator(machine, args, TypeIndex::DICT),
        _ => return None,
    })
}

impl Machine<'_> {
    /// Makes an array or a list of owned values; takes over their references.
    pub fn sequence(&mut self, index: TypeIndex, elements: &[Value]) -> Word {
        let cell = SEQ_CELL.size as usize;
        let object =
            self.object(index.0, "sequence", cell + elements.len() * 16, ObjectBody::Plain);
        let data = object.offset(24 + cell as i64);
        let count = Word::int(elements.len() as i64);
        let fields = [(seq_cell::DATA, data), (seq_cell::SIZE, count), (seq_cell::CAPACITY, count)];
        for (field, value) in fields {
            let at = object.offset(field.in_object().into());
            self.memory.store(at, value, 8, 8).expect("the cell is there");
        }
        for (position, element) in elements.iter().enumerate() {
            let at = data.offset(ELEMENT * position as i64);
            self.memory.store_any(at, *element).expect("there is room");
        }
        object
    }

    /// Makes a shape object.
    pub fn shape(&mut self, extents: &[i64]) -> Word {
        let (index, cell) = (TypeIndex::SHAPE.0, SHAPE_CELL.size as usize);
        let object = self.object(index, "shape", cell + extents.len() * 8, ObjectBody::Plain);
        let data = object.offset(24 + cell as i64);
        let count = Word::int(extents.len() as i64);
        for (field, value) in [(shape_cell::DATA, data), (shape_cell::SIZE, count)] {
            let at = object.offset(field.in_object().into());
            self.memory.store(at, value, 8, 8).expect("the cell is there");
        }
        for (position, extent) in extents.iter().enumerate() {
            let at = data.offset(8 * position as i64);
            self.memory.store(at, Word::int(*extent), 8, 8).expect("there is room");
        }
        object
    }

    /// Makes a map of owned keys and values; takes over their references.
    pub fn mapping(&mut self, index: TypeIndex, entries: Vec<(Value, Value)>) -> Word {
        // The layout behind the header is private to the runtime, so it must not be read.
        self.object(index.0, "mapping", 0, ObjectBody::Entries(entries))
    }

    fn arguments(&self, args: &[Word]) -> Result<Vec<Value>, Box<Finding>> {
        self.memory.load_anys(args[1], i64::from(args[2].as_int32()))
    }

    fn owned_arguments(&mut self, args: &[Word]) -> Result<Option<Vec<Value>>, Box<Finding>> {
        let mut owned = Vec::new();
        for value in self.arguments(args)? {
            let Ok(value) = self.owned(value)? else {
                owned.into_iter().try_for_each(|value| self.release_value(value))?;
                return Ok(None);
            };
            owned.push(value);
        }
        Ok(Some(owned))
    }

    pub(super) fn give(&mut self, args: &[Word], value: Value) -> Outcome {
        self.memory.store_any(args[3], value)?;
        Ok(Word::NULL)
    }
}

fn sequence(machine: &mut Machine<'_>, args: &[Word], index: TypeIndex) -> Outcome {
    let Some(elements) = machine.owned_arguments(args)? else { return Ok(FAILED) };
    let object = machine.sequence(index, &elements);
    machine.give(args, Value::new(index.0, object))
}

/// Replaces an element of a list.
fn set_item(machine: &mut Machine<'_>, args: &[Word]) -> Outcome {
    let Some(owned) = machine.owned_arguments(args)? else { return Ok(FAILED) };
    let [list, index, new] = owned[..] else {
        return Err(Finding::new("a list, an index and an element are wanted".to_owned()));
    };
    let data = machine.memory.load(list.payload.offset(seq_cell::DATA.in_object().into()), 8, 8)?;
    let at = data.offset(ELEMENT * index.payload.as_int());
    let old = machine.memory.load_any(at)?;
    machine.memory.store_any(at, new)?;
    [old, list].into_iter().try_for_each(|value| machine.release_value(value))?;
    machine.give(args, Value::NONE)
}

/// Removes all elements of a list.
fn clear(machine: &mut Machine<'_>, args: &[Word]) -> Outcome {
    let list = machine.arguments(args)?[0].payload;
    let [data, size] =
        [seq_cell::DATA, seq_cell::SIZE].map(|field| list.offset(field.in_object().into()));
    let data = machine.memory.load(data, 8, 8)?;
    let count = machine.memory.load(size, 8, 8)?.as_int();
    let old = machine.memory.load_anys(data, count)?;
    machine.memory.store(size, Word::int(0), 8, 8)?;
    old.into_iter().try_for_each(|value| machine.release_value(value))?;
    machine.give(args, Value::NONE)
}

fn shape(machine: &mut Machine<'_>, args: &[Word]) -> Outcome {
    let extents: Option<Vec<i64>> = machine
        .arguments(args)?
        .iter()
        .map(|value| (value.index == TypeIndex::INT.0).then(|| value.payload.as_int()))
        .collect();
    let Some(extents) = extents else {
        machine.raise("TypeError", b"Expect shape to take list of int arguments");
        return Ok(FAILED);
    };
    let object = machine.shape(&extents);
    machine.give(args, Value::new(TypeIndex::SHAPE.0, object))
}

/// Makes a map of keys and values in turn. The keys must be distinct.
fn mapping(machine: &mut Machine<'_>, args: &[Word], index: TypeIndex) -> Outcome {
    let Some(values) = machine.owned_arguments(args)? else { return Ok(FAILED) };
    let entries = values.chunks_exact(2).map(|pair| (pair[0], pair[1])).collect();
    let object = machine.mapping(index, entries);
    machine.give(args, Value::new(index.0, object))
}

/// Returns the map that is the only argument.
fn the_map(machine: &Machine<'_>, args: &[Word], index: TypeIndex) -> Result<Word, Box<Finding>> {
    match machine.arguments(args)?[..] {
        [value] if value.index == index.0 => Ok(value.payload),
        ref other => Err(Finding::new(format!("{other:?} is passed where a map is expected"))),
    }
}

fn entries<'a>(machine: &'a Machine<'_>, map: Word) -> &'a [(Value, Value)] {
    if let Some(ObjectBody::Entries(entries)) = machine.body(map) { entries } else { &[] }
}

fn size(machine: &mut Machine<'_>, args: &[Word], index: TypeIndex) -> Outcome {
    let map = the_map(machine, args, index)?;
    let size = entries(machine, map).len() as i64;
    machine.give(args, Value::int(size))
}

fn iterator(machine: &mut Machine<'_>, args: &[Word], index: TypeIndex) -> Outcome {
    let map = the_map(machine, args, index)?;
    machine.retain(map)?;
    let object = machine.function_object(ObjectBody::Iterator { map, at: 0 });
    machine.give(args, Value::new(TypeIndex::FUNCTION.0, object))
}

/// Calls an iterator: 0 returns the key, 1 the value, 2 moves on and returns whether another entry exists.
pub(super) fn step(
    machine: &mut Machine<'_>,
    [map, iterator]: [Word; 2],
    at: usize,
    args: &[Word],
) -> Outcome {
    let entry = entries(machine, map).get(at).copied();
    let (command, entry) = match (&machine.arguments(args)?[..], entry) {
        ([command], Some(entry)) => (command.payload.as_int(), entry),
        (_, None) => return Err(Finding::new("an iterator is asked behind the last entry")),
        (other, _) => return Err(Finding::new(format!("an iterator is given {other:?}"))),
    };
    let part = match command {
        0 => entry.0,
        1 => entry.1,
        _ => {
            machine.set_body(iterator, ObjectBody::Iterator { map, at: at + 1 });
            let more = at + 1 < entries(machine, map).len();
            let value = Value::new(TypeIndex::BOOL.0, Word::int(i64::from(more)));
            return machine.give(args, value);
        }
    };
    match machine.owned(part)? {
        Ok(value) => machine.give(args, value),
        Err(()) => Ok(FAILED),
    }
}
