//! Tests of object files of every target.

use backend_cranelift::Cranelift;
use backend_llvm::Llvm;
use codegen::{Backend, ir};
use target_lexicon::Triple;
use tvm_ffi_codegen_mlir::{Error, Mlir, Optimize};

use crate::sample::{self, TRIPLES};
use crate::{once, operators};

/// A target at a level.
pub(crate) fn target(triple: &str, optimize: Optimize) -> Mlir {
    Mlir { triple: triple.parse().unwrap(), optimize, ..Mlir::default() }
}

/// Compiles a module to objects: one for a low, one for a high level.
pub(crate) fn compiled(triple: &str, module: &ir::Module) -> Vec<Vec<u8>> {
    let levels = [Optimize::O0, Optimize::O2];
    levels.map(|level| target(triple, level).object(module, &[]).unwrap()).into()
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
fn every_operator_is_compiled() {
    use object::{Object, ObjectSymbol};
    for (triple, module) in TRIPLES.into_iter().flat_map(|t| operators::modules().map(|m| (t, m))) {
        for bytes in compiled(triple, &module) {
            let file = object::File::parse(&*bytes).unwrap();
            let undefined = file.symbols().filter(|symbol| {
                symbol.is_undefined() && !["", "_fltused"].contains(&symbol.name().unwrap())
            });
            assert_eq!(undefined.count(), 0, "{triple}");
        }
    }
}

#[test]
fn unsupported_targets_are_errors() {
    let target = target("riscv64gc-apple-darwin", Optimize::O0);
    let reason = "no such object format for this machine".to_owned();
    let error = Error::Target { triple: target.triple.clone(), reason };
    assert_eq!(target.object(&sample::module(), &[]), Err(error));
}

/// Objects of different backends have the same once-symbols; a linker keeps any of them.
#[test]
fn a_linker_keeps_one_copy_of_two_backends() {
    let backends: [Box<dyn Backend>; 3] = [
        Box::new(Cranelift::new(Triple::host())),
        Box::new(Llvm::default()),
        Box::new(Mlir::default()),
    ];
    for one in &backends {
        for two in backends.iter().filter(|two| two.name() != one.name()) {
            let [first, second] = [(one, "one"), (two, "two")]
                .map(|(backend, name)| backend.object(&once::user(name), &[]).unwrap());
            let folder = tempfile::tempdir().unwrap();
            once::link(folder.path(), &first, &second);
        }
    }
}
