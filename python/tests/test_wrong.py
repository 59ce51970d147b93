"""Wrong arguments of every function: an exception of the right class with a text, never a crash."""

import os
import time
import warnings
from typing import Any, cast

import tvm_ffi
import tvm_ffi_codegen as codegen
from support import ADD_ONE, C_KERNEL, callback, raises
from tvm_ffi_codegen import C, _library

surface = _library.library()


def test_text() -> None:
    for name, rest in [("check", ([],)), ("describe", ()), ("emit", ({},)), ("jit", ({}, {}))]:
        function = surface[name]
        for text in [None, 1, 1.5, b"f", [], object()]:
            raises(
                TypeError, "Mismatched type of text on argument #0", lambda: function(text, *rest)
            )
        raises(TypeError, "Mismatched number of arguments", function)
        raises(TypeError, "Mismatched number of arguments", lambda: function("", *rest, 1))
    for function in [codegen.emit, codegen.jit, codegen.describe]:
        raises(ValueError, "1:1: expected the name of a function, found", lambda: function("\0"))
        raises(
            ValueError, "expected the name of a function", lambda: function("f() -> None = k();\0")
        )


def test_what_is_no_list_of_names_and_no_functions() -> None:
    for allow in [None, 5, "unused-parameter"]:
        said = f"allow is of type {type(allow).__name__}, expected a sequence of names"
        raises(TypeError, said, lambda allow=allow: codegen.check("", allow=cast(Any, allow)))
    for functions in [None, "f", lambda: None]:
        said = f"functions is of type {type(functions).__name__}, expected what `jit` or `load` returns"
        raises(TypeError, said, lambda functions=functions: codegen.stub(cast(Any, functions)))


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
        'unknown option "linker", expected one of link, rpath, raising, images, imports, prepare, entry, register, metadata, unchecked, observers, cache',
        lambda: surface.jit(ADD_ONE, {}, {"linker": "cc"}),
    )
    raises(TypeError, "options.keys[0]", lambda: surface.emit(ADD_ONE, {1: 2}))
    for options in [1, "x", [], [("form", "ir")]]:
        raises(TypeError, "Mismatched type of options", lambda: surface.emit(ADD_ONE, options))


def test_types_of_options() -> None:
    texts = [
        "form",
        "backend",
        "target",
        "cpu",
        "optimization",
        "linker",
        "sysroot",
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
    for value in [1.5, b"x", {}, True, object()]:
        text = "Mismatched type of option register, expected str or Array but got"
        raises(TypeError, text, lambda: emit(register=value))
    text = "Mismatched type of option register[1], expected str but got int"
    raises(TypeError, text, lambda: emit(register=["xla", 1]))
    for name in ["metadata", "runtime_dependency"]:
        for value in [1, "x", 1.5, []]:
            options = {name: value, "form": "shared"}
            raises(
                TypeError,
                f"Mismatched type of option {name}, expected bool but got",
                lambda: emit(**options),
            )
    for name in ["features", "link", "exports", "rpath", "unchecked"]:
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


def test_observers_have_names() -> None:
    text = "Mismatched type of option observers, expected Array but got str"
    raises(TypeError, text, lambda: codegen.jit("", observers="profiler"))
    text = 'option observers: no observer "gdb", expected debugger or profiler'
    raises(ValueError, text, lambda: codegen.jit("", observers=["gdb"]))
    raises(ValueError, 'unknown option "observers"', lambda: emit(observers=["debugger"]))


def test_values_of_options() -> None:
    rows = [
        (
            dict(form="shred"),
            'no form "shred", expected one of resolved, ir, native, bitcode, object, shared, header, html',
        ),
        (dict(backend="gcc"), "unknown backend `gcc`, expected one of cranelift, "),
        (dict(target="pdp-11"), "unknown target `pdp-11`"),
        (
            dict(features=["avx"]),
            'option features: expected `+` or `-` and the name of a feature, found "avx"',
        ),
        (dict(optimization=9), "option optimization: expected 0, 1, 2 or 3"),
        (dict(linker="gold", form="shared"), 'no linker "gold", expected one of wild, cc, lld'),
        (dict(routines="shared"), 'no routines "shared", expected one of embedded, linked, once'),
        (dict(unchecked=["all"]), 'no group "all", expected shape, strides, device, alignment'),
        (dict(images={"i": b""}), "there is no `image i;`"),
        (dict(imports={"": b"x"}), "imports: "),
        (dict(imports={"_lib": b"x"}), "imports: "),
        (dict(entry="g"), 'entry: there is no function "g"'),
        (dict(prepare="add_one"), "add_one"),
        (dict(register="xlb"), "option register: no host"),
        (dict(register="xla:g"), 'handlers: there is no function "g"'),
        (dict(register=["xla", "torch"]), 'option register: no host "torch", expected xla'),
        (dict(register=["xla", "torch=a:g"]), 'torch: there is no function "g"'),
        (dict(system_lib="a b"), "system library prefix"),
        (dict(system_lib="a\0b"), "system library prefix"),
        (dict(form="ir", link=[OBJECT]), "option link is for forms object and shared"),
        (dict(rpath=["x"]), "option rpath is for form shared"),
        (dict(soname="x"), "option soname is for form shared"),
        (dict(exports=["x"]), "option exports is for form shared"),
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
    missing = "`x` cannot be exported: no linked file defines it"
    raises(ValueError, missing, lambda: codegen.link([OBJECT], exports=["x"]))
    # The same shared object may have been built with LLVM.
    found = of_backend("llvm")
    left_out = (
        b"backend llvm is not part of this build: enable the cargo feature `llvm`, in Python "
        b"`TVM_FFI_CODEGEN_FEATURES=llvm pip install "
    )
    assert found.startswith((b"\x7fELF", left_out)), found[:200]


def of_backend(name: str) -> bytes:
    """Returns an object, or the error of the backend."""
    try:
        return bytes(codegen.emit(ADD_ONE, backend=name))
    except RuntimeError as error:
        return str(error).encode()


def test_sources_are_no_paths() -> None:
    kernel = "C is given as `C(source)`, PTX as one of the `images`"
    in_c, in_ptx = "void k(float* x, float* y, long n) {}\n", ".version 8.0\n.target sm_90\n"
    for source in [in_c, in_ptx, "int k;"]:
        text = f"kernels['k'] is a source and no path: {kernel}"
        raises(TypeError, text, lambda: codegen.jit(ADD_ONE, {"k": source}))
        text = f"link[0] is a source and no path: {kernel}"
        raises(TypeError, text, lambda: codegen.emit(ADD_ONE, "shared", link=[source]))
        text = "images['i'] is a source and no path: what would be in the file is given as `bytes`"
        images = {"i": source}
        raises(TypeError, text, lambda: codegen.jit(f"image i; {ADD_ONE}", {}, images=images))
    raises(FileNotFoundError, "no/such.o", lambda: codegen.jit(ADD_ONE, {"k": "no/such.o"}))
    images = {"i": "no/such.ptx"}
    raises(FileNotFoundError, "no/such.ptx", lambda: codegen.emit(ADD_ONE, images=images))


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
    raises(ValueError, "not an object file", lambda: codegen.jit(ADD_ONE, {"k": b""}))
    raises(TypeError, "link is of type str", lambda: codegen.jit(ADD_ONE, {"k": 1}, link="k.o"))
    raises(TypeError, "link[0] is of type int", lambda: codegen.jit(ADD_ONE, {"k": 1}, link=[1]))
    linked = ["no.so"]
    text = "cannot read no.so"
    raises(FileNotFoundError, text, lambda: codegen.jit(ADD_ONE, {"k": 1}, link=linked))
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


def test_flags_of_c() -> None:
    words = ("-O3", "-DA=b c")
    assert C("", "-O3 '-DA=b c'") == C("", words) == C("", list(words)) == C("", iter(words))
    assert C("").flags == ("-O2",) and C("", "").flags == ()
    assert len({C("", "-O3"), C("", ["-O3"])}) == 1
    for flags, kind in [(5, "int"), (["-O3", 1], "int"), (b"-O3", "bytes"), (None, "NoneType")]:
        text = f"flags of C are of type {kind}, expected str"
        raises(TypeError, text, lambda: C("", cast(Any, flags)))
    raises(TypeError, "the source of C is of type bytes", lambda: C(cast(Any, b"")))
    raises(ValueError, "flags of C: No closing quotation: -DA='", lambda: C("", "-DA='"))


def test_what_is_undefined_is_explained() -> None:
    declared = "g(n: int64) -> None = {}; "
    tvm_ffi.register_global_func("codegen.test_wrong", lambda: None, override=True)
    rows = [
        (ADD_ONE, {}, "undefined: `k`, which `add_one` calls (no kernels are given)"),
        (ADD_ONE, {"K": 1}, "undefined: `k`, which `add_one` calls (given: `K`)"),
        (ADD_ONE, {"K": C(C_KERNEL.replace("k(", "kk("))}, "`add_one` calls (given: `kk`)"),
        (ADD_ONE, {f"k{i}": 1 for i in range(11)}, "`k7` and 3 more)"),
        (
            "f(n: int64) -> None = k(n); g(n: int64) -> None = { k(n); l(); };",
            {},
            "undefined: `k`, which `f`, `g` call; `l`, which `g` calls (",
        ),
        (
            declared + "f(n: int64) -> None = g(n);",
            {},
            "undefined: `g`, which `f` calls: "
            "for the function of TVM FFI write `@g(…)` instead of `g(…)` (",
        ),
        (
            'f() -> None = "codegen.test_wrong"();',
            {},
            'write `@"codegen.test_wrong"(…)` instead of `codegen.test_wrong(…)`',
        ),
        (
            "f(n: int64) -> None = { @relu(n); };",
            {},
            "undefined: `__tvm_ffi_relu`, which `f` calls (",
        ),
    ]
    for text, kernels, said in rows:
        with warnings.catch_warnings():
            warnings.simplefilter("ignore")
            raises(ValueError, said, lambda: codegen.jit(text, cast(Any, kernels)))


def test_kernels_that_nobody_calls() -> None:
    both = C(C_KERNEL + "void l(void) {}")
    for kernels, said in [
        (
            {"k": callback(), "l": 1, "m": 1},
            "no declaration calls 'l', 'm' of kernels: they call k; ",
        ),
        ({"k": both, "l": both}, "no declaration calls 'l' of kernels"),
        # A file may call it.
        ({"k": C(C_KERNEL), "l": 1}, None),
        ({"k": callback()}, None),
    ]:
        with warnings.catch_warnings(record=True) as caught:
            warnings.simplefilter("always")
            codegen.jit(ADD_ONE, cast(Any, kernels))
        texts = [str(one.message) for one in caught]
        assert [one.filename for one in caught] == [__file__] * (said is not None), caught
        assert said is None and texts == [] or said is not None and said in texts[0], texts


def test_what_cannot_be_loaded() -> None:
    source = C_KERNEL.replace("x[i] + 1", "nowhere()")
    kernel = C(source.replace("void k", "float nowhere(void); void k"))
    said = "what is linked cannot be loaded: undefined symbol: nowhere (link what defines it, too)"
    raises(RuntimeError, said, lambda: codegen.jit(ADD_ONE, {"k": kernel}))
    where = C("float nowhere(void) { return 1; }")
    codegen.jit(ADD_ONE, {"k": kernel}, link=[where])


def test_errors_of_others_are_not_ours() -> None:
    raises(RuntimeError, "no-such.so", lambda: tvm_ffi.load_module("/no-such.so"))
    known = tvm_ffi.core.ERROR_NAME_TO_TYPE.items()
    names = [name for name, kind in known if kind is codegen.InternalError]
    assert names == ["tvm_ffi_codegen.InternalError"]


def test_no_compiler() -> None:
    before = os.environ.get("CC")
    os.environ["CC"] = "/no/such/compiler"
    try:
        raises(
            RuntimeError,
            "no C compiler for kernels in C",
            lambda: codegen.jit(ADD_ONE, {"k": C("")}),
        )
        os.environ["CC"] = "true"
        raises(RuntimeError, "true wrote no object", lambda: codegen.jit(ADD_ONE, {"k": C("")}))
        os.environ["CC"] = "gcc 'x"
        raises(ValueError, "CC: No closing quotation: gcc 'x", lambda: codegen.jit(ADD_ONE, {"k": C("")}))
    finally:
        os.environ.pop("CC")
        if before is not None:
            os.environ["CC"] = before


def emit(**options: object) -> object:
    """Calls `emit` of the shared object, without the checks of the package."""
    return surface.emit(ADD_ONE, options)


OBJECT = codegen.emit("g() -> None = k();")
