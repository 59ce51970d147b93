//! Calls of a function by another one of the same signature, which implies all that it checks: the outcomes are those
//! of the function itself. Results that it allocates are allocated by the caller, which gives them to it.

use codegen::language::spelled_label;
use codegen::{Expr, Function, FunctionCall, Library, ResultType, Statement};

use super::kept;
use crate::argument::{Argument, print_list};
use crate::machine::{InMachine, Linked};
use crate::outcome::{End, Outcome};
use crate::route::Call;

/// Returns the name of the function that the other one calls; as long as the other's, so that messages are cut alike.
fn callee(name: &str) -> String {
    format!("g{}", &name[1..])
}

/// Returns the function under another name, and one of its name and signature that calls it, if one can.
fn calling(function: &Function) -> Option<Library> {
    let mut callee = function.clone();
    callee.signature.name = self::callee(&function.signature.name);
    callee.external = false;
    let signature = &function.signature;
    if signature.has_self() || signature.most().is_none() {
        return None;
    }
    let args: Vec<Expr> = signature.params.iter().map(|param| Expr::name(&param.name)).collect();
    let call = FunctionCall::symbol(&callee.signature.name, args);
    let body = match &signature.result {
        ResultType::None => vec![Statement::call(call)],
        ResultType::Value(ty) => vec![
            Statement::let_call("result_of_callee", ty.clone(), call),
            Statement::return_value("result_of_callee"),
        ],
        ResultType::Allocated(outputs) => {
            let into = outputs.iter().map(|output| Expr::name(&output.name));
            vec![Statement::call(call.with_into(into))]
        }
    };
    let caller = signature.clone().body(body);
    let library = Library::from(vec![callee, caller]);
    library.resolve().is_ok().then_some(library)
}

/// Makes calls of a function by way of another one; `expected` are the outcomes of the function itself. Returns the
/// number of calls.
pub(super) fn compare(
    function: &Function,
    lists: &[Vec<Argument>],
    expected: &[Outcome],
    wrong: &mut Vec<String>,
) -> u64 {
    let Some(library) = calling(function) else { return 0 };
    let machine = InMachine::new(&library, Linked::Beside);
    for (list, expected) in lists.iter().zip(expected) {
        let call = Call { function: &function.signature.name, arguments: list, count: None };
        let found =
            machine.run_faulty(&call, None).outcome.map(|outcome| renamed(outcome, function));
        if let Some(reason) = kept::judge(found, Some(expected)) {
            wrong.push(format!("{library}\n{}\n  {reason}", print_list(list)));
        }
    }
    lists.len() as u64
}

/// Gives the callee the name of the function in a message.
fn renamed(outcome: Outcome, function: &Function) -> Outcome {
    let End::Error { kind, message } = outcome.end else { return outcome };
    let name = &function.signature.name;
    let names = [&callee(name), name].map(|name| format!("`{}(", spelled_label(name)));
    let message = message.replace(&names[0], &names[1]);
    Outcome { end: End::Error { kind, message }, ..outcome }
}
