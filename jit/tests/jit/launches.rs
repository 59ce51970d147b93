//! Statements that somebody has to vouch for before they are compiled: launches, commands and calls. Tests with a
//! driver are in the suite.

use std::ffi::c_void;

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

/// A function that an image calls needs somebody's word as any callee does, and a device variable as a launch does.
#[test]
fn somebody_vouches_for_what_images_call_and_for_their_variables() {
    let launch = "launch code.\"k\"(x.data) grid(n) block(1);";
    let rows = [
        ("image code on load @\"init\";", launch, "@\"init\"", "calls"),
        ("image code on load @\"given\";", launch, "", ""),
        ("image code;", "k(code.global(\"v\"));", "code.global(\"v\")", "launches"),
        ("image code;", "k(ptr(code.global(\"v\").size));", "code.global(\"v\")", "launches"),
        // The image `other` is not used, so that its function is never called.
        ("image code; image other on load @\"init\";", launch, "", ""),
    ];
    for (images, body, what, method) in rows {
        let text = format!("{images} f(x: Tensor([n], int8, device=cuda)) -> None = {{ {body} }};");
        let mut library: Library = text.parse().unwrap();
        library.images.iter_mut().for_each(|image| image.bytes = Some(b".version 8.0\n".to_vec()));
        let jit = || {
            let jit = Jit::with_runtime(Runtime::builtin()).unwrap();
            let given = |_: *mut c_void, _: *mut c_void, _: i64| {};
            let kernel: extern "C" fn(*mut c_void) = no_kernel;
            // SAFETY: nothing is called.
            unsafe { jit.function("given", given).unwrap().kernel("k", kernel) }
        };
        // SAFETY: nothing is called.
        let some = unsafe { if method == "launches" { jit().calls() } else { jit().launches() } };
        let refused = some.compile(&library).map(|_| ()).err();
        let expected = Error::Unvouched { what: what.to_owned(), method };
        assert_eq!(refused, (!what.is_empty()).then_some(expected), "{images} {body}");
        // SAFETY: nothing is called.
        let both = unsafe { jit().launches().calls() };
        both.compile(&library).unwrap_or_else(|error| panic!("{images} {body}: {error}"));
    }
}

extern "C" fn no_kernel(_: *mut c_void) {}

#[test]
fn images_need_their_bytes() {
    let mut library = library();
    library.images[0].bytes = None;
    // SAFETY: nothing is launched.
    let jit = unsafe { Jit::with_runtime(Runtime::builtin()).unwrap().launches() };
    let error = jit.compile(&library).unwrap_err().to_string();
    assert_eq!(
        error,
        "image \"code\": its bytes are not given, by `--image NAME=FILE`, by `images=` in Python, or by `Image::bytes`"
    );
}
