//! A function whose instructions are being written: what is known of its values, and its statements so far.

use std::collections::{BTreeMap, HashSet};

use codegen::ir::{self, Type, Value};

use crate::expression::Expression;
use crate::names::Taken;
use crate::prelude::Prelude;
use crate::statement::Statement;
use crate::structure::Structure;
use crate::symbols::Symbols;
use crate::uses::{Uses, Weight};

/// The state of a module's emission.
pub(crate) struct Functions<'a> {
    pub(crate) source: &'a ir::Module,
    pub(crate) symbols: &'a Symbols,
    pub(crate) prelude: Prelude,
    /// True if lines are noted with the topics of the host IR instead of places in a source.
    pub(crate) listed: bool,
}

/// A function whose instructions are being written.
pub(crate) struct Body<'f, 'a> {
    pub(crate) functions: &'f mut Functions<'a>,
    pub(crate) source: &'f ir::Function,
    /// True if expressions are noted with the topics of their instructions.
    pub(crate) located: bool,
    /// True if the function has a place in a source.
    pub(crate) has_places: bool,
    /// The name of each value's variable.
    pub(crate) names: Vec<String>,
    /// The names that are in use.
    pub(crate) taken: Taken<'a>,
    pub(crate) uses: Uses,
    pub(crate) structure: Structure,
    /// The expression of each value that is known.
    pub(crate) values: Vec<Option<Expression>>,
    /// The weight of each value's expression.
    pub(crate) weights: Vec<Weight>,
    /// The variables of each type.
    pub(crate) locals: BTreeMap<String, Vec<String>>,
    /// The names of all variables.
    pub(crate) declared: HashSet<String>,
    /// The topic of the last instruction.
    pub(crate) topic: ir::TopicId,
    /// The names of values whose first instruction is written.
    pub(crate) begun: HashSet<u32>,
    /// The declarations of stack slots.
    pub(crate) slots: Vec<String>,
    /// The statements of the current block.
    pub(crate) lines: Vec<Statement>,
    /// The flag of the checked arithmetic just before.
    pub(crate) overflowed: Option<Expression>,
}

impl Body<'_, '_> {
    /// Adds a line to the current block.
    pub(crate) fn line(&mut self, line: String) {
        self.lines.push(Statement::Line(line));
    }

    /// Returns the expression of a value.
    pub(crate) fn value(&self, value: Value) -> Expression {
        let known = self.values[value.index()].clone();
        known.unwrap_or_else(|| Expression::variable(value, &self.names[value.index()]))
    }

    /// Returns the type of a value.
    pub(crate) fn ty(&self, value: Value) -> Type {
        self.source.ty(value)
    }
}
