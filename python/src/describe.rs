//! `describe`: the functions of declarations, and the kernels and images that they need.

use codegen::{Kernel, Library};
use serde_json::{Value, json};

use crate::ffi::{Outcome, string};
use crate::undefined::callers;

/// Returns the report about a text, as JSON.
pub(crate) fn describe(text: &str) -> Outcome {
    let library: Library = text.parse()?;
    let functions = library.functions.iter().map(|function| {
        json!({ "name": function.signature.name, "signature": function.signature.to_string() })
    });
    let kernels = library.kernels()?.into_iter().map(|kernel| of_kernel(&library, kernel));
    let images = library.images.iter().map(|image| image.name.as_str());
    let report = json!({
        "functions": functions.collect::<Vec<_>>(),
        "kernels": kernels.collect::<Vec<_>>(),
        "images": images.collect::<Vec<_>>(),
    });
    string(&format!("{report:#}\n"))
}

fn of_kernel(library: &Library, kernel: Kernel<'_>) -> Value {
    let Kernel { symbol, params, result, signature: _ } = kernel;
    let returned = result.as_deref().unwrap_or("void");
    let taken = if params.is_empty() { "void".to_owned() } else { params.join(", ") };
    json!({
        "name": symbol,
        "prototype": format!("{returned} {symbol}({taken})"),
        "params": params,
        "result": result,
        "callers": callers(library, symbol),
    })
}
