//! Tensors of PyTorch, read by PyTorch's stable C API for extensions (`torch/csrc/stable/c/shim.h`).
//!
//! PyTorch's function of the exchange API takes the interpreter's lock and a reference to each tensor, and a caller has
//! both. The functions here take a handle instead: the address of the C++ tensor, which an object has behind its head.
//! `_calls.py` compares that place with `_cdata`, and lets the caller compare what both ways say of some tensors
//! ([`Reader::agrees`]), before it tells that tensors of a type are read.
//!
//! Codes of element types and devices are PyTorch's own. What they are in DLPack is taken from tensors that the
//! exchange API has filled in ([`Reader::learn`]).

use std::cell::{Cell, RefCell};
use std::ffi::c_void;
use std::ptr::NonNull;

use abi_spec::{DType, DeviceType};
use jit::abi::DLTensor;
use pyo3_ffi::{PyErr_Clear, PyObject};
use rustc_hash::FxHashMap;

use crate::exchange::EMPTY;

/// Number of codes of element types that can be known.
const CODES: usize = 64;

/// PyTorch's code of the cpu, of which there is one.
const CPU: i32 = 0;

/// Devices on which a tensor's address is that of its first element.
const DEVICES: [DeviceType; 3] = [DeviceType::CPU, DeviceType::CUDA, DeviceType::ROCM];

/// A function of the C API: takes a handle, and writes a fact of the tensor. A status other than 0 is a failure.
type Getter<T> = unsafe extern "C" fn(*const c_void, *mut T) -> i32;

/// A device: its type and index.
type Device = (i32, i32);

/// The functions that read tensors, in the order in which `_calls.py` lists them.
#[derive(Clone, Copy, Debug)]
#[repr(C)]
struct Getters {
    data: Getter<*mut c_void>,
    ndim: Getter<i64>,
    sizes: Getter<*mut i64>,
    strides: Getter<*mut i64>,
    element: Getter<i32>,
    device_type: Getter<i32>,
    device_index: Getter<i32>,
    /// The address of elements that are only read, of which PyTorch makes no copy that it has put off.
    const_data: Getter<*mut c_void>,
}

/// Number of [`Getters`].
pub(crate) const GETTERS: usize = 8;

/// Functions of PyTorch that read tensors, and codes that are known. Used while the interpreter's lock is held.
#[derive(Debug)]
pub(crate) struct Reader {
    getters: Getters,
    /// Element types by their code.
    elements: [Cell<Option<DType>>; CODES],
    /// Devices as PyTorch says them, and as DLPack does.
    devices: RefCell<FxHashMap<Device, Device>>,
    /// The last of them.
    last: Cell<Option<(Device, Device)>>,
}

impl Reader {
    /// Takes the addresses of the [`Getters`].
    ///
    /// # Safety
    /// They are those of PyTorch's functions, in order.
    pub(crate) unsafe fn of(addresses: [NonNull<c_void>; GETTERS]) -> Reader {
        // SAFETY: as required above; a function has the size of its address.
        let getters =
            unsafe { std::mem::transmute::<[NonNull<c_void>; GETTERS], Getters>(addresses) };
        let elements = [const { Cell::new(None) }; CODES];
        Reader { getters, elements, devices: RefCell::default(), last: Cell::new(None) }
    }

    /// Reads a tensor into an empty one; its extents are the object's own, and its elements are only read if `is_read`.
    /// `None` if PyTorch's exchange API is to be asked.
    ///
    /// # Safety
    /// The interpreter's lock is held, and the object is alive, with a handle behind its head.
    #[inline]
    pub(crate) unsafe fn read(
        &self,
        object: NonNull<PyObject>,
        tensor: &mut DLTensor,
        is_read: bool,
    ) -> Option<()> {
        // SAFETY: as required above.
        let (element, device) = unsafe { self.codes(object, tensor, is_read) }?;
        let DType { code, bits, lanes } = self.element(element)?.get()?;
        (tensor.code, tensor.bits, tensor.lanes) = (code, bits, lanes);
        (tensor.device_type, tensor.device_id) = self.device(device)?;
        Some(())
    }

    /// Learns element type and device from a tensor that the exchange API has filled in, if both ways agree on it.
    ///
    /// # Safety
    /// The requirements of [`read`](Reader::read), and the tensor is a valid one of the object.
    #[cold]
    pub(crate) unsafe fn learn(&self, object: NonNull<PyObject>, tensor: &DLTensor) {
        let mut ours = EMPTY;
        // SAFETY: as required above.
        let codes = unsafe { self.codes(object, &mut ours, false) };
        let Some((element, device)) = codes else { return };
        let Some(element) = self.element(element) else { return };
        // SAFETY: as required above.
        if unsafe { is_same(&ours, tensor) } {
            let DLTensor { code, bits, lanes, device_type, device_id, .. } = *tensor;
            element.set(Some(DType { code, bits, lanes }));
            self.devices.borrow_mut().insert(device, (device_type, device_id));
        }
    }

    /// True if both ways say the same of an object, whether or not it is only read: the exchange API has filled in the
    /// tensor, if it did not refuse.
    ///
    /// # Safety
    /// The requirements of [`learn`](Reader::learn).
    pub(crate) unsafe fn agrees(
        &self,
        object: NonNull<PyObject>,
        tensor: Option<&DLTensor>,
    ) -> bool {
        [false, true].into_iter().all(|is_read| {
            let mut ours = EMPTY;
            // SAFETY: as required above.
            match (unsafe { self.codes(object, &mut ours, is_read) }, tensor) {
                // SAFETY: as required above.
                (Some(_), Some(tensor)) => unsafe { is_same(&ours, tensor) },
                (codes, tensor) => codes.is_none() && tensor.is_none(),
            }
        })
    }

    /// Returns a device as DLPack says it, if it is known.
    #[inline]
    fn device(&self, device: Device) -> Option<Device> {
        match self.last.get() {
            Some((last, known)) if last == device => Some(known),
            Some(_) | None => self.other_device(device),
        }
    }

    /// Returns a device that is not the last one, and makes it that.
    #[cold]
    fn other_device(&self, device: Device) -> Option<Device> {
        let known = *self.devices.borrow().get(&device)?;
        self.last.set(Some((device, known)));
        Some(known)
    }

    /// The place of an element type.
    fn element(&self, code: i32) -> Option<&Cell<Option<DType>>> {
        self.elements.get(usize::try_from(code).ok()?)
    }

    /// Reads address and extents into a tensor; returns PyTorch's codes of element type and device. `None`, with no
    /// exception set, if PyTorch fails.
    ///
    /// # Safety
    /// The requirements of [`read`](Reader::read).
    #[inline]
    unsafe fn codes(
        &self,
        object: NonNull<PyObject>,
        tensor: &mut DLTensor,
        is_read: bool,
    ) -> Option<(i32, Device)> {
        let get = &self.getters;
        let data = if is_read { get.const_data } else { get.data };
        let (mut ndim, mut element, mut ty, mut index) = (0, 0, 0, 0);
        // SAFETY: as required above; every function writes a value of its type, and catches what PyTorch throws.
        let is_read = unsafe {
            let handle = object.as_ptr().add(1).cast::<c_void>();
            data(handle, &mut tensor.data) == 0
                && (get.ndim)(handle, &mut ndim) == 0
                && (get.sizes)(handle, &mut tensor.shape) == 0
                && (get.strides)(handle, &mut tensor.strides) == 0
                && (get.element)(handle, &mut element) == 0
                && (get.device_type)(handle, &mut ty) == 0
                && (ty == CPU || (get.device_index)(handle, &mut index) == 0)
        };
        if !is_read {
            // A tensor may ask Python for its extents.
            // SAFETY: the lock is held.
            unsafe { PyErr_Clear() };
            return None;
        }
        tensor.ndim = i32::try_from(ndim).ok()?;
        Some((element, (ty, index)))
    }
}

/// True if a tensor that was read is one that the exchange API has filled in, whose address is that of its first
/// element.
///
/// # Safety
/// Both have their extents.
unsafe fn is_same(ours: &DLTensor, theirs: &DLTensor) -> bool {
    let is_alike = ours.data == theirs.data && ours.ndim == theirs.ndim && theirs.byte_offset == 0;
    let is_known = DEVICES.iter().any(|device| device.0 == theirs.device_type);
    let count = if is_alike { theirs.ndim.unsigned_abs() as usize } else { 0 };
    // SAFETY: as required above; there are as many extents and strides as dims.
    let has = |ours: *const i64, theirs: *const i64| unsafe {
        (0..count).all(|dim| *ours.add(dim) == *theirs.add(dim))
    };
    is_alike && is_known && has(ours.shape, theirs.shape) && has(ours.strides, theirs.strides)
}
