//! The guide: one chapter on each subject. Its examples are tests. [`language`](crate::language) documents the
//! language itself.

#[doc = include_str!("guide/kinds.md")]
pub mod kinds {}

#[doc = include_str!("guide/programs.md")]
pub mod programs {}

// Its examples call the JIT, which depends on this crate, so that they are tests there.
#[doc = include_str!(concat!(env!("OUT_DIR"), "/pictures.md"))]
#[cfg_attr(not(doctest), doc = include_str!("guide/launches.md"))]
pub mod launches {}

#[doc = include_str!(concat!(env!("OUT_DIR"), "/pictures.md"))]
#[doc = include_str!("guide/linking.md")]
pub mod linking {}

#[doc = include_str!("guide/messages.md")]
pub mod messages {}

#[doc = include_str!("guide/process.md")]
pub mod process {}

#[doc = include_str!("guide/python.md")]
pub mod python {}

#[doc = include_str!("guide/frameworks.md")]
pub mod frameworks {}

#[doc = include_str!("guide/embedding.md")]
pub mod embedding {}

// Its example calls the JIT, which depends on this crate, so that it is a test there.
#[cfg_attr(not(doctest), doc = include_str!("guide/comparison.md"))]
pub mod comparison {}

#[doc = include_str!("guide/numbers.md")]
pub mod numbers {}

#[doc = include_str!("guide/setup.md")]
pub mod setup {}

#[doc = include_str!("guide/stages.md")]
pub mod stages {}

#[doc = include_str!("guide/systems.md")]
pub mod systems {}

#[doc = include_str!("guide/versions.md")]
pub mod versions {}

#[doc = include_str!(concat!(env!("OUT_DIR"), "/pictures.md"))]
#[doc = include_str!("guide/architecture.md")]
pub mod architecture {}
