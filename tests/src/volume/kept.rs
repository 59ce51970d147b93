//! Values that outlive a call: functions that hold some, called when everything that was lent is gone and lists have
//! changed, and arrays that a callee keeps. Only the machine can see what such code reads.

use codegen::{Body, Call as Callee, Expr, Function, Library, ObjectClass, ParamType};
use codegen::{ResultType, Statement, StatementKind};

use crate::argument::{Argument, print_list};
use crate::machine::{Change, InMachine, KEEP, Linked};
use crate::outcome::{End, Outcome};
use crate::route::Call;

/// Returns a function that returns the function that this one makes and calls, if its body does no more.
pub(super) fn returning(function: &Function) -> Option<Function> {
    let Body::Block(statements) = &function.body else { return None };
    let [Statement { kind: StatementKind::Let { value, .. }, .. }, _] = &statements[..] else {
        return None;
    };
    let made @ Expr::Function(_) = value else { return None };
    let mut function = function.clone();
    function.body = [Statement::return_value(made.clone())].into();
    function.signature.result = ResultType::Value(ParamType::Object(ObjectClass::Function));
    valid(function)
}

/// Returns a function that first gives an array of its parameters to one that keeps it.
pub(super) fn keeping(function: &Function) -> Option<Function> {
    let signature = &function.signature;
    let named = signature.params.iter().filter(|param| !param.variadic && param.name != "self");
    let names: Vec<Expr> = named.map(|param| Expr::name(&param.name)).collect();
    let keep = Callee::name(KEEP, [Expr::Array(names)]);
    let mut function = function.clone();
    let rest = match function.body {
        Body::Call(call) => vec![Statement::call(Callee::Kernel(call))],
        Body::Block(statements) => statements,
    };
    function.body = std::iter::once(Statement::call(keep)).chain(rest).collect::<Vec<_>>().into();
    valid(function)
}

fn valid(function: Function) -> Option<Function> {
    let library = Library::from(vec![function]);
    library.resolve().is_ok().then(|| library.functions[0].clone())
}

/// Calls what outlives calls of a function; `expected` are the outcomes of the function itself. Returns the number of
/// calls.
pub(super) fn compare(
    function: &Function,
    lists: &[Vec<Argument>],
    expected: &[Outcome],
    wrong: &mut Vec<String>,
) -> u64 {
    let mut calls = 0;
    let mut judge = |changed: &Function, list: &[Argument], found, expected: Option<&Outcome>| {
        calls += 1;
        if let Some(reason) = judge(found, expected) {
            wrong.push(format!("{changed}\n{}\n  {reason}", print_list(list)));
        }
    };
    if let Some(function) = &returning(function) {
        let machine = InMachine::new(&Library::from(vec![function.clone()]), Linked::Beside);
        for (list, expected) in lists.iter().zip(expected) {
            let call = Call { function: &function.signature.name, arguments: list, count: None };
            for change in [Change::Nothing, Change::Clear, Change::Replace] {
                let same = (change == Change::Nothing).then_some(expected);
                judge(function, list, machine.run_later(&call, change), same);
            }
        }
    }
    if let Some(function) = &keeping(function) {
        let machine = InMachine::new(&Library::from(vec![function.clone()]), Linked::Beside);
        for (list, expected) in lists.iter().zip(expected) {
            let call = Call { function: &function.signature.name, arguments: list, count: None };
            judge(function, list, machine.run_kept(&call), Some(expected));
        }
    }
    calls
}

/// Judges an outcome: it is not broken, and the expected one, unless a value is refused because it cannot be held.
pub(super) fn judge(found: Result<Outcome, &str>, expected: Option<&Outcome>) -> Option<String> {
    let Ok(found) = found else { return None };
    match &found.end {
        End::Broken(reason) => return Some(reason.clone()),
        End::Error { message, .. } if is_about_holding(message) => return None,
        End::Error { .. } | End::Result(_) => {}
    }
    let expected = expected.filter(|expected| **expected != found)?;
    Some(format!("expected {expected}\n  but got  {found}"))
}

/// Returns true for the messages about values that nothing can hold: what is lent for a call, NULL, and integers above
/// those of an `Any`.
fn is_about_holding(message: &str) -> bool {
    let all = [" can hold, but got ", "expected an owned value but got", "expected int64 but got "];
    all.iter().any(|part| message.contains(part))
}
