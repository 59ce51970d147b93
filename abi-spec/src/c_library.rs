//! Functions of the C library that generated code calls: tensors are made with them where the host has set no
//! allocator.

/// `void* malloc(size_t size)`
pub const MALLOC: &str = "malloc";

/// `void free(void* memory)`
pub const FREE: &str = "free";

/// All of them.
pub const ALL: [&str; 2] = [MALLOC, FREE];
