//! Random declarations and arguments that nearly fit them.
//!
//! Everything is decided by a string of bytes, so that a test that fails is made smaller by making the
//! bytes fewer and smaller: where they have run out every choice is the first.

mod arguments;
mod declaration;
mod kinds;

pub use arguments::arguments;
pub use declaration::declaration;

/// A source of decisions.
#[derive(Debug)]
pub struct Choices<'a>(&'a [u8]);

impl<'a> Choices<'a> {
    /// Decisions from bytes.
    pub fn new(bytes: &'a [u8]) -> Choices<'a> {
        Choices(bytes)
    }

    /// True if all decisions have been made.
    pub fn is_empty(&self) -> bool {
        self.0.is_empty()
    }

    /// A number below `count`, which is at most 256.
    fn below(&mut self, count: usize) -> usize {
        let Some((first, rest)) = self.0.split_first() else { return 0 };
        self.0 = rest;
        usize::from(*first) * count / 256
    }

    fn pick<T: Copy>(&mut self, from: &[T]) -> T {
        from[self.below(from.len())]
    }

    /// True once in so many times.
    fn once_in(&mut self, count: usize) -> bool {
        self.below(count) == count - 1
    }
}
