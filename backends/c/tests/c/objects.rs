//! Tests of object files: by GCC for this machine, and by clang, where LLVM is installed, for every target.

use std::env;
use std::path::{Path, PathBuf};

use codegen::{Backend, ir};
use object::{Object, ObjectSection, ObjectSymbol};
use target_lexicon::Triple;
use tvm_ffi_codegen_c::{C, Error, Optimize};

use crate::constructor;
use crate::sample::{self, TRIPLES};

/// Returns clang, where it is.
pub(crate) fn clang() -> Option<PathBuf> {
    let clang = Path::new(&env::var_os("LLVM_SYS_221_PREFIX")?).join("bin/clang");
    clang.exists().then_some(clang)
}

/// Returns the compilers of a target.
fn compilers(triple: &str) -> Vec<C> {
    let triple: Triple = triple.parse().unwrap();
    let own = (triple == Triple::host()).then(C::default);
    let clang = clang().map(|compiler| C { compiler, triple, ..C::default() });
    own.into_iter().chain(clang).collect()
}

/// Compiles a module to objects: one for each compiler of the target.
pub(crate) fn compiled(triple: &str, module: &ir::Module) -> Vec<Vec<u8>> {
    let object = |c: C| c.object(module, &[]).unwrap_or_else(|error| panic!("{triple}: {error}"));
    compilers(triple).into_iter().map(object).collect()
}

/// Runs a check on the sample compiled for each target.
pub(crate) fn each(check: impl Fn(&str, &object::File<'_>)) {
    for triple in TRIPLES {
        for bytes in compiled(triple, &sample::module()) {
            check(triple, &object::File::parse(&*bytes).unwrap());
        }
    }
}

#[test]
fn exports_and_imports_are_what_the_source_says() {
    each(|target, file| {
        let under = if target.contains("apple") { "_" } else { "" };
        let plain = |name: &str| name.strip_prefix(under).unwrap().to_owned();
        let named = |wanted: fn(&object::Symbol<'_, '_>) -> bool| {
            let wanted = file.symbols().filter(|s| s.is_global() && wanted(s));
            let mut names: Vec<String> = wanted.map(|s| plain(s.name().unwrap())).collect();
            names.sort();
            // Symbols that compilers add for COFF: the mark of floats, a constant, addresses of imports.
            names.retain(|name| {
                ["_fltused", "__real", ".refptr"].iter().all(|own| !name.starts_with(own))
            });
            names
        };
        let exports = named(|symbol| symbol.is_definition());
        assert_eq!(exports, ["blob", "context", "entry", "other", "table"], "{target}");
        let imports = named(|symbol| symbol.is_undefined());
        let imports: Vec<&String> =
            imports.iter().filter(|name| *name != "_GLOBAL_OFFSET_TABLE_").collect();
        assert_eq!(imports, ["kernel", "outside"], "{target}");
    });
}

#[test]
fn constructors_have_a_section() {
    for triple in TRIPLES {
        for c in compilers(triple) {
            // Optimised, a constructor that does nothing is gone.
            let bytes =
                C { optimize: Optimize::O0, ..c }.object(&constructor::module(), &[]).unwrap();
            let file = object::File::parse(&*bytes).unwrap();
            let mut names =
                file.sections().filter_map(|section| section.name().ok().map(str::to_owned));
            let known = [".init_array", "__mod_init_func", ".CRT$XCU", ".ctors"];
            let is_known = |name: String| known.iter().any(|known| name.starts_with(known));
            assert!(names.any(is_known), "{triple}");
        }
    }
}

#[test]
fn the_same_module_is_the_same_object() {
    let module = sample::module();
    assert!(
        C::default().object(&module, &[]).unwrap() == C::default().object(&module, &[]).unwrap()
    );
}

#[test]
fn compilers_that_fail_are_named() {
    let module = sample::module();
    let missing = C { compiler: "no-such-compiler".into(), ..C::default() };
    let Err(Error::Native { backend: "c", reason }) = missing.object(&module, &[]) else {
        panic!("it is not there");
    };
    assert!(reason.starts_with("no-such-compiler: "), "{reason}");
    let triple: Triple = "wasm32-unknown-unknown".parse().unwrap();
    let error = C::new(triple, Optimize::O2).object(&module, &[]).unwrap_err();
    assert_eq!(error.to_string(), "unsupported target wasm32-unknown-unknown: not a known machine");
}

/// The text is for machines with the words of host IR, also those that no other backend knows.
#[test]
fn text_is_refused_for_machines_with_other_words() {
    let module = sample::module();
    let rows = [
        ("i686-unknown-linux-gnu", Some("its addresses do not have 64 bits")),
        ("x86_64-unknown-linux-gnux32", Some("its addresses do not have 64 bits")),
        ("s390x-unknown-linux-gnu", Some("it is big-endian")),
        ("loongarch64-unknown-linux-gnu", None),
        ("powerpc64le-unknown-linux-gnu", None),
    ];
    for (triple, reason) in rows {
        let triple: Triple = triple.parse().unwrap();
        let refused = C::new(triple.clone(), Optimize::O2).text(&module, &[]).err();
        let expected = reason.map(|reason| Error::Target { triple, reason: reason.to_owned() });
        assert_eq!(refused, expected);
    }
}

/// A compiler with options, and one of another format than that of the target.
#[cfg(target_os = "linux")]
#[test]
fn compilers_make_what_they_are_asked_for() {
    let module = sample::module();
    let words = C { compiler: "env cc".into(), ..C::default() };
    assert!(words.object(&module, &[]).unwrap() == C::default().object(&module, &[]).unwrap());
    let triple: Triple = "x86_64-apple-darwin".parse().unwrap();
    let own = C { triple, compiler: "cc".into(), ..C::default() };
    let error = own.object(&module, &[]).unwrap_err().to_string();
    assert_eq!(error, "c: cc: it makes no objects for x86_64-apple-darwin");
}
