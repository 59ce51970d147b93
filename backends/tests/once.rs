//! Tests of once-symbols, of which a linker keeps one copy.

use std::path::Path;
use std::process::Command;

use object::{BinaryFormat, Object, ObjectComdat, ObjectSymbol, SymbolScope};

mod counter;

use crate::objects::compiled;
use crate::sample::TRIPLES;
use counter::SHARED;
pub(crate) use counter::user;

/// A program that calls one function, which adds to one word, through two objects.
const MAIN: &str = "
    #include <string.h>
    long long one(long long, void**);
    long long two(long long, void**);
    int main(void) {
        void *first[3], *second[3];
        if (one(10, first) != 15 || two(20, second) != 35) return 1;
        if (memcmp(first, second, sizeof first)) return 2;
        if (((void**)first[1])[1] != first[0]) return 3;
        return *(long long*)second[2] == 35 ? 0 : 4;
    }";

fn run(command: &mut Command) {
    let output = command.output().unwrap_or_else(|error| panic!("{command:?}: {error}"));
    assert!(output.status.success(), "{command:?}: {output:?}");
}

/// Links two objects into a program and into a shared library; one copy is left, and the program works.
pub(crate) fn link(folder: &Path, one: &[u8], two: &[u8]) {
    let path = |name: &str| folder.join(name);
    for (name, bytes) in [("one.o", one), ("two.o", two), ("main.c", MAIN.as_bytes())] {
        std::fs::write(path(name), bytes).unwrap();
    }
    let objects = ["one.o", "two.o"].map(path);
    run(Command::new("cc").arg("-o").arg(path("main")).arg(path("main.c")).args(&objects));
    run(&mut Command::new(path("main")));
    run(Command::new("cc").args(["-shared", "-o"]).arg(path("library.so")).args(&objects));
    for name in ["main", "library.so"] {
        let bytes = std::fs::read(path(name)).unwrap();
        let file = object::File::parse(&*bytes).unwrap();
        for shared in SHARED {
            let defined = file.symbols().filter(|s| s.name() == Ok(shared) && s.is_definition());
            assert_eq!(defined.count(), 1, "{shared} in {name}");
            let dynamic = file.dynamic_symbols().find(|symbol| symbol.name() == Ok(shared));
            assert!(dynamic.is_none(), "{shared} in {name}");
        }
    }
}

#[test]
fn a_linker_keeps_one_copy() {
    let host = target_lexicon::Triple::host().to_string();
    let [one, two] = ["one", "two"].map(|name| compiled(&host, &user(name)));
    for (one, two) in one.iter().zip(two.iter().rev()) {
        let folder = tempfile::tempdir().unwrap();
        link(folder.path(), one, two);
    }
}

#[test]
fn every_format_has_a_way_to_say_it() {
    for triple in TRIPLES {
        for bytes in compiled(triple, &user("one")) {
            let file = object::File::parse(&*bytes).unwrap();
            let under = if file.format() == BinaryFormat::MachO { "_" } else { "" };
            for name in SHARED {
                let name = format!("{under}{name}");
                let symbol = file.symbol_by_name(&name).unwrap();
                assert!(symbol.is_definition() && symbol.is_global(), "{triple} {name}");
                assert_eq!(symbol.scope(), SymbolScope::Linkage, "{triple} {name}");
                let weak = file.format() != BinaryFormat::Coff;
                assert_eq!(symbol.is_weak(), weak, "{triple} {name}");
                let groups = file.comdats().filter(|group| group.name() == Ok(&name)).count();
                let grouped = usize::from(file.format() != BinaryFormat::MachO);
                assert_eq!(groups, grouped, "{triple} {name}");
            }
        }
    }
}
