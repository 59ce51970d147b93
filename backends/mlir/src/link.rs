//! Modules in MLIR: kernels, merged into the module that calls them, and the caller's module.

use std::collections::HashMap;

use codegen::backend::{Error, Input, unused_name};
use melior::Context;
use melior::ir::attribute::StringAttribute;
use melior::ir::operation::{OperationMutLike, OperationRefMut};
use melior::ir::{BlockLike, Location, Module, Operation};

use crate::diagnostic::diagnosed;
use crate::op::{Ops, is_defined, is_variable, name};
use crate::symbols::{Declared, check_same, existing, operations};
use crate::{load_dialect, prepare, raw, refused};

/// Returns true for bytes that may be MLIR's text.
pub(crate) fn reads(kernel: &[u8]) -> bool {
    let is_text = |text: &str| !text.is_empty() && !text.contains('\0');
    std::str::from_utf8(kernel).is_ok_and(is_text)
}

/// Merges `inputs`, kernels in the text form of the `llvm` dialect, into `module`. Their definitions become local
/// unless the input [keeps](Input::keeps) them: calls of them can be inlined, and no other module sees them. A
/// declaration on one side and a definition on the other become one symbol. Call this before [`emit`](crate::emit),
/// which checks the types of the kernels that it calls.
///
/// # Errors
/// [`Error::Native`] for text that is not MLIR or does not verify, [`Error::Kernel`] where declaration and definition
/// differ, [`Error::Defined`] for two definitions of a name. The module is then unchanged.
pub fn link<'c>(
    context: &'c Context,
    module: &Module<'c>,
    inputs: &[Input<'_>],
) -> Result<(), Error> {
    prepare(context, module)?;
    let ops = Ops::new(context, "");
    let all = Module::new(Location::unknown(context));
    for input in inputs {
        let kernels = parse(context, input)?;
        rename_locals(&ops, &all, &existing(&kernels))?;
        merge(&ops, &all, &kernels, |_| {})?;
    }
    let kept = |definition: &Operation<'c>| {
        let is_variable = is_variable(definition);
        name(definition)
            .is_some_and(|name| inputs.iter().any(|input| input.keeps(name, is_variable)))
    };
    merge(&ops, module, &all, |definition| {
        if !kept(definition) {
            ops.internalize(definition);
        }
    })
}

/// Parses a module, and checks that it verifies.
pub(crate) fn parse<'c>(context: &'c Context, input: &Input<'_>) -> Result<Module<'c>, Error> {
    load_dialect(context);
    raw::load_data_layout(context);
    let named = |reason: String| refused(format!("{}: {reason}", input.name));
    let text = std::str::from_utf8(input.bytes).map_err(|error| named(error.to_string()))?;
    if text.contains('\0') {
        return Err(named("a NUL character".into()));
    }
    diagnosed(context, || Module::parse(context, text)).map_err(|reason| named(with_advice(reason)))
}

/// Adds to MLIR's error about an unknown dialect how a module comes to be in the one that is read.
fn with_advice(reason: String) -> String {
    let unknown = ["not found for custom op", "unregistered dialect"];
    if unknown.iter().any(|words| reason.contains(words)) {
        return format!(
            "{}; a module is read in the `llvm` dialect, to which `mlir-opt \
             --convert-func-to-llvm`, or the pipeline of the compiler that wrote it, lowers it",
            reason.trim_end()
        );
    }
    reason
}

/// Copies the top level of `kernels` into `module`, each operation after `adapt`. After an error `module` is unchanged.
fn merge<'c>(
    ops: &Ops<'c>,
    module: &Module<'c>,
    kernels: &Module<'c>,
    adapt: impl Fn(&mut Operation<'c>),
) -> Result<(), Error> {
    let present = existing(module);
    rename_locals(ops, kernels, &present)?;
    let incoming: Vec<_> = operations(kernels).collect();
    let steps: Result<Vec<_>, _> = incoming.iter().map(|op| plan(ops, op, &present)).collect();
    for (operation, step) in incoming.iter().zip(steps?) {
        let mut copy = Operation::clone(operation);
        adapt(&mut copy);
        match step {
            Step::Add => {
                module.body().append_operation(copy);
            }
            Step::Replace(declaration) => {
                module.body().append_operation(copy);
                // SAFETY: its name is in `present` once, and each name of `kernels` is planned once.
                unsafe { raw::erase(declaration) };
            }
            Step::Drop => {}
        }
    }
    Ok(())
}

/// The plan of one operation of the kernels.
enum Step<'c, 'a> {
    /// A new symbol, to be added.
    Add,
    /// A definition that replaces a declaration of the module.
    Replace(OperationRefMut<'c, 'a>),
    /// A declaration of a symbol that the module has.
    Drop,
}

fn plan<'c, 'a>(
    ops: &Ops<'c>,
    operation: &OperationRefMut<'c, '_>,
    present: &HashMap<&'c str, OperationRefMut<'c, 'a>>,
) -> Result<Step<'c, 'a>, Error> {
    let Some((name, found)) = name(operation).and_then(|name| Some((name, *present.get(name)?)))
    else {
        return Ok(Step::Add);
    };
    check_same(ops, name, &Declared::of(&found), &Declared::of(operation))?;
    match (is_defined(&found), is_defined(operation)) {
        (true, true) => Err(Error::Defined { symbol: name.into() }),
        (false, true) => Ok(Step::Replace(found)),
        (true | false, false) => Ok(Step::Drop),
    }
}

/// Renames the local symbols of `kernels` whose names another module has.
fn rename_locals<'c>(
    ops: &Ops<'c>,
    kernels: &Module<'c>,
    present: &HashMap<&'c str, OperationRefMut<'c, '_>>,
) -> Result<(), Error> {
    let own = existing(kernels);
    for mut operation in operations(kernels).filter(|operation| ops.is_local(operation)) {
        let Some(old) = name(&operation).filter(|name| present.contains_key(name)) else {
            continue;
        };
        let new = unused_name(old, |name| present.contains_key(name) || own.contains_key(name));
        if !raw::rename_uses(kernels, old, &new) {
            return Err(refused(format!("the uses of @{old} are not known")));
        }
        operation.set_attribute("sym_name", StringAttribute::new(ops.context, &new).into());
    }
    Ok(())
}
