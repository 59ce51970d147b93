//! Objects, their references, and their deletion.

use std::borrow::Cow;

use abi_spec::TypeIndex;
use abi_spec::layout::{ANY, BYTE_ARRAY, OBJECT, error_cell, object, seq_cell};

use super::value::{FAILED, Value};
use crate::finding::{Finding, ensure};
use crate::link::{Host, Machine};
use crate::run::Outcome;
use crate::word::Word;

/// Parts of an object that are not in memory.
#[derive(Clone)]
pub enum ObjectBody {
    /// No owned values.
    Plain,
    /// Texts of an error, which are regions of their own.
    Error(Vec<Word>),
    /// Entries of a map, in order.
    Entries(Vec<(Value, Value)>),
    /// A function made of an address.
    Created {
        /// Handle that the callee gets; the function object itself if `context` and `deleter` are NULL.
        context: Word,
        /// A `TVMFFISafeCallType`.
        call: Word,
        /// Function that is called with `context` when the object dies; may be NULL.
        deleter: Word,
    },
    /// A function of the runtime.
    Model(super::Model),
    /// An iterator over the entries of a map.
    Iterator {
        /// The map; the iterator holds a reference.
        map: Word,
        /// Number of the current entry.
        at: usize,
    },
    /// A tensor.
    Tensor {
        /// The managed tensor or tensor object that it was made of.
        owner: Word,
        /// True if `owner` is an object.
        is_view: bool,
        /// Offset of the deleter in `owner`.
        deleter_at: i64,
        /// Strides that the managed tensor did not have.
        strides: Option<Word>,
    },
}

impl std::fmt::Debug for ObjectBody {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        f.write_str(match self {
            ObjectBody::Plain => "Plain",
            ObjectBody::Error(_) => "Error",
            ObjectBody::Entries(_) => "Entries",
            ObjectBody::Created { .. } => "Created",
            ObjectBody::Model(_) => "Model",
            ObjectBody::Iterator { .. } => "Iterator",
            ObjectBody::Tensor { .. } => "Tensor",
        })
    }
}

/// Combined count of one strong reference and the weak one that all strong references share.
pub const REFERENCE: u64 = 1 << 32 | 1;

/// Name of the function that frees objects of the model.
pub(super) const DELETER: &str = "(the deleter of the runtime's objects)";

impl<'p> Machine<'p> {
    /// Makes an object with one reference: its header, then its cell, whose bytes are 0.
    pub fn object(
        &mut self,
        index: i32,
        label: impl Into<Cow<'p, str>>,
        cell: usize,
        body: ObjectBody,
    ) -> Word {
        let deleter = self.model(DELETER).expect("the model has it");
        let word = self.object_with(index, label, cell, deleter);
        self.runtime.bodies.insert(word.origin.expect("it was just made"), body);
        word
    }

    /// Makes an object with one reference and a deleter of its own.
    pub fn object_with(
        &mut self,
        index: i32,
        label: impl Into<Cow<'p, str>>,
        cell: usize,
        deleter: Word,
    ) -> Word {
        let word = self.memory.zeroed(label, OBJECT.size as usize + cell, 8);
        let fields = [
            (object::REF_COUNT.offset, Word::bits(REFERENCE), 8),
            (object::TYPE_INDEX.offset, Word::int32(index), 4),
            (object::DELETER.offset, deleter, 8),
        ];
        for (offset, value, size) in fields {
            let at = word.offset(offset.into());
            self.memory.store(at, value, size, size as u64).expect("the header is there");
        }
        word
    }

    /// Reads the type index of a live object.
    pub(crate) fn type_index(&self, of: Word) -> Result<i32, Box<Finding>> {
        self.references(of)?;
        Ok(self.memory.load(of.offset(object::TYPE_INDEX.offset.into()), 4, 4)?.as_int32())
    }

    /// Returns the strong references of a live object.
    ///
    /// # Errors
    /// If the object is not live.
    pub fn references(&self, of: Word) -> Result<u32, Box<Finding>> {
        let count = self.memory.load(of, 8, 8)?.bits as u32;
        let what =
            || format!("{} is used as an object without references", self.memory.describe(of));
        ensure(count > 0, what)?;
        Ok(count)
    }

    /// Increments the reference count.
    ///
    /// # Errors
    /// If the object is not live.
    pub fn retain(&mut self, of: Word) -> Result<(), Box<Finding>> {
        self.references(of)?;
        let count = self.memory.load(of, 8, 8)?.bits;
        self.memory.store(of, Word::bits(count + 1), 8, 8)
    }

    /// Decrements the reference count and deletes the object at 0. NULL is ignored.
    ///
    /// # Errors
    /// If the object is not live.
    pub fn release(&mut self, of: Word) -> Result<(), Box<Finding>> {
        if of.is_null() {
            return Ok(());
        }
        self.references(of)?;
        let count = self.memory.load(of, 8, 8)?.bits;
        self.memory.store(of, Word::bits(count - 1), 8, 8)?;
        if count != REFERENCE {
            return Ok(());
        }
        let deleter = self.memory.load(of.offset(object::DELETER.offset.into()), 8, 8)?;
        if !deleter.is_null() {
            self.call(deleter, &[of, Word::int32(3)])?;
        }
        Ok(())
    }

    /// Releases the object of a value.
    ///
    /// # Errors
    /// If the object is not live.
    pub fn release_value(&mut self, value: Value) -> Result<(), Box<Finding>> {
        if value.is_object() { self.release(value.payload) } else { Ok(()) }
    }

    /// Returns the parts of an object that are not in memory.
    pub(crate) fn body(&self, of: Word) -> Option<&ObjectBody> {
        self.runtime.bodies.get(&of.origin?)
    }

    pub(crate) fn set_body(&mut self, of: Word, body: ObjectBody) {
        if let Some(region) = of.origin {
            self.runtime.bodies.insert(region, body);
        }
    }

    /// Makes a function object of a closure, with one reference.
    pub fn closure(&mut self, name: &str, run: Host<'p>) -> Word {
        let call = self.host(name, Some(super::function::safe_call()), run);
        self.created(Word::NULL, call, Word::NULL)
    }
}

/// Frees an object of the model without references, and releases the values that it owns.
pub(super) fn delete(machine: &mut Machine<'_>, args: &[Word]) -> Outcome {
    let this = args[0];
    let region = this.origin.ok_or_else(|| Finding::new("no object is deleted"))?;
    let body = machine.runtime.bodies.remove(&region).unwrap_or(ObjectBody::Plain);
    let field = |offset: i32| this.offset(offset.into());
    let index = machine.memory.load(field(object::TYPE_INDEX.offset), 4, 4)?.as_int32();
    if [TypeIndex::ARRAY.0, TypeIndex::LIST.0].contains(&index) {
        let data = machine.memory.load(field(seq_cell::DATA.in_object()), 8, 8)?;
        let size = machine.memory.load(field(seq_cell::SIZE.in_object()), 8, 8)?.as_int();
        for element in machine.memory.load_anys(data, size)? {
            machine.release_value(element)?;
        }
    }
    match body {
        ObjectBody::Plain | ObjectBody::Model(_) => {}
        ObjectBody::Error(texts) => {
            for cell in [error_cell::CAUSE_CHAIN, error_cell::EXTRA_CONTEXT] {
                let other = machine.memory.load(field(cell.in_object()), 8, 8)?;
                machine.release(other)?;
            }
            texts.into_iter().try_for_each(|text| machine.memory.free(text))?;
        }
        ObjectBody::Entries(entries) => {
            for (key, value) in entries {
                machine.release_value(key)?;
                machine.release_value(value)?;
            }
        }
        ObjectBody::Created { context, deleter, .. } => {
            if !deleter.is_null() {
                machine.call(deleter, &[context])?;
            }
        }
        ObjectBody::Iterator { map, .. } => machine.release(map)?,
        ObjectBody::Tensor { owner, is_view: true, .. } => machine.release(owner)?,
        ObjectBody::Tensor { owner, is_view: false, deleter_at, strides } => {
            let deleter = machine.memory.load(owner.offset(deleter_at), 8, 8)?;
            if !deleter.is_null() {
                machine.call(deleter, &[owner])?;
            }
            strides.map_or(Ok(()), |strides| machine.memory.free(strides))?;
        }
    }
    machine.memory.free(this)?;
    Ok(Word::NULL)
}

/// `TVMFFIObjectIncRef`
pub(super) fn inc_ref(machine: &mut Machine<'_>, args: &[Word]) -> Outcome {
    machine.retain(args[0]).map(|()| Word::NULL)
}

/// `TVMFFIObjectDecRef`: NULL is a finding, because releases before 0.1.11 crash on it.
pub(super) fn dec_ref(machine: &mut Machine<'_>, args: &[Word]) -> Outcome {
    if args[0].is_null() {
        return Err(Finding::new("NULL is released"));
    }
    machine.release(args[0]).map(|()| Word::NULL)
}

/// `TVMFFIObjectCreateOpaque`: the deleter is called with the handle when the object dies.
pub(super) fn create_opaque(machine: &mut Machine<'_>, args: &[Word]) -> Outcome {
    let &[context, index, deleter, out] = args else { unreachable!("four are declared") };
    if index.as_int32() != TypeIndex::OPAQUE_PY_OBJECT.0 {
        let message = b"Only kTVMFFIOpaquePyObject is supported for now";
        machine.raise("RuntimeError", message);
        return Ok(FAILED);
    }
    let body = ObjectBody::Created { context, call: Word::NULL, deleter };
    let object = machine.object(index.as_int32(), "opaque object", 8, body);
    machine.memory.store(object.offset(OBJECT.size.into()), context, 8, 8)?;
    machine.memory.store(out, object, 8, 8)?;
    Ok(Word::NULL)
}

/// `TVMFFIGetCustomAllocator`: returns an address that must not be used.
pub(super) fn get_allocator(machine: &mut Machine<'_>, _: &[Word]) -> Outcome {
    Ok(machine.memory.constant("the allocator of objects", vec![0; 16], 8))
}

/// `TVMFFISetCustomAllocator`: a finding, because a process may set it only before any object is made.
pub(super) fn set_allocator(_: &mut Machine<'_>, _: &[Word]) -> Outcome {
    Err(Finding::new("the allocator of objects is set while there are objects"))
}

/// Bytes of the cell of a string or bytes object, and of a value in memory.
pub(super) const TEXT_CELL: usize = BYTE_ARRAY.size as usize;
pub(super) const ELEMENT: i64 = ANY.size as i64;
