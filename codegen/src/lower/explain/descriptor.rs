//! Encoding the constant from which a failure is explained; its form is in [`codes`](crate::lower::explain::codes).

mod expression;
mod outcome;
mod value;

use std::collections::HashMap;

use crate::lower::explain::codes::{Op, Rpn, RuleCode, Suffix, Used};
use crate::resolve::function::Function;
use crate::resolve::ids::{Id, ValueId};
use crate::resolve::step::{Linear, Place, Rule, Step};
use crate::resolve::value::Source;

/// At most so many bytes of a signature, expression or name are quoted; the rest is elided.
pub(crate) const MAX_QUOTED: usize = 1024;

struct Encoder<'a> {
    function: &'a Function<'a>,
    words: Vec<u32>,
    /// Text so far; its offsets are made absolute at the end.
    text: Vec<u8>,
    /// Where each text starts.
    known: HashMap<String, u32>,
    /// Positions of words that hold an offset into `text`.
    fixups: Vec<usize>,
    /// What the routines must know.
    used: &'a mut Used,
}

/// Encodes a function.
pub(crate) fn encode(function: &Function<'_>, used: &mut Used) -> Vec<u8> {
    let mut e = Encoder {
        function,
        words: Vec::with_capacity(256),
        text: Vec::with_capacity(256),
        known: HashMap::new(),
        fixups: Vec::new(),
        used,
    };
    let signature = &function.declared.signature;
    e.text(&signature.header().to_string());
    e.backtrace();
    e.words(&[0, 0]);
    e.word(signature.required() as u32);
    e.word(signature.most().map_or(u32::MAX, |most| most as u32));
    let symbols = function.symbols.len();
    e.words(&[symbols as u32, (symbols + function.values.len()) as u32]);
    function.steps.iter().for_each(|step| e.guarded(step));
    e.op(Op::End);
    e.statuses();
    e.result();
    e.finish()
}

impl Encoder<'_> {
    fn finish(mut self) -> Vec<u8> {
        let base = 4 * self.words.len() as u32;
        for &at in &self.fixups {
            self.words[at] += base;
        }
        let mut bytes: Vec<u8> = Vec::with_capacity(base as usize + self.text.len());
        bytes.extend(self.words.iter().flat_map(|word| word.to_le_bytes()));
        bytes.extend(self.text);
        bytes
    }

    fn op(&mut self, op: Op) {
        self.used.op(op);
        self.word(op as u32);
    }

    fn code(&mut self, code: Rpn) {
        self.used.code(code);
        self.word(code as u32);
    }

    fn word(&mut self, word: u32) {
        self.words.push(word);
    }

    fn words(&mut self, words: &[u32]) {
        self.words.extend_from_slice(words);
    }

    fn text(&mut self, text: &str) {
        self.whole_text(&elide(text));
    }

    /// A text that is compared or given as it is, not quoted: all of it.
    fn whole_text(&mut self, text: &str) {
        let offset = match self.known.get(text) {
            Some(&offset) => offset,
            None => {
                let offset = self.text.len() as u32;
                self.text.extend_from_slice(text.as_bytes());
                self.known.insert(text.to_string(), offset);
                offset
            }
        };
        self.fixups.push(self.words.len());
        self.words(&[offset, text.len() as u32]);
    }

    /// 64 bits as two words.
    fn wide(&mut self, bits: u64) {
        self.words(&[bits as u32, (bits >> 32) as u32]);
    }

    fn slot(&self, value: ValueId) -> u32 {
        (self.function.symbols.len() + value.index()) as u32
    }

    fn argument(&mut self, value: ValueId) {
        self.word(self.function.argument(value).unwrap_or_default() as u32);
    }

    fn head(&mut self, op: Op, place: Place) {
        self.op(op);
        self.operand_head(place);
    }

    fn operand_head(&mut self, place: Place) {
        let function = self.function;
        self.text(&function.values[place.value()].path);
        let (suffix, index) = suffix(place);
        self.words(&[suffix as u32, index]);
        self.argument(place.value());
        self.word(self.slot(place.value()));
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
            e.op(Op::End);
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
        let presents = guards.into_iter().map(|at| (Op::Present, self.slot(at)));
        let bounds = uncertain.iter().map(|&symbol| (Op::Bound, symbol.index() as u32));
        let conditions: Vec<(Op, u32)> = presents.chain(bounds).collect();
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
                self.op(Op::Argument);
                self.words(&[slot, index as u32]);
            }
            Source::Element { of, index } => {
                let tuple = self.slot(of);
                self.op(Op::Element);
                self.words(&[slot, tuple, index as u32]);
            }
            Source::Context
            | Source::Each { .. }
            | Source::Key { .. }
            | Source::Mapped { .. }
            | Source::Alternative { .. } => {}
        }
    }

    fn step(&mut self, step: &Step<'_>) {
        match step {
            Step::Scalar { value, scalar } => self.scalar(*value, *scalar),
            Step::Header { value, tensor, device } => self.header(*value, tensor, *device),
            Step::Value { value } => self.value(*value),
            Step::Occurrence { place, rule } => {
                self.head(Op::Occurrence, *place);
                self.rule(rule, *place);
            }
            Step::Compact { value } => self.head(Op::Compact, Place::Value { value: *value }),
            Step::Data { value, align } => {
                self.head(Op::Data, Place::Value { value: *value });
                self.wide(align - 1);
            }
            Step::Settle { symbol, place, linear } => {
                let (_, dim) = suffix(*place);
                let tensor = self.slot(place.value());
                self.op(Op::Settle);
                self.words(&[symbol.index() as u32, tensor, dim]);
                self.linear(linear);
            }
            Step::Each { value, steps } => self.each(*value, steps),
            Step::OneOf { value, types } => {
                self.head(Op::OneOf, Place::Value { value: *value });
                self.expected(*value);
                self.word(types.len() as u32);
                let slots = self.children(*value);
                for (slot, steps) in slots.into_iter().zip(types) {
                    self.word(slot);
                    self.steps(steps);
                }
            }
            Step::Require(condition) => self.condition(condition),
            Step::Evaluate(term) => {
                self.op(Op::Evaluate);
                self.term(term);
            }
        }
    }

    fn each(&mut self, value: ValueId, steps: &[Step<'_>]) {
        let children = self.children(value);
        let op = if children.len() == 1 { Op::Each } else { Op::Entries };
        self.head(op, Place::Value { value });
        self.word(self.function.values[value].depth as u32);
        self.words(&children);
        self.steps(steps);
    }

    /// The slots of what is nested directly in a value.
    fn children(&self, value: ValueId) -> Vec<u32> {
        self.function.values[value].children.iter().map(|&child| self.slot(child)).collect()
    }

    fn rule(&mut self, rule: &Rule, place: Place) {
        match rule {
            Rule::Any => self.word(RuleCode::Any as u32),
            Rule::Symbol(symbol) => {
                let many = self.function.values[place.value()].dynamic;
                let code = if many { RuleCode::SymbolOfMany } else { RuleCode::Symbol };
                self.words(&[code as u32, symbol.index() as u32]);
                let name = self.function.symbols[*symbol].name;
                self.text(name);
            }
            Rule::Equal { term, text, .. } => {
                self.word(RuleCode::Equal as u32);
                self.text(text);
                self.term(term);
            }
            Rule::Solve { symbol, text, linear } => {
                self.words(&[RuleCode::Solve as u32, symbol.index() as u32]);
                let name = self.function.symbols[*symbol].name;
                self.text(name);
                self.text(text);
                self.linear(linear);
            }
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

/// A text that is too long to be quoted loses its end.
fn elide(text: &str) -> std::borrow::Cow<'_, str> {
    if text.len() <= MAX_QUOTED {
        return text.into();
    }
    let end = (0..=MAX_QUOTED - 3).rev().find(|&at| text.is_char_boundary(at)).unwrap_or(0);
    format!("{}...", &text[..end]).into()
}
