//! What surrounds a call in the descriptor: the backtrace of its errors, and what its result must be.

use crate::declaration::{ResultType, ValueType};
use crate::lower::explain::codes::{LeafKind, Output, Outputs, Text, Type, Written};
use crate::lower::explain::descriptor::{Encoder, elide};
use crate::resolve::accepted::{Accepted, returnable};

impl Encoder<'_> {
    /// The text of the one frame that every error shows.
    pub(crate) fn backtrace(&mut self) -> Text {
        let function = self.function.declared;
        let (file, line) = match &function.location {
            Some(location) => (&location.file[..], location.line),
            None => ("<tvm-ffi-codegen>", 0),
        };
        let name = elide(&function.signature.name);
        self.whole(&format!("  File \"{file}\", line {line}, in {name}\n"))
    }

    /// What the result must be, if the kernel writes it or it is allocated.
    pub(crate) fn result(&mut self) {
        let signature = &self.function.declared.signature;
        let start = 4 * self.words.len() as u32;
        match &signature.result {
            ResultType::None | ResultType::Scalar(_) => {}
            ResultType::Written(ty) => {
                self.header.written = start;
                self.used.leaf(LeafKind::Written);
                self.written(ty);
            }
            ResultType::Allocated(outputs) => {
                self.header.outputs = start;
                self.part(Outputs { count: outputs.len() as u32 });
                for output in outputs {
                    let tensor = &output.tensor;
                    let name = self.quoted(&output.name);
                    let (rank, dtype) =
                        (output.extents().count() as u32, tensor.dtypes[0].to_word());
                    self.part(Output { rank, dtype, align: tensor.alignment(), name });
                }
            }
        }
    }

    fn written(&mut self, ty: &ValueType) {
        let (count, types) = match elements(ty) {
            Elements::One(types) => (Some(types.len() as u32), types),
            Elements::Many(ty) => (None, std::slice::from_ref(ty)),
            Elements::Any => (None, &[][..]),
        };
        let checked = !matches!(elements(ty), Elements::Any);
        let ty = self.value_type(ty);
        self.part(Written { ty, count, checked });
        for ty in types {
            let ty = self.value_type(ty);
            self.part(ty);
        }
    }

    fn value_type(&mut self, ty: &ValueType) -> Type {
        let Accepted { low, high } = returnable(ty);
        Type { low, high, expected: self.quoted(&ty.to_string()) }
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
