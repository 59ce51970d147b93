//! Object files.
