//! Sequences: a loop over the elements. The checks of an element are those of an argument.

use abi_spec::layout::{ANY, OBJECT, seq_cell};

use crate::declaration::ParamType;
use crate::ir::{Binary, Cond, Hint, Type, Value};
use crate::lower::checks::checker::Checker;
use crate::lower::checks::scope::{self, require_nothing};
use crate::lower::checks::{mapping, steps};
use crate::lower::emitter::state::SymbolState;
use crate::lower::failure::Turn;
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

/// Emits the checks of the elements of a sequence, or of the entries of a mapping.
pub(super) fn each<'a>(c: &mut Checker<'a, '_>, value: ValueId, steps: &'a [Step<'a>]) {
    let values = &c.e.function.values;
    if require_nothing(values, steps) {
        return;
    }
    if let ParamType::Mapping(..) = values[value].ty {
        return mapping::mapping(c, value, steps);
    }
    let (start, end) = elements_of(c, value);
    let symbols = scope::unbound_in(c, steps);
    let outside = c.e.mark_where_there(value);
    let elements = Elements { value, steps, start, end, symbols };
    let states = loop_over(c, &elements);
    c.e.known.go_back(outside);
    scope::set_symbols(c, &elements.symbols, &states);
}

/// Returns start and end of the elements of a sequence; they are equal if the sequence is absent.
fn elements_of(c: &mut Checker<'_, '_>, value: ValueId) -> (Value, Value) {
    let sequence = c.e.known.value(value).word();
    let sequence = c.e.readable(value, sequence, OBJECT.size as usize + 16);
    let size = c.e.b.load(Type::I64, sequence, seq_cell::SIZE.in_object());
    let hint = c.e.hint(value, "size", None);
    c.e.b.hint(size, hint);
    let first = c.e.b.load(Type::Ptr, sequence, seq_cell::DATA.in_object());
    let hint = c.e.hint(value, "elements", None);
    c.e.b.hint(first, hint);
    let bytes = c.e.b.binary_const(Binary::Shl, size, ANY.size.trailing_zeros().into());
    let end = c.e.b.ptr_add(first, bytes);
    let hint = c.e.hint(value, "end", None);
    (first, c.e.b.hint(end, hint))
}

/// Emits the loop; returns the states of the symbols after it.
fn loop_over<'a>(c: &mut Checker<'a, '_>, elements: &Elements<'a>) -> Vec<SymbolState> {
    let Elements { value, steps, start, end, ref symbols } = *elements;
    let [head, body, done] = ["elements", "element", "next"].map(|label| c.e.b.block(label));
    let at = c.e.b.block_param(head, Type::Ptr, Hint::default());
    let states = scope::carried_to(c, head, symbols);
    let first: Vec<Value> = [start].into_iter().chain(scope::carry(c, symbols)).collect();
    c.e.b.jump(head, &first);
    c.e.b.switch_to(head);
    let more = c.e.b.compare(Cond::Ult, at, end);
    c.e.b.branch(more, body, done);
    c.e.b.switch_to(body);
    scope::set_symbols(c, symbols, &states);
    for element in c.e.function.values[value].children.clone() {
        c.e.known.set_address(element, Some(at));
    }
    c.in_loop(Turn::At { start, at }, |c| steps::check_steps(c, steps));
    let next = c.e.b.ptr_offset(at, ANY.size.into());
    let next: Vec<Value> = [next].into_iter().chain(scope::carry(c, symbols)).collect();
    c.e.b.jump(head, &next);
    c.e.b.switch_to(done);
    states
}
