//! Omission of checks whose conditions callers guarantee.
//!
//! Checks are removed from the steps, so that neither the wrapper nor its records contain them. A check stays if it
//! makes a load safe (types, ranks, dtypes, NULL pointers, signs of extents), binds a symbol, or tells the alternatives
//! of a union apart.

use std::borrow::Cow;

use crate::resolve::function::Function;
use crate::resolve::ids::{SymbolId, Table, ValueId};
use crate::resolve::step::{Place, Rule, Step};
use crate::resolve::value::Value;
use crate::trace::explain;

/// Groups of checks of tensors and shapes that a library omits. A call that would pass the checks behaves the same
/// without them; the effect of any other call depends on the kernel.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, Hash)]
pub struct Unchecked {
    /// Comparisons of extents, numbers of shapes and integer parameters with symbols and expressions.
    pub shape: bool,
    /// Comparisons of strides.
    pub strides: bool,
    /// Types of devices, and equality of devices.
    pub device: bool,
    /// Alignment of the address of the first element.
    pub alignment: bool,
}

impl Unchecked {
    /// Omits no check.
    pub const NONE: Unchecked =
        Unchecked { shape: false, strides: false, device: false, alignment: false };

    /// Returns the function without the checks of these groups.
    pub(crate) fn apply<'r, 'a>(self, function: &'r Function<'a>) -> Cow<'r, Function<'a>> {
        if self == Unchecked::NONE {
            return Cow::Borrowed(function);
        }
        let name = &function.declared.signature.name;
        explain!("{name}: checks are left out: {self:?}");
        let mut function = function.clone();
        let mut known = Table::like(&function.symbols, false);
        self.steps(&function.values, &mut function.steps, &mut known);
        Cow::Owned(function)
    }

    fn steps(
        self,
        all: &Table<ValueId, Value<'_>>,
        steps: &mut Vec<Step<'_>>,
        known: &mut Table<SymbolId, bool>,
    ) {
        let compares_strides =
            |step: &Step<'_>| matches!(step, Step::Compact { .. } | Step::Folded { .. });
        steps.retain(|step| !(self.strides && compares_strides(step)));
        for step in steps {
            if let Step::Header { device, .. } = step {
                *device &= !self.device;
            } else if let Step::Occurrence { place, rule } = step {
                self.occurrence(all, *place, rule, known);
            } else if let Step::Data { align, .. } = step
                && self.alignment
            {
                *align = 1;
            } else if let Step::Each { steps, .. } = step {
                self.steps(all, steps, known);
            }
        }
    }

    /// Removes the check of an occurrence if its group is omitted. `known` is true for symbols that earlier steps bind
    /// in every call.
    fn occurrence(
        self,
        all: &Table<ValueId, Value<'_>>,
        place: Place,
        rule: &mut Rule,
        known: &mut Table<SymbolId, bool>,
    ) {
        let group = match place {
            Place::Stride { .. } => self.strides,
            Place::Value { .. } | Place::Extent { .. } | Place::Number { .. } => self.shape,
        };
        let symbol = match rule {
            Rule::Any => return,
            Rule::Equal { .. } => None,
            Rule::Symbol(symbol) | Rule::Solve { symbol, .. } => Some(*symbol),
        };
        if group && symbol.is_none_or(|symbol| known[symbol]) {
            explain!("{} is not compared: its group is unchecked", place.spelled(all));
            *rule = Rule::Any;
        }
        if let Some(symbol) = symbol
            && place.always_counts(all)
        {
            known[symbol] = true;
        }
    }
}
