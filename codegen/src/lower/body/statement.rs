//! Statements and control flow.

use crate::ir::{Binary, Block, Cond, Type, Value};
use crate::lower::failure::message::Message;
use crate::lower::wrapper::Wrapper;
use crate::resolve::argument::Argument;
use crate::resolve::body::{Action, Arm, Body, KernelCall, Match, Received, Statement};
use crate::resolve::ids::{LocalId, OutputId};
use crate::resolve::term::Term;

/// Emits the body; every path returns.
pub(crate) fn body<'a>(w: &mut Wrapper<'a, '_>) {
    let function = w.function;
    let results: Vec<OutputId> = function.results().map(|(output, _)| output).collect();
    w.plan(&results);
    match &function.body {
        Body::Call { call, look_ups, result } => {
            w.look_up_all(look_ups);
            one_call(w, call, result.as_ref(), &results);
        }
        Body::Prepare(prepare) => {
            w.load_kernels(prepare);
            for name in &prepare.callees {
                w.function_named(name);
            }
            w.return_call(None);
        }
        Body::Block(statements) => {
            if !results.is_empty() {
                w.allocate(&results);
            }
            block(w, statements);
        }
    }
}

/// Emits a body that is one call. Arguments that need no allocated tensor are computed before the allocation.
fn one_call<'a>(
    w: &mut Wrapper<'a, '_>,
    call: &'a KernelCall<'a>,
    result: Option<&'a Received<'a>>,
    results: &[OutputId],
) {
    let early =
        |w: &mut Wrapper<'_, '_>, arg: &Argument| (!arg.is_allocated()).then(|| w.pass(arg));
    let args: Vec<Option<Vec<Value>>> = call.args.iter().map(|arg| early(w, arg)).collect();
    if !results.is_empty() {
        w.allocate(results);
    }
    let slot = result.map(|_| w.own_none());
    let late = |(early, arg): (Option<Vec<Value>>, _)| early.unwrap_or_else(|| w.pass(arg));
    let mut args: Vec<Value> = args.into_iter().zip(&call.args).flat_map(late).collect();
    args.extend(slot);
    let returned = w.call_kernel(call, &args);
    match result.zip(slot) {
        Some((received, slot)) => {
            w.receive(received, slot);
            w.return_received(received.value, slot);
        }
        None => w.return_call(returned),
    }
}

/// Emits statements in order.
fn block<'a>(w: &mut Wrapper<'a, '_>, statements: &'a [Statement<'a>]) {
    for statement in statements {
        w.exits.location = statement.location;
        let outer = w.frame.owned();
        w.look_up_all(&statement.look_ups);
        let own = w.frame.owned();
        action(w, &statement.action);
        let names = matches!(statement.action, Action::Name | Action::Let { .. });
        if own > outer && w.frame.owned() == own && !names {
            if !w.b.ended() {
                w.release_beyond(outer);
            }
            w.keep_owned(outer);
        }
    }
}

/// Emits one statement.
fn action<'a>(w: &mut Wrapper<'a, '_>, action: &'a Action<'a>) {
    match action {
        Action::Name => {}
        Action::Let { local, term } => {
            let value = w.term(term);
            let hint = hint(w, *local);
            w.b.hint(value, hint);
            w.ranges_of_locals[*local] = Some(w.range(term));
            w.locals[*local] = Some(value);
        }
        Action::Make { closure, value } => w.name_closure(*closure, *value),
        Action::Kernel { call, result } => w.kernel(call, result),
        Action::Call { call, result } => w.call(call, result.as_ref()),
        Action::Allocate(output) => {
            w.plan(&[*output]);
            w.allocate(&[*output]);
        }
        Action::TensorMap { map, made, unsure } => w.named_map(*map, made, unsure),
        Action::Launch(launch) => w.launch(launch),
        Action::Command(command) => w.command(command),
        Action::If { condition, then, otherwise } => choose(w, condition, then, otherwise),
        Action::For { counter, start, end, body } => repeat(w, *counter, start, end, body),
        Action::Match(choice) => select(w, choice),
        Action::Return(returned) => w.return_of(returned),
        Action::Raise { kind, message } => {
            let mut text = Message::new(kind);
            message.iter().for_each(|piece| w.say_piece(&mut text, piece));
            w.raise(&text);
        }
    }
}

/// Emits an `if`.
fn choose<'a>(
    w: &mut Wrapper<'a, '_>,
    condition: &Term,
    then: &'a [Statement<'a>],
    otherwise: &'a [Statement<'a>],
) {
    let condition = w.truth(condition);
    let [yes, no, next] = ["then", "else", "next"].map(|label| w.b.block(label));
    w.b.branch(condition, yes, no);
    for (start, statements) in [(yes, then), (no, otherwise)] {
        w.b.switch_to(start);
        inner(w, statements, next);
    }
    w.b.switch_to(next);
}

/// Emits statements in a scope of their own, then a jump to `next`.
fn inner<'a>(w: &mut Wrapper<'a, '_>, statements: &'a [Statement<'a>], next: Block) {
    w.in_scope(|w| block(w, statements));
    if !w.b.ended() {
        w.b.jump(next, &[]);
    }
}

/// Emits a `match`. The prologue has found the type that fits, so that one number tells the arms apart.
fn select<'a>(w: &mut Wrapper<'a, '_>, choice: &'a Match<'a>) {
    let next = w.b.block("next");
    for (number, one) in choice.arms.iter().enumerate() {
        if number + 1 == choice.arms.len() {
            arm(w, choice, one, next);
            break;
        }
        let is_this = match w.chosen[choice.value] {
            Some(chosen) => w.b.compare_const(Cond::Eq, chosen, number as i64),
            None => w.there(choice.value),
        };
        let [this, other] = ["arm", "other"].map(|label| w.b.block(label));
        w.b.branch(is_this, this, other);
        w.b.switch_to(this);
        arm(w, choice, one, next);
        w.b.switch_to(other);
    }
    w.b.switch_to(next);
}

/// Emits an arm of a `match` of a value, then a jump to `next`.
fn arm<'a>(w: &mut Wrapper<'a, '_>, choice: &'a Match<'a>, arm: &'a Arm<'a>, next: Block) {
    let (of, changed) = (choice.value, choice.changed);
    let outside = if arm.is_none { w.mark() } else { w.mark_where_there(of) };
    w.in_scope(|w| {
        if let Some((value, steps)) = &arm.value {
            w.addresses[*value] = Some(w.any_address(of));
            w.unpack_steps(steps, changed);
        }
        block(w, &arm.body);
    });
    w.go_back(outside);
    if !w.b.ended() {
        w.b.jump(next, &[]);
    }
}

/// Emits a `for`, which counts from `start` up to `end`, exclusive.
fn repeat<'a>(
    w: &mut Wrapper<'a, '_>,
    counter: LocalId,
    start: &Term,
    end: &Term,
    body: &'a [Statement<'a>],
) {
    w.ranges_of_locals[counter] = Some(w.range(start).up_to(w.range(end)));
    let (start, end) = (w.term(start), w.term(end));
    let [head, turn, next] = ["for", "turn", "next"].map(|label| w.b.block(label));
    let hint = hint(w, counter);
    let at = w.b.block_param(head, Type::I64, hint);
    w.locals[counter] = Some(at);
    w.b.jump(head, &[start]);
    w.b.switch_to(head);
    let more = w.b.compare(Cond::Slt, at, end);
    w.b.branch(more, turn, next);
    w.b.switch_to(turn);
    w.in_scope(|w| block(w, body));
    if !w.b.ended() {
        let following = w.b.binary_const(Binary::Add, at, 1);
        w.b.jump(head, &[following]);
    }
    w.b.switch_to(next);
}

/// Returns the name hint of a local.
fn hint(w: &mut Wrapper<'_, '_>, local: LocalId) -> crate::ir::Hint {
    let name = w.function.locals[local].name;
    let name = Some(w.b.name(name));
    crate::ir::Hint { name, part: "", index: None }
}
