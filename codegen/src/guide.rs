//! Chapters on one subject each; the examples in them are tests. The language itself is in [`language`](crate::language).

#[doc = include_str!("guide/kinds.md")]
pub mod kinds {}

#[doc = include_str!("guide/programs.md")]
pub mod programs {}

#[doc = include_str!("guide/launches.md")]
pub mod launches {}

#[doc = include_str!("guide/linking.md")]
pub mod linking {}

#[doc = include_str!("guide/process.md")]
pub mod process {}

#[doc = include_str!("guide/python.md")]
pub mod python {}

#[doc = include_str!("guide/embedding.md")]
pub mod embedding {}

// Its example calls what it declares: a test of the JIT, which stands on this crate.
#[cfg_attr(not(doctest), doc = include_str!("guide/comparison.md"))]
pub mod comparison {}

#[doc = include_str!("guide/numbers.md")]
pub mod numbers {}

#[doc = include_str!("guide/systems.md")]
pub mod systems {}

#[doc = include_str!("guide/architecture.md")]
pub mod architecture {}
