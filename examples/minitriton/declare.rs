//! The declaration of a kernel's host function: its parameters, its condition, and the call of the kernel.

use codegen::{Call, DType, Expr, Function, Library, Scalar, Signature, Statement, Tensor};

use crate::ast::{Kernel, Param};

/// The symbol of a kernel.
pub(crate) fn symbol(kernel: &Kernel) -> String {
    format!("{}_kernel", kernel.name)
}

/// Declares all kernels of a file. The locations make errors, tracebacks and debuggers show its lines.
pub(crate) fn declare(file: &str, kernels: &[Kernel]) -> Result<Library, String> {
    let functions = kernels.iter().map(|kernel| function(file, kernel));
    Ok(Library::new(functions.collect::<Result<Vec<_>, _>>()?))
}

/// Returns the size of a vector: a number, or the name of one. A text alone would be a name, `64` too.
fn extent(size: &str) -> Expr {
    size.parse().map_or_else(|_| Expr::name(size), Expr::Int)
}

fn function(file: &str, kernel: &Kernel) -> Result<Function, String> {
    let mut signature = Signature::new(&kernel.name);
    for Param { name, size } in &kernel.params {
        signature = match size {
            Some(size) => signature.param(name, Tensor::new([extent(size)], DType::FLOAT32)),
            None => signature.param(name, Scalar::Float64),
        };
    }
    if let Some(condition) = &kernel.condition {
        let condition = condition.parse::<Expr>();
        let at = |error: codegen::Error| format!("{file}:{}: condition {error}", kernel.line);
        signature = signature.require(condition.map_err(at)?);
    }
    // The kernel gets the address of each vector, each number, and the number of elements.
    let arg = |param: &Param| {
        let name = Expr::name(&param.name);
        if param.size.is_some() { name.data() } else { name }
    };
    let size = kernel.params.iter().find_map(|param| param.size.as_ref());
    let args = kernel.params.iter().map(arg).chain(size.map(|size| extent(size)));
    let call = Statement::call(Call::kernel(symbol(kernel), args));
    let line = kernel.body.first().map_or(kernel.line, |first| first.line);
    Ok(signature.body([call.with_location(file, line)]).with_location(file, kernel.line))
}
