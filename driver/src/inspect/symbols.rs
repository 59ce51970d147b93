//! Global symbols of a file, in any format.

use std::collections::BTreeMap;

use abi_spec::library_bin;
use abi_spec::symbol::LIBRARY_BIN;
use codegen::backend::LISTS;
use codegen::metadata::{self, TextKind};
use link::object_file::{NameBudget, c_name, malformed};
use link::printable::printable;
use object::{
    BinaryFormat, ExportTarget, NameOrOrdinal, Object, ObjectKind, ObjectSection, ObjectSymbol,
    ReadRef, SectionIndex, SymbolScope,
};

use crate::ObjectFault;

/// An exported or undefined symbol.
#[derive(Debug)]
pub(super) struct Symbol<'data> {
    pub(super) name: String,
    pub(super) defined: bool,
    pub(super) weak: bool,
    pub(super) size: Option<u64>,
    /// Contents of [`LIBRARY_BIN`]; empty for other symbols, and if the file has none.
    pub(super) data: &'data [u8],
}

type Symbols<'data> = BTreeMap<Vec<u8>, Symbol<'data>>;

/// Returns the symbols of an object, or the dynamic symbols of a linked file: each name once, in order.
pub(super) fn symbols<'data, R: ReadRef<'data>>(
    file: &object::File<'data, R>,
    names: &mut NameBudget,
) -> Result<impl Iterator<Item = Symbol<'data>> + use<'data, R>, ObjectFault> {
    let mut symbols = Symbols::new();
    if file.kind() == ObjectKind::Relocatable {
        read_table(file, file.symbols(), names, &mut symbols)?;
    } else if file.format() == BinaryFormat::Elf {
        read_table(file, file.dynamic_symbols(), names, &mut symbols)?;
    } else {
        read_exports_and_imports(file, names, &mut symbols)?;
    }
    Ok(symbols.into_values())
}

/// Returns the libraries that a linked file needs.
pub(super) fn needed<'data, R: ReadRef<'data>>(
    file: &object::File<'data, R>,
    names: &mut NameBudget,
) -> Result<Vec<String>, ObjectFault> {
    let mut needed = Vec::new();
    if file.kind() != ObjectKind::Relocatable {
        for library in file.import_libraries().map_err(malformed)? {
            needed.push(text(&names.take(library.map(|library| library.name()))?));
        }
    }
    Ok(needed)
}

fn read_table<'data, R: ReadRef<'data>>(
    file: &object::File<'data, R>,
    table: object::SymbolIterator<'data, '_, R>,
    names: &mut NameBudget,
    symbols: &mut Symbols<'data>,
) -> Result<(), ObjectFault> {
    let format = file.format();
    for symbol in table.filter(|symbol| symbol.is_global()) {
        let defined = !symbol.is_undefined();
        // COFF has no visibility: options of the linker choose the exports.
        let hidden = symbol.scope() == SymbolScope::Linkage && format != BinaryFormat::Coff;
        if defined && hidden {
            continue;
        }
        let name = names.take(symbol.name_bytes())?;
        let size = (format == BinaryFormat::Elf).then(|| symbol.size());
        let mut data: &[u8] = &[];
        if defined && is_tree(c_name(format, &name)) {
            data = contents(file, (symbol.section_index(), symbol.address()), size);
        }
        let weak = symbol.is_weak();
        insert(symbols, c_name(format, &name), Symbol { defined, weak, size, data, ..EMPTY });
    }
    Ok(())
}

fn read_exports_and_imports<'data, R: ReadRef<'data>>(
    file: &object::File<'data, R>,
    names: &mut NameBudget,
    symbols: &mut Symbols<'data>,
) -> Result<(), ObjectFault> {
    let format = file.format();
    for import in file.imports().map_err(malformed)? {
        let import = import.map_err(malformed)?;
        if let NameOrOrdinal::Name(name) = import.name() {
            let name = names.take(Ok(name))?;
            insert(symbols, c_name(format, &name), Symbol { weak: import.is_weak(), ..EMPTY });
        }
    }
    for export in file.exports().map_err(malformed)? {
        let export = export.map_err(malformed)?;
        if let NameOrOrdinal::Name(name) = export.name() {
            let name = names.take(Ok(name))?;
            let mut data: &[u8] = &[];
            if let ExportTarget::Address { address } = export.target()
                && is_tree(c_name(format, &name))
            {
                data = contents(file, (None, address), None);
            }
            let symbol = Symbol { defined: true, weak: export.is_weak(), data, ..EMPTY };
            insert(symbols, c_name(format, &name), symbol);
        }
    }
    Ok(())
}

const EMPTY: Symbol<'static> =
    Symbol { name: String::new(), defined: false, weak: false, size: None, data: &[] };

/// Adds a symbol under its name in C. A definition replaces a use.
fn insert<'data>(symbols: &mut Symbols<'data>, name: &[u8], symbol: Symbol<'data>) {
    let known = symbols.get(name).is_some_and(|symbol| symbol.defined);
    if !name.is_empty() && !known {
        symbols.insert(name.to_vec(), Symbol { name: text(name), ..symbol });
    }
}

fn is_tree(name: &[u8]) -> bool {
    name.ends_with(LIBRARY_BIN.as_bytes())
}

/// Returns the contents of the file from an address on, up to the end of the import tree there.
fn contents<'data, R: ReadRef<'data>>(
    file: &object::File<'data, R>,
    (section, address): (Option<SectionIndex>, u64),
    size: Option<u64>,
) -> &'data [u8] {
    let holds = |section: &object::Section<'data, '_, R>| {
        address.checked_sub(section.address()).is_some_and(|offset| offset < section.size())
    };
    let section = match section {
        Some(index) => file.section_by_index(index).ok(),
        None => file.sections().find(holds),
    };
    let data = section.as_ref().and_then(|section| section.data().ok()).unwrap_or_default();
    let offset = address.wrapping_sub(section.map_or(0, |section| section.address()));
    let rest = usize::try_from(offset).ok().and_then(|offset| data.get(offset..));
    let rest = rest.unwrap_or_default();
    let size = size.filter(|&size| size > 0).and_then(|size| usize::try_from(size).ok());
    let sized = size.and_then(|size| rest.get(..size));
    // Without a size of the symbol, the header of the tree has its length.
    let own = || library_bin::blob_len(rest).ok().and_then(|size| rest.get(..size));
    sized.or_else(own).unwrap_or(rest)
}

/// Returns the texts about functions in the file: subject, function and text. Their bytes count towards the limit of
/// names.
pub(super) fn texts<'data, R: ReadRef<'data>>(
    file: &object::File<'data, R>,
    names: &mut NameBudget,
) -> Result<Vec<(TextKind, String, String)>, ObjectFault> {
    let listed =
        file.sections().filter(|section| section.name().is_ok_and(|name| LISTS.contains(&name)));
    let mut all = Vec::new();
    for section in listed {
        let data = section.data().map_err(malformed)?;
        names.count(data.len())?;
        let lossy = |bytes| String::from_utf8_lossy(bytes).into_owned();
        let found = metadata::texts(data);
        all.extend(found.map(|(subject, name, text)| (subject, lossy(name), lossy(text))));
    }
    Ok(all)
}

/// Returns a name with its control characters escaped.
pub(super) fn text(name: &[u8]) -> String {
    String::from_utf8_lossy(name).chars().flat_map(printable).collect()
}
