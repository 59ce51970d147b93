//! Variables: parameters, the values that need one, and what jumps assign. Values of which one follows the other share one.

use std::collections::BTreeMap;

use codegen::ir::{Block, Function, Inst, Target, Terminator, Value};

use crate::expression::{Expression, Level};
use crate::function::Body;
use crate::names::identifier;
use crate::prelude::Prelude;
use crate::statement::Statement;
use crate::types::{self, ty};
use crate::uses::{Uses, has_effect};

/// The width of lines of declarations.
const WIDTH: usize = 100;

impl Body<'_, '_> {
    /// Returns the names of the parameters. Those of another type than variables are converted first.
    pub(crate) fn parameters(&mut self) -> Vec<String> {
        let entry = &self.source.blocks[0].params;
        let mut names = Vec::new();
        for (&param, &abi) in entry.iter().zip(&self.source.signature.params) {
            let name = self.names[param.index()].clone();
            self.values[param.index()] = Some(Expression::variable(param, &name));
            if types::is_plain(abi) {
                if !self.uses.is_needed(param) {
                    self.line(format!("(void){name};"));
                }
                names.push(name);
                continue;
            }
            let given = identifier(&format!("{name}_in"), &mut self.taken);
            let ty = ty(abi.ty);
            if self.uses.is_needed(param) {
                self.line(format!("{name} = ({ty}){given};"));
                self.local(ty.to_owned(), &name);
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
        let names = self.locals.entry(ty).or_default();
        if !names.iter().any(|known| known == name) {
            names.push(name.to_owned());
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

/// Gives one name to a parameter of a block and an argument for it, where nothing uses the argument from that block on.
pub(crate) fn share(function: &Function, uses: &Uses, names: &mut [String]) {
    if function.has_loop() {
        return;
    }
    let readers = readers(function);
    let mut members: Vec<Vec<Value>> = names.iter().map(|_| Vec::new()).collect();
    for (block, data) in function.blocks().skip(1) {
        let mut reached = None;
        for (i, &param) in
            data.params.iter().enumerate().filter(|(_, param)| uses.is_needed(**param))
        {
            let reached = reached.get_or_insert_with(|| reachable(function, block));
            let args = arguments(function, block, i);
            let fits = |&arg: &Value| {
                let [of, other] = [arg, param].map(|value| &function.values[value.index()]);
                let is_dead = |&value: &Value| is_dead(&readers, value, reached);
                let is_other = |value: &Value| !data.params.contains(value);
                (of.ty, of.points_to) == (other.ty, other.points_to)
                    && readers.is_variable[arg.index()]
                    && uses.is_shared(arg)
                    && [arg]
                        .iter()
                        .chain(&members[arg.index()])
                        .all(|value| is_dead(value) && is_other(value))
            };
            let Some(arg) = args.into_iter().find(fits) else { continue };
            let mut class = members[arg.index()].clone();
            class.push(arg);
            let name = [arg, param].map(|value| names[value.index()].clone());
            let [first, second] = name;
            let name = if second.len() < first.len() { second } else { first };
            for &value in &class {
                members[value.index()].push(param);
                names[value.index()].clone_from(&name);
            }
            members[param.index()] = class;
            names[param.index()] = name;
        }
    }
}

/// The uses of each value, for [`share`].
struct Readers {
    /// The blocks that use the value.
    blocks: Vec<Vec<usize>>,
    /// The results that may be written where they are used, and with them the value.
    results: Vec<Vec<Value>>,
    /// True for results and parameters of blocks that have a variable.
    is_variable: Vec<bool>,
}

fn readers(function: &Function) -> Readers {
    let count = function.values.len();
    let mut readers = Readers {
        blocks: vec![Vec::new(); count],
        results: vec![Vec::new(); count],
        is_variable: vec![true; count],
    };
    for param in &function.blocks[0].params {
        readers.is_variable[param.index()] = false;
    }
    for (block, data) in function.blocks() {
        for (result, inst) in &data.insts {
            inst.operands(|value| readers.blocks[value.index()].push(block.index()));
            let Some(result) = *result else { continue };
            if !has_effect(inst) {
                inst.operands(|value| readers.results[value.index()].push(result));
            }
            let has_none =
                matches!(inst, Inst::Const { .. } | Inst::Address { .. } | Inst::StackSlot { .. });
            readers.is_variable[result.index()] = !has_none;
        }
        let mut read = |value: Value| readers.blocks[value.index()].push(block.index());
        match &data.end {
            Some(Terminator::Branch { cond, .. }) => read(*cond),
            Some(Terminator::Return(Some(value))) => read(*value),
            Some(Terminator::Jump(_) | Terminator::Return(None)) | None => {}
        }
        let targets = data.end.iter().flat_map(Terminator::targets);
        targets.flat_map(|target| &target.args).for_each(|&value| read(value));
    }
    readers
}

/// Returns true if no block that is reached uses a value, or what may be written in terms of it.
fn is_dead(readers: &Readers, value: Value, reached: &[bool]) -> bool {
    let mut waiting = vec![value];
    while let Some(value) = waiting.pop() {
        if readers.blocks[value.index()].iter().any(|&block| reached[block]) {
            return false;
        }
        waiting.extend(&readers.results[value.index()]);
    }
    true
}

/// Returns for each block whether it runs after another one, itself included.
fn reachable(function: &Function, from: Block) -> Vec<bool> {
    let mut reached = vec![false; function.blocks.len()];
    let mut waiting = vec![from.index()];
    while let Some(block) = waiting.pop() {
        if !std::mem::replace(&mut reached[block], true) {
            let targets = function.blocks[block].end.iter().flat_map(Terminator::targets);
            waiting.extend(targets.map(|target| target.block.index()));
        }
    }
    reached
}

/// Returns the arguments for a parameter.
fn arguments(function: &Function, to: Block, index: usize) -> Vec<Value> {
    let ends = function.blocks.iter().flat_map(|block| &block.end);
    let targets = ends.flat_map(Terminator::targets).filter(|target| target.block == to);
    targets.map(|target| target.args[index]).collect()
}
