//! What surrounds the checks of the arguments in the descriptor: the backtrace of its errors, the tensors that
//! are allocated, and the values that calls yield.

use rustc_hash::FxHashMap;

use crate::declaration::Location;
use crate::language::spelled;
use crate::lower::explain::codes::{LeafKind, Output, Outputs, Received as Record, Text, step};
use crate::lower::explain::descriptor::Encoder;
use crate::lower::quote::elide;
use crate::resolve::accepted::expected;
use crate::resolve::function::{Action, Body, KernelResult, Received, Returned, Statement};
use crate::resolve::ids::{Id, OutputId, ValueId};

/// Where the parts of a descriptor are that routines get by their offset in bytes.
#[derive(Clone, Debug, Default)]
pub(crate) struct Sections {
    /// What a value must be.
    pub(crate) received: FxHashMap<ValueId, u32>,
    /// Tensors that are allocated at once, by the first.
    pub(crate) outputs: FxHashMap<OutputId, u32>,
}

/// A line of a backtrace.
pub(crate) fn frame(location: Option<&Location>, name: &str) -> String {
    let (file, line) = match location {
        Some(location) => (&location.file[..], location.line),
        None => ("<tvm-ffi-codegen>", 0),
    };
    format!("  File \"{file}\", line {line}, in {}\n", elide(name))
}

impl Encoder<'_> {
    /// The text of the one frame that every error shows, or that of a statement.
    pub(crate) fn backtrace(&mut self, location: Option<&Location>) -> Text {
        self.whole(&frame(location, &self.function.declared.signature.name))
    }

    /// What the body needs.
    pub(crate) fn body(&mut self) {
        let results: Vec<OutputId> = self.function.results().map(|(output, _)| output).collect();
        if !results.is_empty() {
            self.outputs(&results);
        }
        match &self.function.body {
            Body::Call { result, .. } => {
                result.iter().for_each(|received| self.received(received, None))
            }
            Body::Prepare(_) => {}
            Body::Block(_) => {
                for statement in self.function.statements() {
                    self.statement(statement);
                }
            }
        }
    }

    fn statement(&mut self, statement: &Statement<'_>) {
        let received = match &statement.action {
            Action::Allocate(output) => return self.outputs(&[*output]),
            Action::Launch(launch) => return launch.scratches().for_each(|of| self.outputs(&[of])),
            Action::Kernel { result: KernelResult::Written(received), .. }
            | Action::Call { result: Some(received), .. }
            | Action::Return(Returned::Packed(_, Some(received))) => received,
            Action::Kernel { .. }
            | Action::Call { result: None, .. }
            | Action::Return(_)
            | Action::Let { .. }
            | Action::If { .. }
            | Action::For { .. }
            | Action::Raise { .. } => return,
        };
        self.received(received, statement.location);
    }

    fn received(&mut self, received: &Received<'_>, location: Option<&Location>) {
        let value = received.value;
        self.base = value.index();
        let (slot, frame) = (self.slot(value), location.map(|at| self.backtrace(Some(at))));
        let start = 4 * self.words.len() as u32;
        let (next, known) = (self.header.received, received.known.len() as u32);
        self.part(Record { next, slot, frame: frame.unwrap_or_default(), known });
        self.header.received = start;
        self.sections.received.insert(value, start);
        received.known.iter().for_each(|symbol| self.word(symbol.index() as u32));
        let declared = &self.function.values[value];
        let text = expected(declared.ty, declared.optional);
        let step = step::Owned { head: self.head_of(value), expected: self.quoted(&text) };
        self.step_record(step);
        received.steps.iter().for_each(|step| self.guarded(step));
        self.step_record(step::End {});
        self.base = 0;
    }

    fn outputs(&mut self, outputs: &[OutputId]) {
        let start = 4 * self.words.len() as u32;
        self.part(Outputs { next: self.header.outputs, count: outputs.len() as u32 });
        self.header.outputs = start;
        // Where nobody allocates on the device of a tensor, the message names it.
        self.used.leaf(LeafKind::Device);
        self.sections.outputs.insert(outputs[0], start);
        for &output in outputs {
            let output = &self.function.outputs[output];
            let (name, tensor) = (self.quoted(&spelled(output.name).to_string()), &output.tensor);
            let (rank, dtype) = (output.extents.len() as u32, tensor.dtypes[0].to_word());
            self.part(Output { rank, dtype, align: tensor.alignment(), name });
        }
    }
}
