//! Knowledge of symbols: which of them the checks so far have bound.

use super::ids::{SymbolId, Table, ValueId};

/// State of every symbol.
pub(super) type Knowledge = Table<SymbolId, Known>;

/// State of a symbol after the occurrences so far.
#[derive(Clone, Debug, PartialEq, Eq)]
pub(super) enum Known {
    Unknown,
    /// A stride binds it and nothing else does. Strides are compared where the tensor has them and the extent is above
    /// 1. If none is compared, [`BindCompact`](super::step::Step::BindCompact) binds it.
    Maybe,
    /// Occurrences in values that may be absent bind it, first in parameter `param`. Each of `values` is optional and
    /// determines it where it is there.
    Within {
        param: usize,
        values: Vec<ValueId>,
    },
    /// Every call binds it.
    Always,
    /// Types of unions bind it, each for itself, and nothing else does. Arms of a `match` know it.
    Arms,
}
