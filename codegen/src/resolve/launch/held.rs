//! Launches of closures that are the same in every call, as far as they depend only on what the closure holds.

use super::{Launch, Packing, Param};
use crate::resolve::argument::Argument;
use crate::resolve::body::{Action, Statement};
use crate::resolve::captured::Captured;
use crate::resolve::function::Function;
use crate::resolve::ids::{Home, LocalId, OutputId, ValueId};
use crate::resolve::term::{Node, Property, Term};
use crate::resolve::value::Source;

impl<'a> Function<'a> {
    /// Returns the launches of the body, without those of the functions that it makes, whose extents, attributes and
    /// device depend only on what the function holds, with their statements. Launches that are always empty are left out.
    pub(crate) fn held_launches(&self) -> Vec<(&Statement<'a>, &Launch<'a>)> {
        if self.captured.is_empty() {
            return Vec::new();
        }
        let launches = self.own_statements().into_iter();
        let launches = launches.filter_map(|statement| Some((statement, statement.launch()?)));
        launches.filter(|(_, launch)| self.holds_launch(launch)).collect()
    }

    /// Returns the numbers that statements compute for what is the same in every call of a launch, in order.
    pub(crate) fn numbers_of(&self, launch: &Launch<'a>) -> Vec<(LocalId, &Term)> {
        let mut wanted = Vec::new();
        let params = launch.params.iter().filter(|param| self.holds_param(param));
        let packings = params.filter_map(|param| match param {
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

    /// Returns true if an argument of a kernel depends only on what the function holds.
    pub(crate) fn holds_param(&self, param: &Param<'_>) -> bool {
        match param {
            Param::Packed(packing) => self.holds_packing(packing),
            Param::Map(map) => {
                let mut captured = self.captured.iter();
                captured.any(|captured| matches!(captured, Captured::Map(one) if one == map))
            }
            Param::Scratch(_) | Param::TensorMap(_) | Param::Bytes(_) => false,
        }
    }

    fn holds_launch(&self, launch: &Launch<'_>) -> bool {
        !launch.is_empty()
            && self.holds_packing(&launch.extents)
            && launch.attributes.iter().all(|(_, value)| self.holds_packing(value))
            && launch.unsure.iter().all(|&value| self.holds_value(value))
            && self.holds_tensor(launch.device)
    }

    fn holds_packing(&self, packing: &Packing) -> bool {
        packing.parts.iter().all(|(_, argument)| match argument {
            Argument::Value(value) => self.holds_value(*value),
            Argument::Term(term, _) => self.holds_term(term),
            Argument::Text(_) => true,
        })
    }

    /// Returns true if a term has the same value in every call. The elements and the number of elements of a list may
    /// change.
    fn holds_term(&self, term: &Term) -> bool {
        !term.any(&mut |node| match node {
            Node::Symbol(symbol) => {
                !self.symbols[*symbol].local.is_some_and(|local| self.holds_local(local))
            }
            Node::Local(local) => !self.holds_local(*local),
            Node::Output(output) | Node::OutputData(output) | Node::OutputObject(output) => {
                !self.holds_output(*output)
            }
            Node::Property(_, Property::Length) | Node::Stream(_) | Node::OutputStream(_) => true,
            Node::CurrentDevice => true,
            Node::DeviceAttribute { home, .. } => !self.holds_tensor(*home),
            Node::Global(global) => !self.holds_tensor(global.home),
            Node::Value(value)
            | Node::Property(value, _)
            | Node::SameText(value, _)
            | Node::Number { of: value, .. } => !self.holds_value(*value),
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
            Home::Value(value) => self.holds_value(value),
            Home::Output(output) => self.holds_output(output),
        }
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

    /// Returns true for a captured number, and for one that a statement computes from what the function holds.
    fn holds_local(&self, local: LocalId) -> bool {
        let mut captured = self.captured.iter();
        if captured.any(|captured| matches!(captured, Captured::Local(one) if *one == local)) {
            return true;
        }
        if let Some(value) = self.locals[local].of {
            return self.holds_value(value);
        }
        let computes = |statement: &Statement<'_>| {
            let Action::Let { local: one, term } = &statement.action else { return false };
            *one == local && self.holds_term(term)
        };
        self.own_statements().into_iter().any(computes)
    }
}
