//! Generators of random declarations and of arguments that nearly fit them.
//!
//! A string of bytes decides everything, so that shrinking the bytes shrinks a failing test: after the last byte every
//! choice is the first one.

mod arguments;
mod declaration;
mod expression;
mod kinds;
mod launches;
mod objects;
mod program;

pub use arguments::{arguments, makes_function, own};
pub use declaration::declaration;
pub use launches::{Launches, launches};
pub use objects::{Place, Source, objects};

/// A source of decisions.
#[derive(Debug)]
pub struct Choices<'a>(&'a [u8]);

impl<'a> Choices<'a> {
    /// Creates a source from bytes.
    pub fn new(bytes: &'a [u8]) -> Choices<'a> {
        Choices(bytes)
    }

    /// Returns true if no bytes are left.
    pub fn is_empty(&self) -> bool {
        self.0.is_empty()
    }

    /// Chooses a number below `count`, which is at most 256.
    fn below(&mut self, count: usize) -> usize {
        let Some((first, rest)) = self.0.split_first() else { return 0 };
        self.0 = rest;
        usize::from(*first) * count / 256
    }

    fn pick<T: Copy>(&mut self, from: &[T]) -> T {
        from[self.below(from.len())]
    }

    /// Returns true once in `count` times.
    fn once_in(&mut self, count: usize) -> bool {
        self.below(count) == count - 1
    }
}
