//! Checks the sections and symbols of the sample in every object.

use object::{BinaryFormat, Object, ObjectSection, ObjectSymbol, SectionFlags, SymbolScope, elf};

use crate::objects::each;

#[test]
fn large_constants_are_out_of_the_way_of_code() {
    each(|target, file| {
        let named = |found: &str| found.trim_start_matches('_') == "blob";
        let blob = file.symbols().find(|symbol| symbol.name().is_ok_and(named)).unwrap();
        let section = file.section_by_index(blob.section_index().unwrap()).unwrap();
        let large = target.starts_with("x86_64-unknown-linux-gnu");
        assert_eq!(section.name() == Ok(".lrodata"), large, "{target}");
        if let SectionFlags::Elf { sh_flags, .. } = section.flags() {
            let read_only = elf::SHF_ALLOC.0;
            let expected = if large { read_only | 0x1000_0000 } else { read_only };
            assert_eq!(sh_flags.0, expected, "{target}");
        }
    });
}

#[test]
fn the_loader_sees_exports() {
    each(|target, file| {
        for name in ["entry", "other", "table", "context", "blob"] {
            let named = |found: &str| found.trim_start_matches('_') == name;
            let symbol = file.symbols().find(|symbol| symbol.name().is_ok_and(named));
            let scope = symbol.map(|symbol| symbol.scope());
            // COFF exports by a linker directive instead.
            let coff = file.format() == BinaryFormat::Coff;
            let expected = if coff { SymbolScope::Linkage } else { SymbolScope::Dynamic };
            assert_eq!(scope, Some(expected), "{target} {name}");
        }
    });
}
