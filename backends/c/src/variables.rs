//! Variables: parameters, the values that need one, and what jumps assign.

use std::collections::BTreeMap;

use codegen::ir::{Target, Value};

use crate::body::Body;
use crate::expression::{Expression, Level};
use crate::names::identifier;
use crate::prelude::Prelude;
use crate::prototype::is_constant;
use crate::statement::Statement;
use crate::types::{self, ty};

/// The width of lines of declarations.
const WIDTH: usize = 100;

impl Body<'_, '_> {
    /// Returns the names of the parameters. Those of another type than variables are converted first.
    pub(crate) fn parameters(&mut self) -> Vec<String> {
        let entry = &self.source.blocks[0].params;
        let mut names = Vec::new();
        for (i, (&param, &abi)) in entry.iter().zip(&self.source.signature.params).enumerate() {
            let name = self.names[param.index()].clone();
            self.values[param.index()] = Some(Expression::variable(param, &name));
            let pointee = self.source.values[param.index()].points_to;
            let function = &self.functions.symbols.names[self.source.symbol.index()];
            let is_constant =
                pointee.is_some() && is_constant(function, i, &self.functions.prelude);
            if types::is_plain(abi) && !is_constant {
                if !self.uses.is_needed(param) {
                    self.line(format!("(void){name};"));
                }
                names.push(name);
                continue;
            }
            let given = identifier(&format!("{name}_in"), &mut self.taken);
            let ty = match pointee {
                Some(pointee) => self.functions.prelude.pointer(pointee),
                None => ty(abi.ty).to_owned(),
            };
            if self.uses.is_needed(param) {
                self.line(format!("{name} = ({ty}){given};"));
                self.local(ty, &name);
            } else {
                self.line(format!("(void){given};"));
            }
            names.push(given);
        }
        names
    }

    /// Returns an assignment to a variable of a value's type. C++ converts no `void *` by itself.
    pub(crate) fn assignment(
        &self,
        value: Value,
        name: &str,
        expression: &Expression,
    ) -> Statement {
        let value = match self.source.values[value.index()].points_to {
            Some(pointee) if expression.text != "0" => {
                let ty = Prelude::default().pointer(pointee);
                Expression::new(Level::Unary, format!("({ty}){}", expression.pointer()))
                    .reading([expression])
            }
            Some(_) | None => expression.clone(),
        };
        Statement::Assign { name: name.to_owned(), value }
    }

    /// Returns the type of a value's variable.
    pub(crate) fn variable_type(&mut self, value: Value) -> String {
        match self.source.values[value.index()].points_to {
            Some(pointee) => self.functions.prelude.pointer(pointee),
            None => ty(self.source.ty(value)).to_owned(),
        }
    }

    /// Makes a variable for a value.
    pub(crate) fn declare(&mut self, value: Value) {
        let name = self.names[value.index()].clone();
        self.values[value.index()] = Some(Expression::variable(value, &name));
        let ty = self.variable_type(value);
        self.local(ty, &name);
    }

    /// Declares a variable, unless another value has it too.
    pub(crate) fn local(&mut self, ty: String, name: &str) {
        if self.declared.insert(name.to_owned()) {
            self.locals.entry(ty).or_default().push(name.to_owned());
        }
    }

    /// Assigns the parameters of a block, all at once.
    pub(crate) fn edge(&mut self, target: &Target) {
        let source = self.source;
        let passed: Vec<(Value, Value)> = self.uses.passed(source, target).collect();
        let given: Vec<Expression> = passed.iter().map(|&(_, arg)| self.value(arg)).collect();
        let (mut early, mut late) = (Vec::new(), Vec::new());
        for (i, &(param, _)) in passed.iter().enumerate() {
            let name = self.names[param.index()].clone();
            if given[i].text == name {
                continue;
            }
            let reads = |other: &Expression| {
                other.reads.iter().any(|&value| self.names[value.index()] == name)
            };
            if given[i + 1..].iter().any(reads) {
                let next = identifier(&format!("{name}_next"), &mut self.taken);
                let ty = self.variable_type(param);
                self.local(ty, &next);
                early.push(self.assignment(param, &next, &given[i]));
                late.push(Statement::Line(format!("{name} = {next};")));
            } else {
                early.push(self.assignment(param, &name, &given[i]));
            }
        }
        self.lines.extend(early.into_iter().chain(late));
    }
}

/// Declares variables, several types in a line.
pub(crate) fn declare(locals: &BTreeMap<String, Vec<String>>, text: &mut String) {
    let mut start = text.len();
    for (ty, names) in locals {
        let pointer = ty.strip_suffix(" *");
        let star = if pointer.is_some() { "*" } else { "" };
        let mut before = "";
        for name in names {
            if text.len() - start + name.len() + ty.len() > WIDTH {
                text.push_str(if before == "," { ";\n" } else { "\n" });
                (start, before) = (text.len(), "");
            }
            let blank = if text.len() == start { "    " } else { " " };
            let of = if before == "," { "" } else { pointer.unwrap_or(ty) };
            let space = if before == "," { "" } else { " " };
            text.extend([before, blank, of, space, star, name]);
            before = ",";
        }
        text.push(';');
    }
    text.push('\n');
}
