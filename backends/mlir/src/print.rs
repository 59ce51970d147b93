//! Readable MLIR: what parses back, with the names of values and the labels of blocks that the host IR has.

use codegen::ir;
use melior::ir::Module;
use melior::ir::operation::{OperationLike, OperationPrintingFlags};

use crate::raw;

/// The text of a module that [`Mlir::module`](crate::Mlir::module) has made of `source`.
pub fn text(module: &Module<'_>, source: &ir::Module) -> String {
    let flags = OperationPrintingFlags::new();
    raw::name_results(&flags);
    let plain = module.as_operation().to_string_with_flags(flags);
    let mut labels: Option<Vec<String>> = None;
    let mut text = String::new();
    for line in plain.expect("MLIR writes UTF-8").lines() {
        if let Some(name) = line.trim_start().strip_prefix("llvm.func ").and_then(function_name) {
            labels = source.find(name).and_then(|symbol| function_labels(source, symbol));
        }
        match &labels {
            Some(labels) => relabel(line, labels, &mut text),
            None => text.push_str(line),
        }
        text.push('\n');
    }
    text
}

/// The name after the first `@`, with or without quotes.
fn function_name(head: &str) -> Option<&str> {
    let (_, rest) = head.split_once('@')?;
    match rest.strip_prefix('"') {
        Some(quoted) => quoted.split_once('"').map(|(name, _)| name),
        None => rest.split_once('(').map(|(name, _)| name),
    }
}

/// The labels of the blocks of a function.
fn function_labels(source: &ir::Module, symbol: ir::Symbol) -> Option<Vec<String>> {
    let function = source.functions.iter().find(|function| function.symbol == symbol)?;
    Some(function.blocks().map(|(block, _)| function.label(block)).collect())
}

/// Writes a line with the label of each block in place of `bb` and its number.
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
