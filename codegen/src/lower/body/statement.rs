//! Statements and control flow.

use crate::declaration::ResultType;
use crate::ir::{Binary, Block, Cond, Type, Value};
use crate::lower::body::{BodyEmitter, allocate, cached, call, closure, launch, pass, results};
use crate::lower::checks::{self, Checker, terms};
use crate::lower::failure::message::Message;
use crate::resolve::argument::Argument;
use crate::resolve::body::{
    self, Action, Arm, Branch, KernelCall, Match, Received, Returned, Statement,
};
use crate::resolve::ids::{LocalId, OutputId};
use crate::resolve::step::Topic;
use crate::resolve::term::Term;

/// Emits the body; every path returns.
pub(super) fn body<'a>(w: &mut BodyEmitter<'a, '_>) {
    let function = w.c.e.function;
    let results: Vec<OutputId> = function.results().map(|(output, _)| output).collect();
    allocate::plan(&mut w.c, &results);
    w.c.e.begin_topic(Topic::BODY);
    match &function.body {
        body::Body::Call { call, look_ups, result } => {
            checks::look_up_all(&mut w.c, look_ups);
            one_call(&mut w.c, call, result.as_ref(), &results);
        }
        body::Body::Prepare(prepare) => {
            launch::load_kernels(&mut w.c, prepare);
            for name in &prepare.callees {
                call::function_named(&mut w.c, name);
            }
            results::return_call(&mut w.c, None, false);
        }
        body::Body::Block(statements) => {
            if !results.is_empty() {
                allocate::allocate(&mut w.c, &results);
            }
            block(w, statements);
        }
    }
}

/// Emits a body that is one call. Arguments that need no allocated tensor are computed before the allocation.
fn one_call<'a>(
    c: &mut Checker<'a, '_>,
    call: &'a KernelCall<'a>,
    result: Option<&'a Received<'a>>,
    results: &[OutputId],
) {
    let early =
        |c: &mut Checker<'_, '_>, arg: &Argument| (!arg.is_allocated()).then(|| pass::pass(c, arg));
    let args: Vec<Option<Vec<Value>>> = call.args.iter().map(|arg| early(c, arg)).collect();
    if !results.is_empty() {
        allocate::allocate(c, results);
    }
    let slot = result.map(|_| c.e.own_none());
    let late = |(early, arg): (Option<Vec<Value>>, _)| early.unwrap_or_else(|| pass::pass(c, arg));
    let args: Vec<Value> = args.into_iter().zip(&call.args).flat_map(late).collect();
    let is_none = matches!(c.e.function.declared.signature.result, ResultType::None);
    let written = is_none && results::cannot_fail(call);
    if written {
        results::write_none(c);
    }
    let yielded = call::call_kernel(c, call, args, slot);
    match result.zip(slot) {
        Some((received, slot)) => {
            checks::receive(c, received, slot);
            results::return_received(c, received.value, slot);
        }
        None => results::return_call(c, yielded, written),
    }
}

/// Emits statements in order.
fn block<'a>(w: &mut BodyEmitter<'a, '_>, statements: &'a [Statement<'a>]) {
    for (at, statement) in statements.iter().enumerate() {
        let place = w.c.exits.subjects.enter_location(statement.location);
        let outside = w.c.e.begin_located(statement.topic(), statement.location);
        let outer = w.c.e.frame.owned();
        checks::look_up_all(&mut w.c, &statement.look_ups);
        let own = w.c.e.frame.owned();
        action(w, statement, statements.get(at + 1));
        let names = matches!(statement.action, Action::Name | Action::Let { .. });
        if own > outer && w.c.e.frame.owned() == own && !names {
            if !w.c.e.b.ended() {
                w.c.e.release_beyond(outer);
            }
            w.c.e.frame.truncate_owned(outer);
        }
        w.c.e.b.set_topic(outside);
        w.c.exits.subjects.leave_location(place);
    }
}

/// Emits one statement. `next` is the one after it in its block.
fn action<'a>(
    w: &mut BodyEmitter<'a, '_>,
    statement: &'a Statement<'a>,
    next: Option<&Statement<'_>>,
) {
    match &statement.action {
        Action::Name => {}
        Action::Let { local, term } => {
            let value = terms::eval(&mut w.c, term);
            let hint = hint(&mut w.c, *local);
            w.c.e.b.hint(value, hint);
            w.c.e.known.locals_mut().ranges[*local] = Some(terms::range(&w.c, term));
            w.c.e.known.locals_mut().values[*local] = Some(value);
        }
        Action::Make { closure, value } => closure::name_closure(w, *closure, *value),
        Action::Kernel { call, result } => {
            let is_last =
                next.is_some_and(|next| matches!(next.action, Action::Return(Returned::None)));
            w.none_written = is_last && results::cannot_fail(call);
            call::kernel(&mut w.c, call, result, w.none_written);
        }
        Action::Call { call, keys, result: Some(received) } if !keys.is_empty() => {
            cached::cached(w, statement.number.unwrap_or_default(), keys, call, received);
        }
        Action::Call { call, result, .. } => call::call(w, call, result.as_ref()),
        Action::Allocate(output) => {
            allocate::plan(&mut w.c, &[*output]);
            allocate::allocate(&mut w.c, &[*output]);
        }
        Action::TensorMap { map, made, unsure } => launch::named_map(&mut w.c, *map, made, unsure),
        Action::Launch(launch) => launch::launch(&mut w.c, launch, (w.closures, &w.kept)),
        Action::Command(command) => launch::command(&mut w.c, command),
        Action::If { branches, otherwise } => choose(w, branches, otherwise),
        Action::For { counter, start, end, body } => repeat(w, *counter, start, end, body),
        Action::Match(choice) => select(w, choice),
        Action::Return(returned) => results::return_of(w, returned),
        Action::Raise { kind, message } => {
            let mut text = Message::new(kind);
            message.iter().for_each(|piece| terms::say_piece(&mut w.c, &mut text, piece));
            w.c.exits.raise(&mut w.c.e, &text);
        }
    }
}

/// Emits an `if`.
///
/// The conditions after the first and the last block are in a scope, since nothing that they load is known behind the
/// `if`. A condition that looks elements up has a scope and an end of its own, where the elements are released.
fn choose<'a>(
    w: &mut BodyEmitter<'a, '_>,
    branches: &'a [Branch<'a>],
    otherwise: &'a [Statement<'a>],
) {
    let Some((first, others)) = branches.split_first() else { return };
    let condition = terms::truth(&mut w.c, &first.condition);
    let [yes, no, next] = ["then", "else", "next"].map(|label| w.c.e.b.block(label));
    w.c.e.b.branch(condition, yes, no);
    w.c.e.b.switch_to(yes);
    inner(w, &first.body, next);
    w.c.e.b.switch_to(no);
    let (mut end, mut scopes) = (next, Vec::new());
    for branch in others {
        if scopes.is_empty() || !branch.look_ups.is_empty() {
            let around = end;
            if !branch.look_ups.is_empty() {
                end = w.c.e.b.block("next");
            }
            scopes.push((w.c.begin_scope(), end, around));
            checks::look_up_all(&mut w.c, &branch.look_ups);
        }
        let condition = terms::truth(&mut w.c, &branch.condition);
        let [yes, no] = ["then", "else"].map(|label| w.c.e.b.block(label));
        w.c.e.b.branch(condition, yes, no);
        w.c.e.b.switch_to(yes);
        inner(w, &branch.body, end);
        w.c.e.b.switch_to(no);
    }
    inner(w, otherwise, end);
    for (outside, within, around) in scopes.into_iter().rev() {
        if within != around {
            w.c.e.b.switch_to(within);
        }
        w.c.end_scope(outside);
        if within != around {
            w.c.e.b.jump(around, &[]);
        }
    }
    w.c.e.b.switch_to(next);
}

/// Emits statements in a scope of their own, then a jump to `next`.
fn inner<'a>(w: &mut BodyEmitter<'a, '_>, statements: &'a [Statement<'a>], next: Block) {
    in_scope(w, |w| block(w, statements));
    if !w.c.e.b.ended() {
        w.c.e.b.jump(next, &[]);
    }
}

/// Emits code in a scope of its own.
fn in_scope<'a, 'm>(w: &mut BodyEmitter<'a, 'm>, body: impl FnOnce(&mut BodyEmitter<'a, 'm>)) {
    let outside = w.c.begin_scope();
    body(w);
    w.c.end_scope(outside);
}

/// Emits a `match`. The prologue has found the type that fits, so that one number tells the arms apart.
fn select<'a>(w: &mut BodyEmitter<'a, '_>, choice: &'a Match<'a>) {
    let next = w.c.e.b.block("next");
    for (number, one) in choice.arms.iter().enumerate() {
        if number + 1 == choice.arms.len() {
            arm(w, choice, one, next);
            break;
        }
        let is_this = match w.c.e.known.chosen(choice.value) {
            Some(chosen) => w.c.e.b.compare_const(Cond::Eq, chosen, number as i64),
            None => w.c.e.there(choice.value),
        };
        let [this, other] = ["arm", "other"].map(|label| w.c.e.b.block(label));
        w.c.e.b.branch(is_this, this, other);
        w.c.e.b.switch_to(this);
        arm(w, choice, one, next);
        w.c.e.b.switch_to(other);
    }
    w.c.e.b.switch_to(next);
}

/// Emits an arm of a `match` of a value, then a jump to `next`.
fn arm<'a>(w: &mut BodyEmitter<'a, '_>, choice: &'a Match<'a>, arm: &'a Arm<'a>, next: Block) {
    let (of, changed) = (choice.value, choice.changed);
    let outside = if arm.is_none { w.c.e.known.mark() } else { w.c.e.mark_where_there(of) };
    in_scope(w, |w| {
        if let Some((value, steps)) = &arm.value {
            let address = w.c.e.any_address(of);
            w.c.e.known.set_address(*value, Some(address));
            checks::unpack_steps(&mut w.c, steps, changed);
        }
        block(w, &arm.body);
    });
    w.c.e.known.go_back(outside);
    if !w.c.e.b.ended() {
        w.c.e.b.jump(next, &[]);
    }
}

/// Emits a `for`, which counts from `start` up to `end`, exclusive.
fn repeat<'a>(
    w: &mut BodyEmitter<'a, '_>,
    counter: LocalId,
    start: &Term,
    end: &Term,
    body: &'a [Statement<'a>],
) {
    w.c.e.known.locals_mut().ranges[counter] =
        Some(terms::range(&w.c, start).up_to(terms::range(&w.c, end)));
    let (start, end) = (terms::eval(&mut w.c, start), terms::eval(&mut w.c, end));
    let [head, turn, next] = ["for", "turn", "next"].map(|label| w.c.e.b.block(label));
    let hint = hint(&mut w.c, counter);
    let at = w.c.e.b.block_param(head, Type::I64, hint);
    w.c.e.known.locals_mut().values[counter] = Some(at);
    w.c.e.b.jump(head, &[start]);
    w.c.e.b.switch_to(head);
    let more = w.c.e.b.compare(Cond::Slt, at, end);
    w.c.e.b.branch(more, turn, next);
    w.c.e.b.switch_to(turn);
    in_scope(w, |w| block(w, body));
    if !w.c.e.b.ended() {
        let following = w.c.e.b.binary_const(Binary::Add, at, 1);
        w.c.e.b.jump(head, &[following]);
    }
    w.c.e.b.switch_to(next);
}

/// Returns the name hint of a local.
fn hint(c: &mut Checker<'_, '_>, local: LocalId) -> crate::ir::Hint {
    let name = c.e.function.locals[local].name;
    let name = Some(c.e.b.name(name));
    crate::ir::Hint { name, part: "", index: None }
}
