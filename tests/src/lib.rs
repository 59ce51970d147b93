//! Conformance, equivalence and benchmarks.
