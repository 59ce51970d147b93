//! Launches of closures that are the same in every call, as far as they depend only on what the closure holds.

use super::{Launch, Packing, Param};
use crate::resolve::argument::Argument;
use crate::resolve::body::{Action, Statement};
use crate::resolve::captured::Captured;
use crate::resolve::function::Function;
use crate::resolve::ids::{Home, LocalId, OutputId, Table, ValueId};
use crate::resolve::term::{Node, Property, Term};
use crate::resolve::value::Source;

/// A launch of a closure whose extents, attributes and device depend only on what the closure holds.
pub(crate) struct HeldLaunch<'r, 'a> {
    pub(crate) statement: &'r Statement<'a>,
    pub(crate) launch: &'r Launch<'a>,
    /// True for each argument of the kernel that also does.
    pub(crate) params: Vec<bool>,
}

impl<'a> Function<'a> {
    /// Returns the launches of the body, without those of the functions that it makes, that are the same in every call.
    /// Launches that are always empty are left out.
    pub(crate) fn held_launches(&self) -> Vec<HeldLaunch<'_, 'a>> {
        if self.captured.is_empty() {
            return Vec::new();
        }
        let statements = self.own_statements();
        let holding = Holding::new(self, &statements);
        statements.into_iter().filter_map(|statement| holding.held(statement)).collect()
    }

    /// Returns the numbers that statements compute for what is the same in every call of a launch, in order.
    pub(crate) fn numbers_of(&self, held: &HeldLaunch<'_, 'a>) -> Vec<(LocalId, &Term)> {
        let HeldLaunch { launch, params, .. } = held;
        let mut wanted = Vec::new();
        let params = launch.params.iter().zip(params).filter(|(_, is_held)| **is_held);
        let packings = params.filter_map(|(param, _)| match param {
            Param::Packed(packing) => Some(packing),
            Param::Scratch(_) | Param::TensorMap(_) | Param::Map(_) | Param::Bytes(_) => None,
        });
        let attributes = launch.attributes.iter().map(|(_, value)| value);
        let packings = packings.chain(attributes).chain([&launch.extents]);
        for (_, argument) in packings.flat_map(|packing| &packing.parts) {
            if let Argument::Term(term, _) = argument {
                self.add_locals(term, &mut wanted);
            }
        }
        let mut numbers = Vec::new();
        for statement in self.own_statements().into_iter().rev() {
            if let Action::Let { local, term } = &statement.action
                && wanted.contains(local)
            {
                self.add_locals(term, &mut wanted);
                numbers.push((*local, term));
            }
        }
        numbers.reverse();
        numbers
    }

    /// Adds the numbers that a term names.
    fn add_locals(&self, term: &Term, to: &mut Vec<LocalId>) {
        term.any(&mut |node| {
            if let Node::Local(local) = node {
                to.push(*local);
            } else if let Node::Symbol(symbol) = node {
                to.extend(self.symbols[*symbol].local);
            }
            false
        });
    }

    /// Returns true for a captured value that is no part of another.
    fn holds_value(&self, value: ValueId) -> bool {
        matches!(self.values[value].source, Source::Captured(_))
    }

    /// Returns true for a tensor that the body outside has allocated.
    pub(crate) fn holds_output(&self, output: OutputId) -> bool {
        let mut captured = self.captured.iter();
        captured.any(|captured| matches!(captured, Captured::Output(one) if *one == output))
    }
}

/// Numbers that are the same in every call of a closure.
struct Holding<'r, 'a> {
    function: &'r Function<'a>,
    /// True for captured numbers, and for those that statements compute from what the function holds.
    locals: Table<LocalId, bool>,
}

impl<'r, 'a> Holding<'r, 'a> {
    /// Looks at the statements of a closure in their order: a number depends on those before it.
    fn new(function: &'r Function<'a>, statements: &[&Statement<'a>]) -> Self {
        let mut locals = Table::like(&function.locals, false);
        for (id, local) in function.locals.iter() {
            locals[id] = local.of.is_some_and(|value| function.holds_value(value));
        }
        for captured in &function.captured {
            if let Captured::Local(local) = captured {
                locals[*local] = true;
            }
        }
        let mut holding = Holding { function, locals };
        for statement in statements {
            if let Action::Let { local, term } = &statement.action
                && holding.holds_term(term)
            {
                holding.locals[*local] = true;
            }
        }
        holding
    }

    /// Returns the launch that a statement is, if it is held.
    fn held<'s>(&self, statement: &'s Statement<'a>) -> Option<HeldLaunch<'s, 'a>> {
        let launch = statement.launch().filter(|launch| self.holds_launch(launch))?;
        let params = launch.params.iter().map(|param| self.holds_param(param)).collect();
        Some(HeldLaunch { statement, launch, params })
    }

    /// Returns true if an argument of a kernel depends only on what the function holds.
    fn holds_param(&self, param: &Param<'_>) -> bool {
        match param {
            Param::Packed(packing) => self.holds_packing(packing),
            Param::Map(map) => {
                let mut captured = self.function.captured.iter();
                captured.any(|captured| matches!(captured, Captured::Map(one) if one == map))
            }
            Param::Scratch(_) | Param::TensorMap(_) | Param::Bytes(_) => false,
        }
    }

    fn holds_launch(&self, launch: &Launch<'_>) -> bool {
        !launch.is_empty()
            && self.holds_packing(&launch.extents)
            && launch.attributes.iter().all(|(_, value)| self.holds_packing(value))
            && launch.unsure.iter().all(|&value| self.function.holds_value(value))
            && self.holds_tensor(launch.device)
    }

    fn holds_packing(&self, packing: &Packing) -> bool {
        packing.parts.iter().all(|(_, argument)| match argument {
            Argument::Value(value) => self.function.holds_value(*value),
            Argument::Term(term, _) => self.holds_term(term),
            Argument::Text(_) => true,
        })
    }

    /// Returns true if a term has the same value in every call. The elements and the number of elements of a list may
    /// change.
    fn holds_term(&self, term: &Term) -> bool {
        !term.any(&mut |node| match node {
            Node::Symbol(symbol) => {
                !self.function.symbols[*symbol].local.is_some_and(|local| self.locals[local])
            }
            Node::Local(local) => !self.locals[*local],
            Node::Output(output) | Node::OutputData(output) | Node::OutputObject(output) => {
                !self.function.holds_output(*output)
            }
            Node::Property(_, Property::Length) | Node::Stream(_) | Node::OutputStream(_) => true,
            Node::CurrentDevice => true,
            Node::DeviceAttribute { home, .. } => !self.holds_tensor(*home),
            Node::Global(global) => !self.holds_tensor(global.home),
            Node::Value(value)
            | Node::Property(value, _)
            | Node::SameText(value, _)
            | Node::Number { of: value, .. } => !self.function.holds_value(*value),
            Node::Int(_)
            | Node::Float(_)
            | Node::Text(_)
            | Node::Null
            | Node::Unary(..)
            | Node::Binary(..)
            | Node::Exact(..)
            | Node::Mixed(..)
            | Node::Logic(..)
            | Node::Divide(..)
            | Node::Narrow(..)
            | Node::Round(..)
            | Node::Offset(..) => false,
        })
    }

    fn holds_tensor(&self, home: Home) -> bool {
        match home {
            Home::Value(value) => self.function.holds_value(value),
            Home::Output(output) => self.function.holds_output(output),
        }
    }
}
