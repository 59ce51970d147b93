//! Readable Cranelift IR: text for `cranelift-reader`, with comments that name the symbol of each `fn0` or `gv0`, and
//! the purpose of blocks and values.

use std::fmt::{self, Write};

use codegen::backend::{self, Error, Facts};
use codegen::ir;
use cranelift_codegen::entity::SecondaryMap;
use cranelift_codegen::entity::packed_option::ReservedValue;
use cranelift_codegen::ir::{Block, Function, Inst, Value};
use cranelift_codegen::write::{FuncWriter, PlainWriter, decorate_function};
use cranelift_module::FuncOrDataId;

use crate::function::{Functions, translate};
use crate::symbols::{self, CAPABILITIES, ExistingSymbols, Reference};
use crate::{Cranelift, object, refused};

/// The number of bytes of a data object that are shown.
const SHOWN: usize = 48;

/// Returns the data objects as comments, then every function.
pub(crate) fn text(target: &Cranelift, source: &ir::Module) -> Result<String, Error> {
    ir::verify(source)?;
    let mut module = object::module(target, false)?;
    let source = &*backend::with_preserving_thunks(source, &Facts::of(&target.triple));
    let plan = backend::plan(source, &ExistingSymbols(&module), CAPABILITIES)?;
    let symbols = symbols::declare(&mut module, source, &plan)?;
    let mut functions = Functions::new(&mut module, &symbols);
    let mut text = String::new();
    let mut write = || {
        for &constructor in &source.constructors {
            writeln!(text, "; constructor @{}", source.name(constructor).escape_debug())?;
        }
        source.data.iter().try_for_each(|data| print_data(&mut text, source, data))?;
        for function in &source.functions {
            if let FuncOrDataId::Func(id) = symbols[function.symbol.index()] {
                let function = &*function.with_shared_calls();
                translate(&mut functions, id, function);
                print_function(&mut text, source, function, &functions)?;
            }
        }
        Ok(())
    };
    write().map_err(|error: fmt::Error| refused(error))?;
    Ok(text)
}

fn print_data(text: &mut String, source: &ir::Module, data: &ir::Data) -> fmt::Result {
    let symbol = &source.symbols[data.symbol.index()];
    let (size, align) = (data.bytes.len(), data.align);
    let access = if data.writable { ", writable" } else { "" };
    let shown = data.bytes[..size.min(SHOWN)].escape_ascii();
    let more = if size > SHOWN { "…" } else { "" };
    let (linkage, name) = (symbol.linkage, symbol.name.escape_debug());
    writeln!(text, "; {linkage} @{name}, {size} bytes, align {align}{access}: \"{shown}\"{more}")?;
    for relocation in &data.relocations {
        let name = source.name(relocation.symbol).escape_debug();
        writeln!(text, ";   {} = @{name}{:+}", relocation.offset, relocation.addend)?;
    }
    Ok(())
}

fn print_function(
    text: &mut String,
    source: &ir::Module,
    function: &ir::Function,
    functions: &Functions<'_>,
) -> fmt::Result {
    let symbol = &source.symbols[function.symbol.index()];
    let func = &functions.context.func;
    if !text.is_empty() {
        text.push('\n');
    }
    writeln!(text, "; {} @{}", symbol.linkage, symbol.name.escape_debug())?;
    for (symbol, reference) in &functions.references {
        let name = source.name(*symbol).escape_debug();
        match reference {
            Reference::Function(reference) => {
                let signature = &func.dfg.signatures[func.dfg.ext_funcs[*reference].signature];
                writeln!(text, "; {reference} = @{name} {signature}")?;
            }
            Reference::Data(reference) => writeln!(text, "; {reference} = @{name}")?,
        }
    }
    let names = function.value_names();
    let hints = hints(function, &names, &functions.values);
    let labels = function.blocks().map(|(block, _)| function.label(block)).collect();
    decorate_function(&mut Commented { labels, hints }, text, func)
}

/// Returns the name of each native value with a hint. Values of blocks that Cranelift found unreachable are missing; of
/// values that share a native value, the first names it.
fn hints<'a>(
    function: &ir::Function,
    names: &'a [String],
    values: &[Value],
) -> SecondaryMap<Value, &'a str> {
    let mut hints: SecondaryMap<Value, &str> = SecondaryMap::new();
    for ((data, name), &value) in function.values.iter().zip(names).zip(values) {
        let named = data.hint != ir::Hint::default() && !value.is_reserved_value();
        if named && hints[value].is_empty() {
            hints[value] = name;
        }
    }
    hints
}

/// A writer that appends the names of the host IR as comments.
struct Commented<'a> {
    /// The label of each block.
    labels: Vec<String>,
    /// The name of each value; empty for most values.
    hints: SecondaryMap<Value, &'a str>,
}

impl FuncWriter for Commented<'_> {
    fn write_block_header(
        &mut self,
        w: &mut dyn Write,
        func: &Function,
        block: Block,
        indent: usize,
    ) -> fmt::Result {
        let mut line = String::new();
        PlainWriter.write_block_header(&mut line, func, block, indent)?;
        let label = &self.labels[block.as_u32() as usize];
        let params = func.dfg.block_params(block).iter().map(|&param| self.hints[param]);
        let names: Vec<&str> = params.filter(|name| !name.is_empty()).collect();
        write!(w, "{}  ; {label}", line.trim_end())?;
        if names.is_empty() { writeln!(w) } else { writeln!(w, ": {}", names.join(", ")) }
    }

    fn write_instruction(
        &mut self,
        w: &mut dyn Write,
        func: &Function,
        aliases: &SecondaryMap<Value, Vec<Value>>,
        inst: Inst,
        indent: usize,
    ) -> fmt::Result {
        let mut line = String::new();
        PlainWriter.write_instruction(&mut line, func, aliases, inst, indent)?;
        match func.dfg.inst_results(inst).first().map(|&result| self.hints[result]) {
            None | Some("") => w.write_str(&line),
            Some(name) => {
                let separator = if line.contains(';') { ", " } else { "  ; " };
                writeln!(w, "{}{separator}{name}", line.trim_end())
            }
        }
    }
}
