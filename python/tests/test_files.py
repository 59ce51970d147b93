"""Declarations as text, objects and shared libraries, and diagnostics of declarations."""

import ctypes
import os
import subprocess
import sys
import tempfile
import threading
from pathlib import Path

import pytest
import tvm_ffi
import tvm_ffi_codegen as codegen
from support import ADD_ONE, C_KERNEL, adds_one, raises
from tvm_ffi import libinfo
from tvm_ffi_codegen import C, Diagnostic, _api, _kernels

SHARED = b"\x7fELF"


def load(contents: bytes) -> tvm_ffi.Module:
    with tempfile.TemporaryDirectory() as folder:
        path = Path(folder, "library.so")
        path.write_bytes(contents)
        return tvm_ffi.load_module(path)


def test_nothing_is_said_of_what_is_well() -> None:
    assert codegen.check(ADD_ONE) == []
    assert codegen.check("") == []


def test_errors_and_warnings_have_places() -> None:
    [error] = codegen.check("# one line\nf(n: int7) -> None = k();")
    message = "expected `Tensor` or another type such as `float32`, found `int7`"
    source = "  | f(n: int7) -> None = k();\n  |      ^"
    assert error == Diagnostic("error", message, 2, 6, source)
    assert str(error) == f"error: 2:6: {message}\n{source}"
    [warning] = codegen.check('f() -> None = try k() errors { 1: DeviceError "lost" };')
    assert (warning.severity, warning.line, warning.column) == ("warning", 1, 32)
    assert warning.message.startswith("f: error 0: Python has no exception for `DeviceError`")


def test_warnings_have_names() -> None:
    text = "kind(n: int64, m: int64) -> int64 = { return n; };"
    names = [warning.name for warning in codegen.check(text)]
    assert names == ["module-attribute", "unused-parameter"]
    [warning] = codegen.check(text, allow=["module-attribute"])
    assert warning.message.endswith("nothing else is done with it [unused-parameter]")
    assert codegen.check(text, allow=names) == []
    raises(ValueError, "allow[1]: `unused` is no warning; there are unused-parameter", lambda: codegen.check(text, allow=[*names[:1], "unused"]))


def test_all_errors_are_reported() -> None:
    found = codegen.check("f() -> None = { k(a); k(1); k(b); };\ng() -> int64 = { };")
    assert [(error.severity, error.line, error.column) for error in found] == [
        ("error", 1, 17),
        ("error", 1, 29),
        ("error", 2, 8),
    ]


def test_names_that_modules_hide() -> None:
    [warning] = codegen.check("kind(n: int64) -> int64 = { return n; };")
    assert (warning.severity, warning.line, warning.column) == ("warning", 1, 1)
    assert 'module["kind"]' in warning.message
    module = codegen.jit("kind(n: int64) -> int64 = { return n; };")
    assert module.kind != 3 and module["kind"](3) == 3


def test_what_declarations_want() -> None:
    launch = 'image i; f(x: Tensor([n], float32, device=cuda), a: int8, b: bool) -> None = { try k1(x, a, b); launch i."g"(x.data) grid(n) block(1); };'
    described = codegen.describe(launch + ADD_ONE + "g(s: str) -> y: Tensor([8], float16) = { l(s); k2(y, 1.5); };")
    assert [one["name"] for one in described["functions"]] == ["f", "add_one", "g"]
    assert described["functions"][1]["signature"] == ADD_ONE.split(" = ")[0]
    assert described["images"] == ["i"]
    prototypes = [one["prototype"] for one in described["kernels"]]
    assert prototypes == [
        "int32_t k1(DLTensor*, int8_t, uint8_t)",
        "void k(void*, void*, int64_t)",
        "void l(const char*, int64_t)",
        "void k2(DLTensor*, double)",
    ], prototypes
    assert described["kernels"][2] == {
        "name": "l",
        "prototype": "void l(const char*, int64_t)",
        "params": ["const char*", "int64_t"],
        "result": None,
        "callers": ["g"],
    }


def test_declarations_are_text() -> None:
    for wrong, name in [([], "Array"), ({}, "Map"), (5, "int")]:
        raises(TypeError, f"expected str but got {name}", lambda wrong=wrong: codegen.describe(wrong))


def test_text_may_hold_anything() -> None:
    assert codegen.check("\0")[0].message.startswith("expected the name of a function")
    assert codegen.check("f() -> None = k(); # \0 ü 𝄞") == []


def test_every_form() -> None:
    assert "    y.shape[0]: n\n" in codegen.emit(ADD_ONE, "resolved")
    assert "export func @__tvm_ffi_add_one(" in codegen.emit(ADD_ONE, "ir")
    assert "function u0:0" in codegen.emit(ADD_ONE, "native")
    assert "int32_t add_one(DLTensor* x" in codegen.emit("extern " + ADD_ONE, "header")
    assert "add_one" in (found := codegen.inspect(codegen.emit(ADD_ONE)))["functions"][0]["name"]
    assert [one["name"] for one in found["undefined"]] == ["k"]
    assert adds_one(load(codegen.emit(ADD_ONE, "shared", link=[C(C_KERNEL)])))


def test_exports() -> None:
    kernel = C(C_KERNEL + " int answer(void) { return 42; }")
    for linked in [
        codegen.emit(ADD_ONE, "shared", link=[kernel], exports=["answer"]),
        codegen.emit(ADD_ONE, "shared", link=[kernel], exports=["answer"], linker="cc"),
        codegen.link([codegen.emit(ADD_ONE), kernel], exports=["answer"]),
    ]:
        with tempfile.TemporaryDirectory() as folder:
            library = Path(folder, "library.so")
            library.write_bytes(linked)
            assert ctypes.CDLL(str(library)).answer() == 42
        assert adds_one(load(linked))


def test_objects_are_paths_or_bytes() -> None:
    with tempfile.TemporaryDirectory() as folder:
        source, host = Path(folder, "kernel.c"), Path(folder, "host.o")
        source.write_text(C_KERNEL)
        host.write_bytes(codegen.emit(ADD_ONE))
        assert adds_one(load(codegen.emit(ADD_ONE, "shared", link=[source])))
        assert adds_one(load(codegen.link([host, C(C_KERNEL)])))
        assert adds_one(load(codegen.link([str(host), source], linker="cc")))
        assert (
            codegen.inspect(host)
            == codegen.inspect(str(host))
            == codegen.inspect(host.read_bytes())
        )


def test_options() -> None:
    cross = codegen.inspect(codegen.emit(ADD_ONE, target="aarch64-unknown-linux-gnu"))
    assert cross["machine"] == "ELF aarch64"
    assert (
        codegen.inspect(codegen.emit(ADD_ONE, metadata=False))["functions"][0]["metadata"] is None
    )
    needed = dict(link=[C(C_KERNEL)], runtime_dependency=False)
    assert codegen.inspect(codegen.emit(ADD_ONE, "shared", **needed))["needed"] == []
    names = [
        one["name"] for one in codegen.inspect(codegen.emit(ADD_ONE, entry="add_one"))["functions"]
    ]
    assert names == ["add_one", "main"]
    names = [
        one["name"] for one in codegen.inspect(codegen.emit(ADD_ONE, system_lib="my_"))["functions"]
    ]
    assert names == ["my_add_one"]
    names = [one["name"] for one in codegen.inspect(codegen.emit(ADD_ONE, register="xla"))["functions"]]
    assert names == ["_xla_add_one", "add_one"]
    without = codegen.emit(ADD_ONE, "ir", unchecked=["shape", "strides", "device", "alignment"])
    assert len(without) < len(codegen.emit(ADD_ONE, "ir"))


def test_libraries_are_for_a_stated_c_library() -> None:
    text = "thread() -> int32 = thread_kernel();"
    kernel = C("int gettid(void); int thread_kernel(void) { return gettid(); }")
    absent = "uses `gettid` (GLIBC_2.30), which is "
    raises(ValueError, absent + "not in", lambda: codegen.emit(text, "shared", link=[kernel]))
    with tempfile.TemporaryDirectory() as root:
        emit = lambda: codegen.emit(text, "shared", link=[kernel], sysroot=root)
        raises(ValueError, f"{absent}in no C library of the sysroot {root}", emit)
    # What is for this process may use the C library of this machine, which may be older.
    if hasattr(ctypes.CDLL(None), "gettid"):
        assert codegen.jit(text, link=[kernel]).thread() == threading.get_native_id()


def test_options_have_types() -> None:
    try:
        codegen.emit(ADD_ONE, nothing=1)  # type: ignore[call-overload]
    except ValueError as error:
        known = str(error).partition("expected one of ")[2].split(", ")
    # `form` is a parameter of its own.
    assert sorted(known) == sorted([*_api.Options.__annotations__, "form"])


def test_equal_c_is_compiled_once(tmp_path: Path) -> None:
    header, folder = tmp_path / "one.h", tmp_path / "cache"
    flags = f"-O1 -I{tmp_path}"

    def compiled(cache: Path | None = folder) -> bytes:
        return _kernels.compile_c(C('#include "one.h"\nint f(void) { return ONE; }', flags, cache))

    header.write_text("#define ONE 1\n")
    first = compiled(None)
    assert compiled(None) is first and compiled() is first and compiled() == first
    [file] = folder.iterdir()
    assert file.read_bytes() == first
    header.write_text("#define ONE 2\n")
    assert compiled() != first and len(list(folder.iterdir())) == 2
    # A process without the object takes it from the folder.
    header.write_text("#define ONE 1\n")
    _kernels._compiled.cache_clear()
    file.write_bytes(b"kept")
    assert compiled() == b"kept"
    assert compiled(None) == first and compiled(None) is not first


def test_a_file_of_c_has_headers_beside_it_and_any_comment(tmp_path: Path) -> None:
    folder = tmp_path / "kernels"
    folder.mkdir()
    source, header = folder / "k.c", folder / "one.h"
    source.write_bytes(b'#include "one.h"\n/* \xe9 */ long k(long n) { return n + ONE; }')
    text = "f(n: int64) -> int64 = k(n);"
    for one in (1, 2):
        header.write_text(f"#define ONE {one}\n")
        for file in (source, os.path.relpath(source)):
            assert codegen.jit(text, {"k": file}).f(1) == 1 + one
    source.write_bytes(b"\xe9;")
    raises(RuntimeError, f"{source}:1:1: error", lambda: codegen.jit(text, {"k": source}))
    raises(FileNotFoundError, "no/such.c", lambda: codegen.jit(text, {"k": "no/such.c"}))


def test_functions_with_the_names_of_getters_are_loaded(tmp_path: Path) -> None:
    text = "f(x: Tensor([n], float32)) -> None = {}; "
    rows = [
        ("_torch() -> None = {}; _xla_f(n: int64) -> int64 = { return n; };", None, ["_torch", "_xla_f", "f"]),
        ("`_xla_a b`() -> None = {}; `a b`() -> None = {};", None, ["_xla_a b", "a b", "f"]),
        ("_torch() -> None = {};", "xla", ["_torch", "f"]),
        ("", ["xla", "torch=ours"], ["f"]),
        ("g(m: int64) -> Function = { return function(x: Tensor([n], int8)) -> None { k(m); }; };", "xla", ["f", "g"]),
    ]
    for index, (more, register, names) in enumerate(rows):
        path = tmp_path / f"library{index}.so"
        path.write_bytes(codegen.emit(text + more, "shared", register=register, link=[C("void k(long m) {}")]))
        assert sorted(codegen.load(path)) == names, more


def test_contents_of_images_are_any_bytes() -> None:
    text = 'image i; f(x: Tensor([n], float32, device=cuda)) -> None = { launch i."k"(x.data) grid(n) block(1); };'
    ptx = b".version 8.0\n.target sm_80\n.address_size 64\n"
    given = [codegen.emit(text, images={"i": kind(ptx)}) for kind in (bytes, bytearray, memoryview)]
    assert given[0] == given[1] == given[2]


def test_routines() -> None:
    script = "import sys, support, tvm_ffi; assert support.adds_one(tvm_ffi.load_module(sys.argv[1]))"
    for backend in backends():
        sizes = []
        for routines in [None, "linked", "embedded"]:
            options = dict(backend=backend, routines=routines, link=[C(C_KERNEL)])
            library = codegen.emit(ADD_ONE, "shared", **options)
            with tempfile.NamedTemporaryFile(suffix=".so") as file:
                file.write(library)
                file.flush()
                here = Path(__file__).parent
                subprocess.run([sys.executable, "-c", script, file.name], cwd=here, check=True)
            sizes.append(len(library))
        assert sizes[0] == sizes[1] > sizes[2], f"{backend}: {sizes}"
    left = codegen.inspect(codegen.emit(ADD_ONE, routines="linked"))["undefined"]
    assert any("tvm_ffi_codegen.fail_header." in one["name"] for one in left)


def test_c_is_a_source() -> None:
    """The text in C compiles by itself, and the backend compiles it too."""
    text = codegen.emit(ADD_ONE, "native", backend="c")
    with tempfile.TemporaryDirectory() as folder:
        host, kernel, library = (Path(folder, name) for name in ("host.c", "k.c", "library.so"))
        host.write_text(text)
        kernel.write_text(C_KERNEL)
        warnings = ["-std=c11", "-Wall", "-Wextra", "-Wpedantic", "-Werror"]
        command = ["cc", *warnings, "-O1", "-shared", "-fPIC", "-o", library, host, kernel]
        subprocess.run([*command, libinfo.find_libtvm_ffi()], check=True)
        assert adds_one(tvm_ffi.load_module(library))
    assert adds_one(load(codegen.emit(ADD_ONE, "shared", backend="c", link=[C(C_KERNEL)])))


def test_c_stands_in_a_file_with_its_kernels() -> None:
    """The kernel has types of its own, and the runtime's headers come before the text."""
    text = codegen.emit(ADD_ONE, "native", backend="c", headers="include")
    assert text.startswith("#include <tvm/ffi/c_api.h>")
    source = f"#include <tvm/ffi/c_api.h>\n{C_KERNEL}\n{text}"
    flags = ["-O2", "-std=c11", "-Wall", "-Wextra", "-Wpedantic", "-Werror", "-isystem", libinfo.find_include_path()]
    assert adds_one(load(codegen.link([C(source, flags)])))
    for options in (dict(form="object", backend="c"), dict(form="native", backend="cranelift")):
        with pytest.raises(ValueError, match="option headers is for form native of backend c"):
            codegen.emit(ADD_ONE, headers="include", **options)
    with pytest.raises(ValueError, match='option headers: no headers "both", expected own, include'):
        codegen.emit(ADD_ONE, "native", backend="c", headers="both")


def backends() -> list[str]:
    """Returns the backends that the shared object was built with."""
    try:
        codegen.emit(ADD_ONE, backend="llvm")
    except RuntimeError as error:
        assert "is not part of this build" in str(error)
        return ["cranelift"]
    return ["cranelift", "llvm"]


def test_what_a_library_brings_along() -> None:
    tree = codegen.inspect(codegen.emit(ADD_ONE, imports={"b": b"1", "a": b"23"}))["import_tree"]
    assert [(one["kind"], one["size"]) for one in tree["modules"]] == [
        ("_lib", None),
        ("b", 1),
        ("a", 2),
    ]
    launch = 'image i; f(n: int32) -> None = { launch i."k"(n) grid(1) block(1) on 0; };'
    launch = 'image i; f(x: Tensor([n], float32, device=cuda)) -> None = { launch i."k"(x.data) grid(n) block(1); };'
    ptx = b".version 8.0\n.target sm_80\n.address_size 64\n"
    options = dict(images={"i": ptx}, prepare="warm_up")
    names = [one["name"] for one in codegen.inspect(codegen.emit(launch, **options))["functions"]]
    assert names == ["f", "warm_up"]


def test_it_knows_itself() -> None:
    surface = codegen._library.library()
    metadata = surface.get_function_metadata("emit")
    signature = "emit(text: str, options: Optional[Map[str, Any]] = None) -> Any"
    assert metadata["declaration"]["signature"] == signature
    assert "Compiles declarations" in surface.get_function_doc("emit")
