//! Modules in LLVM IR: kernels, linked into the module that calls them, and the caller's module.

use codegen::backend::{Error, Input};
use inkwell::context::{AsContextRef, ContextRef};
use inkwell::memory_buffer::MemoryBuffer;
use inkwell::module::{Linkage, Module};

use crate::diagnostic::collect;
use crate::object::{same_target, verify};
use crate::raw::{self, Found};
use crate::{native, refused};

/// Returns true for bytes that may be bitcode or LLVM's text.
pub(crate) fn reads(kernel: &[u8]) -> bool {
    let is_text = |text: &str| !text.is_empty() && !text.contains('\0');
    is_bitcode(kernel) || std::str::from_utf8(kernel).is_ok_and(is_text)
}

/// Links kernels, in LLVM's text or bitcode form, into `module`. Their definitions become internal, and disappear where
/// they are inlined, unless the input [keeps](Input::keeps) them. [`emit`](crate::emit) then finds them by name, but
/// does not find an internal function whose name another input or the module has. After an error the module is
/// unchanged.
pub fn link(module: &Module<'_>, inputs: &[Input<'_>]) -> Result<(), Error> {
    if inputs.is_empty() {
        return Ok(());
    }
    let kernels = inputs
        .iter()
        .map(|input| Ok((input, parse_kernel(module, input)?)))
        .collect::<Result<Vec<_>, Error>>()?;
    verify(module)?;
    show_locals(module, &kernels);
    let copy = module.clone();
    for (input, kernel) in &kernels {
        link_in(&copy, input.name, kernel.clone())?;
    }
    let hidden = |(input, kernel): &(&Input<'_>, Module<'_>)| {
        raw::definitions(kernel).into_iter().filter(|name| !keeps(input, kernel, name)).collect()
    };
    let definitions = kernels.iter().flat_map(hidden as fn(&_) -> Vec<String>);
    let is_new = |name: &String| raw::find(module, name).is_none_or(|found| !found.is_defined());
    let names: Vec<String> = definitions.filter(is_new).collect();
    for (input, kernel) in kernels {
        link_in(module, input.name, kernel)?;
    }
    let linked = names.iter().filter_map(|name| raw::find(module, name));
    linked.filter_map(Found::global).for_each(|global| global.set_linkage(Linkage::Internal));
    Ok(())
}

/// Makes internal functions of kernels external: linking would drop those that their own module does not call, but the
/// host IR, emitted later, may call them. A function stays internal if another kernel or the module has its name.
fn show_locals(module: &Module<'_>, kernels: &[(&Input<'_>, Module<'_>)]) {
    let known = |name: &str| {
        let kernels = kernels.iter().filter(|(_, kernel)| raw::find(kernel, name).is_some());
        kernels.count() > 1 || raw::find(module, name).is_some()
    };
    for function in kernels.iter().flat_map(|(_, kernel)| kernel.get_functions()) {
        let local = matches!(function.get_linkage(), Linkage::Internal | Linkage::Private);
        if local && !known(&function.get_name().to_string_lossy()) {
            function.set_linkage(Linkage::External);
        }
    }
}

/// Returns whether a definition of a kernel keeps its linkage.
fn keeps(input: &Input<'_>, kernel: &Module<'_>, name: &str) -> bool {
    let is_variable = matches!(raw::find(kernel, name), Some(Found::Variable(_)));
    input.keeps(name, is_variable)
}

/// Parses a module, and checks that it verifies. LLVM takes the name of what it reads for that of the source of a
/// module that states none, so that it is told the input's name for an error only.
pub(crate) fn parse<'ctx>(
    context: impl AsContextRef<'ctx>,
    input: &Input<'_>,
) -> Result<Module<'ctx>, Error> {
    let context = raw::context(context);
    let named = |_| parse_as(context, input, input.name);
    parse_as(context, input, "").or_else(named).map_err(|error| within(error, input.name))
}

fn parse_as<'ctx>(
    context: ContextRef<'ctx>,
    input: &Input<'_>,
    name: &str,
) -> Result<Module<'ctx>, Error> {
    let buffer = MemoryBuffer::create_from_memory_range_copy(input.bytes, name);
    collect(context, || {
        let module = if is_bitcode(input.bytes) {
            Module::parse_bitcode_from_buffer(&buffer, context)
        } else {
            context.create_module_from_ir(buffer)
        };
        let module = module.map_err(native)?;
        verify(&module)?;
        Ok(module)
    })
}

/// Parses and checks a kernel.
fn parse_kernel<'ctx>(module: &Module<'ctx>, input: &Input<'_>) -> Result<Module<'ctx>, Error> {
    let kernel = parse(module.get_context(), input)?;
    fits(module, &kernel).map_err(|reason| within(refused(reason), input.name))?;
    raw::dissolve_comdats(&kernel, |name| keeps(input, &kernel, name));
    Ok(kernel)
}

/// Checks that a kernel is for the target of the module, as far as both state one; LLVM would only warn.
fn fits(module: &Module<'_>, kernel: &Module<'_>) -> Result<(), String> {
    let (own, its) = (module.get_triple(), kernel.get_triple());
    if !same_target(&own, &its) {
        let (own, its) = (own.as_str().to_string_lossy(), its.as_str().to_string_lossy());
        return Err(format!("it is for {its}, the module for {own}"));
    }
    let (own, its) = (raw::data_layout(module), raw::data_layout(kernel));
    if !own.is_empty() && !its.is_empty() && own != its {
        return Err(format!("its data layout is {its}, the module's {own}"));
    }
    Ok(())
}

/// Returns true for bitcode, bare or in the wrapper of Apple's tools.
fn is_bitcode(bytes: &[u8]) -> bool {
    bytes.starts_with(b"BC\xc0\xde") || bytes.starts_with(&0x0b17_c0de_u32.to_le_bytes())
}

fn link_in<'ctx>(module: &Module<'ctx>, name: &str, kernel: Module<'ctx>) -> Result<(), Error> {
    collect(module.get_context(), || {
        let linked = module.link_in_module(kernel);
        linked.map_err(native)
    })
    .map_err(|error| within(error, name))
}

/// Adds the name of the input to an error without one. LLVM writes it before a line and a column.
fn within(error: Error, input: &str) -> Error {
    let Error::Native { reason, .. } = error else { return error };
    let is_named = reason.strip_prefix(input).is_some_and(|rest| rest.starts_with(':'));
    if is_named { refused(reason) } else { refused(format!("{input}: {reason}")) }
}
