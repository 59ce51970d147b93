//! Arguments in the machine's memory.

use std::rc::Rc;

use abi_spec::TypeIndex;
use abi_spec::layout::{
    ANY, BYTE_ARRAY, DL_TENSOR, ERROR_CELL, FUNCTION_CELL, OPAQUE_OBJECT_CELL, SEQ_CELL,
    SHAPE_CELL, dl_tensor, seq_cell,
};
use codegen::ir::{Signature, Type};
use machine::runtime::{ObjectBody, Value};
use machine::{Finding, Machine, Word};

use super::kernels::Kernels;
use crate::argument::{Argument, Tensor};
use crate::frame::{ELEMENTS, MIDDLE};
use crate::route::{LACKING, Reason};

/// Arguments and the references that they hold.
#[derive(Debug)]
pub(super) struct Frame {
    /// Address of the arguments; NULL if there are none.
    pub(super) args: Word,
    /// References to objects of the runtime, owned by the frame.
    held: Vec<Word>,
    /// Reference count of every object when all arguments were built.
    counts: Vec<(Word, u32)>,
    /// Slots that rvalue references point at, and their initial contents.
    slots: Vec<(Word, Word)>,
    /// Memory that is lent for the call.
    lent: Vec<Word>,
    /// Lists, which anybody may change.
    lists: Vec<Word>,
}

/// A change of all lists between the call that makes a function and the call of that function.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Change {
    /// None.
    Nothing,
    /// They are empty.
    Clear,
    /// Their elements are integers.
    Replace,
}

type Built<T> = Result<Result<T, Reason>, Box<Finding>>;

/// Returns early with a reason.
macro_rules! known {
    ($built:expr) => {
        match $built? {
            Ok(value) => value,
            Err(reason) => return Ok(Err(reason)),
        }
    };
}

impl Frame {
    /// Builds arguments. The elements of a tensor are in read-only memory if `reads` is true for its argument.
    pub(super) fn new(
        machine: &mut Machine<'_>,
        kernels: &Rc<Kernels>,
        arguments: &[Argument],
        reads: &[bool],
    ) -> Built<Frame> {
        let frame = Frame {
            args: Word::NULL,
            held: Vec::new(),
            counts: Vec::new(),
            slots: Vec::new(),
            lent: Vec::new(),
            lists: Vec::new(),
        };
        let is_read = false;
        let mut builder = Builder { machine, kernels, frame, instances: Vec::new(), is_read };
        let values = known!(builder.all(arguments, reads));
        let Builder { machine, mut frame, instances, .. } = builder;
        if !values.is_empty() {
            frame.args = anys(machine, "arguments", &values)?;
            frame.lent.push(frame.args);
        }
        for object in frame.held.iter().chain(&instances) {
            frame.counts.push((*object, machine.references(*object)?));
        }
        Ok(Ok(frame))
    }

    /// Checks that every object has its initial number of references, except for one per slot that the callee has
    /// emptied and so took over.
    pub(super) fn check_balance(&self, machine: &mut Machine<'_>) -> Result<(), Box<Finding>> {
        let mut moved = Vec::new();
        for &(slot, before) in &self.slots {
            let now = machine.memory.load(slot, 8, 8)?;
            if now != before {
                let empty = now.is_null();
                if !empty {
                    return Err(Finding::new("an rvalue reference points at another object"));
                }
                moved.push(before);
            }
        }
        for &(object, before) in &self.counts {
            let taken = moved.iter().filter(|moved| **moved == object).count() as u32;
            let now = machine.references(object)?;
            if now + taken != before {
                let object = machine.memory.describe(object);
                let reason =
                    format!("{object} had {before} references and has {now}, {taken} moved");
                return Err(Finding::new(reason));
            }
        }
        Ok(())
    }

    /// Ends the life of what was lent for the call.
    pub(super) fn take_back(&mut self, machine: &mut Machine<'_>) {
        self.lent.drain(..).for_each(|lent| machine.memory.end(lent));
    }

    /// Changes all lists.
    pub(super) fn change_lists(
        &self,
        machine: &mut Machine<'_>,
        change: Change,
    ) -> Result<(), Box<Finding>> {
        for &list in &self.lists {
            let at = |field: abi_spec::layout::Field| list.offset(field.in_object().into());
            let size = machine.memory.load(at(seq_cell::SIZE), 8, 8)?;
            match change {
                Change::Nothing => {}
                Change::Clear => machine.memory.store(at(seq_cell::SIZE), Word::NULL, 8, 8)?,
                Change::Replace => {
                    let elements = vec![Value::int(5); size.bits as usize];
                    let data = anys(machine, "new elements", &elements)?;
                    machine.memory.store(at(seq_cell::DATA), data, 8, 8)?;
                }
            }
        }
        Ok(())
    }

    /// Releases the objects of the frame that were not moved out of a slot.
    pub(super) fn give_back(&mut self, machine: &mut Machine<'_>) -> Result<(), Box<Finding>> {
        for &(slot, before) in &self.slots {
            if machine.memory.load(slot, 8, 8)? != before
                && let Some(at) = self.held.iter().position(|object| *object == before)
            {
                self.held.swap_remove(at);
            }
        }
        self.held.drain(..).try_for_each(|object| machine.release(object))
    }
}

/// Stores values in read-only memory.
fn anys<'p>(
    machine: &mut Machine<'p>,
    label: &'static str,
    values: &[Value],
) -> Result<Word, Box<Finding>> {
    let size = ANY.size as usize;
    let place = machine.memory.variable(label, vec![0; size * values.len()], 8);
    for (index, value) in values.iter().enumerate() {
        machine.memory.store_any(place.offset((index * size) as i64), *value)?;
    }
    machine.memory.freeze(place);
    Ok(place)
}

struct Builder<'a, 'p> {
    machine: &'a mut Machine<'p>,
    kernels: &'a Rc<Kernels>,
    frame: Frame,
    /// Objects of the frame's own making, which no callee may free.
    instances: Vec<Word>,
    /// True while an argument is built whose elements are only read.
    is_read: bool,
}

impl Builder<'_, '_> {
    fn all(&mut self, arguments: &[Argument], reads: &[bool]) -> Built<Vec<Value>> {
        let mut values = Vec::new();
        for (index, argument) in arguments.iter().enumerate() {
            self.is_read = reads.get(index).is_some_and(|is_read| *is_read);
            values.push(known!(self.build(argument)));
        }
        Ok(Ok(values))
    }

    fn build(&mut self, argument: &Argument) -> Built<Value> {
        let plain = |index: i32, bits: i64| Value::new(index, Word::int(bits));
        Ok(Ok(match argument {
            Argument::None => Value::NONE,
            Argument::Int(value) => plain(1, *value),
            Argument::Bool(value) => plain(2, i64::from(*value)),
            Argument::Float(value) => plain(3, value.to_bits() as i64),
            Argument::Pointer(value) => plain(4, *value as i64),
            Argument::Runtime(name) => match self.machine.model(name) {
                Some(function) => Value::new(4, function),
                None => return Ok(Err(LACKING)),
            },
            Argument::DType(dtype) => plain(5, dtype.to_word().into()),
            Argument::Device(device) => plain(6, device.to_word() as i64),
            Argument::RawStr(text) => {
                let text = self.text(text.as_bytes());
                Value::new(8, self.lend(text))
            }
            Argument::RawBytes(text) => {
                let data = self.text(text);
                let array = self.words("byte array", &[data, Word::int(text.len() as i64)])?;
                self.lend(data);
                Value::new(9, self.lend(array))
            }
            Argument::RValue(object) => known!(self.slot(object.as_deref())),
            Argument::Str(text) => self.string(11, 65, text.as_bytes())?,
            Argument::Bytes(text) => self.string(12, 66, text)?,
            Argument::Small { index, text, length } => small(*index, text, *length),
            Argument::Text { index, text } => self.string_object(*index, text)?,
            Argument::Object(index) => self.object(*index, &[])?,
            Argument::Registered(classes) => {
                let index = self.machine.class(classes);
                self.object(index, &[])?
            }
            Argument::Raw { index, payload } => plain(*index, *payload),
            Argument::Tensor(tensor) => self.tensor(tensor)?,
            Argument::Shape(extents) => {
                let data = self.dims(Some(extents));
                self.object(69, &[data, Word::int(extents.len() as i64)])?
            }
            Argument::Array(elements) => known!(self.sequence(71, elements)),
            Argument::List(elements) => known!(self.sequence(75, elements)),
            Argument::Map(entries) => known!(self.map(TypeIndex::MAP, entries)),
            Argument::Dict(entries) => known!(self.map(TypeIndex::DICT, entries)),
            Argument::Function => {
                let function = self.noting_function();
                self.hold(Value::new(TypeIndex::FUNCTION.0, function))
            }
            Argument::Module => {
                let module =
                    self.machine.object(TypeIndex::MODULE.0, "module", 24, ObjectBody::Plain);
                self.hold(Value::new(TypeIndex::MODULE.0, module))
            }
            Argument::Error => {
                let error = self.machine.error(b"ValueError", b"an argument", b"");
                self.hold(Value::new(TypeIndex::ERROR.0, error))
            }
            Argument::Opaque => {
                let index = TypeIndex::OPAQUE_PY_OBJECT.0;
                let object = self.machine.object(index, "opaque object", 8, ObjectBody::Plain);
                self.hold(Value::new(index, object))
            }
            Argument::Big(cell) => {
                let words: Vec<Word> = cell.iter().map(|&word| Word::bits(word)).collect();
                self.object(78, &words)?
            }
            Argument::BigInt(value) => {
                let value = self.machine.integer(*value);
                self.hold(value)
            }
        }))
    }

    /// Makes a function that notes its calls and returns the number of its arguments.
    fn noting_function(&mut self) -> Word {
        let kernels = Rc::clone(self.kernels);
        self.machine.closure(
            "a function that notes its calls",
            Rc::new(move |machine, args| {
                let count = args[2].as_int32();
                kernels.called.borrow_mut().push(format!("called with {count}"));
                machine.memory.store_any(args[3], Value::int(i64::from(count)))?;
                Ok(Word::NULL)
            }),
        )
    }

    /// Notes that memory is lent for the call; returns its address.
    fn lend(&mut self, memory: Word) -> Word {
        self.frame.lent.push(memory);
        memory
    }

    /// Takes over the reference of an object of the runtime.
    fn hold(&mut self, value: Value) -> Value {
        if value.is_object() {
            self.machine.memory.keep(value.payload);
            self.frame.held.push(value.payload);
        }
        value
    }

    /// Builds a value for a place that owns a reference, such as an element or a slot. A borrowed value there lives as
    /// long as its container.
    fn owned(&mut self, argument: &Argument) -> Built<Value> {
        let lent = self.frame.lent.len();
        let value = known!(self.build(argument));
        self.frame.lent.truncate(lent);
        if value.is_object() && !value.payload.is_null() {
            self.machine.retain(value.payload)?;
            if self.frame.held.contains(&value.payload) {
                self.frame.held.push(value.payload);
            }
        }
        Ok(Ok(value))
    }

    fn sequence(&mut self, index: i32, elements: &[Argument]) -> Built<Value> {
        let mut values = Vec::new();
        for element in elements {
            values.push(known!(self.owned(element)));
        }
        let data = anys(self.machine, "elements", &values)?;
        let count = Word::int(values.len() as i64);
        let sequence = self.object(index, &[data, count, count])?;
        if index == TypeIndex::LIST.0 {
            self.frame.lists.push(sequence.payload);
        }
        Ok(Ok(sequence))
    }

    /// Builds a map of the runtime, which holds references of its own. A map cannot hold rvalue references or NULL.
    fn map(&mut self, index: TypeIndex, entries: &[(Argument, Argument)]) -> Built<Value> {
        let cannot_be = |entry: &Argument| {
            matches!(entry, Argument::RValue(_))
                || matches!(entry, Argument::Raw { index: 64.., payload: 0 })
        };
        if entries.iter().any(|(key, value)| cannot_be(key) || cannot_be(value)) {
            return Ok(Err(LACKING));
        }
        let mut made = Vec::new();
        for (key, value) in entries {
            let mut pair = [Value::NONE; 2];
            for (place, argument) in pair.iter_mut().zip([key, value]) {
                let view = known!(self.build(argument));
                *place = self.own(view)?;
            }
            let [key, value] = pair;
            // The last entry of a key replaces earlier ones.
            if let Some(at) = made.iter().position(|(known, _)| *known == key) {
                let (_, before) = std::mem::replace(&mut made[at], (key, value));
                self.machine.release_value(key)?;
                self.machine.release_value(before)?;
            } else {
                made.push((key, value));
            }
        }
        let map = self.machine.mapping(index, made);
        Ok(Ok(self.hold(Value::new(index.0, map))))
    }

    /// Makes a reference of the map's own; borrowed text becomes an object.
    fn own(&mut self, view: Value) -> Result<Value, Box<Finding>> {
        Ok(match TypeIndex(view.index) {
            TypeIndex::RAW_STR => {
                let text = self.machine.memory.c_string(view.payload)?;
                let made = self.machine.text(TypeIndex::STR, &text);
                self.keep(made)
            }
            TypeIndex::BYTE_ARRAY_PTR => {
                let bytes = self.machine.byte_array(view.payload)?;
                let made = self.machine.text(TypeIndex::BYTES, &bytes);
                self.keep(made)
            }
            _ if view.is_object() => {
                self.machine.retain(view.payload)?;
                view
            }
            _ => view,
        })
    }

    fn keep(&mut self, value: Value) -> Value {
        if value.is_object() {
            self.machine.memory.keep(value.payload);
        }
        value
    }

    /// Returns the address of a slot; fails for a value that is not an object.
    fn slot(&mut self, object: Option<&Argument>) -> Built<Value> {
        let object = match object {
            Some(object) => {
                let value = known!(self.owned(object));
                if !value.is_object() {
                    return Ok(Err(LACKING));
                }
                value.payload
            }
            None => Word::NULL,
        };
        let slot = self.machine.memory.variable("slot of an rvalue", vec![0; 8], 8);
        self.machine.memory.store(slot, object, 8, 8)?;
        self.frame.slots.push((slot, object));
        Ok(Ok(Value::new(10, slot)))
    }

    /// Stores bytes with a NUL after them.
    fn text(&mut self, text: &[u8]) -> Word {
        let ended: Vec<u8> = text.iter().copied().chain([0]).collect();
        self.machine.memory.constant("text", ended, 1)
    }

    fn string(&mut self, index: i32, object: i32, text: &[u8]) -> Result<Value, Box<Finding>> {
        if text.len() <= 7 {
            return Ok(small(index, text, text.len() as u32));
        }
        self.string_object(object, text)
    }

    fn string_object(&mut self, index: i32, text: &[u8]) -> Result<Value, Box<Finding>> {
        let data = self.text(text);
        self.object(index, &[data, Word::int(text.len() as i64)])
    }

    /// Stores words in read-only memory.
    fn words(&mut self, label: &'static str, words: &[Word]) -> Result<Word, Box<Finding>> {
        let place = self.machine.memory.variable(label, vec![0; 8 * words.len()], 8);
        for (index, word) in words.iter().enumerate() {
            self.machine.memory.store(place.offset(8 * index as i64), *word, 8, 8)?;
        }
        self.machine.memory.freeze(place);
        Ok(place)
    }

    /// Builds an object whose cell starts with the given words and has the size of its class.
    fn object(&mut self, index: i32, start: &[Word]) -> Result<Value, Box<Finding>> {
        let size = cell_size(index).max(8 * start.len());
        let signature = Signature::new(&[Type::Ptr, Type::I32], None);
        let deleter = self.machine.host(
            "(the deleter of an argument)",
            Some(signature),
            Rc::new(|_, _| Err(Finding::new("a callee has released an argument"))),
        );
        let object = self.machine.object_with(index, "argument object", size, deleter);
        self.machine.memory.keep(object);
        for (at, word) in start.iter().enumerate() {
            self.machine.memory.store(object.offset(24 + 8 * at as i64), *word, 8, 8)?;
        }
        self.instances.push(object);
        Ok(Value::new(index, object))
    }

    fn tensor(&mut self, tensor: &Tensor) -> Result<Value, Box<Finding>> {
        let data = tensor.data.map_or(Word::NULL, |at| self.buffer(at));
        let shape = self.dims((!tensor.null_shape).then_some(&tensor.shape[..]));
        let strides = self.dims(tensor.strides.as_deref());
        let rank = tensor.ndim() as u32;
        let words = [
            data,
            Word::bits(tensor.device.to_word()),
            Word::bits(u64::from(rank) | u64::from(tensor.dtype.to_word()) << 32),
            shape,
            strides,
            Word::bits(tensor.byte_offset),
        ];
        const { assert!(DL_TENSOR.size == 48 && dl_tensor::NDIM.offset == 16) };
        if tensor.object {
            return self.object(70, &words);
        }
        for dims in [shape, strides].into_iter().filter(|dims| !dims.is_null()) {
            self.lend(dims);
        }
        let tensor = self.words("DLTensor", &words)?;
        Ok(Value::new(7, self.lend(tensor)))
    }

    /// Stores extents or strides at an address of their own, which is not NULL even if there are none.
    fn dims(&mut self, dims: Option<&[i64]>) -> Word {
        let Some(dims) = dims else { return Word::NULL };
        let bytes: Vec<u8> = dims.iter().flat_map(|dim| dim.to_le_bytes()).collect();
        self.machine.memory.constant("dims", bytes, 8)
    }

    /// Makes elements of which the address has the middle one.
    fn buffer(&mut self, at: i64) -> Word {
        static BYTES: [[u8; 4]; 2 * MIDDLE] = {
            let mut bytes = [[0; 4]; 2 * MIDDLE];
            let mut at = 0;
            while at < bytes.len() {
                bytes[at] = ELEMENTS[at].to_le_bytes();
                at += 1;
            }
            bytes
        };
        let buffer = self.machine.memory.variable("data of a tensor", BYTES.as_flattened(), 256);
        if self.is_read {
            self.machine.memory.freeze(buffer);
        }
        buffer.offset(4 * MIDDLE as i64 + at)
    }
}

/// Returns the size of the cell of a class.
fn cell_size(index: i32) -> usize {
    let cell = match TypeIndex(index) {
        TypeIndex::STR | TypeIndex::BYTES => BYTE_ARRAY.size,
        TypeIndex::ERROR => ERROR_CELL.size,
        TypeIndex::FUNCTION => FUNCTION_CELL.size,
        TypeIndex::SHAPE => SHAPE_CELL.size,
        TypeIndex::TENSOR => DL_TENSOR.size,
        TypeIndex::ARRAY | TypeIndex::LIST => SEQ_CELL.size,
        TypeIndex::OPAQUE_PY_OBJECT => OPAQUE_OBJECT_CELL.size,
        // A count and at most 32 words.
        TypeIndex::BIG_INT => 8 * 33,
        _ => 0,
    };
    cell as usize
}

/// Builds a small value of at most eight bytes with any length field.
fn small(index: i32, text: &[u8], length: u32) -> Value {
    let mut bytes = [0; 8];
    bytes[..text.len()].copy_from_slice(text);
    Value { index, small: length, payload: Word::bits(u64::from_le_bytes(bytes)) }
}
