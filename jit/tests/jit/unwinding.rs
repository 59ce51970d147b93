//! unwinding
