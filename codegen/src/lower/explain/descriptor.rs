//! Encoding the constant from which a failure is explained; its form is in [`codes`](crate::lower::explain::codes).

mod expression;
mod outcome;
mod value;

pub(crate) use outcome::{Sections, frame};

use rustc_hash::FxHashMap;

use crate::declaration::ParamType;
use crate::language::spelled;
use crate::lower::explain::codes::{
    Coded, Head, Header, Op, Place as PlaceRecord, Rpn, RuleCode, Span, Suffix, Text, Used, step,
};
use crate::lower::explain::schema::Part;
use crate::lower::quote::elide;
use crate::resolve::function::Function;
use crate::resolve::ids::{Id, ValueId};
use crate::resolve::step::{Linear, Place, Rule, Step};
use crate::resolve::value::Source;

/// No more devices than this are compared with each other.
const MAX_DEVICES: u32 = 64;

/// A descriptor, and how much room it takes to interpret it.
#[derive(Debug)]
pub(crate) struct Descriptor {
    pub(crate) bytes: Vec<u8>,
    /// Bytes of [`Header::room`].
    pub(crate) room: u32,
    /// Where its parts are.
    pub(crate) sections: Sections,
}

/// The name of the descriptor of a function.
pub(crate) fn symbol(function: &str) -> String {
    format!("tvm_ffi_codegen.descriptor.{function}")
}

struct Encoder<'a> {
    function: &'a Function<'a>,
    words: Vec<u32>,
    text: Vec<u8>,
    /// Where each text starts.
    known: FxHashMap<String, u32>,
    /// What the routines must know.
    used: &'a mut Used,
    header: Header,
    /// Operands of the expression that is being encoded.
    depth: i32,
    /// The value that has the first slot after the symbols.
    base: usize,
    sections: Sections,
}

/// Encodes a function.
pub(crate) fn encode(function: &Function<'_>, used: &mut Used) -> Descriptor {
    let mut e = Encoder {
        function,
        words: vec![0; Header::WORDS as usize],
        text: Vec::with_capacity(256),
        known: FxHashMap::default(),
        used,
        header: Header::default(),
        depth: 0,
        base: 0,
        sections: Sections::default(),
    };
    let signature = &function.declared.signature;
    let symbols = function.symbols.len() as u32;
    e.header.signature = e.quoted(&signature.header().to_string());
    e.header.backtrace = e.backtrace(function.declared.location.as_ref());
    e.header.least = signature.required() as u32;
    e.header.most = signature.most().map(|most| most as u32);
    e.header.symbols = symbols;
    e.header.slots = symbols;
    function.steps.iter().for_each(|step| e.guarded(step));
    e.step_record(step::End {});
    e.body();
    e.finish()
}

impl Header {
    /// Bytes of the arrays that interpreting takes. The sum cannot overflow.
    pub(crate) fn room(self) -> u32 {
        16 * self.slots + 8 * (self.symbols + self.loops + self.operands) + 16 * self.devices
    }
}

impl Encoder<'_> {
    fn finish(mut self) -> Descriptor {
        self.header.texts = 4 * self.words.len() as u32;
        self.text.resize(self.text.len().next_multiple_of(4), 0);
        self.header.size = self.header.texts + self.text.len() as u32;
        self.header.devices = self.header.devices.min(MAX_DEVICES);
        let mut words = Vec::with_capacity(self.words.len());
        self.header.encode(&mut words);
        words.extend(&self.words[words.len()..]);
        let mut bytes: Vec<u8> = Vec::with_capacity(self.header.size as usize);
        bytes.extend(words.iter().flat_map(|word| word.to_le_bytes()));
        bytes.extend(self.text);
        Descriptor { bytes, room: self.header.room(), sections: self.sections }
    }

    /// Writes a record.
    fn part(&mut self, part: impl Part) {
        part.encode(&mut self.words);
    }

    /// Writes a step.
    fn step_record<S: Coded<Code = Op>>(&mut self, step: S) {
        self.op(S::CODE);
        self.part(step);
    }

    fn op(&mut self, op: Op) {
        self.used.mark(op);
        self.part(op);
    }

    fn code(&mut self, code: Rpn) {
        self.used.mark(code);
        self.part(code);
        self.depth += code.effect();
        self.header.operands = self.header.operands.max(self.depth.unsigned_abs());
    }

    fn word(&mut self, word: u32) {
        self.words.push(word);
    }

    fn words(&mut self, words: &[u32]) {
        self.words.extend_from_slice(words);
    }

    /// Writes what [`Encoder::quoted`] yields.
    fn text(&mut self, text: &str) {
        let text = self.quoted(text);
        self.part(text);
    }

    /// Writes what [`Encoder::whole`] yields.
    fn whole_text(&mut self, text: &str) {
        let text = self.whole(text);
        self.part(text);
    }

    /// A text that messages quote.
    fn quoted(&mut self, text: &str) -> Text {
        self.whole(&elide(text))
    }

    /// A text that is compared or given as it is, not quoted: all of it.
    fn whole(&mut self, text: &str) -> Text {
        let length = text.len() as u32;
        if let Some(&offset) = self.known.get(text) {
            return Text(Span { offset, length });
        }
        let offset = self.text.len() as u32;
        self.text.extend_from_slice(text.as_bytes());
        self.known.insert(text.to_string(), offset);
        Text(Span { offset, length })
    }

    /// 64 bits as two words.
    fn wide(&mut self, bits: u64) {
        self.part(bits);
    }

    /// Values of the body have their slots where the next one has its.
    fn slot(&mut self, value: ValueId) -> u32 {
        let slot = (self.function.symbols.len() + value.index() - self.base) as u32;
        self.header.slots = self.header.slots.max(slot + 1);
        slot
    }

    fn head(&mut self, place: Place) -> Head {
        let function = self.function;
        let path = self.quoted(&function.values[place.value()].path);
        let (suffix, index) = suffix(place);
        self.used.mark(suffix);
        let argument = function.argument(place.value()).map(|argument| argument as u32);
        let slot = self.slot(place.value());
        Head { place: PlaceRecord { path, suffix, index }, argument, slot }
    }

    fn head_of(&mut self, value: ValueId) -> Head {
        self.head(Place::Value { value })
    }

    fn operand_head(&mut self, place: Place) {
        let head = self.head(place);
        self.part(head);
    }

    /// Writes words after their number.
    fn counted(&mut self, write: impl FnOnce(&mut Self)) {
        let start = self.words.len();
        self.word(0);
        write(self);
        self.words[start] = (self.words.len() - start - 1) as u32;
    }

    /// Steps after the number of their words.
    fn steps(&mut self, steps: &[Step<'_>]) {
        self.counted(|e| {
            steps.iter().for_each(|step| e.guarded(step));
            e.step_record(step::End {});
        });
    }

    /// A step that applies only where its value is there, and what it is compared with is known.
    fn guarded(&mut self, step: &Step<'_>) {
        let (value, first) = match step {
            Step::Scalar { value, .. } | Step::Header { value, .. } | Step::Value { value } => {
                (*value, true)
            }
            Step::Occurrence { place, .. } => (place.value(), false),
            Step::Compact { value }
            | Step::Data { value, .. }
            | Step::Each { value, .. }
            | Step::OneOf { value, .. } => (*value, false),
            Step::Settle { .. } | Step::Require(_) | Step::Evaluate(_) => {
                return self.step(step);
            }
        };
        let source = self.function.values[value].source;
        let mut guards: Vec<ValueId> = self.function.optionals(value).collect();
        guards.reverse();
        let own = guards.pop_if(|last| *last == value && first);
        let uncertain = if let Step::Occurrence { rule: Rule::Equal { uncertain, .. }, .. } = step {
            &uncertain[..]
        } else {
            &[]
        };
        let presents: Vec<_> = guards.into_iter().map(|at| (Op::Present, self.slot(at))).collect();
        let bounds = uncertain.iter().map(|&symbol| (Op::Bound, symbol.index() as u32));
        let conditions: Vec<(Op, u32)> = presents.into_iter().chain(bounds).collect();
        self.under(&conditions, |e| {
            if first {
                e.locate(value, source);
            }
            let own: Vec<(Op, u32)> = own.map(|at| (Op::Present, e.slot(at))).into_iter().collect();
            e.under(&own, |e| e.step(step));
        });
    }

    /// Writes steps under conditions, the outermost first.
    fn under(&mut self, conditions: &[(Op, u32)], write: impl FnOnce(&mut Self)) {
        let Some((&(op, slot), rest)) = conditions.split_first() else { return write(self) };
        self.op(op);
        self.word(slot);
        self.counted(|e| e.under(rest, write));
    }

    /// Says where a value is; that of a loop is known from the loop.
    fn locate(&mut self, value: ValueId, source: Source) {
        let slot = self.slot(value);
        match source {
            Source::Argument(index) | Source::Rest(index) => {
                self.step_record(step::Argument { slot, index: index as u32 });
            }
            Source::Element { of, index } => {
                let tuple = self.slot(of);
                self.step_record(step::Element { slot, tuple, index: index as u32 });
            }
            Source::Context
            | Source::Result
            | Source::Each { .. }
            | Source::Key { .. }
            | Source::Mapped { .. }
            | Source::Alternative { .. } => {}
        }
    }

    fn step(&mut self, step: &Step<'_>) {
        match step {
            Step::Scalar { value, scalar } => self.scalar(*value, *scalar),
            Step::Header { value, tensor, device } => self.tensor(*value, tensor, *device),
            Step::Value { value } => self.value(*value),
            Step::Occurrence { place, rule } => self.occurrence(*place, rule),
            Step::Compact { value } => {
                let head = self.head_of(*value);
                self.step_record(step::Compact { head });
            }
            Step::Data { value, align } => {
                let head = self.head_of(*value);
                self.step_record(step::Data { head, mask: align - 1 });
            }
            Step::Settle { symbol, place, linear } => {
                let (_, dim) = suffix(*place);
                let tensor = self.slot(place.value());
                self.step_record(step::Settle { symbol: symbol.index() as u32, tensor, dim });
                self.linear(linear);
            }
            Step::Each { value, steps } => self.each(*value, steps),
            Step::OneOf { value, types } => self.one_of(*value, types),
            Step::Require(condition) => self.condition(condition),
            Step::Evaluate(term) => {
                self.step_record(step::Evaluate {});
                self.term(term);
            }
        }
    }

    fn each(&mut self, value: ValueId, steps: &[Step<'_>]) {
        let head = self.head_of(value);
        let depth = self.function.values[value].depth as u32;
        self.header.loops = self.header.loops.max(depth + 1);
        let children = self.children(value);
        if let ParamType::Mapping(..) = self.function.values[value].ty {
            let (key, value) = (children[0], children[1]);
            self.step_record(step::Entries { head, depth, key, value });
        } else {
            self.step_record(step::Each { head, depth, element: children[0] });
        }
        self.steps(steps);
    }

    fn one_of(&mut self, value: ValueId, types: &[Vec<Step<'_>>]) {
        let (head, expected) = (self.head_of(value), self.expected(value));
        self.step_record(step::OneOf { head, expected });
        self.word(types.len() as u32);
        for (slot, steps) in self.children(value).into_iter().zip(types) {
            self.word(slot);
            self.steps(steps);
        }
    }

    /// The slots of what is nested directly in a value.
    fn children(&mut self, value: ValueId) -> Vec<u32> {
        let function = self.function;
        function.values[value].children.iter().map(|&child| self.slot(child)).collect()
    }

    fn occurrence(&mut self, place: Place, rule: &Rule) {
        let head = self.head(place);
        let (code, symbol, shown) = match rule {
            Rule::Any => (RuleCode::Any, 0, String::new()),
            Rule::Symbol(symbol) => {
                let many = self.function.values[place.value()].dynamic;
                let code = if many { RuleCode::SymbolOfMany } else { RuleCode::Symbol };
                (code, symbol.index(), spelled(self.function.symbols[*symbol].name).to_string())
            }
            Rule::Equal { text, .. } => (RuleCode::Equal, 0, text.clone()),
            Rule::Solve { symbol, text, .. } => (RuleCode::Solve, symbol.index(), text.clone()),
        };
        let shown = self.quoted(&shown);
        self.step_record(step::Occurrence { head, symbol: symbol as u32, shown });
        self.used.mark(code);
        self.part(code);
        match rule {
            Rule::Any | Rule::Symbol(_) => {}
            Rule::Equal { term, .. } => self.term(term),
            Rule::Solve { linear, .. } => self.linear(linear),
        }
    }

    fn linear(&mut self, linear: &Linear) {
        self.term(&linear.coefficient);
        self.term(&linear.constant);
    }
}

fn suffix(place: Place) -> (Suffix, u32) {
    match place {
        Place::Value { .. } => (Suffix::None, 0),
        Place::Extent { dim, .. } => (Suffix::Shape, dim as u32),
        Place::Stride { dim, .. } => (Suffix::Strides, dim as u32),
        Place::Number { dim, .. } => (Suffix::Number, dim as u32),
    }
}
