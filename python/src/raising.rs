//! Kernels that leave an error behind, because C cannot return it, such as kernels written in Python: after each call
//! of such a kernel a function of the FFI is called, which raises the error.

use std::mem;

use codegen::{
    Body, Call, Expr, Function, KernelCall, Library, Local, ResultType, Statement, StatementKind,
};

/// Name of the function that raises, which the Python package registers.
const RAISE: &str = "tvm_ffi_codegen.raise_left";

/// Adds a call of [`RAISE`] after each call of one of these kernels.
pub(crate) fn ask(library: &mut Library, kernels: &[String]) {
    if kernels.is_empty() {
        return;
    }
    library.functions.iter_mut().for_each(|function| of_function(function, kernels));
}

fn of_function(function: &mut Function, kernels: &[String]) {
    let body = mem::replace(&mut function.body, Body::Block(Vec::new()));
    function.body = match body {
        Body::Call(call) if is_one_of(&call, kernels) => {
            Body::Block(one_call(function, call.into()))
        }
        Body::Call(call) => Body::Call(call),
        Body::Block(statements) => Body::Block(block(statements, kernels)),
    };
}

/// Changes the functions that an expression makes.
fn of_expr(expr: &mut Expr, kernels: &[String]) {
    if let Expr::Function(function) = expr {
        of_function(function, kernels);
    }
    if let Expr::Array(entries) = expr {
        entries.iter_mut().for_each(|entry| of_expr(entry, kernels));
    }
}

/// Returns the statements for a body that is one call.
fn one_call(function: &Function, call: Call) -> Vec<Statement> {
    match &function.signature.result {
        ResultType::None | ResultType::Allocated(_) => vec![Statement::call(call), asking()],
        ResultType::Value(ty) => {
            let text = function.to_string();
            let mut name = "result".to_owned();
            while text.contains(&name) {
                name.push('_');
            }
            let result = Some(Local::new(name.clone(), ty.clone()));
            let called = Statement::from(StatementKind::Call { result, call });
            vec![called, asking(), Statement::from(StatementKind::Return(Some(Expr::name(name))))]
        }
    }
}

fn block(statements: Vec<Statement>, kernels: &[String]) -> Vec<Statement> {
    statements.into_iter().flat_map(|statement| of_statement(statement, kernels)).collect()
}

fn of_statement(mut statement: Statement, kernels: &[String]) -> Vec<Statement> {
    if let StatementKind::If { branches, otherwise } = &mut statement.kind {
        branches.iter_mut().for_each(|one| one.body = block(mem::take(&mut one.body), kernels));
        *otherwise = block(mem::take(otherwise), kernels);
    }
    if let StatementKind::For { body, .. } = &mut statement.kind {
        *body = block(mem::take(body), kernels);
    }
    if let StatementKind::Match { arms, .. } = &mut statement.kind {
        arms.iter_mut().for_each(|arm| arm.body = block(mem::take(&mut arm.body), kernels));
    }
    if let StatementKind::Let { value, .. } | StatementKind::Return(Some(value)) =
        &mut statement.kind
    {
        of_expr(value, kernels);
    }
    if let StatementKind::Call { call: Call::Function(call), .. } = &mut statement.kind {
        call.args.iter_mut().for_each(|arg| of_expr(arg, kernels));
    }
    let asks = matches!(
        &statement.kind,
        StatementKind::Call { call: Call::Kernel(call), .. } if is_one_of(call, kernels)
    );
    let mut asking = asking();
    asking.location.clone_from(&statement.location);
    if asks { vec![statement, asking] } else { vec![statement] }
}

/// Returns true if a call is one of these kernels by its symbol.
fn is_one_of(call: &KernelCall, kernels: &[String]) -> bool {
    call.symbol().is_some_and(|symbol| kernels.iter().any(|kernel| kernel == symbol))
}

fn asking() -> Statement {
    Statement::call(Call::name(RAISE, [] as [Expr; 0]))
}
