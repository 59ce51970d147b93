//! observers
