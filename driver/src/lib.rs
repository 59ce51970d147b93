//! The command line and shared libraries.
