//! The global symbols of a file, in any format.

use std::collections::BTreeMap;

use object::{BinaryFormat, NameOrOrdinal, Object, ObjectKind, ObjectSymbol, SymbolScope};

use crate::ObjectFault;
use crate::object_file::{Names, malformed};

/// A symbol that others see, or that is wanted of others.
#[derive(Debug)]
pub(super) struct Symbol {
    pub(super) name: String,
    pub(super) defined: bool,
    pub(super) weak: bool,
    pub(super) size: Option<u64>,
}

/// The symbols of an object, or those that the loader knows of a linked file; each name once, in
/// order.
pub(super) fn symbols(
    file: &object::File<'_>,
    names: &mut Names,
) -> Result<impl Iterator<Item = Symbol>, ObjectFault> {
    let mut symbols = BTreeMap::new();
    if file.kind() == ObjectKind::Relocatable {
        read_table(file, file.symbols(), names, &mut symbols)?;
    } else if file.format() == BinaryFormat::Elf {
        read_table(file, file.dynamic_symbols(), names, &mut symbols)?;
    } else {
        read_exports_and_imports(file, names, &mut symbols)?;
    }
    Ok(symbols.into_values())
}

/// Libraries that a linked file names.
pub(super) fn needed(
    file: &object::File<'_>,
    names: &mut Names,
) -> Result<Vec<String>, ObjectFault> {
    let mut needed = Vec::new();
    if file.kind() != ObjectKind::Relocatable {
        for library in file.import_libraries().map_err(malformed)? {
            needed.push(text(&names.take(library.map(|library| library.name()))?));
        }
    }
    Ok(needed)
}

fn read_table(
    file: &object::File<'_>,
    table: object::SymbolIterator<'_, '_>,
    names: &mut Names,
    symbols: &mut BTreeMap<Vec<u8>, Symbol>,
) -> Result<(), ObjectFault> {
    let format = file.format();
    for symbol in table.filter(|symbol| symbol.is_global()) {
        let (defined, weak) = (!symbol.is_undefined(), symbol.is_weak());
        // COFF knows no visibility; there the linker is told what to export.
        let hidden = symbol.scope() == SymbolScope::Linkage && format != BinaryFormat::Coff;
        if !(defined && hidden) {
            let name = names.take(symbol.name_bytes())?;
            let size = (format == BinaryFormat::Elf).then(|| symbol.size());
            insert(format, symbols, &name, defined, weak, size);
        }
    }
    Ok(())
}

fn read_exports_and_imports(
    file: &object::File<'_>,
    names: &mut Names,
    symbols: &mut BTreeMap<Vec<u8>, Symbol>,
) -> Result<(), ObjectFault> {
    let format = file.format();
    for import in file.imports().map_err(malformed)? {
        let import = import.map_err(malformed)?;
        if let NameOrOrdinal::Name(name) = import.name() {
            insert(format, symbols, &names.take(Ok(name))?, false, import.is_weak(), None);
        }
    }
    for export in file.exports().map_err(malformed)? {
        let export = export.map_err(malformed)?;
        if let NameOrOrdinal::Name(name) = export.name() {
            insert(format, symbols, &names.take(Ok(name))?, true, export.is_weak(), None);
        }
    }
    Ok(())
}

/// Adds a symbol under its name in C. A definition replaces a use.
fn insert(
    format: BinaryFormat,
    symbols: &mut BTreeMap<Vec<u8>, Symbol>,
    name: &[u8],
    defined: bool,
    weak: bool,
    size: Option<u64>,
) {
    let plain = match name {
        [b'_', rest @ ..] if format == BinaryFormat::MachO => rest,
        _ => name,
    };
    let known = symbols.get(plain).is_some_and(|symbol| symbol.defined);
    if !plain.is_empty() && !known {
        symbols.insert(plain.to_vec(), Symbol { name: text(plain), defined, weak, size });
    }
}

/// A name of anyone's making, fit to be printed.
fn text(name: &[u8]) -> String {
    String::from_utf8_lossy(name).chars().flat_map(printable).collect()
}

fn printable(c: char) -> impl Iterator<Item = char> {
    let escaped = c.is_control().then(|| c.escape_default());
    let plain = escaped.is_none().then_some(c);
    escaped.into_iter().flatten().chain(plain)
}
