//! Array and shape objects.

use std::slice;

use abi_spec::TypeIndex;

use super::arg::{Arg, IntoArg, object, values};
use super::args::Args;
use super::function::FfiFunction;
use super::object::{Class, ObjectRef, Owned, elements};
use super::returned::Returned;
use crate::abi::{Any, ShapeCell};
use crate::error::Error;
use crate::runtime::Runtime;

/// The global function that makes arrays, in every runtime.
const MAKE: &str = "ffi.Array";
/// The global function that makes shapes, in every runtime.
const MAKE_SHAPE: &str = "ffi.Shape";

/// Calls a global function that makes an object of values, of any or of integers.
fn make<T: TryFrom<ObjectRef>>(
    function: &'static str,
    elements: impl Args,
    runtime: &'static Runtime,
) -> Result<T, Error> {
    // SAFETY: the function makes an object of these values, and keeps no other.
    let make = unsafe { FfiFunction::global(function, runtime) }?;
    let make = make.ok_or(Error::Unavailable { function })?;
    let made = make.retaining().call(elements)?.into_object();
    made.ok().and_then(|made| T::try_from(made).ok()).ok_or(Error::Unavailable { function })
}

/// Owns one reference to an `ffi.Array`, which never changes.
#[derive(Clone, Debug)]
#[repr(transparent)]
pub struct ArrayObject(ObjectRef);

// SAFETY: transparent, and the accessors below are sound for every array.
unsafe impl Class for ArrayObject {
    const TYPE: TypeIndex = TypeIndex::ARRAY;
}

impl ArrayObject {
    /// Makes an array of values: the argument for a sequence or a tuple. [`ShapeObject::new`] makes a shape.
    ///
    /// ```
    /// use tvm_ffi_codegen_jit::{ArrayObject, runtime};
    ///
    /// let array = ArrayObject::new((1, "two", 3.0), runtime())?;
    /// assert_eq!(array.len(), 3);
    /// assert_eq!(array.get(1).expect("there are three").text()?, "two");
    /// # Ok::<(), Box<dyn std::error::Error>>(())
    /// ```
    ///
    /// # Errors
    /// [`Error::Call`] for memory that is borrowed, which an array cannot keep.
    pub fn new(elements: impl Args, runtime: &'static Runtime) -> Result<ArrayObject, Error> {
        make(MAKE, elements, runtime)
    }

    /// Number of elements.
    pub fn len(&self) -> usize {
        self.elements().len()
    }

    /// True if there are no elements.
    pub fn is_empty(&self) -> bool {
        self.elements().is_empty()
    }

    /// The element at an index.
    pub fn get(&self, index: usize) -> Option<Returned> {
        self.elements().get(index).map(|element| self.copy(element))
    }

    /// All elements.
    pub fn iter(&self) -> impl Iterator<Item = Returned> {
        self.elements().iter().map(|element| self.copy(element))
    }

    /// The object.
    pub fn into_object(self) -> ObjectRef {
        self.0
    }

    fn elements(&self) -> &[Any] {
        // SAFETY: the reference keeps the array alive, which never changes.
        unsafe { elements(self.0.as_raw()) }
    }

    /// Copies an element, with a reference of its own if it is an object.
    fn copy(&self, element: &Any) -> Returned {
        // SAFETY: the array keeps the element alive. The first handle is never dropped, so that cloning it takes the
        // only reference.
        let owned = unsafe { Owned::new(*element, self.0.runtime()) };
        let handle = std::mem::ManuallyDrop::new(owned);
        Returned::from(Owned::clone(&handle))
    }
}

impl From<ArrayObject> for ObjectRef {
    fn from(array: ArrayObject) -> Self {
        array.0
    }
}

impl TryFrom<ObjectRef> for ArrayObject {
    type Error = ObjectRef;

    /// Returns the object if it is no array.
    fn try_from(object: ObjectRef) -> Result<ArrayObject, ObjectRef> {
        if ArrayObject::of(&object).is_some() { Ok(ArrayObject(object)) } else { Err(object) }
    }
}

/// Owns one reference to an `ffi.Shape`, which never changes.
#[derive(Clone, Debug)]
#[repr(transparent)]
pub struct ShapeObject(ObjectRef);

// SAFETY: transparent, and the accessor below is sound for every shape.
unsafe impl Class for ShapeObject {
    const TYPE: TypeIndex = TypeIndex::SHAPE;
}

// SAFETY: counts are atomic, and a shape never changes.
unsafe impl Send for ShapeObject {}
// SAFETY: as above.
unsafe impl Sync for ShapeObject {}

impl ShapeObject {
    /// Makes a shape of extents: the argument for a parameter of the type `Shape`.
    ///
    /// ```
    /// use tvm_ffi_codegen::Library;
    /// use tvm_ffi_codegen_jit::{Jit, ShapeObject, runtime};
    ///
    /// let library: Library = "rows(grid: Shape([n, 4])) -> int64 = { return n; };".parse()?;
    /// let rows = Jit::new()?.compile(&library)?.function("rows").expect("it is declared");
    /// let grid = ShapeObject::new(&[3, 4], runtime())?;
    /// assert_eq!(grid.as_slice(), [3, 4]);
    /// assert_eq!(i64::try_from(rows.call((&grid,))?)?, 3);
    /// # Ok::<(), Box<dyn std::error::Error>>(())
    /// ```
    ///
    /// # Errors
    /// [`Error::Call`] if the runtime refuses.
    pub fn new(extents: &[i64], runtime: &'static Runtime) -> Result<ShapeObject, Error> {
        let extents: Vec<Arg<'_>> = extents.iter().map(|&extent| extent.into()).collect();
        make(MAKE_SHAPE, extents, runtime)
    }

    /// The extents.
    pub fn as_slice(&self) -> &[i64] {
        let cell = self.0.cell::<ShapeCell>();
        // SAFETY: the cell follows the header of a shape, which never changes.
        let (data, size) = unsafe { ((*cell).data, (*cell).size) };
        // SAFETY: `size` is the number of extents, which live as long as the shape.
        if size == 0 { &[] } else { unsafe { slice::from_raw_parts(data, size) } }
    }

    /// The object.
    pub fn into_object(self) -> ObjectRef {
        self.0
    }
}

impl From<ShapeObject> for ObjectRef {
    fn from(shape: ShapeObject) -> Self {
        shape.0
    }
}

impl TryFrom<ObjectRef> for ShapeObject {
    type Error = ObjectRef;

    /// Returns the object if it is no shape.
    fn try_from(object: ObjectRef) -> Result<ShapeObject, ObjectRef> {
        if ShapeObject::of(&object).is_some() { Ok(ShapeObject(object)) } else { Err(object) }
    }
}

values! {
    ['a] &'a ArrayObject, array => object(&array.0);
    ['a] &'a ShapeObject, shape => object(&shape.0);
}
