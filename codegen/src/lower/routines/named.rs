//! What is known of a function that is called by name: a constant that [`Routine::CallNamed`](super::Routine) reads.

/// Where the address of the variable is that holds the function once it has been looked up.
pub(crate) const CACHE: u32 = 0;

/// Where the address of the library's context is.
pub(crate) const CONTEXT: u32 = 8;

/// Where the length of the name is.
pub(crate) const LENGTH: u32 = 16;

/// Where the name is, which ends with a NUL.
pub(crate) const NAME: u32 = 24;

/// The bytes, with room for the addresses.
pub(crate) fn encode(name: &str) -> Vec<u8> {
    let mut bytes = vec![0; LENGTH as usize];
    bytes.extend((name.len() as u64).to_le_bytes());
    bytes.extend(name.as_bytes());
    bytes.push(0);
    bytes
}
