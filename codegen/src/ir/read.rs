//! The reader of the text form, the inverse of [`print`](super::print).

use std::borrow::Cow;
use std::error;
use std::fmt;
use std::str::FromStr;

use rustc_hash::FxHashMap;

mod cursor;
mod function;

use super::entity::{Block, Symbol, Value};
use super::module::{BlockData, Data, Function, Hint, Module, Placed, Relocation, ValueData};
use super::signature::{AbiType, Extend, Signature, Type};
use super::symbols::{Linkage, SymbolKind};
use cursor::Cursor;
pub(super) use cursor::is_word;

/// The error of text that is no host IR.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct ReadError {
    /// The line, counted from 1.
    pub line: usize,
    /// The fault in the line.
    pub reason: String,
}

impl fmt::Display for ReadError {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(f, "line {}: {}", self.line, self.reason)
    }
}

impl error::Error for ReadError {}

/// The result of reading a part of a line. The caller adds the line.
type Read<T> = Result<T, String>;

/// An item of the text: its first line, and for a definition the lines up to its closing brace.
struct Item<'a> {
    /// The number of the first line, counted from 1.
    line: usize,
    head: &'a str,
    body: Vec<(usize, &'a str)>,
    /// The symbol that it defines, if it is a definition.
    symbol: Option<Symbol>,
}

/// Reads the output of `{:#}`, and of `{}` for modules without data printers. Lines that start with `#` are comments,
/// empty lines are skipped. The module need not [verify](super::verify()).
///
/// ```
/// use tvm_ffi_codegen::ir::Module;
///
/// let text = "export func @twice(%n: i64) -> i64 {\nentry:\n    %sum: i64 = add %n, %n\n    return %sum\n}\n";
/// let module: Module = text.parse()?;
/// assert_eq!(module.to_string(), text);
/// # Ok::<(), tvm_ffi_codegen::ir::ReadError>(())
/// ```
impl FromStr for Module {
    type Err = ReadError;

    fn from_str(text: &str) -> Result<Module, ReadError> {
        let mut module = Module::default();
        let mut items = items(text)?;
        for item in &mut items {
            let at = |reason| ReadError { line: item.line, reason };
            item.symbol = declare(&mut module, item.head).map_err(at)?;
        }
        for item in &items {
            let at = |reason| ReadError { line: item.line, reason };
            let mut cursor = Cursor::new(item.head);
            let Some(symbol) = item.symbol else {
                if cursor.keyword("constructor") {
                    let constructor = find(&module, &mut cursor).map_err(at)?;
                    cursor.end().map_err(at)?;
                    module.constructors.push(constructor);
                }
                continue;
            };
            if let SymbolKind::Data = module.symbols[symbol.index()].kind {
                let data = data(&module, symbol, item)?;
                module.data.push(data);
            } else {
                let function = function::function(&module, symbol, item)?;
                module.functions.push(function);
            }
        }
        Ok(module)
    }
}

/// Splits a text into items.
fn items(text: &str) -> Result<Vec<Item<'_>>, ReadError> {
    let mut items: Vec<Item<'_>> = Vec::new();
    let mut open = false;
    for (index, line) in text.lines().enumerate() {
        let number = index + 1;
        let is_comment = line.trim_start().starts_with('#');
        if is_comment || line.trim().is_empty() {
            continue;
        }
        if line == "}" && open {
            open = false;
        } else if let (true, Some(item)) = (open, items.last_mut()) {
            item.body.push((number, line));
        } else {
            open = line.ends_with('{');
            items.push(Item { line: number, head: line, body: Vec::new(), symbol: None });
        }
    }
    match items.last() {
        Some(item) if open => {
            Err(ReadError { line: item.line, reason: "expected a closing brace".to_owned() })
        }
        _ => Ok(items),
    }
}

/// Declares the symbol of a definition or an import; returns the symbol of a definition.
fn declare(module: &mut Module, head: &str) -> Read<Option<Symbol>> {
    let mut cursor = Cursor::new(head);
    if cursor.keyword("constructor") {
        return Ok(None);
    }
    let linkages = [
        ("import", Linkage::Import),
        ("local", Linkage::Local),
        ("export", Linkage::Export),
        ("once", Linkage::Once),
        ("weak", Linkage::Weak),
    ];
    let linkage = linkages.into_iter().find(|(word, _)| cursor.keyword(word));
    let (_, linkage) =
        linkage.ok_or("expected `import`, `local`, `export`, `once`, `weak` or `constructor`")?;
    let is_function = cursor.keyword("func");
    if !is_function {
        cursor.expect("data")?;
    }
    let name = cursor.name('@')?;
    let kind =
        if is_function { SymbolKind::Function(signature(&mut cursor)?) } else { SymbolKind::Data };
    if linkage == Linkage::Import {
        cursor.end()?;
    }
    let symbol = module.try_declare(&name, linkage, kind).map_err(|error| error.to_string())?;
    Ok((linkage != Linkage::Import).then_some(symbol))
}

/// Reads the name of a declared symbol.
fn find(module: &Module, cursor: &mut Cursor<'_>) -> Read<Symbol> {
    let name = cursor.name('@')?;
    module.find(&name).ok_or_else(|| format!("`@{name}` is not declared"))
}

/// Reads a signature: the types of parameters, with or without names, and of the result.
fn signature(cursor: &mut Cursor<'_>) -> Read<Signature> {
    let mut signature = Signature::default();
    cursor.list(|cursor| {
        if cursor.peek() == Some('%') {
            cursor.name('%')?;
            cursor.expect(":")?;
        }
        signature.params.push(abi_type(cursor)?);
        Ok(())
    })?;
    if cursor.eat("->") {
        signature.result = Some(abi_type(cursor)?);
    }
    Ok(signature)
}

fn abi_type(cursor: &mut Cursor<'_>) -> Read<AbiType> {
    let ty = ty(cursor)?;
    let extensions = [
        ("sext", Extend::Sign),
        ("zext", Extend::Zero),
        ("bool", Extend::Truth),
        ("float16", Extend::Float16),
        ("bfloat16", Extend::BFloat16),
    ];
    let extend = extensions.into_iter().find(|(word, _)| cursor.keyword(word));
    Ok(AbiType { ty, extend: extend.map_or(Extend::No, |(_, extend)| extend) })
}

fn ty(cursor: &mut Cursor<'_>) -> Read<Type> {
    let all =
        [Type::Bool, Type::I8, Type::I16, Type::I32, Type::I64, Type::F32, Type::F64, Type::Ptr];
    let word = cursor.word();
    let found = all.into_iter().find(|ty| ty.to_string() == word);
    found.ok_or_else(|| format!("expected a type, found `{word}`"))
}

/// Reads a data object: its bytes in quotes, then its addresses.
fn data(module: &Module, symbol: Symbol, item: &Item<'_>) -> Result<Data, ReadError> {
    let at = |line| move |reason| ReadError { line, reason };
    let mut data = Data::constant(symbol, Vec::new(), 1);
    let size = data_head(&mut data, item.head).map_err(at(item.line))?;
    for &(line, text) in &item.body {
        data_line(module, &mut data, &mut Cursor::new(text)).map_err(at(line))?;
    }
    if data.bytes.len() == size {
        return Ok(data);
    }
    Err(at(item.line)(format!("{} bytes, not {size}", data.bytes.len())))
}

/// Reads the first line of a data object; returns its size.
fn data_head(data: &mut Data, head: &str) -> Read<usize> {
    let mut cursor = Cursor::new(head);
    cursor.word();
    cursor.expect("data")?;
    cursor.name('@')?;
    data.writable = cursor.keyword("writable");
    data.large = cursor.keyword("large");
    data.listed = cursor.keyword("listed");
    cursor.expect("size")?;
    let size = cursor.number()?;
    cursor.expect("align")?;
    data.align = cursor.number()?;
    cursor.expect("{")?;
    Ok(size)
}

fn data_line(module: &Module, data: &mut Data, cursor: &mut Cursor<'_>) -> Read<()> {
    if cursor.peek() == Some('"') {
        data.bytes.extend(cursor.quoted()?);
        return cursor.end();
    }
    let offset = cursor.number()?;
    cursor.expect("=")?;
    cursor.expect("address")?;
    let symbol = find(module, cursor)?;
    let addend = cursor.offset()?;
    data.relocations.push(Relocation { offset, symbol, addend });
    cursor.end()
}
