//! Sequences: a loop over the elements. The checks of an element are those of an argument.

use abi_spec::layout::{ANY, OBJECT, seq_cell};

use crate::declaration::ParamType;
use crate::ir::{Binary, Cond, Hint, Type, Value};
use crate::lower::emitter::state::SymbolState;
use crate::lower::failure::Turn;
use crate::lower::prologue::scope::require_nothing;
use crate::lower::wrapper::Wrapper;
use crate::resolve::ids::{SymbolId, ValueId};
use crate::resolve::step::Step;

/// A loop over the elements.
struct Elements<'a> {
    /// The sequence.
    value: ValueId,
    steps: &'a [Step<'a>],
    /// Address of the first element.
    start: Value,
    /// Address after the last element.
    end: Value,
    /// Symbols that an element may bind; later elements are compared with them.
    symbols: Vec<SymbolId>,
}

impl<'a> Wrapper<'a, '_> {
    /// Emits the checks of the elements of a sequence, or of the entries of a mapping.
    pub(crate) fn each(&mut self, value: ValueId, steps: &'a [Step<'a>]) {
        let values = &self.function.values;
        if require_nothing(values, steps) {
            return;
        }
        if let ParamType::Mapping(..) = values[value].ty {
            return self.mapping(value, steps);
        }
        let (start, end) = self.elements_of(value);
        let symbols = self.unbound_in(steps);
        let outside = self.mark_where_there(value);
        let elements = Elements { value, steps, start, end, symbols };
        let states = self.elements(&elements);
        self.go_back(outside);
        self.set_symbols(&elements.symbols, &states);
    }

    /// Returns start and end of the elements of a sequence; they are equal if the sequence is absent.
    fn elements_of(&mut self, value: ValueId) -> (Value, Value) {
        let sequence = self.values[value].word();
        let sequence = self.readable(value, sequence, OBJECT.size as usize + 16);
        let size = self.b.load(Type::I64, sequence, seq_cell::SIZE.in_object());
        let hint = self.hint(value, "size", None);
        self.b.hint(size, hint);
        let first = self.b.load(Type::Ptr, sequence, seq_cell::DATA.in_object());
        let hint = self.hint(value, "elements", None);
        self.b.hint(first, hint);
        let bytes = self.b.binary_const(Binary::Shl, size, ANY.size.trailing_zeros().into());
        let end = self.b.ptr_add(first, bytes);
        let hint = self.hint(value, "end", None);
        (first, self.b.hint(end, hint))
    }

    /// Emits the loop; returns the states of the symbols after it.
    fn elements(&mut self, elements: &Elements<'a>) -> Vec<SymbolState> {
        let Elements { value, steps, start, end, ref symbols } = *elements;
        let [head, body, done] = ["elements", "element", "next"].map(|label| self.b.block(label));
        let at = self.b.block_param(head, Type::Ptr, Hint::default());
        let states = self.carried_to(head, symbols);
        let first: Vec<Value> = [start].into_iter().chain(self.carry(symbols)).collect();
        self.b.jump(head, &first);
        self.b.switch_to(head);
        let more = self.b.compare(Cond::Ult, at, end);
        self.b.branch(more, body, done);
        self.b.switch_to(body);
        self.set_symbols(symbols, &states);
        for element in self.function.values[value].children.clone() {
            self.addresses[element] = Some(at);
        }
        self.in_loop(Turn::At { start, at }, |w| w.check_steps(steps));
        let next = self.b.ptr_offset(at, ANY.size.into());
        let next: Vec<Value> = [next].into_iter().chain(self.carry(symbols)).collect();
        self.b.jump(head, &next);
        self.b.switch_to(done);
        states
    }
}
