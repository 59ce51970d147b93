//! Resolves the statements of a program: names, scopes and types. Checks that every path ends with a result.

mod branch;
mod call;

use abi_spec::Scalar;

use super::argument::Argument;
use super::body::{Action, Piece, Returned, Statement};
use super::fits::check_int64;
use super::function::Closure;
use super::ids::Home;
use super::ids::{LocalId, ValueId};
use super::knowledge::Knowledge;
use super::named::Local;
use super::names::{Meaning, Names};
use super::presence::{Consequences, Facts, Point, absent};
use super::term::{Kind, Node, Term};
use super::{Explained, Faults, Items, Located};
use crate::declaration::reserved::spelled;
use crate::declaration::{self, Expr, Location, ObjectClass, ParamType, ResultType, StatementKind};
use crate::error::Part;

/// Resolver of a program.
pub(super) struct Block<'n, 'a> {
    pub(super) names: &'n mut Names<'a>,
    pub(super) knowledge: Knowledge,
    /// Facts that hold before the current statement.
    pub(super) facts: Facts,
    pub(super) items: &'n Items<'a>,
    /// Location of the current statement, of one around it or of the function.
    pub(super) location: Option<&'a Location>,
    /// Number of statements resolved so far.
    pub(super) count: usize,
    /// True if a call may have run before the current statement.
    pub(super) called: bool,
    /// Functions that the statements so far make.
    pub(super) closures: Vec<(&'a declaration::Function, Closure<'a>)>,
    /// Faults of statements after which others were resolved.
    pub(super) faults: Faults,
}

/// State of control at the end of a block.
#[derive(Clone, Copy, PartialEq, Eq)]
pub(super) enum End {
    /// The block has no statements.
    Empty,
    /// Control leaves the block after statement number `.0`.
    After(usize),
    /// The end of the block is unreachable.
    Unreachable,
}

impl<'n, 'a> Block<'n, 'a> {
    pub(super) fn new(
        names: &'n mut Names<'a>,
        knowledge: Knowledge,
        facts: Facts,
        items: &'n Items<'a>,
        (location, count): (Option<&'a Location>, usize),
    ) -> Self {
        let called = names.is_closure;
        let (closures, faults) = (Vec::new(), Faults::new());
        Block { names, knowledge, facts, items, location, count, called, closures, faults }
    }

    /// Resolves the whole program. It may end without `return` if there is nothing to return.
    pub(super) fn body(
        &mut self,
        statements: &'a [declaration::Statement],
    ) -> Result<Vec<Statement<'a>>, Faults> {
        let body = self.ended(statements);
        let mut faults = std::mem::take(&mut self.faults);
        match body {
            Ok(body) if faults.is_empty() => Ok(body),
            Ok(_) => Err(faults),
            Err(last) => {
                faults.push(last);
                Err(faults)
            }
        }
    }

    fn ended(&mut self, statements: &'a [declaration::Statement]) -> Located<Vec<Statement<'a>>> {
        let (mut body, end) = self.block(statements)?;
        if end == End::Unreachable || !self.faults.is_empty() {
            return Ok(body);
        }
        let returned = match &self.names.function.signature.result {
            ResultType::None => Returned::None,
            ResultType::Allocated(_) => Returned::Outputs,
            ResultType::Value(_) => {
                let part =
                    if let End::After(last) = end { Part::Statement(last) } else { Part::Result };
                return Err((part, "a path ends here without `return` or `raise`".to_owned()));
            }
        };
        let (action, look_ups, makes) = (Action::Return(returned), Vec::new(), 0..0);
        body.push(Statement { number: None, location: None, look_ups, makes, action });
        Ok(body)
    }

    /// Returns the number of statements resolved so far, and the functions that they make.
    pub(super) fn into_parts(self) -> (usize, Vec<Closure<'a>>) {
        (self.count, self.closures.into_iter().map(|(_, closure)| closure).collect())
    }

    /// Resolves a block, and returns how control leaves it.
    pub(super) fn block(
        &mut self,
        statements: &'a [declaration::Statement],
    ) -> Located<(Vec<Statement<'a>>, End)> {
        let (begin, outside) = (self.names.open_scope(), self.knowledge.clone());
        let block = self.statements(statements);
        self.names.close_scope(begin);
        outside.iter().for_each(|(symbol, known)| self.knowledge[symbol] = known.clone());
        block
    }

    /// Resolves the statements of a block. One that has a fault is left out, unless it gives something a name, without
    /// which those after it have no meaning.
    fn statements(
        &mut self,
        statements: &'a [declaration::Statement],
    ) -> Located<(Vec<Statement<'a>>, End)> {
        let (mut block, mut end) = (Vec::with_capacity(statements.len()), End::Empty);
        for (number, statement) in statements.iter().enumerate() {
            let index = self.count;
            self.count += 1;
            if end == End::Unreachable {
                let reason = "no path leads to this statement".to_owned();
                return Err((Part::Statement(index), reason));
            }
            let (scope, facts, made) =
                (self.names.open_scope(), self.facts.mark(), self.closures.len());
            match self.numbered(index, statement, &statements[number + 1..]) {
                Ok((resolved, left)) => {
                    end = if left { End::Unreachable } else { End::After(index) };
                    block.extend(resolved);
                }
                Err(fault) if statement.kind.names_something() => return Err(fault),
                Err(fault) => {
                    self.faults.push(fault);
                    self.names.close_scope(scope);
                    self.facts.split_off(facts);
                    self.closures.truncate(made);
                    self.count = index + 1 + nested(&statement.kind);
                    end = End::After(index);
                }
            }
        }
        Ok((block, end))
    }

    /// Resolves statement number `index`, which `rest` follows. Returns `None` for one without an action, and true if
    /// control does not continue after it.
    fn numbered(
        &mut self,
        index: usize,
        statement: &'a declaration::Statement,
        rest: &'a [declaration::Statement],
    ) -> Located<(Option<Statement<'a>>, bool)> {
        let around = self.location;
        self.location = statement.location.as_ref().or(around);
        let resolved = self.located(index, statement, rest);
        self.location = around;
        resolved
    }

    /// Resolves a statement at the current location.
    fn located(
        &mut self,
        index: usize,
        statement: &'a declaration::Statement,
        rest: &'a [declaration::Statement],
    ) -> Located<(Option<Statement<'a>>, bool)> {
        let at = |reason| (Part::Statement(index), reason);
        let location = statement.location.as_ref();
        let look_ups = self.look_up(&statement.kind, rest).map_err(at)?;
        self.note_calls(&statement.kind);
        let first = self.closures.len();
        self.make_functions(index, &statement.kind)?;
        let makes = first..self.closures.len();
        let (action, left) = self.statement(index, &statement.kind)?;
        let action = action.or((!look_ups.is_empty()).then_some(Action::Name));
        let number = Some(index);
        let resolved = |action| Statement { number, location, look_ups, makes, action };
        Ok((action.map(resolved), left))
    }

    /// Resolves a statement. Returns `None` for one without an action, and true if control does not continue after
    /// it. Those with blocks are functions of their own, and those without a single one, so that nested blocks need
    /// little stack in builds that give every arm of a `match` a place of its own.
    fn statement(
        &mut self,
        index: usize,
        action: &'a StatementKind,
    ) -> Located<(Option<Action<'a>>, bool)> {
        match action {
            StatementKind::If { branches, otherwise } => self.choose(index, branches, otherwise),
            StatementKind::For { name, start, end, body } => {
                self.for_each(index, name, (start, end), body)
            }
            StatementKind::Match { value, arms } => {
                let (action, left) = self.match_type(index, value, arms)?;
                Ok((Some(action), left))
            }
            StatementKind::Let { .. }
            | StatementKind::Call { .. }
            | StatementKind::Alloc { .. }
            | StatementKind::TensorMap { .. }
            | StatementKind::Launch(_)
            | StatementKind::Upload(_)
            | StatementKind::Fill(_)
            | StatementKind::Copy(_)
            | StatementKind::Wait(_)
            | StatementKind::Return(_)
            | StatementKind::Raise { .. } => {
                let left = matches!(action, StatementKind::Return(_) | StatementKind::Raise { .. });
                let action =
                    self.flat(action).map_err(|reason| (Part::Statement(index), reason))?;
                Ok((action, left))
            }
        }
    }

    /// Resolves a loop, which numbers count.
    fn for_each(
        &mut self,
        index: usize,
        name: &'a str,
        (start, end): (&Expr, &Expr),
        body: &'a [declaration::Statement],
    ) -> Located<(Option<Action<'a>>, bool)> {
        let at = |reason| (Part::Statement(index), reason);
        let start = self.integer(start).map_err(at)?;
        let end = self.integer(end).map_err(at)?;
        let begin = self.names.open_scope();
        let counter = self.local(name, &Term::int(0)).map_err(at)?;
        let mark = self.facts.mark();
        let body = self.block(body);
        self.facts.split_off(mark);
        self.names.close_scope(begin);
        let (body, _) = body?;
        Ok((Some(Action::For { counter, start, end, body }), false))
    }

    /// Resolves a statement without blocks.
    fn flat(&mut self, action: &'a StatementKind) -> Explained<Option<Action<'a>>> {
        Ok(Some(match action {
            StatementKind::Let { name, value } => return self.name(name, value),
            StatementKind::Call { result, call } => self.call(result.as_ref(), call)?,
            StatementKind::Alloc { name, tensor, on } => {
                self.allocate(name, tensor, on.as_ref())?
            }
            StatementKind::TensorMap { name, map } => self.named_map(name, map)?,
            StatementKind::Launch(launch) => self.launch(launch)?,
            StatementKind::Upload(upload) => self.upload(upload)?,
            StatementKind::Fill(fill) => self.fill(fill)?,
            StatementKind::Copy(copy) => self.copy(copy)?,
            StatementKind::Wait(wait) => self.wait(wait)?,
            StatementKind::Return(value) => Action::Return(self.returned(value.as_ref())?),
            StatementKind::Raise { kind, message } => {
                let message = message.iter().map(|part| self.piece(part));
                Action::Raise { kind, message: message.collect::<Result<_, _>>()? }
            }
            StatementKind::If { .. } | StatementKind::For { .. } | StatementKind::Match { .. } => {
                return Ok(None);
            }
        }))
    }

    /// Resolves an expression, all of whose symbols must be bound here.
    pub(super) fn term(&self, expr: &Expr) -> Explained<Term> {
        let term = self.names.term(expr)?;
        self.check(&term)?;
        Ok(term)
    }

    /// Resolves a condition. Returns what follows from it too.
    fn truth(&self, expr: &Expr) -> Explained<(Term, Consequences)> {
        let term = self.names.truth(expr)?;
        let follows = self.check(&term)?;
        Ok((term, follows))
    }

    /// Checks that all symbols of a term are bound here. Returns what follows from the term if it is a condition.
    pub(super) fn check(&self, term: &Term) -> Explained<Consequences> {
        Point { knowledge: &self.knowledge, facts: &self.facts }.check(self.names, term)
    }

    /// Resolves an argument of a C function.
    pub(super) fn argument(&self, expr: &Expr) -> Explained<Argument> {
        let argument = self.names.argument(expr)?;
        if let Argument::Term(term, _) = &argument {
            self.check(term)?;
        }
        Ok(argument)
    }

    /// Resolves an integer.
    pub(super) fn integer(&self, expr: &Expr) -> Explained<Term> {
        let term = self.term(expr)?;
        check_int64(expr, &term)?;
        let term = self.names.int64(expr, term);
        if term.kind == Kind::Int { Ok(term) } else { Err(format!("`{expr}` is not an integer")) }
    }

    fn local(&mut self, name: &'a str, term: &Term) -> Explained<LocalId> {
        let (kind, is_stream) = (term.kind, self.is_stream(term));
        let (is_lent, is_read) = (self.names.is_lent(term), self.names.is_read(term));
        let local = Local { name, kind, is_stream, scalar: None, is_lent, is_read, of: None };
        let local = self.names.locals.push(local);
        self.names.define(name, Meaning::Local(local))?;
        Ok(local)
    }

    /// Resolves `let v = e;`.
    fn name(&mut self, name: &'a str, value: &'a Expr) -> Explained<Option<Action<'a>>> {
        if let Expr::Function(function) = value {
            return self.name_function(name, function).map(Some);
        }
        let alias = self.names.value_of(value).map(Meaning::Value);
        let alias = alias.or_else(|| self.names.output_of(value).map(Meaning::Output));
        let term = self.term(value)?;
        let is_number = matches!(term.kind, Kind::Int | Kind::Unsigned | Kind::Float | Kind::Bool);
        // A local holds a number, which a value that may be None is not.
        let may_be_none = |value: ValueId| self.names.values[value].guard.is_some();
        let is_copied = match alias {
            Some(Meaning::Value(value)) => is_number && !may_be_none(value),
            Some(_) => is_number,
            None => is_number || term.kind == Kind::Ptr,
        };
        if is_copied {
            let local = self.local(name, &term)?;
            return Ok(Some(Action::Let { local, term }));
        }
        let alias = alias.ok_or_else(|| format!("`{value}` cannot have a name of its own"))?;
        if let Meaning::Value(value) = alias {
            self.know_symbols_of(value);
        }
        self.names.define(name, alias).map(|()| None)
    }

    /// Resolves `let f = function…;`.
    fn name_function(
        &mut self,
        name: &'a str,
        function: &'a declaration::Function,
    ) -> Explained<Action<'a>> {
        static FUNCTION: ParamType = ParamType::Object(ObjectClass::Function);
        let value = self.names.add_value(spelled(name).to_string(), &FUNCTION);
        let value = value.map_err(|(_, reason)| reason)?;
        self.names.define(name, Meaning::Value(value))?;
        Ok(Action::Make { closure: self.made(function), value })
    }

    /// Resolves a statement whose device is that of a tensor, if one is given: device variables in it are those of the
    /// device.
    pub(super) fn on_the_device_of<T>(
        &mut self,
        on: Option<&Expr>,
        statement: impl FnOnce(&mut Self) -> Explained<T>,
    ) -> Explained<T> {
        self.names.device = on.and_then(|on| self.home(on).ok());
        let resolved = statement(self);
        self.names.device = None;
        resolved
    }

    /// Resolves the tensor whose device an allocation or a launch shares.
    pub(super) fn home(&self, on: &Expr) -> Explained<Home> {
        let is_tensor = |value: &ValueId| self.names.values[*value].tensor().is_some();
        if let Some(value) = self.names.value_of(on).filter(is_tensor) {
            return if self.is_there(value) {
                Ok(Home::Value(value))
            } else {
                Err(absent(&on.to_string()))
            };
        }
        let output = self.names.output_of(on).map(Home::Output);
        output.ok_or_else(|| format!("`{on}` is no tensor"))
    }

    /// Returns true for a value that is known to be there before the current statement.
    pub(super) fn is_there(&self, value: ValueId) -> bool {
        self.facts.show(self.names, value)
    }

    /// Resolves a piece of a message.
    fn piece(&self, part: &'a Expr) -> Explained<Piece<'a>> {
        if let Expr::Text(text) = part {
            return Ok(Piece::Text(text));
        }
        let term = self.term(part)?;
        let text = matches!(term.node, Node::Value(_)) && term.kind == Kind::Text;
        if matches!(term.kind, Kind::Several | Kind::Text) && !text {
            return Err(format!("`{part}` cannot be part of a message"));
        }
        Ok(Piece::Term(term))
    }
}

/// Converts a number to a scalar type, which it must fit; `name` is its name in errors.
pub(super) fn converted(term: Term, scalar: Scalar, name: String) -> Term {
    let is_float = scalar.is_float();
    let term = if is_float { term.into_number().into_float() } else { term.into_number() };
    let same = if term.kind == Kind::Unsigned { Scalar::Uint64 } else { Scalar::Int64 };
    if scalar.is_int() && scalar != same {
        return Term::new(Kind::Int, Node::Narrow(scalar, Box::new(term), name));
    }
    if is_float && scalar != Scalar::Float64 {
        return Term::new(Kind::Float, Node::Round(scalar, Box::new(term)));
    }
    term
}

/// Returns the number of statements within a statement.
fn nested(statement: &StatementKind) -> usize {
    let blocks = statement.blocks();
    let within = blocks.iter().flat_map(|block| block.iter());
    within.map(|statement| 1 + nested(&statement.kind)).sum()
}
