//! What surrounds a call in the descriptor: the backtrace of its errors, and what its status means.

use super::super::codes::header;
use super::{Encoder, elide};

impl Encoder<'_> {
    /// The text of the one frame that every error shows.
    pub(super) fn backtrace(&mut self) {
        let function = self.scope.function;
        let (file, line) = match &function.location {
            Some(location) => (&location.file[..], location.line),
            None => ("<tvm-ffi-codegen>", 0),
        };
        let name = elide(&function.signature.name);
        self.whole_text(&format!("  File \"{file}\", line {line}, in {name}\n"));
    }

    /// The table of statuses, if the kernel returns one.
    pub(super) fn statuses(&mut self) {
        let body = &self.scope.function.body;
        let Some(errors) = &body.status else {
            return;
        };
        self.words[header::STATUSES as usize] = 4 * self.words.len() as u32;
        let (own, mut other) =
            (errors.iter().filter(|error| error.status.is_some()), errors.iter());
        self.word(own.clone().count() as u32);
        for error in own {
            self.word(error.status.unwrap_or_default() as u32);
            self.text(&error.kind);
            self.text(&error.message);
        }
        self.word(0);
        match other.find(|error| error.status.is_none()) {
            Some(error) => {
                self.text(&error.kind);
                self.text(&error.message);
            }
            None => {
                self.text("RuntimeError");
                self.whole_text(&format!("Failed {}", elide(&body.symbol)));
            }
        }
    }
}
