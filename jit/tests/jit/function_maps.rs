//! Compiled functions as one map object, and how long their code lives.

use std::sync::Arc;

use tvm_ffi_codegen::Library;
use tvm_ffi_codegen_jit::{Compiled, Error, FfiFunction, Jit, ObjectRef, Runtime, TypeIndex};

use crate::ir::{installed, int};

fn compile(text: &str, runtime: &'static Runtime, witness: &Arc<()>) -> Compiled {
    let jit = Jit::with_runtime(runtime).unwrap().keep(witness.clone());
    jit.compile(&text.parse::<Library>().unwrap()).unwrap()
}

const TEXT: &str = "
    f(n: int64) -> int64 = { return n + 1; };
    g(n: int64) -> Function = { return function (k: int64) -> int64 { return k + n; }; };
";

/// Takes a function out of a map, as a host does.
fn item(map: &ObjectRef, name: &str) -> FfiFunction {
    // SAFETY: the function takes a map and a key.
    let get = unsafe { FfiFunction::global("ffi.MapGetItem", map.runtime()) }.unwrap().unwrap();
    get.call((map, name)).unwrap().try_into().unwrap()
}

/// The code lives as long as the map, a function of it, or a function that one of them has returned.
#[test]
fn code_is_freed_with_the_last_holder() {
    let Some(runtime) = installed() else { return };
    let witness = Arc::new(());
    let is_alive = || Arc::strong_count(&witness) == 2;
    let map = compile(TEXT, runtime, &witness).into_functions().unwrap();
    assert_eq!(map.ty(), TypeIndex::MAP);
    let clone = map.clone();
    drop(map);
    let (f, g) = (item(&clone, "f"), item(&clone, "g"));
    drop(clone);
    assert!(is_alive());
    assert_eq!(int(f.call((1,))), 2);
    drop(f);
    let inner = FfiFunction::try_from(g.call((5,)).unwrap()).unwrap();
    drop(g);
    assert!(is_alive());
    assert_eq!(int(inner.call((1,))), 6);
    drop(inner);
    assert!(!is_alive());

    // The map alone keeps the code, and so does a handle.
    let compiled = compile(TEXT, runtime, &witness);
    let map = compiled.clone().into_functions().unwrap();
    drop(compiled);
    assert!(is_alive());
    drop(map);
    assert!(!is_alive());
}

/// Recompiling frees what was there before.
#[test]
fn maps_that_come_and_go_leave_nothing() {
    let Some(runtime) = installed() else { return };
    let witness = Arc::new(());
    let mut last = None;
    for turn in 0..200 {
        let text = format!("f{turn}(n: int64) -> int64 = {{ return n + {turn}; }};");
        let map = compile(&text, runtime, &witness).into_functions().unwrap();
        assert_eq!(int(item(&map, &format!("f{turn}")).call((1,))), turn + 1);
        last = Some(map);
        assert_eq!(Arc::strong_count(&witness), 2);
    }
    drop(last);
    assert_eq!(Arc::strong_count(&witness), 1);
}

#[test]
fn what_cannot_be_a_map_is_an_error_and_leaves_nothing() {
    let witness = Arc::new(());
    let error = compile(TEXT, Runtime::builtin(), &witness).into_functions().unwrap_err();
    assert_eq!(error, Error::Unavailable { function: "ffi.Map" });
    if let Some(runtime) = installed() {
        let closure = compile("f(self: ptr) -> None = {};", runtime, &witness);
        let error = closure.into_functions().unwrap_err();
        assert_eq!(error, Error::Context { function: "f".to_owned() });
        let map = compile("", runtime, &witness).into_functions().unwrap();
        assert_eq!(map.ty(), TypeIndex::MAP);
    }
    assert_eq!(Arc::strong_count(&witness), 1);
}
