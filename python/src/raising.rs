//! Kernels that leave an error behind, as those do that are written in Python: C has no way to return it, so a function
//! of the FFI is called after each call of such a kernel, and raises what was left.

use std::mem;

use codegen::{Body, Call, Expr, Function, Library, Local, ResultType, Statement, StatementKind};

/// The function that raises, which the Python package registers.
const RAISE: &str = "tvm_ffi_codegen.raise_left";

/// Has all functions ask after each call of one of these kernels.
pub(crate) fn ask(library: &mut Library, kernels: &[String]) {
    if kernels.is_empty() {
        return;
    }
    for function in &mut library.functions {
        let body = mem::replace(&mut function.body, Body::Block(Vec::new()));
        function.body = match body {
            Body::Call(call) if kernels.contains(&call.symbol) => {
                Body::Block(one_call(function, call.into()))
            }
            Body::Call(call) => Body::Call(call),
            Body::Block(statements) => Body::Block(block(statements, kernels)),
        };
    }
}

/// The same as a body that is one call.
fn one_call(function: &Function, call: Call) -> Vec<Statement> {
    match &function.signature.result {
        ResultType::None | ResultType::Allocated(_) => vec![Statement::call(call), asking()],
        ResultType::Value(ty) => {
            let text = function.to_string();
            let mut name = "result".to_owned();
            while text.contains(&name) {
                name.push('_');
            }
            let result = Some(Local { name: name.clone(), ty: ty.clone() });
            let called = Statement::from(StatementKind::Call { result, call });
            vec![called, asking(), Statement::from(StatementKind::Return(Some(Expr::name(name))))]
        }
    }
}

fn block(statements: Vec<Statement>, kernels: &[String]) -> Vec<Statement> {
    statements.into_iter().flat_map(|statement| of_statement(statement, kernels)).collect()
}

fn of_statement(mut statement: Statement, kernels: &[String]) -> Vec<Statement> {
    let asks = match &mut statement.kind {
        StatementKind::Call { call: Call::Kernel(call), .. } => kernels.contains(&call.symbol),
        StatementKind::If { then, otherwise, .. } => {
            *then = block(mem::take(then), kernels);
            *otherwise = block(mem::take(otherwise), kernels);
            false
        }
        StatementKind::For { body, .. } => {
            *body = block(mem::take(body), kernels);
            false
        }
        StatementKind::Call { call: Call::Function { .. }, .. }
        | StatementKind::Let { .. }
        | StatementKind::Alloc { .. }
        | StatementKind::Launch(_)
        | StatementKind::Return(_)
        | StatementKind::Raise { .. } => false,
    };
    let mut asking = asking();
    asking.location.clone_from(&statement.location);
    if asks { vec![statement, asking] } else { vec![statement] }
}

fn asking() -> Statement {
    Statement::call(Call::name(RAISE, [] as [Expr; 0]))
}
