//! Chapters on one subject each; the examples in them are tests.

#[doc = include_str!("guide/launches.md")]
pub mod launches {}
