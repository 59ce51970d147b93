//! Functions: blocks, values, and the translation table from host IR to C. `instruction` translates each instruction.
//!
//! A value becomes an expression where it is used once, and a variable otherwise. Block parameters are variables, which
//! jumps assign.

use std::collections::{BTreeMap, HashSet};

use codegen::ir::{self, Block, Inst, Placed, Target, Terminator, Value};

use crate::body::{Body, Functions};
use crate::data::comment;
use crate::debug::Places;
use crate::expression::Expression;
use crate::names::{Taken, identifier};
use crate::prelude::Helper;
use crate::prototype::prototype;
use crate::share::share;
use crate::statement::{Printer, Statement, Topics};
use crate::structure::Structure;
use crate::symbols::heat;
use crate::tidy::{nest, tidy};
use crate::uses::{Place, Uses, Weight, has_effect};
use crate::variables::declare;

/// The largest number of characters of an expression that is written where it is used.
const LONGEST: usize = 80;

/// The same for a field that is written in several places.
const LONGEST_FIELD: usize = 32;

/// The same for what a function returns.
const LONGEST_RESULT: usize = 100;

/// Writes a function. Returns what its lines are for.
pub(crate) fn define(
    functions: &mut Functions<'_>,
    source: &ir::Function,
    uses: Uses,
    text: &mut String,
) -> Topics {
    let headers = functions.symbols.headers;
    let outer = Some(&functions.symbols.taken);
    let mut taken = Taken { headers, outer, ..Taken::default() };
    let names = source.value_names();
    let mut names: Vec<String> = names.iter().map(|name| identifier(name, &mut taken)).collect();
    share(source, &uses, &mut names);
    let mut labels = Taken { headers, ..Taken::default() };
    let labels: Vec<String> =
        source.blocks().map(|(block, _)| identifier(&source.label(block), &mut labels)).collect();
    let has_places = source.location().is_some();
    let located = functions.listed || has_places;
    let body = Body {
        functions,
        source,
        located,
        has_places,
        names,
        taken,
        uses,
        structure: Structure::new(source),
        values: vec![None; source.values.len()],
        weights: vec![Weight::Pure; source.values.len()],
        locals: BTreeMap::new(),
        declared: HashSet::new(),
        topic: ir::TopicId::default(),
        begun: HashSet::new(),
        slots: Vec::new(),
        lines: Vec::new(),
        overflowed: None,
    };
    body.write(&labels, text)
}

/// A block that is to be written.
struct Next {
    block: Block,
    /// True if it stands behind its label.
    labelled: bool,
}

impl Body<'_, '_> {
    fn write(mut self, labels: &[String], text: &mut String) -> Topics {
        let params = self.parameters();
        let entry = std::mem::take(&mut self.lines);
        let Some((first, _)) = self.source.blocks().next() else { return Topics::new() };
        let list = tidy(nest(self.blocks(first, false)));
        let name = &self.functions.symbols.names[self.source.symbol.index()];
        let signature = &self.source.signature;
        let pointees = &self.functions.symbols.pointees[self.source.symbol.index()];
        let listed = self.functions.listed;
        let prelude = &mut self.functions.prelude;
        let head = prototype(name, signature, &params, pointees, prelude);
        let start = self.functions.symbols.attributes(self.source, heat(self.source), prelude);
        text.push('\n');
        if !self.source.about.is_empty() {
            text.push_str(&format!("/* {} */\n", comment(&self.source.about)));
        }
        let places = if listed { None } else { Places::new(self.functions.source, self.source) };
        let is_located = places.is_some();
        let mut head = format!("{start}{head}\n{{\n");
        self.slots.iter().for_each(|slot| head.push_str(&format!("    {slot}\n")));
        if !self.locals.is_empty() {
            declare(&self.locals, &mut head);
        }
        if !self.slots.is_empty() || !self.locals.is_empty() {
            head.push('\n');
        }
        if has_unlikely(&list) {
            self.functions.prelude.name(Helper::Unlikely);
        }
        let mut printer = Printer { labels, text, topics: Topics::new(), places };
        head.lines().for_each(|line| printer.line(0, line));
        printer.list(&entry, 1);
        printer.list(&list, 1);
        printer.line(0, "}");
        let topics = printer.topics;
        if is_located {
            Places::end(text);
        }
        topics
    }

    /// Writes blocks from `first` on, all that it dominates. `in_loop` says that it is the head of the loop around
    /// them.
    fn blocks(&mut self, first: Block, in_loop: bool) -> Vec<Statement> {
        let mut list = Vec::new();
        let mut next = vec![Next { block: first, labelled: false }];
        let mut is_head = in_loop;
        while let Some(Next { block, labelled }) = next.pop() {
            let behind = |block| Next { block, labelled: true };
            if labelled && !self.is_end(block) {
                list.push(Statement::Label(block));
            } else if labelled {
                continue;
            }
            if self.structure.is_head(block) && !std::mem::take(&mut is_head) {
                if !labelled {
                    list.push(Statement::Label(block));
                }
                next.extend(self.structure.after(block).rev().map(behind));
                let body = self.blocks(block, true);
                list.push(Statement::Loop { head: block, body });
                continue;
            }
            next.extend(self.structure.inside(block).rev().map(behind));
            let inline = self.block(block, &mut list);
            next.extend(inline.map(|block| Next { block, labelled: false }));
        }
        list
    }

    /// Writes a block; returns the block that follows at once.
    fn block(&mut self, block: Block, list: &mut Vec<Statement>) -> Option<Block> {
        let source = self.source;
        let data = &source.blocks[block.index()];
        if block.index() > 0 {
            for &param in &data.params {
                if self.uses.is_needed(param) {
                    self.declare(param);
                }
            }
        }
        for (at, Placed { result, inst, topic }) in data.insts.iter().enumerate() {
            self.begin(*topic);
            self.instruction(Place { block, at }, *result, inst, *topic);
        }
        list.append(&mut self.lines);
        data.end.as_ref().and_then(|end| self.terminator(block, end, list))
    }

    /// Writes a comment before the first instruction that is for a value.
    fn begin(&mut self, topic: ir::TopicId) {
        if std::mem::replace(&mut self.topic, topic) == topic {
            return;
        }
        if let Some(name) = self.source.topics[topic.index()].hint.name
            && self.begun.insert(name)
        {
            self.line(format!("/* {} */", comment(&self.source.names[name as usize])));
        }
    }

    /// Writes an instruction, unless its result is not needed or written elsewhere.
    fn instruction(
        &mut self,
        place: Place,
        result: Option<Value>,
        inst: &Inst,
        topic: ir::TopicId,
    ) {
        let is_needed = |value: &Value| self.uses.is_needed(*value);
        if !has_effect(inst) && !result.as_ref().is_some_and(is_needed) {
            return;
        }
        let result = result.filter(is_needed);
        let Some(expression) = self.inst(inst, result) else { return };
        let expression = self.located(expression, topic);
        let Some(result) = result else {
            self.lines.push(Statement::Evaluate(expression));
            return;
        };
        let mut weight = Weight::of(inst);
        inst.operands(|value| weight = weight.max(self.weights[value.index()]));
        // A call has a line of its own where lines have places.
        let has_place = self.has_places && has_effect(inst);
        let is_folded = !has_place && self.uses.is_folded(self.source, result, place, weight);
        let is_constant =
            matches!(inst, Inst::Const { .. } | Inst::Address { .. } | Inst::StackSlot { .. });
        let longest = match () {
            () if self.is_returned(place.block, result) => LONGEST_RESULT,
            () if self.uses.is_shared(result) => LONGEST_FIELD,
            () => LONGEST,
        };
        if is_folded && (is_constant || expression.text.len() <= longest) {
            self.weights[result.index()] = weight;
            self.values[result.index()] = Some(expression);
        } else {
            self.declare(result);
            let line = self.assignment(result, &self.names[result.index()], &expression);
            self.lines.push(line);
        }
    }

    /// Notes the topic of an expression, for a listing.
    fn located(&self, expression: Expression, topic: ir::TopicId) -> Expression {
        if self.located { expression.about(topic) } else { expression }
    }

    fn is_returned(&self, block: Block, value: Value) -> bool {
        let end = &self.source.blocks[block.index()].end;
        matches!(end, Some(Terminator::Return(Some(result))) if *result == value)
    }

    /// Writes an instruction; returns its result.
    fn inst(&mut self, inst: &Inst, result: Option<Value>) -> Option<Expression> {
        match inst {
            Inst::Const { ty, bits } => Some(self.constant(*ty, *bits)),
            Inst::Address { symbol, offset } => Some(self.address(*symbol, *offset)),
            Inst::StackSlot { size, align } => {
                let name = self.names[result?.index()].clone();
                Some(self.stack_slot(*size, *align, &name))
            }
            Inst::Load { ty, base, offset, align } => Some(self.load(*ty, *base, *offset, *align)),
            Inst::Store { value, base, offset, align } => {
                self.store(*value, *base, *offset, *align)
            }
            Inst::AtomicLoad { ty, base, offset } => Some(self.atomic_load(*ty, *base, *offset)),
            Inst::AtomicStore { value, base, offset } => self.atomic_store(*value, *base, *offset),
            Inst::CompareExchange { base, expected, new } => {
                Some(self.compare_exchange(*base, *expected, *new))
            }
            Inst::PtrAdd { base, offset } => Some(self.ptr_add(*base, *offset)),
            Inst::Binary { op, lhs, rhs } => Some(self.binary(*op, *lhs, *rhs)),
            Inst::Checked { op, lhs, rhs } => self.checked(*op, *lhs, *rhs, result?),
            Inst::Overflowed { .. } => self.overflowed.take(),
            Inst::Compare { cond, lhs, rhs } => Some(self.compare(*cond, *lhs, *rhs)),
            Inst::Select { cond, then, otherwise } => Some(self.select(*cond, *then, *otherwise)),
            Inst::Convert { op, value, to } => Some(self.convert(*op, *value, *to)),
            Inst::Call { callee, args } => Some(self.call(*callee, args, result)),
            Inst::CallIndirect { signature, callee, args } => {
                Some(self.call_indirect(signature, *callee, args))
            }
        }
    }

    /// Writes a terminator; returns the block that follows at once.
    fn terminator(
        &mut self,
        from: Block,
        end: &Terminator,
        list: &mut Vec<Statement>,
    ) -> Option<Block> {
        match end {
            Terminator::Jump(target) => self.jump(from, target, list),
            Terminator::Branch { cond, then, otherwise } => {
                self.branch(from, *cond, [then, otherwise], list)
            }
            Terminator::Return(value) => {
                list.push(self.leave(*value));
                None
            }
        }
    }

    fn jump(&mut self, from: Block, target: &Target, list: &mut Vec<Statement>) -> Option<Block> {
        if self.is_end(target.block) {
            list.push(self.end(target));
            return None;
        }
        self.edge(target);
        list.append(&mut self.lines);
        if self.structure.is_inline(from, target.block) {
            return Some(target.block);
        }
        list.push(Statement::Goto(target.block));
        None
    }

    /// Writes one target of a branch as an `if`: a jump, or else the colder or smaller one. The other follows.
    fn branch(
        &mut self,
        from: Block,
        cond: Value,
        targets: [&Target; 2],
        list: &mut Vec<Statement>,
    ) -> Option<Block> {
        let is_cold = targets.map(|target| self.source.blocks[target.block.index()].cold);
        let weight = |target: &Target, cold: bool| {
            let is_inline = self.structure.is_inline(from, target.block);
            let size = self.structure.sizes[target.block.index()];
            (is_inline && !self.is_end(target.block), !cold, size)
        };
        let [then, otherwise] = [0, 1].map(|i| weight(targets[i], is_cold[i]));
        let first = usize::from(otherwise < then);
        let topic = self.source.blocks[from.index()].end_topic;
        let mut condition = self.located(self.value(cond), topic);
        if first == 1 {
            condition = condition.negated();
        }
        let unlikely = is_cold[first] && !is_cold[1 - first];
        let mut then = Vec::new();
        if let Some(inline) = self.jump(from, targets[first], &mut then) {
            then.append(&mut self.blocks(inline, false));
        }
        list.push(Statement::If { condition, unlikely, then, otherwise: Vec::new() });
        self.jump(from, targets[1 - first], list)
    }

    /// Returns true if a block only returns a constant, a parameter or nothing: jumps to it return.
    fn is_end(&self, block: Block) -> bool {
        let data = &self.source.blocks[block.index()];
        let is_constant = |inst: &Inst| matches!(inst, Inst::Const { .. });
        block.index() > 0
            && matches!(data.end, Some(Terminator::Return(_)))
            && data.insts.iter().all(|placed| is_constant(&placed.inst))
    }

    /// Returns the statement of a block that only returns.
    fn end(&mut self, target: &Target) -> Statement {
        let source = self.source;
        let data = &source.blocks[target.block.index()];
        for Placed { result, inst, .. } in &data.insts {
            if let (Some(result), Some(value)) = (*result, self.inst(inst, *result)) {
                self.values[result.index()] = Some(value);
            }
        }
        let Some(Terminator::Return(value)) = data.end else {
            unreachable!("the caller has seen a return");
        };
        let passed = |value: Value| {
            let place = data.params.iter().position(|&param| param == value);
            place.map_or(value, |place| target.args[place])
        };
        self.leave(value.map(passed))
    }

    /// Returns a `return`.
    fn leave(&mut self, value: Option<Value>) -> Statement {
        let result = value.zip(self.source.signature.result);
        Statement::Return(result.map(|(value, abi)| self.sent(value, abi)))
    }
}

fn has_unlikely(list: &[Statement]) -> bool {
    list.iter().any(|statement| match statement {
        Statement::If { unlikely, then, otherwise, .. } => {
            *unlikely || has_unlikely(then) || has_unlikely(otherwise)
        }
        Statement::Loop { body, .. } => has_unlikely(body),
        Statement::Line(_)
        | Statement::Assign { .. }
        | Statement::Evaluate(_)
        | Statement::Label(_)
        | Statement::Goto(_)
        | Statement::Break
        | Statement::Continue
        | Statement::Return(_) => false,
    })
}
