//! Views of tensors: `DLTensor`s that a frame holds, of frameworks with an exchange API and of NumPy.
//!
//! What a framework fills in is valid only until control returns to Python. So shape and strides are copied, and the
//! object is held while the interpreter's lock may be released.

use std::ffi::{CStr, c_int, c_void};
use std::mem::MaybeUninit;
use std::ptr::{self, NonNull};

use abi_spec::{DType, DeviceType, TypeCode};
use jit::abi::DLTensor;
use pyo3_ffi::{
    Py_TYPE, Py_buffer, PyBUF_FORMAT, PyBUF_STRIDES, PyBUF_WRITABLE, PyBuffer_Release, PyErr_Clear,
    PyLong_FromLong, PyObject, PyObject_CallFunctionObjArgs, PyObject_GetAttrString,
    PyObject_GetBuffer,
};

use crate::exchange::{EMPTY, ExchangeApi};
use crate::extents::{DIMS, compact, copy, in_elements, own_strides, rank};
use crate::handle::Reader;
use crate::object::Owned;
use crate::state::State;

/// The head of an array: `PyArrayObject_fields` of NumPy's C API, the same in releases 1 and 2. `_calls.py` compares it
/// with an array's attributes before it adds element types, without which no field of an array is used.
#[repr(C)]
struct Array {
    head: PyObject,
    data: *mut c_void,
    ndim: c_int,
    shape: *const i64,
    /// Strides in bytes.
    strides: *const i64,
    base: *mut PyObject,
    /// The object that stands for the element type.
    element: *mut PyObject,
    flags: c_int,
}

/// Flag of an array that may be written to.
const WRITEABLE: c_int = 0x400;

/// Flags of an array that is aligned and may be written to.
const PLAIN: c_int = 0x100 | WRITEABLE;

/// [`PLAIN`], and flags of arrays that are copied back (`WRITEBACKIFCOPY`) or warn of writes (`WARN_ON_WRITE`).
const FLAGS: c_int = PLAIN | 0x2000 | c_int::MIN;

/// A tensor in a frame. It is made where it stays, since the tensor points at the extents.
pub(crate) struct View {
    tensor: DLTensor,
    /// Extents, then strides.
    extents: [MaybeUninit<[i64; DIMS]>; 2],
    held: Held,
    /// The buffer, if that is what is held.
    buffer: MaybeUninit<Py_buffer>,
}

/// What keeps the elements of a view.
enum Held {
    /// A reference to the object.
    Object { _object: Owned },
    /// The buffer of the view.
    Buffer,
}

impl Drop for View {
    fn drop(&mut self) {
        if let Held::Buffer = self.held {
            // SAFETY: the buffer was filled in, and is released only here.
            unsafe { PyBuffer_Release(self.buffer.as_mut_ptr()) };
        }
    }
}

impl View {
    /// Views an object of a framework. `None`, with nothing made, if the framework refuses, or if there are too many
    /// dims.
    ///
    /// # Safety
    /// The interpreter's lock is held, the API is that of the object's type, and the view is dropped where it is.
    pub(crate) unsafe fn of_framework(
        place: &mut MaybeUninit<View>,
        api: NonNull<ExchangeApi>,
        object: NonNull<PyObject>,
    ) -> Option<&mut View> {
        // SAFETY: frameworks keep their API for ever.
        let borrow = unsafe { api.as_ref() }.borrow?;
        let view = place.as_mut_ptr();
        // SAFETY: the place has room; only fields that are written are read. The tensor that the framework fills in has
        // as many extents as dims, and strides if there are any, while the object is alive.
        unsafe {
            let tensor = &raw mut (*view).tensor;
            tensor.write(EMPTY);
            if borrow(object.as_ptr(), tensor) != 0 {
                PyErr_Clear();
                return None;
            }
            let DLTensor { shape, strides, .. } = *tensor;
            let rank = rank((*tensor).ndim)?;
            let [to_shape, to_strides] = numbers(view);
            copy(shape, to_shape, rank);
            if strides.is_null() {
                compact(to_shape, to_strides, rank);
            } else {
                copy(strides, to_strides, rank);
            }
            (&raw mut (*view).held).write(Held::Object { _object: Owned::of(object) });
            Some(View::settle(view))
        }
    }

    /// Views a tensor of PyTorch: by the reader if that knows its element type and device, else as another framework's.
    /// If it is only read, copies that PyTorch has put off stay so.
    ///
    /// # Safety
    /// The requirements of [`of_framework`](View::of_framework), and the object's type is one of
    /// [`Kind::Handle`](crate::state::Kind).
    #[inline]
    pub(crate) unsafe fn of_handle<'a>(
        place: &'a mut MaybeUninit<View>,
        reader: &Reader,
        api: NonNull<ExchangeApi>,
        object: NonNull<PyObject>,
        is_read: bool,
    ) -> Option<&'a mut View> {
        let view = place.as_mut_ptr();
        // SAFETY: as required above; the place has room, and there are as many extents and strides as dims.
        unsafe {
            (&raw mut (*view).tensor).write(EMPTY);
            let tensor = &mut (*view).tensor;
            let is_known = reader.read(object, tensor, is_read).is_some()
                || (is_read && View::is_learnt(reader, api, object, tensor));
            let Some(rank) = rank(tensor.ndim).filter(|_| is_known) else {
                return View::learn(place, reader, api, object);
            };
            let extents = [tensor.shape, tensor.strides].map(<*mut i64>::cast_const);
            copy_both(view, extents, rank);
            (&raw mut (*view).held).write(Held::Object { _object: Owned::of(object) });
            Some(View::settle(view))
        }
    }

    /// Views an array of NumPy: by its fields if they say all, else by its buffer. `None`, with nothing made, if DLPack
    /// has no such array, if NumPy refuses, or if there are too many dims. An array that is only read may be read-only.
    ///
    /// # Safety
    /// The interpreter's lock is held, the object is alive, and the view is dropped where it is.
    pub(crate) unsafe fn of_array<'a>(
        place: &'a mut MaybeUninit<View>,
        state: &State,
        object: NonNull<PyObject>,
        is_read: bool,
    ) -> Option<&'a mut View> {
        let view = place.as_mut_ptr();
        // SAFETY: as required above.
        if unsafe { read(view, state, object.cast().as_ref(), is_read) }.is_some() {
            // SAFETY: as above. All fields but the buffer are written, which is not held.
            return unsafe {
                (&raw mut (*view).held).write(Held::Object { _object: Owned::of(object) });
                Some(View::settle(view))
            };
        }
        // SAFETY: the place has room; only fields that are written are read. Format, shape and strides are asked for,
        // and shape and strides have as many numbers as there are dims.
        unsafe {
            let buffer = &raw mut (*view).buffer;
            buffer.write(MaybeUninit::zeroed());
            let buffer = buffer.cast::<Py_buffer>();
            let writable = if is_read { 0 } else { PyBUF_WRITABLE };
            if PyObject_GetBuffer(object.as_ptr(), buffer, BUFFER | writable) != 0 {
                PyErr_Clear();
                return None;
            }
            let Some((tensor, rank, size)) = array(&*buffer) else {
                PyBuffer_Release(buffer);
                return None;
            };
            let [shape, strides] = numbers(view);
            copy((*buffer).shape.cast(), shape, rank);
            copy((*buffer).strides.cast(), strides, rank);
            let is_thin = (0..rank).any(|dim| *shape.add(dim) <= 1);
            if (is_thin && !own_strides(object, strides, rank)) || !in_elements(strides, rank, size)
            {
                PyBuffer_Release(buffer);
                return None;
            }
            (&raw mut (*view).tensor).write(tensor);
            (&raw mut (*view).held).write(Held::Buffer);
            Some(View::settle(view))
        }
    }

    /// Views a tensor of PyTorch as another framework's, and lets the reader learn from it.
    ///
    /// # Safety
    /// The requirements of [`of_handle`](View::of_handle).
    #[cold]
    unsafe fn learn<'a>(
        place: &'a mut MaybeUninit<View>,
        reader: &Reader,
        api: NonNull<ExchangeApi>,
        object: NonNull<PyObject>,
    ) -> Option<&'a mut View> {
        // SAFETY: as required above.
        unsafe {
            let view = View::of_framework(place, api, object)?;
            reader.learn(object, &view.tensor);
            Some(view)
        }
    }

    /// Reads a tensor that is only read, of which the reader has not known element type or device. It learns them from
    /// another tensor, since the exchange API would have PyTorch make a copy that it has put off. False if it does not.
    ///
    /// # Safety
    /// The requirements of [`of_handle`](View::of_handle).
    #[cold]
    unsafe fn is_learnt(
        reader: &Reader,
        api: NonNull<ExchangeApi>,
        object: NonNull<PyObject>,
        tensor: &mut DLTensor,
    ) -> bool {
        let mut place = MaybeUninit::uninit();
        // SAFETY: as required above; tensors of one type all have a handle. A view that is made is dropped where it is.
        unsafe {
            let Some(sample) = sample(object) else { return false };
            let Some(view) = View::learn(&mut place, reader, api, sample.borrowed()) else {
                return false;
            };
            ptr::drop_in_place(view);
            reader.read(object, tensor, true).is_some()
        }
    }

    /// True if the reader says of a tensor of PyTorch what its exchange API says.
    ///
    /// # Safety
    /// The interpreter's lock is held, the object is alive, with a handle behind its head, and the API is PyTorch's.
    pub(crate) unsafe fn compare(
        reader: &Reader,
        api: NonNull<ExchangeApi>,
        object: NonNull<PyObject>,
    ) -> bool {
        let mut place = MaybeUninit::uninit();
        // SAFETY: as required above; a view that is made is dropped where it is.
        unsafe {
            let Some(view) = View::of_framework(&mut place, api, object) else {
                return reader.agrees(object, None);
            };
            let agrees = reader.agrees(object, Some(&view.tensor));
            ptr::drop_in_place(view);
            agrees
        }
    }

    /// Points the tensor at the numbers.
    ///
    /// # Safety
    /// All fields are written.
    unsafe fn settle<'a>(view: *mut View) -> &'a mut View {
        // SAFETY: as required above.
        unsafe {
            let [shape, strides] = numbers(view);
            (*view).tensor.shape = shape;
            // As in the tensors of the runtime, a tensor without dims has no strides.
            (*view).tensor.strides =
                if (*view).tensor.ndim > 0 { strides } else { ptr::null_mut() };
            &mut *view
        }
    }

    /// The tensor, which is valid while the view is.
    #[inline]
    pub(crate) fn tensor(&mut self) -> *mut DLTensor {
        &mut self.tensor
    }

    /// The device, for tensors that are not on the cpu: its type and index.
    #[inline]
    pub(crate) fn device(&self) -> Option<(i32, i32)> {
        let on_cpu = self.tensor.device_type == DeviceType::CPU.0;
        (!on_cpu).then_some((self.tensor.device_type, self.tensor.device_id))
    }
}

/// Reads tensor and extents from the fields of an array. `None` if there is more to know about the array.
///
/// # Safety
/// The interpreter's lock is held, and the view has room for both.
#[inline]
unsafe fn read(view: *mut View, state: &State, array: &Array, is_read: bool) -> Option<()> {
    let DType { code, bits, lanes } = state.element(array.element)?;
    let flags = if is_read { array.flags | WRITEABLE } else { array.flags };
    let rank = rank(array.ndim).filter(|_| flags & FLAGS == PLAIN)?;
    let tensor = DLTensor { data: array.data, ndim: array.ndim, code, bits, lanes, ..EMPTY };
    // SAFETY: as required above; there are as many extents and strides as dims.
    unsafe {
        let [_, strides] = numbers(view);
        copy_both(view, [array.shape, array.strides], rank);
        (&raw mut (*view).tensor).write(tensor);
        in_elements(strides, rank, i64::from(bits / 8)).then_some(())
    }
}

/// Flags of the request for the buffer of any array. The request for one that may be written to says so, too: a
/// `DLTensor` cannot say that it is read-only, and neither can an object of TVM FFI, though DLPack's managed tensors
/// can since 1.0.
const BUFFER: c_int = PyBUF_FORMAT | PyBUF_STRIDES;

/// Makes a tensor with the element type and the device of one of PyTorch, by `new_empty(1)`. `None`, with no exception
/// set, if PyTorch makes none of the same type of objects.
///
/// # Safety
/// The interpreter's lock is held, and the object is alive.
#[cold]
unsafe fn sample(object: NonNull<PyObject>) -> Option<Owned> {
    let end = ptr::null_mut::<PyObject>();
    // SAFETY: as required above. The list of arguments ends with NULL.
    unsafe {
        let make = Owned::new(PyObject_GetAttrString(object.as_ptr(), c"new_empty".as_ptr()));
        let one = Owned::new(PyLong_FromLong(1));
        let made = make.zip(one).and_then(|(make, one)| {
            Owned::new(PyObject_CallFunctionObjArgs(make.as_ptr(), one.as_ptr(), end))
        });
        PyErr_Clear();
        made.filter(|made| Py_TYPE(made.as_ptr()) == Py_TYPE(object.as_ptr()))
    }
}

/// Returns the tensor of a buffer, without extents, its rank, and the size of an element in bytes. `None` if DLPack has
/// no such tensor.
///
/// # Safety
/// The buffer is one of [`BUFFER`].
unsafe fn array(buffer: &Py_buffer) -> Option<(DLTensor, usize, i64)> {
    let (rank, size) = (rank(buffer.ndim)?, buffer.itemsize as i64);
    // SAFETY: a format ends with NUL.
    let DType { code, bits, lanes } = element(unsafe { CStr::from_ptr(buffer.format) }, size)?;
    Some((DLTensor { data: buffer.buf, ndim: buffer.ndim, code, bits, lanes, ..EMPTY }, rank, size))
}

/// Returns the addresses of extents and strides of a view.
///
/// # Safety
/// `view` points at room for a view.
unsafe fn numbers(view: *mut View) -> [*mut i64; 2] {
    // SAFETY: as required above.
    let extents = unsafe { &raw mut (*view).extents }.cast::<i64>();
    [extents, extents.wrapping_add(DIMS)]
}

/// Copies extents and strides to a view, in one loop, since there are few.
///
/// # Safety
/// There are as many numbers of both, and `view` points at room for a view.
#[inline]
unsafe fn copy_both(view: *mut View, from: [*const i64; 2], count: usize) {
    // SAFETY: as required above.
    let to = unsafe { numbers(view) };
    for index in 0..count {
        for (from, to) in from.into_iter().zip(to) {
            // SAFETY: as required above.
            unsafe { to.add(index).write(*from.add(index)) };
        }
    }
}

/// Returns the element type of a format of the buffer protocol, with elements of `size` bytes. `None` for what DLPack
/// cannot say, and what NumPy does not export: another byte order, structures, dates, `longdouble`.
fn element(format: &CStr, size: i64) -> Option<DType> {
    let code = match format.to_bytes() {
        b"?" => TypeCode::Bool,
        b"b" | b"h" | b"i" | b"l" | b"q" => TypeCode::Int,
        b"B" | b"H" | b"I" | b"L" | b"Q" => TypeCode::UInt,
        b"e" | b"f" | b"d" => TypeCode::Float,
        b"Zf" | b"Zd" => TypeCode::Complex,
        _ => return None,
    };
    Some(DType::new(code, u8::try_from(size * 8).ok()?, 1))
}
