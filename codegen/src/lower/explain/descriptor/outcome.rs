//! What surrounds a call in the descriptor: the backtrace of its errors, what its status means, and what
//! its result must be.

use crate::declaration::{ResultType, ValueType};
use crate::lower::explain::codes::header;
use crate::lower::explain::descriptor::{Encoder, elide};
use crate::resolve::accepted::{Accepted, returnable};

impl Encoder<'_> {
    /// The text of the one frame that every error shows.
    pub(crate) fn backtrace(&mut self) {
        let function = self.function.declared;
        let (file, line) = match &function.location {
            Some(location) => (&location.file[..], location.line),
            None => ("<tvm-ffi-codegen>", 0),
        };
        let name = elide(&function.signature.name);
        self.whole_text(&format!("  File \"{file}\", line {line}, in {name}\n"));
    }

    /// The table of statuses, if the kernel returns one.
    pub(crate) fn statuses(&mut self) {
        let body = &self.function.declared.body;
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

    /// What the result must be, if the kernel writes it or it is allocated.
    pub(crate) fn result(&mut self) {
        let signature = &self.function.declared.signature;
        let start = 4 * self.words.len() as u32;
        match &signature.result {
            ResultType::None | ResultType::Scalar(_) => return,
            ResultType::Written(ty) => self.written(ty),
            ResultType::Allocated(outputs) => {
                self.word(outputs.len() as u32);
                for output in outputs {
                    let tensor = &output.tensor;
                    self.words(&[output.extents().count() as u32, tensor.dtypes[0].to_word()]);
                    self.wide(tensor.alignment());
                    self.text(&output.name);
                }
            }
        }
        self.words[header::RESULT as usize] = start;
    }

    fn written(&mut self, ty: &ValueType) {
        self.value_type(ty);
        match elements(ty) {
            Elements::One(types) => {
                self.words(&[types.len() as u32, 1]);
                types.iter().for_each(|ty| self.value_type(ty));
            }
            Elements::Many(ty) => {
                self.words(&[u32::MAX, 1]);
                self.value_type(ty);
            }
            Elements::Any => self.words(&[u32::MAX, 0]),
        }
    }

    fn value_type(&mut self, ty: &ValueType) {
        let Accepted { low, high } = returnable(ty);
        self.wide(low);
        self.wide(high);
        self.text(&ty.to_string());
    }
}

/// The types of the elements.
enum Elements<'a> {
    /// One of each.
    One(&'a [ValueType]),
    /// Any number, all of this one.
    Many(&'a ValueType),
    /// Not checked, if there are any.
    Any,
}

fn elements(ty: &ValueType) -> Elements<'_> {
    match ty {
        ValueType::Tuple(types) => Elements::One(types),
        ValueType::Sequence(_, ty) => Elements::Many(ty),
        ValueType::Optional(inner) => elements(inner),
        ValueType::Any | ValueType::Scalar(_) | ValueType::Kind(_) | ValueType::Mapping(..) => {
            Elements::Any
        }
    }
}
