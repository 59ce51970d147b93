//! Addresses as numbers, of code and data.

/// An address of code or data.
#[derive(Clone, Copy, Debug)]
pub(crate) struct Address(pub(crate) *const u8);

// SAFETY: an address is just a number until somebody uses it, which is unsafe.
unsafe impl Send for Address {}
// SAFETY: as above.
unsafe impl Sync for Address {}

/// A function that has been compiled.
#[derive(Clone, Debug)]
pub(crate) struct FunctionRange {
    pub(crate) name: String,
    pub(crate) start: usize,
    pub(crate) size: usize,
}

/// Data of compiled code.
#[derive(Clone, Copy)]
pub(crate) struct DataRange {
    pub(crate) start: Address,
    pub(crate) size: usize,
}
