//! File tests: small modules of host IR and directives about their behaviour, in `codegen/filetests`.
//!
//! Lines that start with `#` are directives, lines that start with `##` are for readers. A file holds one module or
//! several, each behind `# test` lines of its own:
//!
//! | line | expectation |
//! |---|---|
//! | `# test read` | the text parses, and prints as it is written |
//! | `# test verify` | the module verifies |
//! | `# error: …` | instead, the parser or the verifier refuses the module with exactly this message |
//! | `# test run` | the calls below have the same results in the machine and in the code of every backend |
//! | `# run: f(1, -2.5, null, @data+8) == 3` | a call and its result; nothing behind the call if there is none |
//! | `# run: f(0) faults: …` | a call that the machine stops for exactly this reason; backends do not run it |
//! | `# test cranelift`, `llvm`, `mlir` or `c` | the backend's text for x86-64 Linux has the lines below, in this order |
//! | `# check: …` | a part of a line |
//!
//! Integers are signed or unsigned; the bits of any number may be hexadecimal. Results that are pointers are only
//! compared with NULL. Every call finds memory as the module initialises it.

mod call;
mod directive;
mod expectation;
mod machine;
mod native;
mod value;

pub use expectation::{Checked, check};

use codegen::ir::{Module, verify};

use call::Call;
use native::{Native, engines};

/// Callback that gets the name of an engine and the result of its call, or the reason why there is none.
pub type Say<'a> = &'a mut dyn FnMut(&str, Result<String, String>);

/// Calls a function of a file's module in the machine and, if the machine finds no fault, in the code of every backend.
/// Returns true if all results agree.
///
/// # Errors
/// If the function or an argument is invalid.
pub fn call(
    text: &str,
    function: &str,
    arguments: &[String],
    say: Say<'_>,
) -> Result<bool, String> {
    let module = module_with(text, function)?;
    verify(&module).map_err(|error| error.to_string())?;
    let arguments: Vec<&str> = arguments.iter().map(String::as_str).collect();
    let call = Call::new(&module, function, &arguments)?;
    let expected = machine::run(&module, &call);
    say("machine", expected.clone().map(|value| value.to_string()).map_err(|f| f.to_string()));
    let Ok(expected) = expected else { return Ok(false) };
    let mut agree = true;
    for engine in engines() {
        let native = Native::new(&module, std::slice::from_ref(&call), engine);
        let found = native.and_then(|native| native.run(0));
        agree &= found.as_ref() == Ok(&expected);
        say(&engine.to_string(), found.map(|value| value.to_string()));
    }
    Ok(agree)
}

/// Finds the first module of a file that defines a function; a file without directives is one module.
fn module_with(text: &str, function: &str) -> Result<Module, String> {
    let texts = match directive::parse(text) {
        Ok(cases) => cases.into_iter().map(|case| case.text).collect(),
        Err(_) => vec![text.to_owned()],
    };
    for text in texts {
        let module: Module = text.parse().map_err(|error| format!("{error}"))?;
        if module.functions.iter().any(|defined| module.name(defined.symbol) == function) {
            return Ok(module);
        }
    }
    Err(format!("no function `{function}` is defined"))
}
