//! Prints bodies: an action on each line, what it receives and its blocks below.

use super::lines::Lines;
use super::term::{quoted, word};
use super::{Printer, map};
use crate::declaration::reserved::{is_symbol, spelled_label};
use crate::resolve::body::{
    Action, Body, Branch, Callee, Entry, Kernel, KernelCall, KernelResult, Match, Packed,
    PackedCall, Piece, Plain, Prepare, Received, Returned, Statement,
};
use crate::resolve::c_type::CType;
use crate::resolve::step::Topic;

impl<'a> Printer<'_, 'a> {
    pub(super) fn body(&self, lines: &mut Lines) {
        match &self.0.body {
            Body::Call { call, look_ups, result } => {
                for &found in look_ups {
                    lines.line(self.look_up(found));
                }
                let received = result.as_ref();
                lines.about(self.topic(Topic::BODY), |lines| {
                    lines.nested(self.kernel_call(call), |lines| self.checks(lines, received));
                });
            }
            Body::Block(statements) => self.block(lines, statements),
            Body::Prepare(prepare) => self.prepare(lines, prepare),
        }
    }

    fn block(&self, lines: &mut Lines, statements: &[Statement<'_>]) {
        for statement in statements {
            lines.about(self.topic(statement.topic()), |lines| self.statement(lines, statement));
        }
    }

    fn prepare(&self, lines: &mut Lines, prepare: &Prepare<'_>) {
        let device = self.value(prepare.device);
        lines.nested(format!("prepare device {device}"), |lines| {
            prepare.launches.iter().for_each(|launch| self.loaded(lines, launch));
            let attributes = prepare.attributes.iter();
            attributes.for_each(|attribute| lines.line(format!("attribute {attribute}")));
            if prepare.commands {
                lines.line("commands");
            }
            let callees = prepare.callees.iter();
            callees.for_each(|name| lines.line(format!("look up @{}", quoted(name))));
        });
    }

    fn statement(&self, lines: &mut Lines, statement: &Statement<'_>) {
        if let Some(location) = statement.location {
            lines.line(location);
        }
        let look_ups = statement.look_ups.iter();
        look_ups.for_each(|&found| lines.line(self.look_up(found)));
        match &statement.action {
            // Its look-ups are all that it does.
            Action::Name => {}
            Action::Let { local, term } => {
                lines.line(format!("let {} = {}", self.local(*local), self.term(term)));
            }
            Action::Make { closure, value } => {
                lines.line(format!("let {} = closure {closure}", self.value(*value)));
            }
            Action::Kernel { call, result } => self.kernel(lines, call, result),
            Action::Call { call, keys, result } => {
                let mut call = self.packed_call(call);
                if !keys.is_empty() {
                    call = format!("cached ({}) {call}", self.terms(keys));
                }
                self.receiving(lines, call, result.as_ref());
            }
            Action::Allocate(output) => lines.line(format!("allocate {}", self.output(*output))),
            Action::TensorMap { map: id, made, unsure } => {
                lines.nested(format!("let {} = {}", map(*id), made.declared), |lines| {
                    self.tensor_map(lines, made);
                    self.unsure(lines, unsure);
                });
            }
            Action::Launch(launch) => self.launch(lines, launch),
            Action::Command(command) => self.command(lines, command),
            Action::If { branches, otherwise } => self.branches(lines, branches, otherwise),
            Action::For { counter, start, end, body } => {
                let [start, end] = [start, end].map(|end| self.term(end));
                let heading = format!("for {} in {start}..{end}", self.local(*counter));
                lines.nested(heading, |lines| self.block(lines, body));
            }
            Action::Match(choice) => self.choice(lines, choice),
            Action::Return(returned) => self.returned(lines, returned),
            Action::Raise { kind, message } => {
                let pieces = message.iter().map(|piece| match piece {
                    Piece::Text(text) => quoted(text),
                    Piece::Term(term) => self.term(term),
                });
                lines.line(format!("raise {kind} {}", pieces.collect::<Vec<_>>().join(", ")));
            }
        }
    }

    fn branches(&self, lines: &mut Lines, branches: &[Branch<'_>], otherwise: &[Statement<'_>]) {
        for (number, Branch { look_ups, condition, body }) in branches.iter().enumerate() {
            look_ups.iter().for_each(|&found| lines.line(format!("else {}", self.look_up(found))));
            let word = if number == 0 { "if" } else { "else if" };
            let heading = format!("{word} {}", self.term(condition));
            lines.nested(heading, |lines| self.block(lines, body));
        }
        if !otherwise.is_empty() {
            lines.nested("else", |lines| self.block(lines, otherwise));
        }
    }

    fn choice(&self, lines: &mut Lines, choice: &Match<'_>) {
        let changed = if choice.changed { ", changed: checked again" } else { "" };
        lines.nested(format!("match {}{changed}", self.value(choice.value)), |lines| {
            for arm in &choice.arms {
                let heading = match &arm.value {
                    _ if arm.is_none => "None".to_owned(),
                    Some((value, _)) => {
                        format!("{}: {}", self.value(*value), self.0.values[*value].ty)
                    }
                    None => "_".to_owned(),
                };
                lines.nested(heading, |lines| {
                    if let Some((_, steps)) = &arm.value {
                        lines.nested("passed", |lines| self.steps(lines, steps));
                    }
                    self.block(lines, &arm.body);
                });
            }
        });
    }

    fn returned(&self, lines: &mut Lines, returned: &Returned<'_>) {
        match returned {
            Returned::None => lines.line("return None"),
            Returned::Outputs => {
                let names: Vec<String> =
                    self.0.results().map(|(output, _)| self.output(output)).collect();
                lines.line(format!("return {}", names.join(", ")));
            }
            Returned::Scalar(term, scalar) => {
                lines.line(format!("return {}: {scalar}", self.term(term)));
            }
            Returned::Packed(packed, received) => {
                let returned = format!("return {}", self.packed(packed));
                lines.nested(returned, |lines| self.checks(lines, received.as_ref()));
            }
        }
    }

    fn kernel(&self, lines: &mut Lines, call: &KernelCall<'_>, result: &KernelResult<'_>) {
        let call = self.kernel_call(call);
        match result {
            KernelResult::None => lines.line(call),
            KernelResult::Scalar(value) => {
                lines.line(format!("let {} = {call}", self.value(*value)));
            }
            KernelResult::Written(received) => self.receiving(lines, call, Some(received)),
        }
    }

    /// Prints a call, which names its result if there is one, and the checks of the result.
    fn receiving(&self, lines: &mut Lines, call: String, received: Option<&Received<'_>>) {
        let name = received.map(|received| format!("let {} = ", self.value(received.value)));
        lines.nested(name.unwrap_or_default() + &call, |lines| self.checks(lines, received));
    }

    fn checks(&self, lines: &mut Lines, received: Option<&Received<'_>>) {
        received.into_iter().for_each(|received| self.steps(lines, &received.steps));
    }

    fn kernel_call(&self, call: &KernelCall<'_>) -> String {
        let verb = if call.status.is_some() { "try" } else { "call" };
        let callee = match &call.callee {
            Kernel::Symbol(symbol) if is_symbol(symbol) => (*symbol).to_owned(),
            Kernel::Symbol(symbol) => quoted(symbol),
            Kernel::Address(address) => format!("({})", self.term(&address.term)),
        };
        let args: Vec<String> = call.args.iter().map(|arg| self.argument(arg)).collect();
        let params: Vec<String> = call.prototype.params.iter().map(|ty| ty.spelling()).collect();
        let result = call.prototype.result.map_or("void".to_owned(), CType::spelling);
        let (args, params) = (args.join(", "), params.join(", "));
        let errors: Vec<String> =
            call.status.iter().flat_map(|errors| errors.iter().map(ToString::to_string)).collect();
        let errors = match errors.is_empty() {
            true => String::new(),
            false => format!(", errors {}", errors.join(", ")),
        };
        let asked = call.inquiry.map_or(String::new(), |name| format!(", then @{}", quoted(name)));
        format!("{verb} {callee}({args}) as {result}({params}){errors}{asked}")
    }

    fn packed_call(&self, call: &PackedCall<'_>) -> String {
        let callee = match call.callee {
            Callee::Symbol { name, entry: Some(Entry { into, checked }) } => {
                let checked = if checked { "checked " } else { "" };
                format!("{checked}own @{}{}", spelled_label(name), if into { " into" } else { "" })
            }
            Callee::Symbol { name, entry: None } => format!("@{}", spelled_label(name)),
            Callee::Name(name) => format!("@{}", quoted(name)),
            Callee::Value(value) => format!("@({})", self.value(value)),
        };
        format!("call {callee}({})", self.all_packed(&call.args))
    }

    fn all_packed(&self, all: &[Packed<'_>]) -> String {
        all.iter().map(|packed| self.packed(packed)).collect::<Vec<_>>().join(", ")
    }

    fn packed(&self, packed: &Packed<'_>) -> String {
        match packed {
            Packed::Plain(plain) => self.plain(plain),
            Packed::Array(entries) => format!("array[{}]", self.all_packed(entries)),
            Packed::Function(index) => format!("closure {index}"),
            Packed::Shape(numbers) => format!("shape({})", self.terms(numbers)),
        }
    }

    /// Returns a value of the FFI: a term with its kind, or the name of what exists already.
    pub(super) fn plain(&self, plain: &Plain<'_>) -> String {
        match plain {
            Plain::None => "None".to_owned(),
            Plain::Term(term) => format!("{}: {}", self.term(term), word(term.kind)),
            Plain::Text(text) => quoted(text),
            Plain::Value(value) => self.value(*value),
            Plain::Output(output) => self.output(*output),
        }
    }

    /// Returns what the body receives from code outside, in order.
    pub(super) fn received(&self) -> Vec<&Received<'a>> {
        if let Body::Call { result, .. } = &self.0.body {
            return result.iter().collect();
        }
        self.0.own_statements().into_iter().filter_map(Statement::received).collect()
    }
}
