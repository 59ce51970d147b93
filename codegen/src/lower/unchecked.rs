//! Leaving out checks that callers have made already.
//!
//! A check is left out of the steps, and so out of the wrapper and of the records of its failures. What stays: everything that makes a load legal (types, ranks, element types, pointers that are not NULL, signs of
//! extents), everything that determines a symbol, and what tells the types of a union apart.

use std::borrow::Cow;

use crate::resolve::function::Function;
use crate::resolve::ids::{SymbolId, Table, ValueId};
use crate::resolve::step::{Place, Rule, Step};
use crate::resolve::value::Value;

/// Groups of checks of tensors and shapes that a library does without. A call that would have passed them
/// does the same without them; one that would not is up to the kernel.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub struct Unchecked {
    /// Extents, numbers of shapes and integer parameters against what is known of them.
    pub shape: bool,
    /// Strides.
    pub strides: bool,
    /// Types of devices, and that tensors share a device.
    pub device: bool,
    /// Alignment of the first element.
    pub alignment: bool,
}

impl Unchecked {
    /// Everything is checked.
    pub const NONE: Unchecked =
        Unchecked { shape: false, strides: false, device: false, alignment: false };

    /// Leaves checks out.
    pub(crate) fn apply<'r, 'a>(self, function: &'r Function<'a>) -> Cow<'r, Function<'a>> {
        if self == Unchecked::NONE {
            return Cow::Borrowed(function);
        }
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
        steps.retain(|step| !(self.strides && matches!(step, Step::Compact { .. })));
        for step in steps {
            match step {
                Step::Header { device, .. } => *device &= !self.device,
                Step::Occurrence { place, rule } => self.occurrence(all, *place, rule, known),
                Step::Data { align, .. } if self.alignment => *align = 1,
                Step::Each { steps, .. } => self.steps(all, steps, known),
                Step::Scalar { .. }
                | Step::Value { .. }
                | Step::Compact { .. }
                | Step::Data { .. }
                | Step::BindCompact { .. }
                | Step::OneOf { .. }
                | Step::Require(_) => {}
            }
        }
    }

    /// `known` says which symbols an earlier step has determined in every call.
    fn occurrence(
        self,
        all: &Table<ValueId, Value<'_>>,
        place: Place,
        rule: &mut Rule,
        known: &mut Table<SymbolId, bool>,
    ) {
        let (group, is_stride) = match place {
            Place::Stride { .. } => (self.strides, true),
            Place::Value { .. } | Place::Extent { .. } | Place::Number { .. } => {
                (self.shape, false)
            }
        };
        let symbol = match rule {
            Rule::Any => return,
            Rule::Equal { .. } => None,
            Rule::Symbol(symbol) | Rule::Solve { symbol, .. } => Some(*symbol),
        };
        if group && symbol.is_none_or(|symbol| known[symbol]) {
            *rule = Rule::Any;
        }
        // A stride may not count, something optional may not be there, and a sequence may be empty.
        let value = place.value();
        let always = all[value].guard.is_none();
        if let Some(symbol) = symbol
            && !is_stride
            && always
            && !all[value].dynamic
        {
            known[symbol] = true;
        }
    }
}
