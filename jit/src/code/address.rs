//! Addresses of code and data.

/// The address of a function or of data.
#[derive(Clone, Copy, Debug)]
pub(crate) struct Address(pub(crate) *const u8);

// SAFETY: an address is a number until unsafe code uses it.
unsafe impl Send for Address {}
// SAFETY: as above.
unsafe impl Sync for Address {}

/// The name and the address range of a compiled function.
#[derive(Clone, Debug)]
pub(crate) struct FunctionRange {
    pub(crate) name: String,
    pub(crate) start: usize,
    pub(crate) size: usize,
}

/// The address range of data.
#[derive(Clone, Copy)]
pub(crate) struct DataRange {
    pub(crate) start: Address,
    pub(crate) size: usize,
}
