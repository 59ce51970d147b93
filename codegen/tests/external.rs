//! C functions beside functions of the FFI: what they are called, and which there cannot be.

use tvm_ffi_codegen::{Errors, Library};

#[test]
fn refusals() {
    let rows = [
        ("extern f(n: int64) -> None = f(n);", "1:8: f: `f` is also the C function that `f` calls"),
        (
            "g() -> None = { f(); }; extern f(n: int64) -> None = k(n);",
            "1:32: f: `f` is also the C function that `g` calls",
        ),
        (
            "extern k() -> None = f(); extern f() -> None = k();",
            "1:8: k: `k` is also the C function that `f` calls",
        ),
        (
            "extern int() -> None = {};",
            "1:8: int: `int` cannot be the name of a C function: it means something else in C, in C++ or in the header",
        ),
        (
            "extern class() -> None = {};",
            "1:8: class: `class` cannot be the name of a C function: it means something else in C, in C++ or in the header",
        ),
        (
            "extern main() -> None = {};",
            "1:8: main: `main` cannot be the name of a C function: it means something else in C, in C++ or in the header",
        ),
        (
            "extern memcpy() -> None = {};",
            "1:8: memcpy: `memcpy` cannot be the name of a C function: it means something else in C, in C++ or in the header",
        ),
        (
            "extern malloc(n: int64) -> y: Tensor([n], float32) = k(y.data, n);",
            "1:8: malloc: `malloc` cannot be the name of a C function: the system has one of this name",
        ),
        (
            "extern free() -> None = {};",
            "1:8: free: `free` cannot be the name of a C function: the system has one of this name",
        ),
        (
            "extern dlopen() -> None = {};",
            "1:8: dlopen: `dlopen` cannot be the name of a C function: the system has one of this name",
        ),
        (
            "extern dlsym() -> None = {};",
            "1:8: dlsym: `dlsym` cannot be the name of a C function: the system has one of this name",
        ),
        (
            "extern GetProcAddress() -> None = {};",
            "1:8: GetProcAddress: `GetProcAddress` cannot be the name of a C function: the system has one of this name",
        ),
        (
            "extern uint8_t() -> None = {};",
            "1:8: uint8_t: `uint8_t` cannot be the name of a C function: it means something else in C, in C++ or in the header",
        ),
        (
            "extern INT8_MAX() -> None = {};",
            "1:8: INT8_MAX: `INT8_MAX` cannot be the name of a C function: it means something else in C, in C++ or in the header",
        ),
        (
            "extern DLTensor() -> None = {};",
            "1:8: DLTensor: `DLTensor` cannot be the name of a C function: it means something else in C, in C++ or in the header",
        ),
        (
            "extern TVMFFIAny() -> None = {};",
            "1:8: TVMFFIAny: `TVMFFIAny` cannot be the name of a C function: names that begin so are of compilers, linkers and the runtime",
        ),
        (
            "extern f(self: ptr) -> None = {};",
            "1:10: f: self: a closure has no C function: `self` is known to the function object only",
        ),
        (
            "extern f(n: int64, *rest: Any) -> None = {};",
            "1:20: f: rest: a C function takes as many parameters as it has; pass an `Array` instead",
        ),
    ];
    for (text, expected) in rows {
        let error = text.parse::<Library>().expect_err(text).to_string();
        assert_eq!(error.lines().next(), Some(expected), "{text}");
    }
}

#[test]
fn others_may_have_these_names() {
    let text = "int() -> None = f(); main() -> None = { @f(); }; extern f_C() -> None = { @f(); };";
    let _: Library = text.parse().unwrap_or_else(|error| panic!("{error}"));
}

/// A library with a prefix of its own.
fn system(text: &str, prefix: &str) -> Library {
    let mut library: Library = text.parse().unwrap_or_else(|error| panic!("{error}"));
    library.system_lib = Some(prefix.to_owned());
    library
}

#[test]
fn prefixes_make_names_that_are_taken() {
    let rows = [
        (
            system("extern half(x: float64) -> float64 = my_half(x);", "my_"),
            "half: `my_half` is also the C function that `half` calls",
        ),
        (
            system("extern x() -> None = {};", "TVMFFI"),
            "x: `TVMFFIx` cannot be the name of a C function: names that begin so are of compilers, linkers and the runtime",
        ),
        (system("extern f() -> None = {};", "in"), ""),
        (
            system("extern t() -> None = {};", "floa"),
            "t: `float` cannot be the name of a C function: it means something else in C, in C++ or in the header",
        ),
    ];
    for (library, expected) in rows {
        let error = library.validate().err().as_ref().map(Errors::to_string);
        assert_eq!(error.unwrap_or_default(), expected);
    }
}
