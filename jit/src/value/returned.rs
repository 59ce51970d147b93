//! The value that a call returns.

use abi_spec::TypeIndex;

use super::object::{ObjectRef, Owned};
use crate::abi::Any;
use crate::runtime::Runtime;

/// The value that a call returns. `TryFrom` converts it into Rust types; accessors and [`Returned::content`] read it in
/// place.
///
/// ```no_run
/// # fn f(function: tvm_ffi_codegen_jit::HostFunction) -> Result<(), Box<dyn std::error::Error>> {
/// let count: i64 = function.call(())?.try_into()?;
/// let returned = function.call((count, "text"))?;
/// let values = returned.tensor()?.as_slice::<f32>()?;
/// # Ok(())
/// # }
/// ```
#[derive(Clone)]
#[repr(transparent)]
pub struct Returned(Owned);

impl Returned {
    /// The type index of the value.
    #[inline]
    pub fn ty(&self) -> TypeIndex {
        self.0.any().ty()
    }

    /// True for None.
    #[inline]
    pub fn is_none(&self) -> bool {
        self.ty() == TypeIndex::NONE
    }

    /// `None` for None, the value otherwise.
    pub fn option(self) -> Option<Returned> {
        if self.is_none() { None } else { Some(self) }
    }

    /// The runtime of the function that returned it.
    #[inline]
    pub fn runtime(&self) -> &'static Runtime {
        self.0.runtime()
    }

    /// The value as C sees it. An object is borrowed.
    #[inline]
    pub fn as_raw(&self) -> &Any {
        self.0.any()
    }

    /// The value as an object. Small strings and bytes are no objects.
    pub fn as_object(&self) -> Option<&ObjectRef> {
        self.0.as_object()
    }

    pub(crate) fn into_object(self) -> Result<ObjectRef, Returned> {
        self.0.into_object().map_err(Returned)
    }
}

impl From<Owned> for Returned {
    #[inline]
    fn from(owned: Owned) -> Self {
        Returned(owned)
    }
}

impl From<ObjectRef> for Returned {
    fn from(object: ObjectRef) -> Self {
        Returned(object.into())
    }
}
