"""Wrong arguments of every function: an exception of the right class with a text, and never a crash."""

import os
import time

import tvm_ffi_codegen as codegen
from support import ADD_ONE, raises
from tvm_ffi_codegen import C, _library

surface = _library.library()


def test_text() -> None:
    for name, rest in [("check", ()), ("emit", ({},)), ("jit", ({}, {}))]:
        function = surface[name]
        for text in [None, 1, 1.5, b"f", [], object()]:
            raises(
                TypeError, "Mismatched type of text on argument #0", lambda: function(text, *rest)
            )
        raises(TypeError, "Mismatched number of arguments", function)
        raises(TypeError, "Mismatched number of arguments", lambda: function("", *rest, 1))
    for function in [codegen.emit, codegen.jit]:
        raises(ValueError, "1:1: expected the name of a function, found", lambda: function("\0"))
        raises(
            ValueError, "expected the name of a function", lambda: function("f() -> None = k();\0")
        )


def test_long_text() -> None:
    text, start = "x" * (100 << 20), time.perf_counter()
    assert codegen.check(text)[0].message == "more than 16777216 bytes of text (MAX_TEXT)"
    raises(ValueError, "more than 16777216 bytes of text", lambda: codegen.emit(text))
    raises(ValueError, "more than 16777216 bytes of text", lambda: codegen.jit(text))
    assert time.perf_counter() - start < 5


def test_deep_text() -> None:
    text = "f(x: " + "Optional[" * 100_000 + "int64" + "]" * 100_000 + ") -> None = k();"
    assert len(codegen.check(text)) == 1
    raises(ValueError, "", lambda: codegen.jit(text))


def test_unknown_options() -> None:
    raises(
        ValueError,
        'unknown option "forn", expected one of form, backend, target',
        lambda: codegen.emit(ADD_ONE, forn=1),
    )
    raises(
        ValueError,
        'unknown option "form", expected one of target, linker',
        lambda: surface.link([], {"form": 1}),
    )
    raises(
        ValueError,
        'unknown option "link", expected one of images',
        lambda: surface.jit(ADD_ONE, {}, {"link": []}),
    )
    raises(TypeError, "options.keys[0]", lambda: surface.emit(ADD_ONE, {1: 2}))
    for options in [None, 1, "x", [], [("form", "ir")]]:
        raises(TypeError, "Mismatched type of options", lambda: surface.emit(ADD_ONE, options))


def test_types_of_options() -> None:
    texts = [
        "form",
        "backend",
        "target",
        "cpu",
        "optimization",
        "linker",
        "routines",
        "prepare",
        "entry",
        "system_lib",
    ]
    for name in texts:
        for value in [1.5, b"x", [], {}, True, object()]:
            raises(
                TypeError,
                f"Mismatched type of option {name}, expected str but got",
                lambda: emit(**{name: value}),
            )
    for name in ["metadata", "runtime_dependency"]:
        for value in [1, "x", 1.5, []]:
            options = {name: value, "form": "shared"}
            raises(
                TypeError,
                f"Mismatched type of option {name}, expected bool but got",
                lambda: emit(**options),
            )
    for name in ["link", "rpath", "unchecked"]:
        for value in [1, "x", {}]:
            options = {name: value, "form": "shared"}
            raises(
                TypeError,
                f"Mismatched type of option {name}, expected Array but got",
                lambda: emit(**options),
            )
    for name in ["images", "imports"]:
        for value in [1, "x", []]:
            raises(
                TypeError,
                f"Mismatched type of option {name}, expected Map but got",
                lambda: emit(**{name: value}),
            )
        raises(
            TypeError,
            'option imports["a"], expected bytes but got str',
            lambda: emit(imports={"a": "b"}),
        )
        raises(
            TypeError,
            "Mismatched type of a name, expected str but got int",
            lambda: emit(imports={1: b""}),
        )
    raises(TypeError, "option unchecked[0], expected str but got int", lambda: emit(unchecked=[1]))
    raises(
        TypeError,
        "option link[1], expected str or bytes but got int",
        lambda: emit(form="shared", link=[OBJECT, 1]),
    )


def test_values_of_options() -> None:
    rows = [
        (
            dict(form="shred"),
            'no form "shred", expected one of ir, native, bitcode, object, shared, header',
        ),
        (dict(backend="gcc"), "unknown backend `gcc`, expected one of cranelift, llvm, mlir"),
        (dict(target="pdp-11"), "unknown target `pdp-11`"),
        (dict(optimization=9), "option optimization: expected 0, 1, 2 or 3"),
        (dict(linker="gold", form="shared"), 'no linker "gold", expected wild or cc'),
        (dict(routines="shared"), 'no routines "shared", expected embedded or linked'),
        (dict(unchecked=["all"]), 'no group "all", expected shape, strides, device, alignment'),
        (dict(images={"i": b""}), "there is no `image i;`"),
        (dict(imports={"": b"x"}), "imports: "),
        (dict(imports={"_lib": b"x"}), "imports: "),
        (dict(entry="g"), 'entry: there is no function "g"'),
        (dict(prepare="add_one"), "add_one"),
        (dict(system_lib="a b"), "system library prefix"),
        (dict(system_lib="a\0b"), "system library prefix"),
        (dict(form="ir", link=[]), "option link is for forms object and shared"),
        (dict(rpath=["x"]), "option rpath is for form shared"),
        (
            dict(system_lib="", form="shared"),
            "option system_lib is for what is linked into programs",
        ),
        (dict(form="shared"), "`k` is called by a declaration and defined by no linked file"),
        (dict(form="shared", link=[b""]), "option link[0]: not an object file"),
    ]
    for options, text in rows:
        raises(ValueError, text, lambda: emit(**options))
    twice = "is defined by objects[0] and again by objects[1]"
    raises(ValueError, twice, lambda: codegen.link([OBJECT, OBJECT]))
    # The same shared object may have been built with LLVM.
    found = of_backend("llvm")
    assert found.startswith((b"\x7fELF", b"backend llvm is not part of this build")), found[:80]


def of_backend(name: str) -> bytes:
    """An object, or why there is none."""
    try:
        return bytes(codegen.emit(ADD_ONE, backend=name))
    except RuntimeError as error:
        return str(error).encode()


def test_sources_are_no_paths() -> None:
    kernel = "C is given as `C(source)`, PTX as one of the `images`"
    for source in ["void k(float* x, float* y, long n) {}\n", ".version 8.0\n.target sm_90\n", "int k;"]:
        text = f"kernels['k'] is a source and no path: {kernel}"
        raises(TypeError, text, lambda: codegen.jit(ADD_ONE, {"k": source}))
        text = f"link[0] is a source and no path: {kernel}"
        raises(TypeError, text, lambda: codegen.emit(ADD_ONE, "shared", link=[source]))
        text = "images['i'] is a source and no path: what would be in the file is given as `bytes`"
        raises(TypeError, text, lambda: codegen.jit(f"image i; {ADD_ONE}", {}, images={"i": source}))
    raises(FileNotFoundError, "no/such.o", lambda: codegen.jit(ADD_ONE, {"k": "no/such.o"}))
    raises(FileNotFoundError, "no/such.ptx", lambda: codegen.emit(ADD_ONE, images={"i": "no/such.ptx"}))


def test_files_that_are_not_there() -> None:
    raises(FileNotFoundError, "cannot read /no/such/file", lambda: codegen.inspect("/no/such/file"))
    raises(FileNotFoundError, "cannot read /no/such/file", lambda: codegen.link(["/no/such/file"]))
    raises(FileNotFoundError, "cannot read ./-", lambda: codegen.inspect("-"))
    raises(OSError, "cannot read /", lambda: codegen.inspect("/"))
    raises(OSError, "unexpected NUL byte", lambda: codegen.inspect("/\0"))
    raises(ValueError, "<bytes>: not an object file", lambda: codegen.inspect(b""))
    raises(ValueError, "objects[0]: not an object file", lambda: codegen.link([b"x\0"]))
    raises(ValueError, "there are no objects", lambda: codegen.link([]))
    for file in [None, 1, [], {}]:
        raises(TypeError, "Mismatched type of file on argument #0", lambda: surface.inspect(file))
        raises(TypeError, "Mismatched type of objects", lambda: surface.link([file], {}))
    raises(TypeError, "Mismatched type of objects on argument #0", lambda: surface.link("x", {}))
    raises(TypeError, "objects is of type str, expected a sequence", lambda: codegen.link("x.o"))
    raises(TypeError, "objects[0] is of type int, which is no file", lambda: codegen.link([1]))
    raises(
        TypeError,
        "link is of type bytes, expected a sequence",
        lambda: codegen.emit(ADD_ONE, link=b""),
    )


def test_kernels() -> None:
    raises(ValueError, "undefined: `k`", lambda: codegen.jit(ADD_ONE))
    raises(ValueError, "undefined: `k`", lambda: codegen.jit(ADD_ONE, {"K": 1}))
    raises(ValueError, 'kernels["k"] is NULL', lambda: codegen.jit(ADD_ONE, {"k": 0}))
    raises(ValueError, 'kernels["k"] is negative', lambda: codegen.jit(ADD_ONE, {"k": -1}))
    raises(TypeError, "expected a mapping from names", lambda: codegen.jit(ADD_ONE, 5))
    raises(
        TypeError,
        "kernels['k'] is of type float, expected an address",
        lambda: codegen.jit(ADD_ONE, {"k": 1.5}),
    )
    raises(
        TypeError,
        "kernels['k'] is of type bool, expected",
        lambda: codegen.jit(ADD_ONE, {"k": True}),
    )
    raises(
        TypeError,
        "kernels['k'] is of type function",
        lambda: codegen.jit(ADD_ONE, {"k": lambda: None}),
    )
    raises(TypeError, "kernels.keys[0]", lambda: codegen.jit(ADD_ONE, {1: 1}))
    raises(
        ValueError,
        "addresses (a) and files to link (k)",
        lambda: codegen.jit(ADD_ONE, {"a": 1, "k": b""}),
    )
    raises(ValueError, "not an object file", lambda: codegen.jit(ADD_ONE, {"k": b""}))
    raises(FileNotFoundError, "cannot read no.o", lambda: codegen.jit(ADD_ONE, {"k": "no.o"}))
    raises(RuntimeError, "failed:", lambda: codegen.jit(ADD_ONE, {"k": C("int;;x(")}))
    for kernel in ["x", 1.5, None, []]:
        raises(
            TypeError, "Mismatched type of kernels", lambda: surface.jit(ADD_ONE, {"k": kernel}, {})
        )
    raises(
        ValueError, "closure `f` needs a context", lambda: codegen.jit("f(self: ptr) -> None = {};")
    )
    raises(
        ValueError,
        "no loader of modules of that kind",
        lambda: codegen.jit("f() -> None = {};", imports={"x": b"1"}),
    )


def test_no_compiler() -> None:
    before = os.environ.get("CC")
    os.environ["CC"] = "/no/such/compiler"
    try:
        raises(
            RuntimeError,
            "no C compiler for kernels in C",
            lambda: codegen.jit(ADD_ONE, {"k": C("")}),
        )
    finally:
        os.environ.pop("CC")
        if before is not None:
            os.environ["CC"] = before


def emit(**options: object) -> object:
    """Past what the package does, to the function itself."""
    return surface.emit(ADD_ONE, options)


OBJECT = codegen.emit("g() -> None = k();")
