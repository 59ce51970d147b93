//! Readable MLIR: text that parses back, with the names of values and the labels of blocks of the host IR.

use std::collections::BTreeSet;

use codegen::ir;
use melior::ir::Module;
use melior::ir::operation::{OperationLike, OperationPrintingFlags};

use crate::raw;

/// Returns the text of a module that [`Mlir::module`](crate::Mlir::module) has made of `source`. It has no locations,
/// as MLIR's own tools write none unless they are asked to.
pub fn text(module: &Module<'_>, source: &ir::Module) -> String {
    let flags = OperationPrintingFlags::new();
    raw::name_results(&flags);
    labelled(module, flags, |name| function_labels(source, source.find(name)?))
}

/// Returns the text of a module to which `source` was added. `own` are the names that the module had before, whose
/// functions keep the labels of MLIR; `located` says whether locations are written.
pub(crate) fn extended_text(
    module: &Module<'_>,
    source: &ir::Module,
    own: &BTreeSet<String>,
    located: bool,
) -> String {
    let mut flags = OperationPrintingFlags::new();
    if located {
        flags = flags.enable_debug_info(true, false);
    } else {
        raw::name_results(&flags);
    }
    let is_new = |name: &&str| !own.contains(*name);
    labelled(module, flags, |name| {
        function_labels(source, Some(name).filter(is_new).and_then(|name| source.find(name))?)
    })
}

/// Returns whether a text in MLIR says locations.
pub(crate) fn is_located(text: &str) -> bool {
    text.match_indices("loc(").any(|(at, _)| text[..at].ends_with(char::is_whitespace))
}

/// Returns the text of a module with the labels of each function, by its name, if `labels_of` knows them.
fn labelled(
    module: &Module<'_>,
    flags: OperationPrintingFlags,
    labels_of: impl Fn(&str) -> Option<Vec<String>>,
) -> String {
    let plain = module.as_operation().to_string_with_flags(flags);
    let mut labels: Option<Vec<String>> = None;
    let mut text = String::new();
    for line in plain.expect("MLIR writes UTF-8").lines() {
        if let Some(name) = line.trim_start().strip_prefix("llvm.func ").and_then(function_name) {
            labels = labels_of(name);
        }
        match &labels {
            Some(labels) => relabel(line, labels, &mut text),
            None => text.push_str(line),
        }
        text.push('\n');
    }
    text
}

/// Returns the name after the first `@`, with or without quotes.
fn function_name(head: &str) -> Option<&str> {
    let (_, rest) = head.split_once('@')?;
    match rest.strip_prefix('"') {
        Some(quoted) => quoted.split_once('"').map(|(name, _)| name),
        None => rest.split_once('(').map(|(name, _)| name),
    }
}

/// Returns the labels of a function's blocks.
fn function_labels(source: &ir::Module, symbol: ir::Symbol) -> Option<Vec<String>> {
    let function = source.functions.iter().find(|function| function.symbol == symbol)?;
    Some(function.blocks().map(|(block, _)| function.label(block)).collect())
}

/// Appends a line with labels in place of `bb` and a number.
fn relabel(line: &str, labels: &[String], text: &mut String) {
    const BLOCK: &str = "^bb";
    let (mut rest, mut quoted) = (line, false);
    while let Some((before, after)) = rest.split_once(BLOCK) {
        quoted ^= before.matches('"').count() % 2 == 1;
        let digits = after.find(|c: char| !c.is_ascii_digit()).unwrap_or(after.len());
        let label = after[..digits].parse().ok().and_then(|i: usize| labels.get(i));
        text.push_str(before);
        match label.filter(|_| !quoted) {
            Some(label) => text.extend(["^", label]),
            None => text.extend([BLOCK, &after[..digits]]),
        }
        rest = &after[digits..];
    }
    text.push_str(rest);
}
