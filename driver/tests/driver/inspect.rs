//! Reports on objects and libraries.
