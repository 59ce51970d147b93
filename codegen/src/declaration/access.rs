//! Access to tensors: what a function does with the elements that it is given.

use std::fmt::{self, Display, Formatter};

use super::Tensor;

/// Access of a function, its kernels and the functions that it calls to the elements of a tensor that it is given.
///
/// The declaration promises it, as it promises that kernels stay within the extents. Nothing is checked when the
/// function is called.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, Hash)]
pub enum Access {
    /// They may be read and written.
    #[default]
    Update,
    /// They are read only. Their memory may be read-only.
    Read,
    /// They are written. What was there before is not read.
    Write,
}

impl Access {
    /// Every access.
    pub const ALL: [Access; 3] = [Access::Update, Access::Read, Access::Write];

    /// Returns the word of the language.
    pub const fn name(self) -> &'static str {
        match self {
            Access::Update => "update",
            Access::Read => "read",
            Access::Write => "write",
        }
    }

    /// Returns the word if the access is not the default.
    pub(crate) fn said(self) -> Option<&'static str> {
        (self != Access::default()).then_some(self.name())
    }

    /// Returns the access that a word of the language names.
    pub(crate) fn named(word: &str) -> Option<Access> {
        Access::ALL.into_iter().find(|access| access.name() == word)
    }
}

impl Display for Access {
    fn fmt(&self, f: &mut Formatter<'_>) -> fmt::Result {
        f.write_str(self.name())
    }
}

impl Tensor {
    /// Sets the access to the elements.
    ///
    /// ```
    /// use tvm_ffi_codegen::{Access, DType, Tensor};
    ///
    /// let x = Tensor::new(["n"], DType::FLOAT32).with_access(Access::Read);
    /// assert_eq!(x.to_string(), "Tensor([n], float32, access=read)");
    /// ```
    pub fn with_access(mut self, access: Access) -> Tensor {
        self.access = access;
        self
    }

    /// Returns true if the elements are only read.
    pub(crate) fn is_read(&self) -> bool {
        self.access == Access::Read
    }
}
