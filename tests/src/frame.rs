//! Memory of the arguments of a call.

#[cfg(test)]
mod tests;

use std::ffi::c_void;
use std::sync::atomic::{AtomicU64, Ordering};
use std::sync::{Mutex, MutexGuard, PoisonError};

use jit::abi::{Any, ByteArray, DLTensor, Object, Payload};

use crate::argument::{Argument, Tensor};
use crate::ffi::Ffi;

/// Arguments and all memory that they point at. One frame at a time exists in a process, because some objects are
/// shared by all frames: creating a second one in the same thread deadlocks.
#[derive(Debug)]
#[allow(
    clippy::vec_box,
    reason = "arguments hold the addresses, which a growing list must not change"
)]
pub struct Frame {
    /// The arguments; an empty list is passed as NULL.
    pub args: Vec<Any>,
    ffi: Ffi,
    /// References to objects of the runtime, owned by the frame.
    held: Vec<*mut Object>,
    slots: Vec<Box<Slot>>,
    counts: Vec<Count>,
    instances: Vec<Box<Instance>>,
    tensors: Vec<Box<DLTensor>>,
    dims: Vec<Box<[i64]>>,
    elements: Vec<Box<[Any]>>,
    buffers: Vec<Box<Buffer>>,
    texts: Vec<Box<[u8]>>,
    arrays: Vec<Box<ByteArray>>,
    _alone: MutexGuard<'static, ()>,
}

static ONE_AT_A_TIME: Mutex<()> = Mutex::new(());

/// Elements of a tensor; the addresses of tensors lie near the middle.
#[repr(C, align(256))]
#[derive(Debug)]
struct Buffer([f32; 2 * MIDDLE]);

/// Number of the element that is 0.
pub(crate) const MIDDLE: usize = 1024;

/// Elements of every tensor, which count up. Computing them for each would take longer than the calls.
pub(crate) const ELEMENTS: [f32; 2 * MIDDLE] = {
    let mut elements = [0.0; 2 * MIDDLE];
    let mut at = 0;
    while at < elements.len() {
        elements[at] = at as f32 - MIDDLE as f32;
        at += 1;
    }
    elements
};

/// Words of the largest cell, that of an integer: a count and 32 words.
const CELL: usize = 33;

#[repr(C)]
#[derive(Debug)]
struct Instance {
    header: Object,
    cell: [u64; CELL],
}

/// A slot that an rvalue reference points at, and its initial contents.
#[derive(Debug)]
struct Slot {
    now: *mut Object,
    before: *mut Object,
}

/// An object and its reference count when all arguments were built.
#[derive(Clone, Copy, Debug)]
struct Count {
    object: *const Object,
    references: u64,
}

/// Combined count of one strong reference and the weak reference that all strong ones share.
const ONE_REFERENCE: u64 = 1 << 32 | 1;

/// Deleter of the frame's own objects, which live as long as the frame; a call of it means that the callee released too
/// much.
unsafe extern "C" fn released(_: *mut c_void, _: i32) {
    eprintln!("a callee has released an argument");
    std::process::abort();
}

impl Frame {
    /// Builds arguments; returns `None` if the runtime cannot make one of them.
    pub fn new(arguments: &[Argument], ffi: &Ffi) -> Option<Frame> {
        let mut frame = Frame {
            args: Vec::new(),
            ffi: *ffi,
            held: Vec::new(),
            slots: Vec::new(),
            counts: Vec::new(),
            instances: Vec::new(),
            tensors: Vec::new(),
            dims: Vec::new(),
            elements: Vec::new(),
            buffers: Vec::new(),
            texts: Vec::new(),
            arrays: Vec::new(),
            _alone: ONE_AT_A_TIME.lock().unwrap_or_else(PoisonError::into_inner),
        };
        frame.args = frame.build_all(arguments)?;
        let made = frame.held.iter().map(|object| object.cast_const());
        let instances = frame.instances.iter().map(|instance| &raw const instance.header);
        let count = |object| Count { object, references: references(object) };
        frame.counts = made.chain(instances).map(count).collect();
        Some(frame)
    }

    /// Returns the address of the arguments.
    pub fn as_ptr(&self) -> *const Any {
        if self.args.is_empty() { std::ptr::null() } else { self.args.as_ptr() }
    }

    /// Returns true if every object has its initial number of references, except for one per slot that the callee has
    /// emptied and so took over.
    pub fn is_balanced(&self) -> bool {
        let slots = || self.slots.iter().filter(|slot| slot.now != slot.before);
        let moved = |object| slots().filter(|slot| slot.before.cast_const() == object).count();
        slots().all(|slot| slot.now.is_null())
            && self.counts.iter().all(|Count { object, references: before }| {
                references(*object) + moved(*object) as u64 == *before
            })
    }

    fn build_all(&mut self, arguments: &[Argument]) -> Option<Vec<Any>> {
        arguments.iter().map(|argument| self.build(argument)).collect()
    }

    fn build(&mut self, argument: &Argument) -> Option<Any> {
        Some(match argument {
            Argument::None => any(0, 0),
            Argument::Int(value) => any(1, *value),
            Argument::Bool(value) => any(2, i64::from(*value)),
            Argument::Float(value) => any(3, value.to_bits() as i64),
            Argument::Pointer(value) => any(4, *value as i64),
            Argument::Runtime(name) => address(4, self.ffi.symbol(name)?),
            Argument::DType(dtype) => any(5, dtype.to_word().into()),
            Argument::Device(device) => any(6, device.to_word() as i64),
            Argument::RawStr(text) => address(8, self.text(text.as_bytes()).data),
            Argument::RawBytes(text) => {
                let array = self.text(text);
                self.arrays.push(Box::new(array));
                let array = self.arrays.last()?;
                address(9, &raw const **array)
            }
            Argument::RValue(object) => self.slot(object.as_deref())?,
            Argument::Str(text) => self.string(11, 65, text.as_bytes()),
            Argument::Bytes(text) => self.string(12, 66, text),
            Argument::Small { index, text, length } => small(*index, text, *length),
            Argument::Text { index, text } => self.string_object(*index, text),
            Argument::Object(index) => self.object(*index, &[]),
            Argument::Registered(classes) => {
                let index = self.ffi.class(classes)?;
                self.object(index, &[])
            }
            Argument::Raw { index, payload } => any(*index, *payload),
            Argument::Tensor(tensor) => self.tensor(tensor),
            Argument::Shape(extents) => {
                let data = self.dims(Some(extents));
                self.object(69, &[data as u64, extents.len() as u64])
            }
            Argument::Array(elements) => self.sequence(71, elements)?,
            Argument::List(elements) => self.sequence(75, elements)?,
            Argument::Map(entries) => self.map("ffi.Map", entries)?,
            Argument::Dict(entries) => self.map("ffi.Dict", entries)?,
            Argument::Function => self.hold(self.ffi.noting_function()?),
            Argument::Module => self.hold(self.ffi.call_global("ffi.SystemLib", &[])?),
            Argument::Error => self.hold(self.ffi.error("ValueError", "an argument")?),
            Argument::Opaque => self.hold(self.ffi.opaque()?),
            Argument::Big(cell) => self.object(78, cell),
            Argument::BigInt(value) => self.hold(self.ffi.big_int(*value)?),
        })
    }

    /// Takes over the reference of an object of the runtime.
    fn hold(&mut self, any: Any) -> Any {
        if any.ty().is_object() {
            self.held.push(any.pointer().cast());
        }
        any
    }

    /// Builds a value for a place that owns a reference, such as an element or a slot.
    fn owned(&mut self, argument: &Argument) -> Option<Any> {
        let any = self.build(argument)?;
        let object = any.pointer().cast::<Object>();
        if any.ty().is_object() && !object.is_null() {
            // SAFETY: this frame holds a reference.
            unsafe { self.ffi.retain(object) };
            if self.held.contains(&object) {
                self.held.push(object);
            }
        }
        Some(any)
    }

    /// Builds the cell of an array or list: data, size, capacity, deleter.
    fn sequence(&mut self, type_index: i32, elements: &[Argument]) -> Option<Any> {
        let elements: Option<Box<[Any]>> = elements.iter().map(|entry| self.owned(entry)).collect();
        self.elements.push(elements?);
        let elements = self.elements.last()?;
        let (data, count) = (elements.as_ptr() as u64, elements.len() as u64);
        Some(self.object(type_index, &[data, count, count]))
    }

    /// Builds a map with the global function `maker`, which takes references of its own. Returns `None` for entries
    /// that are rvalue references, because the map would take their objects over, and for NULL objects, which a map
    /// cannot hold.
    fn map(&mut self, maker: &str, entries: &[(Argument, Argument)]) -> Option<Any> {
        let is_null = |index: i32, payload: i64| index >= 64 && payload == 0;
        let cannot_be = |entry: &Argument| {
            matches!(entry, Argument::RValue(_))
                || matches!(entry, Argument::Raw { index, payload } if is_null(*index, *payload))
        };
        if entries.iter().any(|(key, value)| cannot_be(key) || cannot_be(value)) {
            return None;
        }
        let mut args = Vec::new();
        for (key, value) in entries {
            args.push(self.build(key)?);
            args.push(self.build(value)?);
        }
        let map = self.ffi.call_global(maker, &args)?;
        Some(self.hold(map))
    }

    /// Returns the address of a slot; `None` for a value that is not an object.
    fn slot(&mut self, object: Option<&Argument>) -> Option<Any> {
        let object = match object {
            Some(object) => self.owned(object).filter(|any| any.ty().is_object())?.pointer().cast(),
            None => std::ptr::null_mut(),
        };
        self.slots.push(Box::new(Slot { now: object, before: object }));
        let slot = self.slots.last()?;
        Some(address(10, &raw const slot.now))
    }

    /// Stores bytes with a NUL after them.
    fn text(&mut self, text: &[u8]) -> ByteArray {
        let ended: Box<[u8]> = text.iter().copied().chain([0]).collect();
        let array = ByteArray { data: ended.as_ptr().cast(), size: text.len() };
        self.texts.push(ended);
        array
    }

    /// Builds a small value if the text fits, otherwise an object.
    fn string(&mut self, index: i32, object: i32, text: &[u8]) -> Any {
        if text.len() <= 7 {
            small(index, text, text.len() as u32)
        } else {
            self.string_object(object, text)
        }
    }

    fn string_object(&mut self, type_index: i32, text: &[u8]) -> Any {
        let array = self.text(text);
        self.object(type_index, &[array.data as u64, array.size as u64])
    }

    /// Builds an object whose cell starts with the given words.
    fn object(&mut self, type_index: i32, start: &[u64]) -> Any {
        let combined_ref_count = AtomicU64::new(ONE_REFERENCE);
        let header = Object { combined_ref_count, type_index, padding: 0, deleter: Some(released) };
        let mut cell = [0; CELL];
        cell[..start.len()].copy_from_slice(start);
        self.instances.push(Box::new(Instance { header, cell }));
        let instance = self.instances.last().map(|instance| &raw const **instance);
        address(type_index, instance.expect("just pushed"))
    }

    fn tensor(&mut self, tensor: &Tensor) -> Any {
        let view = DLTensor {
            data: tensor.data.map_or(std::ptr::null_mut(), |at| self.buffer(at)),
            device_type: tensor.device.ty.0,
            device_id: tensor.device.id,
            ndim: tensor.ndim(),
            code: tensor.dtype.code,
            bits: tensor.dtype.bits,
            lanes: tensor.dtype.lanes,
            shape: self.dims((!tensor.null_shape).then_some(&tensor.shape[..])),
            strides: self.dims(tensor.strides.as_deref()),
            byte_offset: tensor.byte_offset,
        };
        if !tensor.object {
            self.tensors.push(Box::new(view));
            let view = self.tensors.last().map(|view| &raw const **view);
            return address(7, view.expect("just pushed"));
        }
        let mut cell = [0; 9];
        // SAFETY: the cell is larger than a `DLTensor`, and as aligned.
        unsafe { cell.as_mut_ptr().cast::<DLTensor>().write(view) };
        self.object(70, &cell)
    }

    /// Stores extents or strides at an address of their own, which is not NULL even if there are none.
    fn dims(&mut self, dims: Option<&[i64]>) -> *mut i64 {
        let Some(dims) = dims else { return std::ptr::null_mut() };
        self.dims.push(dims.into());
        self.dims.last_mut().map_or(std::ptr::null_mut(), |dims| dims.as_mut_ptr())
    }

    /// Makes elements of which the address has the middle one.
    fn buffer(&mut self, at: i64) -> *mut c_void {
        self.buffers.push(Box::new(Buffer(ELEMENTS)));
        let buffer = self.buffers.last_mut().map(|buffer| buffer.0.as_mut_ptr());
        let middle = buffer.expect("just pushed").wrapping_add(MIDDLE);
        middle.wrapping_byte_offset(at as isize).cast()
    }
}

/// Releases the references of the frame; leaks the objects if a callee has kept or lost a reference.
impl Drop for Frame {
    fn drop(&mut self) {
        if !self.is_balanced() {
            std::mem::forget(std::mem::take(&mut self.instances));
            std::mem::forget(std::mem::take(&mut self.elements));
            return;
        }
        for slot in self.slots.iter().filter(|slot| slot.now != slot.before) {
            if let Some(at) = self.held.iter().position(|object| *object == slot.before) {
                self.held.swap_remove(at);
            }
        }
        for object in self.held.drain(..) {
            // SAFETY: the frame holds this reference.
            unsafe { self.ffi.release(object) };
        }
    }
}

/// Reads the combined reference count of an object.
fn references(object: *const Object) -> u64 {
    // SAFETY: the objects of a frame are live; a callee that frees one is found by its count, or does
    // not get that far.
    unsafe { (*object).combined_ref_count.load(Ordering::Relaxed) }
}

/// Builds a small value of at most eight bytes with any length field.
fn small(type_index: i32, text: &[u8], small_len: u32) -> Any {
    let mut bytes = [0; 8];
    bytes[..text.len()].copy_from_slice(text);
    Any { type_index, small_len, payload: Payload { bytes } }
}

fn any(type_index: i32, int: i64) -> Any {
    Any { type_index, small_len: 0, payload: Payload { int } }
}

fn address<T>(type_index: i32, pointer: *const T) -> Any {
    any(type_index, pointer as i64)
}
