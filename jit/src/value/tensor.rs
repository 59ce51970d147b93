//! Tensor objects: typed access, and DLPack in both directions.

use std::ffi::c_void;
use std::ptr;

use abi_spec::{DType, Device, DeviceType, TypeIndex};

use super::arg::{Arg, IntoArg, object, values};
use super::element::TensorElement;
use super::object::{Class, ObjectRef, raised};
use super::view::{self, TensorView};
use crate::abi::{DLManagedTensorVersioned, DLTensor};
use crate::error::Error;
use crate::runtime::Runtime;

/// The version of DLPack of the tensors made here.
const VERSION: [u32; 2] = [1, 1];

/// Owns one reference to an `ffi.Tensor`.
///
/// Its memory can be read and written in Rust while nobody else holds the tensor; see
/// [`TensorObject::as_slice`].
///
/// ```
/// use tvm_ffi_codegen_jit::{TensorObject, runtime};
///
/// let mut tensor = TensorObject::from_vec(vec![1.0_f32, 2.0, 3.0, 4.0], &[2, 2], runtime())?;
/// tensor.as_mut_slice::<f32>()?[0] = 5.0;
/// assert_eq!(tensor.as_slice::<f32>()?, [5.0, 2.0, 3.0, 4.0]);
/// assert_eq!((tensor.shape(), tensor.dtype().to_string()), (&[2, 2][..], "float32".to_owned()));
/// # Ok::<(), tvm_ffi_codegen_jit::Error>(())
/// ```
#[derive(Debug)]
#[repr(transparent)]
pub struct TensorObject(ObjectRef);

// SAFETY: reference counts are atomic, the `DLTensor` of a tensor never changes, the rules of borrowing hold for its
// memory, and deleters of DLPack may run on any thread.
unsafe impl Send for TensorObject {}
// SAFETY: as above.
unsafe impl Sync for TensorObject {}

// SAFETY: transparent, and the accessors below are sound for every tensor.
unsafe impl Class for TensorObject {
    const TYPE: TypeIndex = TypeIndex::TENSOR;
}

impl TensorObject {
    /// Makes a compact row-major tensor on the CPU that owns the memory of a vector. Nothing is copied.
    ///
    /// # Errors
    /// [`Error::Shape`] unless the vector has as many elements as the shape; [`Error::Mismatch`] if an extent, or the product
    /// of those that are not 0, is no `i64`; [`Error::Call`] if the runtime refuses.
    pub fn from_vec<T: TensorElement>(
        data: Vec<T>,
        shape: &[usize],
        runtime: &'static Runtime,
    ) -> Result<TensorObject, Error> {
        let shape = view::compact(shape, data.len())?;
        let managed = manage(data, shape);
        // SAFETY: `manage` has made the tensor, and its deleter may run on any thread.
        let tensor = unsafe { TensorObject::from_dlpack(managed, runtime) };
        if tensor.is_err() {
            // SAFETY: after an error the tensor still belongs to this function.
            unsafe { free::<T>(managed) };
        }
        tensor
    }

    /// Takes over a tensor of another library, without a copy. After an error it still belongs to the caller.
    ///
    /// # Safety
    /// `managed` is valid, on any thread, until its deleter is called. Nobody writes to its memory while it is read
    /// through the result, nor accesses it while it is written.
    ///
    /// # Errors
    /// [`Error::Mismatch`] for another major version of DLPack; [`Error::Call`] if the runtime refuses.
    pub unsafe fn from_dlpack(
        managed: *mut DLManagedTensorVersioned,
        runtime: &'static Runtime,
    ) -> Result<TensorObject, Error> {
        // SAFETY: as required above; the version is the first field of every version.
        let [major, minor] = unsafe { (*managed).version };
        if major != VERSION[0] {
            let [known, _] = VERSION;
            return Err(Error::mismatch(format!("DLPack {known}"), format!("{major}.{minor}")));
        }
        let mut object = ptr::null_mut();
        // SAFETY: as required above. Zeros ask for no alignment and no layout.
        let status = unsafe { (runtime.functions.tensor_from_dlpack)(managed, 0, 0, &mut object) };
        // SAFETY: on success the object comes with a reference.
        match (status, unsafe { ObjectRef::from_raw(object, runtime) }) {
            (0, Some(object)) => Ok(TensorObject(object)),
            _ => Err(raised(status, runtime).into()),
        }
    }

    /// Hands the tensor over to another library, without a copy. The receiver must call the deleter.
    ///
    /// # Errors
    /// [`Error::Call`] if the runtime refuses.
    pub fn into_dlpack(self) -> Result<*mut DLManagedTensorVersioned, Error> {
        let (runtime, mut managed) = (self.0.runtime(), ptr::null_mut());
        // SAFETY: the object is a tensor, and the result holds a reference of its own.
        match unsafe { (runtime.functions.tensor_to_dlpack)(self.0.as_raw(), &mut managed) } {
            0 => Ok(managed),
            status => Err(raised(status, runtime).into()),
        }
    }

    /// The `DLTensor` of the tensor.
    pub fn view(&self) -> &DLTensor {
        // SAFETY: the `DLTensor` follows the header of a tensor and never changes.
        unsafe { &*self.0.cell::<DLTensor>() }
    }

    /// The extents.
    pub fn shape(&self) -> &[i64] {
        self.dims(self.view().shape)
    }

    /// The strides in elements; `None` for a compact row-major tensor.
    pub fn strides(&self) -> Option<&[i64]> {
        let strides = self.view().strides;
        (!strides.is_null()).then(|| self.dims(strides))
    }

    /// The type of an element.
    pub fn dtype(&self) -> DType {
        let &DLTensor { code, bits, lanes, .. } = self.view();
        DType { code, bits, lanes }
    }

    /// The device of its memory.
    pub fn device(&self) -> Device {
        Device { ty: DeviceType(self.view().device_type), id: self.view().device_id }
    }

    /// True if its elements follow each other in row-major order.
    pub fn is_compact(&self) -> bool {
        view::is_compact(self.shape(), self.strides())
    }

    /// The elements of a compact tensor in host memory: on the CPU, or pinned for CUDA or ROCm.
    ///
    /// # Errors
    /// [`Error::Mismatch`] if the elements are of another type, the tensor is not compact, aligned and in host memory,
    /// or a `bool` is neither 0 nor 1; [`Error::Shared`] if there are other references to the tensor, whose holders
    /// might write to it.
    pub fn as_slice<T: TensorElement>(&self) -> Result<&[T], Error> {
        let (data, len) = self.elements::<T>()?;
        // SAFETY: this is the only reference to the tensor, and it is borrowed; the tensor has `len` elements, which
        // are valid.
        Ok(unsafe { std::slice::from_raw_parts(data, len) })
    }

    /// The elements of a compact tensor in host memory, for writing.
    ///
    /// # Errors
    /// The errors of [`TensorObject::as_slice`].
    pub fn as_mut_slice<T: TensorElement>(&mut self) -> Result<&mut [T], Error> {
        let (data, len) = self.elements::<T>()?;
        // SAFETY: as in `as_slice`, and the tensor is borrowed mutably.
        Ok(unsafe { std::slice::from_raw_parts_mut(data, len) })
    }

    /// Copies the elements in row-major order, whatever the strides.
    ///
    /// # Errors
    /// The errors of [`TensorObject::as_slice`], except that any strides are allowed.
    pub fn to_vec<T: TensorElement>(&self) -> Result<Vec<T>, Error> {
        let (first, count) = self.first::<T>()?;
        let Some(strides) = self.strides().filter(|_| !self.is_compact()) else {
            return self.as_slice().map(<[T]>::to_vec);
        };
        let element = |mut index: usize| {
            let mut offset = 0_isize;
            for (&extent, &stride) in self.shape().iter().zip(strides).rev() {
                offset += (index % extent as usize) as isize * stride as isize;
                index /= extent as usize;
            }
            let place = first.wrapping_offset(offset);
            // SAFETY: the tensor has an element at this offset.
            let bytes = unsafe { std::slice::from_raw_parts(place.cast::<u8>(), size_of::<T>()) };
            // SAFETY: as above, and the bytes are valid.
            T::are_valid(bytes).then(|| unsafe { place.read_unaligned() })
        };
        let found: Option<Vec<T>> = (0..count).map(element).collect();
        found.ok_or_else(|| Error::mismatch("0 or 1", "another byte in a tensor of bool"))
    }

    /// True if this is the only reference to the tensor, so that its memory can be read and written in Rust.
    pub fn is_unique(&self) -> bool {
        self.0.is_unique()
    }

    /// The object.
    pub fn into_object(self) -> ObjectRef {
        self.0
    }

    fn dims(&self, dims: *const i64) -> &[i64] {
        let rank = self.view().ndim.max(0) as usize;
        if rank == 0 || dims.is_null() {
            return &[];
        }
        // SAFETY: a tensor has `rank` extents and strides, which live as long as it does.
        unsafe { std::slice::from_raw_parts(dims, rank) }
    }

    /// Returns the address of the first element and the number of elements, if they can be accessed as this type.
    fn first<T: TensorElement>(&self) -> Result<(*mut T, usize), Error> {
        let first = view::first::<T>(self.view(), self.shape())?;
        if self.is_unique() { Ok(first) } else { Err(Error::Shared) }
    }

    /// Returns the address and the number of elements of a compact tensor. The address is valid for a slice.
    fn elements<T: TensorElement>(&self) -> Result<(*mut T, usize), Error> {
        self.first::<T>()?;
        // SAFETY: a tensor has the memory that it describes, and this is the only reference to it.
        unsafe { view::all(self.view(), self.shape(), self.strides()) }
    }
}

/// The memory of a tensor that was made of a vector.
struct Owner<T> {
    _data: Vec<T>,
    shape: Vec<i64>,
}

/// Makes a DLPack tensor that owns a vector.
fn manage<T: TensorElement>(mut data: Vec<T>, shape: Vec<i64>) -> *mut DLManagedTensorVersioned {
    let tensor = view::describe(data.as_mut_ptr().cast(), T::DTYPE, Device::CPU);
    let mut owner = Box::new(Owner { _data: data, shape });
    let (ndim, shape) = (owner.shape.len() as i32, owner.shape.as_mut_ptr());
    let tensor = DLTensor { ndim, shape, ..tensor };
    let manager_ctx = Box::into_raw(owner).cast::<c_void>();
    let deleter = Some(free::<T> as unsafe extern "C" fn(_));
    let managed =
        DLManagedTensorVersioned { version: VERSION, manager_ctx, deleter, flags: 0, tensor };
    Box::into_raw(Box::new(managed))
}

/// The deleter of a DLPack tensor that owns a vector.
///
/// # Safety
/// Called once, with a result of [`manage`].
unsafe extern "C" fn free<T>(managed: *mut DLManagedTensorVersioned) {
    // SAFETY: as required above.
    unsafe {
        let managed = Box::from_raw(managed);
        drop(Box::from_raw(managed.manager_ctx.cast::<Owner<T>>()));
    }
}

impl From<TensorObject> for ObjectRef {
    fn from(tensor: TensorObject) -> Self {
        tensor.0
    }
}

impl TryFrom<ObjectRef> for TensorObject {
    type Error = ObjectRef;

    /// Returns the object if it is no tensor.
    fn try_from(object: ObjectRef) -> Result<TensorObject, ObjectRef> {
        if TensorObject::of(&object).is_some() { Ok(TensorObject(object)) } else { Err(object) }
    }
}

/// The memory of the tensor may only be read.
impl<'a> From<&'a TensorObject> for TensorView<'a> {
    fn from(tensor: &'a TensorObject) -> Self {
        // SAFETY: the object is borrowed as long as the view, through which nobody writes.
        unsafe { TensorView::from_dlpack(tensor.view()) }.into_shared()
    }
}

values! {
    ['a] &'a TensorObject, tensor => object(&tensor.0);
    ['a] &'a mut TensorObject, tensor => {
        let arg = object(&tensor.0);
        if tensor.is_unique() { arg.writable() } else { arg }
    };
}
