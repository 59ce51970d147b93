//! Data objects.

use codegen::ir::{self, Data, DataPart, Linkage, Module, Relocation};

use crate::prelude::{Helper, Prelude};
use crate::symbols::Symbols;

/// The largest number of bytes of a text: C99 asks no more of compilers.
const LONGEST: usize = 4095;

/// The width of lines of texts and numbers.
const WIDTH: usize = 95;

/// Returns the type and name of an object: `const unsigned char name[8]`.
pub(crate) fn declarator(symbols: &Symbols, source: &Data, name: &str) -> String {
    let constant = if source.writable { "" } else { "const " };
    if source.relocations.is_empty() {
        let size = source.bytes.len() + usize::from(is_longer(symbols, source));
        return format!("{constant}unsigned char {name}[{}]", size.max(1));
    }
    format!("{constant}struct {}_data {name}", symbols.names[source.symbol.index()])
}

/// Returns true if the array is one byte longer than the object: a text without a NUL at its end, of which nobody else
/// sees the size.
fn is_longer(symbols: &Symbols, source: &Data) -> bool {
    let is_seen = source.listed || source.large || symbols.is_seen(source.symbol);
    let is_text =
        source.bytes.len() < LONGEST && source.bytes.last().is_some_and(|&byte| byte != 0);
    is_text && !is_seen && !source.writable
}

/// Returns the words before the type of an object, after those for its linkage.
fn attributes(start: &str, source: &Data, prelude: &mut Prelude) -> String {
    let mut words = start.to_owned();
    let mut add = |word: &str| words.push_str(&format!("{word} "));
    if source.large {
        add(prelude.name(Helper::Large));
    }
    if source.listed {
        add(prelude.name(Helper::Listed));
    }
    words
}

/// Declares an object, before functions and other objects refer to it.
pub(crate) fn declare(
    symbols: &Symbols,
    source: &Module,
    data: &Data,
    prelude: &mut Prelude,
    text: &mut String,
) {
    let name = &symbols.names[data.symbol.index()];
    if !data.relocations.is_empty() {
        text.push_str(&format!("struct {name}_data {{\n"));
        for (i, part) in data.parts().into_iter().enumerate() {
            text.push_str(&format!("    {};\n", field(source, i, part)));
        }
        text.push_str("};\n");
    }
    let label = symbols.label(source, data.symbol, prelude);
    let start = match symbols.linkages[data.symbol.index()] {
        Linkage::Export | Linkage::Import => format!("{} ", prelude.name(Helper::Export)),
        Linkage::Once => format!("{} ", prelude.name(Helper::OnceDeclared)),
        Linkage::Weak => return weak(symbols, data, &label, prelude, text),
        Linkage::Local => String::new(),
    };
    let (words, object) = (attributes(&start, data, prelude), declarator(symbols, data, name));
    let line = match symbols.is_seen(data.symbol) {
        true => format!("{words}{object}{label};\n"),
        false => format!("{}({words}{object})\n", prelude.name(Helper::Later)),
    };
    text.push_str(&line);
}

/// Defines a weak object, which needs no declaration: it is zero.
fn weak(symbols: &Symbols, data: &Data, label: &str, prelude: &mut Prelude, text: &mut String) {
    let object = declarator(symbols, data, &symbols.names[data.symbol.index()]);
    let (weak, align) = (prelude.name(Helper::Weak), prelude.name(Helper::Align));
    text.push_str(&format!("{weak}({align}({}) {object}{label})\n", data.align));
}

/// Returns the declaration of a field of an object with addresses.
fn field(source: &Module, i: usize, part: DataPart<'_>) -> String {
    match part {
        DataPart::Bytes(bytes) => format!("unsigned char bytes{i}[{}]", bytes.len()),
        DataPart::Address(Relocation { symbol, .. }) if source.signature(symbol).is_some() => {
            format!("void (*address{i})(void)")
        }
        DataPart::Address(_) => format!("const void *address{i}"),
    }
}

/// Defines a declared object.
pub(crate) fn define(
    symbols: &Symbols,
    source: &Module,
    data: &Data,
    prelude: &mut Prelude,
    text: &mut String,
) {
    let object = declarator(symbols, data, &symbols.names[data.symbol.index()]);
    let start = match symbols.linkages[data.symbol.index()] {
        // The declaration is a definition.
        Linkage::Weak => return,
        // The declaration has the attribute.
        Linkage::Export | Linkage::Import => String::new(),
        Linkage::Once => format!("{} ", prelude.name(Helper::OnceDefined)),
        Linkage::Local => format!("{} ", prelude.name(Helper::Defined)),
    };
    let mut words = attributes(&start, data, prelude);
    if data.align > 1 && (data.relocations.is_empty() || data.align > 8) {
        words.push_str(&format!("{}({}) ", prelude.name(Helper::Align), data.align));
    }
    text.push_str(&format!("\n{words}{object} ="));
    if !data.relocations.is_empty() {
        text.push_str(" {\n");
        for part in data.parts() {
            text.push_str(&format!("    {},\n", value(symbols, source, part)));
        }
        text.push_str("};\n");
    } else if data.bytes.iter().all(|&byte| byte == 0) {
        text.push_str(" {0};\n");
    } else if data.bytes.len() < LONGEST
        && (data.bytes.last() == Some(&0) || is_longer(symbols, data))
    {
        texts(source, data, text);
    } else {
        text.push_str(&format!(" {{\n{}}};\n", numbers(&data.bytes)));
    }
}

/// Returns the value of a field.
fn value(symbols: &Symbols, source: &Module, part: DataPart<'_>) -> String {
    match part {
        DataPart::Bytes(bytes) => format!("{{\n{}    }}", numbers(bytes)),
        DataPart::Address(Relocation { symbol, addend, .. }) => {
            let name = &symbols.references[symbol.index()];
            if source.signature(symbol).is_some() {
                return format!("(void (*)(void)){name}");
            }
            match addend {
                0 => format!("&{name}"),
                addend => format!("(const char *)&{name} + {addend}"),
            }
        }
    }
}

/// Returns bytes as numbers.
fn numbers(bytes: &[u8]) -> String {
    let mut lines = String::with_capacity(bytes.len() * 5);
    let bytes = if bytes.is_empty() { &[0][..] } else { bytes };
    for line in bytes.chunks(20) {
        lines.push_str("   ");
        for &byte in line {
            lines.push(' ');
            digits(byte, 10, 1, &mut lines);
            lines.push(',');
        }
        lines.push('\n');
    }
    lines
}

/// Writes a byte as a number of at least `least` digits.
fn digits(byte: u8, base: u8, least: usize, text: &mut String) {
    let all = [byte / base / base, byte / base % base, byte % base];
    let zeros = all.iter().take_while(|&&digit| digit == 0).count();
    for digit in &all[zeros.min(3 - least)..] {
        text.push(char::from(b'0' + digit));
    }
}

/// Writes an object as texts. The printers of the object say what stands where.
fn texts(source: &Module, data: &Data, text: &mut String) {
    let printers = source.printers.iter().find(|(symbol, _)| *symbol == data.symbol);
    let printers = printers.map_or(&[][..], |(_, printers)| printers);
    let literal = data.bytes.strip_suffix(&[0]).unwrap_or(&data.bytes);
    let starts = printers.iter().map(|&(at, print)| (at as usize, Some(print)));
    let mut starts: Vec<_> = std::iter::once((0, None)).chain(starts).collect();
    starts.sort_by_key(|&(at, _)| at);
    let ends: Vec<usize> =
        starts.iter().skip(1).map(|&(at, _)| at).chain([literal.len()]).collect();
    text.push('\n');
    for ((at, print), end) in starts.into_iter().zip(ends) {
        if let Some(print) = print {
            text.push_str(&format!(
                "    /* {at}: {} */\n",
                comment(&print(&data.bytes, at as u32))
            ));
        }
        lines(&literal[at.min(literal.len())..end.min(literal.len())], text);
    }
    if literal.is_empty() {
        text.push_str("    \"\"\n");
    }
    text.pop();
    text.push_str(";\n");
}

/// Writes bytes as lines of text.
fn lines(bytes: &[u8], text: &mut String) {
    let mut start = text.len();
    for (i, &byte) in bytes.iter().enumerate() {
        if text.len() == start {
            text.push_str("    \"");
        }
        escape(byte, bytes.get(i + 1).copied(), text);
        if text.len() - start >= WIDTH || i + 1 == bytes.len() {
            text.push_str("\"\n");
            start = text.len();
        }
    }
}

/// Writes a byte of a text, before the next one.
fn escape(byte: u8, next: Option<u8>, text: &mut String) {
    match byte {
        b'\n' => text.push_str("\\n"),
        // The last one starts trigraphs.
        b'"' | b'\\' | b'?' => text.extend(['\\', char::from(byte)]),
        b' '..=b'~' => text.push(char::from(byte)),
        _ => {
            text.push('\\');
            let is_before_digit = next.is_some_and(|next| next.is_ascii_digit());
            digits(byte, 8, if is_before_digit { 3 } else { 1 }, text);
        }
    }
}

/// Returns text that can stand in a comment: in ASCII, and without the beginning or end of one.
pub(crate) fn comment(text: &str) -> String {
    let plain = |c: char| {
        if c == ' ' || c.is_ascii_graphic() {
            c.to_string()
        } else {
            c.escape_default().to_string()
        }
    };
    let text: String = text.chars().map(plain).collect();
    text.replace("*/", "* /").replace("/*", "/ *")
}

/// Returns the address of a byte of an object.
pub(crate) fn address(symbols: &Symbols, symbol: ir::Symbol, offset: i32) -> String {
    let name = &symbols.references[symbol.index()];
    let start = if symbols.is_struct[symbol.index()] { "&" } else { "" };
    match offset {
        0 => format!("(void *){start}{name}"),
        _ if start.is_empty() => format!("(void *)({name} + {offset})"),
        _ => format!("(void *)((char *)&{name} + {offset})"),
    }
}
