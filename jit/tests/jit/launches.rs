//! Statements that somebody has to vouch for before they are compiled: launches, commands and calls. Tests with a driver
//! are in the suite.

use tvm_ffi_codegen::{Image, Library};
use tvm_ffi_codegen_jit::{Error, Jit, Runtime};

/// A library with an image that is never loaded.
fn library() -> Library {
    let text = "image code;
        f(x: Tensor([n], int8, device=cuda)) -> None = { launch code.\"k\"(x.data) grid(n) block(1); };";
    let mut library: Library = text.parse().unwrap();
    library.images = vec![Image::new("code").with_bytes(".version 8.0\n")];
    library
}

#[test]
fn somebody_vouches_for_kernels() {
    let jit = || Jit::with_runtime(Runtime::builtin()).unwrap();
    match jit().compile(&library()) {
        Err(Error::Unvouched { what, method }) => assert_eq!((&*what, method), ("k", "launches")),
        other => panic!("{other:?}"),
    }
    // SAFETY: nothing is launched.
    let compiled = unsafe { jit().launches() }.compile(&library().with_prepare("warm")).unwrap();
    assert_eq!(compiled.names().collect::<Vec<_>>(), ["f", "warm"]);
    // SAFETY: no function and no GPU kernel is running.
    unsafe { compiled.unload_images() };
}

#[test]
fn somebody_vouches_for_commands_and_for_functions_of_others() {
    let rows = [
        ("fill x.data, 1000000, 0 on x; return n;", "fill", "launches"),
        ("for i in 0..n { copy x.data, ptr(i), n on x; } return n;", "copy", "launches"),
        ("upload x.data (1, 2) on x; return n;", "upload", "launches"),
        ("wait s, stream(x); return n;", "wait", "launches"),
        (
            "@\"ffi.FunctionFromExternC\"(None, x.data, None); return n;",
            "@\"ffi.FunctionFromExternC\"",
            "calls",
        ),
        ("if n > 1 { let a: Any = @(f)(x.data); return a; } return n;", "@(f)", "calls"),
        ("return function () -> Any { @(f)(n); return n; };", "@(f)", "calls"),
        ("let a: Any = @own(ptr(n)); return a;", "", ""),
    ];
    for (body, what, method) in rows {
        let text = format!(
            "g(x: Tensor([n], int8, device=cuda), s: Stream, f: Function) -> Any = {{ {body} }};
             own(p: ptr) -> int64 = {{ return int64(p); }};"
        );
        let library: Library = text.parse().unwrap();
        let jit = || Jit::with_runtime(Runtime::builtin()).unwrap();
        let refused = jit().compile(&library).map(|_| ()).err();
        let expected = Error::Unvouched { what: what.to_owned(), method };
        assert_eq!(refused, (!what.is_empty()).then_some(expected), "{body}");
        // SAFETY: nothing is called.
        let vouched = unsafe { if method == "calls" { jit().calls() } else { jit().launches() } };
        vouched.compile(&library).unwrap_or_else(|error| panic!("{body}: {error}"));
    }
}

#[test]
fn images_need_their_bytes() {
    let mut library = library();
    library.images[0].bytes = None;
    // SAFETY: nothing is launched.
    let jit = unsafe { Jit::with_runtime(Runtime::builtin()).unwrap().launches() };
    let error = jit.compile(&library).unwrap_err().to_string();
    assert_eq!(error, "image \"code\": its bytes are not given");
}
