//! Classes: type indices, keys and ancestors.

use std::collections::HashMap;

use abi_spec::TypeIndex;
use abi_spec::layout::{Field, TYPE_INFO, type_info};

use super::value::{FAILED, Value};
use crate::finding::Finding;
use crate::link::Machine;
use crate::run::Outcome;
use crate::word::Word;

/// Registered classes, and the `TVMFFITypeInfo` of classes.
#[derive(Debug, Default)]
pub(super) struct Classes {
    /// Key and parent of each registered class, from [`TypeIndex::DYN_OBJECT_BEGIN`] on.
    registered: Vec<(String, i32)>,
    /// `TVMFFITypeInfo` of each class that was asked for.
    infos: HashMap<i32, Word>,
}

impl Machine<'_> {
    /// Returns the index of a class and registers the class if it is new. `keys` are its key and those of its
    /// ancestors, nearest first.
    pub fn class(&mut self, keys: &[String]) -> i32 {
        let parents = keys.iter().rev();
        parents.fold(TypeIndex::OBJECT.0, |parent, key| self.class_below(key, parent))
    }

    fn class_below(&mut self, key: &str, parent: i32) -> i32 {
        if let Some(known) = self.index_of(key) {
            return known;
        }
        let registered = &mut self.runtime.classes.registered;
        registered.push((key.to_owned(), parent));
        TypeIndex::DYN_OBJECT_BEGIN.0 + registered.len() as i32 - 1
    }

    fn index_of(&self, key: &str) -> Option<i32> {
        let is_key = |ty: &&TypeIndex| ty.type_key() == Some(key);
        let fixed = TypeIndex::ALL.iter().find(is_key).map(|ty| ty.0);
        let registered = &self.runtime.classes.registered;
        let position = || registered.iter().position(|(known, _)| known == key);
        fixed.or_else(|| position().map(|at| TypeIndex::DYN_OBJECT_BEGIN.0 + at as i32))
    }

    /// Returns the key and the parent of a class.
    fn known(&self, index: i32) -> Option<(String, Option<i32>)> {
        if let Some(key) = TypeIndex(index).type_key() {
            let below = index > TypeIndex::OBJECT.0;
            return Some((key.to_owned(), below.then_some(TypeIndex::OBJECT.0)));
        }
        let at = usize::try_from(index - TypeIndex::DYN_OBJECT_BEGIN.0).ok()?;
        let (key, parent) = self.runtime.classes.registered.get(at)?;
        Some((key.clone(), Some(*parent)))
    }

    /// Returns the `TVMFFITypeInfo` of a class; `None` for an unknown index.
    fn info(&mut self, index: i32) -> Option<Word> {
        if let Some(known) = self.runtime.classes.infos.get(&index) {
            return Some(*known);
        }
        let (key, parent) = self.known(index)?;
        let mut ancestors: Vec<Word> = Vec::new();
        if let Some(parent) = parent {
            let above = self.info(parent)?;
            let depth = self.memory.load(above.offset(4), 4, 4).expect("it is one").as_int32();
            let field = above.offset(type_info::TYPE_ANCESTORS.offset.into());
            let table = self.memory.load(field, 8, 8).expect("it is one");
            let entry = |at: i32| self.memory.load(table.offset(8 * i64::from(at)), 8, 8);
            ancestors.extend((0..depth).map(|at| entry(at).expect("there are as many")));
            ancestors.push(above);
        }
        let table = self.memory.variable("ancestors", vec![0; 8 * ancestors.len()], 8);
        for (at, ancestor) in ancestors.iter().enumerate() {
            self.memory.store(table.offset(8 * at as i64), *ancestor, 8, 8).expect("there is room");
        }
        let text = self.memory.constant("type key", key.clone().into_bytes(), 1);
        let info = self.memory.variable("TVMFFITypeInfo", vec![0; TYPE_INFO.size as usize], 8);
        let fields: [(Field, Word, usize); 4] = [
            (type_info::TYPE_INDEX, Word::int32(index), 4),
            (type_info::TYPE_DEPTH, Word::int32(ancestors.len() as i32), 4),
            (type_info::TYPE_KEY, text, 8),
            (type_info::TYPE_ANCESTORS, table, 8),
        ];
        for (field, value, size) in fields {
            let at = info.offset(field.offset.into());
            self.memory.store(at, value, size, size as u64).expect("it was just made");
        }
        let at = info.offset(i64::from(type_info::TYPE_KEY.offset) + 8);
        self.memory.store(at, Word::int(key.len() as i64), 8, 8).expect("it was just made");
        self.memory.freeze(info);
        self.memory.freeze(table);
        self.runtime.classes.infos.insert(index, info);
        Some(info)
    }
}

/// `TVMFFITypeKeyToIndex`
pub(super) fn key_to_index(machine: &mut Machine<'_>, args: &[Word]) -> Outcome {
    let key = machine.name_in(args[0])?;
    let Some(index) = machine.index_of(&key) else {
        let message = format!("Cannot find type `{key}`");
        machine.raise("InternalError", message.as_bytes());
        return Ok(FAILED);
    };
    machine.memory.store(args[1], Word::int32(index), 4, 4)?;
    Ok(Word::NULL)
}

/// `ffi.GetRegisteredTypeKeys`: an array of the keys of all classes.
pub(super) fn keys(machine: &mut Machine<'_>, args: &[Word]) -> Outcome {
    let fixed = TypeIndex::ALL.iter().filter_map(|ty| ty.type_key()).map(str::to_owned);
    let registered = machine.runtime.classes.registered.iter().map(|(key, _)| key.clone());
    let keys: Vec<String> = fixed.chain(registered).collect();
    let text = |key: String| machine.text(TypeIndex::STR, key.as_bytes());
    let elements: Vec<Value> = keys.into_iter().map(text).collect();
    let object = machine.sequence(TypeIndex::ARRAY, &elements);
    machine.give(args, Value::new(TypeIndex::ARRAY.0, object))
}

/// `TVMFFIGetTypeInfo`: the real one ends the process if the index is unknown.
pub(super) fn get_info(machine: &mut Machine<'_>, args: &[Word]) -> Outcome {
    let index = args[0].as_int32();
    let unknown = || Finding::new(format!("the runtime is asked about type index {index}"));
    machine.info(index).ok_or_else(unknown)
}

/// `TVMFFITypeGetOrAllocIndex`
pub(super) fn get_or_alloc_index(machine: &mut Machine<'_>, args: &[Word]) -> Outcome {
    let (key, parent) = (machine.name_in(args[0])?, args[5].as_int32());
    let index = match parent {
        -2 => machine.index_of(&key).unwrap_or(-2),
        -1 => machine.class_below(&key, TypeIndex::OBJECT.0),
        parent => machine.class_below(&key, parent),
    };
    Ok(Word::int32(index))
}

/// `TVMFFITypeRegisterField`, `…Method`, `…Metadata`, `…Attr`: the class must exist.
pub(super) fn register(machine: &mut Machine<'_>, args: &[Word]) -> Outcome {
    get_info(machine, args).map(|_| Word::NULL)
}

/// `TVMFFIGetTypeAttrColumn`: no class has attributes.
pub(super) fn attribute_column(machine: &mut Machine<'_>, args: &[Word]) -> Outcome {
    machine.name_in(args[0]).map(|_| Word::NULL)
}
