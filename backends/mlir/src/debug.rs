//! Debug information: a compile unit for the host IR, a subprogram for each function that has a place in the user's
//! source, and a location for each of its operations. A module whose functions have no place gets none of it.

use std::collections::BTreeMap;

use codegen::backend::quoted;
use codegen::ir;
use melior::Context;
use melior::ir::attribute::ArrayAttribute;
use melior::ir::{Attribute, Location};

use crate::op::parse;

/// The name by which tools know where debug information comes from.
const PRODUCER: &str = "tvm-ffi-codegen";

/// The number of columns that LLVM knows.
const COLUMNS: u32 = 1 << 16;

/// The debug information of a module.
pub(crate) struct Debug<'c> {
    /// The scopes of each function that has a place in a source: its subprogram for places in its own file, and a block
    /// in it for each other file, by the number of the file.
    scopes: BTreeMap<ir::Symbol, Vec<(u32, Attribute<'c>)>>,
}

/// The locations of the operations of a function.
#[derive(Default)]
pub(crate) struct Locations<'c> {
    /// The location of the function, which has its subprogram; `None` if it has no debug information.
    pub(crate) function: Option<Location<'c>>,
    /// The location of each topic; empty if the function has no debug information.
    pub(crate) topics: Vec<Location<'c>>,
}

impl<'c> Debug<'c> {
    /// Makes the scopes of a module. They are read as one attribute: one that is distinct from all others, such as a
    /// compile unit, is the same only within one text.
    pub(crate) fn new(context: &'c Context, source: &ir::Module) -> Self {
        let (mut scopes, mut texts) = (BTreeMap::new(), Vec::new());
        let unit = source.functions.iter().find_map(ir::Function::location);
        let unit = unit.map_or(String::new(), |first| unit_text(source, first.file));
        let mut wanted = Vec::new();
        for function in &source.functions {
            let Some(own) = function.location() else { continue };
            let subprogram = subprogram_text(source, function, own, (texts.len() + 1, &unit));
            let others = function.other_files();
            wanted.push((function.symbol, own.file));
            wanted.extend(others.iter().map(|&file| (function.symbol, file)));
            let block = |file| block_text(&subprogram, &file_text(source, file), own);
            let blocks: Vec<String> = others.into_iter().map(block).collect();
            texts.push(subprogram);
            texts.extend(blocks);
        }
        if texts.is_empty() {
            return Debug { scopes };
        }
        let all = ArrayAttribute::try_from(parse(context, &format!("[{}]", texts.join(", "))));
        let all = all.expect("the text is an array");
        for (index, (symbol, file)) in wanted.into_iter().enumerate() {
            let scope = all.element(index).expect("the array has an element for each text");
            scopes.entry(symbol).or_insert_with(Vec::new).push((file, scope));
        }
        Debug { scopes }
    }

    /// Returns the locations of a function.
    pub(crate) fn locations(
        &self,
        context: &'c Context,
        module: &ir::Module,
        source: &ir::Function,
    ) -> Locations<'c> {
        let (Some(scopes), Some(own)) = (self.scopes.get(&source.symbol), source.location()) else {
            return Locations::default();
        };
        let place = |at: ir::SourceLocation| {
            let file = &module.files[at.file as usize];
            Location::new(context, file, at.line as usize, at.column_below(COLUMNS) as usize)
        };
        let location = |topic: &ir::Topic| {
            let at = topic.location.unwrap_or(own);
            match scopes.iter().skip(1).find(|(file, _)| *file == at.file) {
                Some((_, scope)) => Location::fused(context, &[place(at)], *scope),
                None => place(at),
            }
        };
        Locations {
            function: Some(Location::fused(context, &[place(own)], scopes[0].1)),
            topics: source.topics.iter().map(location).collect(),
        }
    }
}

fn file_text(source: &ir::Module, file: u32) -> String {
    format!("<{} in \"\">", quoted(&source.files[file as usize]))
}

fn unit_text(source: &ir::Module, file: u32) -> String {
    let file = file_text(source, file);
    format!(
        "#llvm.di_compile_unit<id = distinct[0]<>, sourceLanguage = DW_LANG_C99, file = {file}, \
         producer = \"{PRODUCER}\", isOptimized = true, emissionKind = Full, \
         nameTableKind = None>"
    )
}

/// Returns the text of a subprogram with a number of its own in a compile unit.
fn subprogram_text(
    source: &ir::Module,
    function: &ir::Function,
    at: ir::SourceLocation,
    (id, unit): (usize, &str),
) -> String {
    let (file, line) = (file_text(source, at.file), at.line);
    let name = quoted(source.name(function.symbol));
    format!(
        "#llvm.di_subprogram<id = distinct[{id}]<>, compileUnit = {unit}, \
         scope = #llvm.di_file{file}, name = {name}, linkageName = {name}, file = {file}, \
         line = {line}, scopeLine = {line}, subprogramFlags = \"Definition|Optimized\", \
         type = <types = #llvm.di_null_type>>"
    )
}

fn block_text(subprogram: &str, file: &str, at: ir::SourceLocation) -> String {
    let (line, column) = (at.line, at.column_below(COLUMNS));
    format!(
        "#llvm.di_lexical_block<scope = {subprogram}, file = {file}, line = {line}, \
         column = {column}>"
    )
}
