//! Conditions for compiling launches. Tests with a driver are in the suite.

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
        Err(Error::Launch { kernel }) => assert_eq!(kernel, "k"),
        other => panic!("{other:?}"),
    }
    // SAFETY: nothing is launched.
    let compiled = unsafe { jit().launches() }.compile(&library().with_prepare("warm")).unwrap();
    assert_eq!(compiled.names().collect::<Vec<_>>(), ["f", "warm"]);
    // SAFETY: no function and no GPU kernel is running.
    unsafe { compiled.unload_images() };
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
