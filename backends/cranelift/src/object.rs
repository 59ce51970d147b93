//! Object files: the native module as bytes.

use codegen::backend::{self, Capabilities, Error, Facts, Weak};
use codegen::ir;
use cranelift_module::{FuncOrDataId, default_libcall_names};
use cranelift_object::object::write::{CoffExportStyle, Object, Symbol, SymbolId, SymbolSection};
use cranelift_object::object::{SectionFlags, SymbolFlags, SymbolScope, elf};
use cranelift_object::{ObjectBuilder, ObjectModule, ObjectProduct};
use target_lexicon::{BinaryFormat, Environment, Triple};

use crate::generators::{Generators, Settings, isa_of};
use crate::symbols::ExistingSymbols;
use crate::unwind::{Sections, Tables};
use crate::{Cranelift, Found, Lines, constructors, define, native, once, refused};

/// Returns an empty native module for a target; with `sections`, each function and data object gets its own section.
pub(crate) fn module(target: &Cranelift, sections: bool) -> Result<ObjectModule, Error> {
    let isa = isa_of(target, Settings::OBJECT)?;
    let builder = ObjectBuilder::new(isa, "host", default_libcall_names());
    let mut builder = builder.map_err(native)?;
    builder.per_function_section(sections).per_data_object_section(sections);
    Ok(ObjectModule::new(builder))
}

/// Returns an object: position-independent, optimised where that gains anything, with exports that the loader sees.
pub(crate) fn object(target: &Cranelift, source: &ir::Module) -> Result<Vec<u8>, Error> {
    let triple = &target.triple;
    ir::verify(source)?;
    Facts::of(triple).check_exports(source)?;
    let is_merged = |linkage| matches!(linkage, ir::Linkage::Once | ir::Linkage::Weak);
    let merged = source.symbols.iter().any(|symbol| is_merged(symbol.linkage));
    let mut module = module(target, merged)?;
    let elf = triple.binary_format == BinaryFormat::Elf;
    let place = Capabilities { once: true, aliases: elf };
    let source = &*backend::with_preserving_thunks(source, &Facts::of(triple));
    let plan = backend::plan(source, &ExistingSymbols(&module), place)?;
    let has_tables = elf || triple.binary_format == BinaryFormat::Coff;
    let mut lines = Lines::default();
    let mut found = Found { tables: has_tables.then(Tables::default), lines: &mut lines };
    let mut generators = Generators::new(target);
    let symbols = define(&mut module, source, &plan, Some(&mut generators), &mut found)?;
    let mut product = module.finish();
    let sections =
        found.tables.map_or(Ok(Sections::new()), |tables| tables.write(&mut product, triple))?;
    if elf {
        lines.define(&mut product)?;
    }
    constructors::define(&mut product, source, &symbols)?;
    mark(&mut product, triple, source, &symbols, &sections);
    for ((symbol, plan), &id) in source.symbols.iter().zip(&plan).zip(&symbols) {
        if plan.alias.is_some() {
            let local = native_symbol(&product, id);
            add_export(&mut product.object, local, &symbol.name);
        }
    }
    let mut bytes = product.emit().map_err(refused)?;
    if merged && triple.binary_format == BinaryFormat::Coff {
        once::adapt(&mut bytes).ok_or_else(|| refused("a damaged COFF file"))?;
    }
    Ok(bytes)
}

/// Sets the properties of sections and symbols that the interface of a module cannot express.
fn mark(
    product: &mut ObjectProduct,
    triple: &Triple,
    source: &ir::Module,
    symbols: &[FuncOrDataId],
    sections: &Sections,
) {
    let large = |data: &&ir::Data| data.large && Facts::of(triple).large;
    for data in source.data.iter().filter(large) {
        let symbol = native_symbol(product, symbols[data.symbol.index()]);
        mark_large(&mut product.object, symbol);
    }
    let is_weak =
        |data: &&ir::Data| source.symbols[data.symbol.index()].linkage == ir::Linkage::Weak;
    for data in source.data.iter().filter(is_weak) {
        let symbol = native_symbol(product, symbols[data.symbol.index()]);
        mark_weak(&mut product.object, symbol, data, Facts::of(triple).weak);
    }
    for (symbol, &id) in source.symbols.iter().zip(symbols) {
        if symbol.linkage == ir::Linkage::Once {
            let symbol = native_symbol(product, id);
            let others = sections.get(&symbol).map_or(&[][..], |sections| sections);
            once::mark(&mut product.object, symbol, others);
        }
    }
    if triple.binary_format == BinaryFormat::Coff {
        let gnu = matches!(triple.environment, Environment::Gnu | Environment::GnuLlvm);
        let style = if gnu { CoffExportStyle::Gnu } else { CoffExportStyle::Msvc };
        product.object.add_coff_exports(style);
    }
}

/// Gives the definition of a weak symbol its form.
fn mark_weak(object: &mut Object<'_>, symbol: SymbolId, data: &ir::Data, form: Weak) {
    match form {
        Weak::Protected => {
            if let SymbolFlags::Elf { st_other, .. } = object.symbol_flags_mut(symbol) {
                *st_other = elf::STV_PROTECTED;
            }
        }
        Weak::Group => once::mark(object, symbol, &[]),
        Weak::Common => {
            // The value of a common symbol, which is undefined, is its size; the alignment is in the description.
            let alignment = data.align.trailing_zeros() as u16;
            let symbol = object.symbol_mut(symbol);
            symbol.value = data.bytes.len() as u64;
            symbol.weak = false;
            symbol.section = SymbolSection::Undefined;
            symbol.flags = SymbolFlags::MachO { n_desc: alignment << 8 };
        }
    }
}

fn native_symbol(product: &ObjectProduct, id: FuncOrDataId) -> SymbolId {
    match id {
        FuncOrDataId::Func(id) => product.function_symbol(id),
        FuncOrDataId::Data(id) => product.data_symbol(id),
    }
}

/// The flag of sections that may be out of the reach of code; see the processor supplement of the ELF specification.
const SHF_X86_64_LARGE: u64 = 0x1000_0000;

/// Sets that flag on the section of a large constant.
fn mark_large(object: &mut Object<'_>, symbol: SymbolId) {
    if let Some(section) = object.symbol(symbol).section.id()
        && let SectionFlags::Elf { sh_flags } = object.section_flags_mut(section)
    {
        *sh_flags |= SHF_X86_64_LARGE;
    }
}

/// Exports the definition of a local symbol under another name.
fn add_export(object: &mut Object<'_>, local: SymbolId, name: &str) {
    let &Symbol { value, size, kind, section, .. } = object.symbol(local);
    object.add_symbol(Symbol {
        name: name.into(),
        value,
        size,
        kind,
        scope: SymbolScope::Dynamic,
        weak: false,
        section,
        flags: SymbolFlags::None,
    });
}
