"""Linked libraries by content: equal ones are loaded once if nothing can tell, and are kept in a folder."""

import ctypes
import subprocess
import sys
from pathlib import Path

import pytest
import tvm_ffi
import tvm_ffi_codegen as codegen
from support import ADD_ONE, C_KERNEL, adds_one, raises
from tvm_ffi_codegen import C, _kernels

TIMES = "times(n: int64) -> int64 = k(n);"


def times(factor: int) -> C:
    return C(f"long k(long n) {{ return n * {factor}; }}")


def mappings() -> int:
    return len(Path("/proc/self/maps").read_text().splitlines())


def test_equal_code_without_variables_is_loaded_once() -> None:
    def work() -> None:
        assert codegen.jit(TIMES, {"k": times(3)}).times(7) == 21
        assert adds_one(codegen.jit(ADD_ONE, {"k": C(C_KERNEL)}, link=[C("long other(void) { return 1; }")]))

    work()
    before = mappings()
    for _ in range(50):
        work()
    assert mappings() - before < 20


@pytest.mark.parametrize(
    "source",
    [
        "static long last; long k(long n) { last += n; return last; }",
        "static long last = 100; long k(long n) { last += n; return last - 100; }",
        "static _Thread_local long last; long k(long n) { last += n; return last; }",
        "long last; long k(long n) { last += n; return last; }",
    ],
)
def test_equal_code_with_variables_has_its_own(source: str, tmp_path: Path) -> None:
    for _ in range(3):
        m = codegen.jit(TIMES, {"k": C(source)}, cache=tmp_path)
        assert [m.times(2), m.times(2)] == [2, 4]
    assert len(list(tmp_path.iterdir())) == 1


def test_code_that_differs_is_not_shared(tmp_path: Path) -> None:
    for _ in range(2):
        for factor in (2, 3):
            assert codegen.jit(TIMES, {"k": times(factor)}, cache=tmp_path).times(5) == 5 * factor
        m = codegen.jit(TIMES.replace("k(n)", "k(n + 1)"), {"k": times(2)}, cache=tmp_path)
        assert m.times(5) == 12
        named = codegen.jit(TIMES, {"k": times(2)}, cache=tmp_path, entry="times")
        assert named(5) == 10
        assert list(named) == ["times", "main"]
        without = codegen.jit(TIMES, {"k": times(2)}, cache=tmp_path, metadata=False)
        assert without.module().get_function_metadata("times") is None
        assert m.module().get_function_metadata("times") is not None
    assert len(list(tmp_path.iterdir())) == 5


def test_addresses_are_part_of_the_content(tmp_path: Path) -> None:
    kind = ctypes.CFUNCTYPE(ctypes.c_int64, ctypes.c_int64)
    text = "f(n: int64) -> int64 = { let a: int64 = g(n); let b: int64 = k(a); return b; };"
    for add in range(5):
        m = codegen.jit(text, {"g": kind(lambda n, add=add: n + add), "k": times(10)}, cache=tmp_path)
        assert m.f(1) == (1 + add) * 10
    # No other process has the functions there.
    assert not list(tmp_path.iterdir())


def test_a_folder_keeps_what_was_linked(tmp_path: Path) -> None:
    folder, script = tmp_path / "made" / "here", tmp_path / "script.py"
    script.write_text(
        "import sys, tvm_ffi_codegen as codegen\n"
        "text, kernel, folder = sys.argv[1:]\n"
        "print(codegen.jit(text, {'k': kernel}, cache=folder).times(6))\n"
    )

    def other(factor: int = 7) -> str:
        kernel = tmp_path / "k.o"
        kernel.write_bytes(_kernels.compile_c(times(factor)))
        command = [sys.executable, str(script), TIMES, str(kernel), str(folder)]
        return subprocess.run(command, check=True, capture_output=True, text=True).stdout

    assert other() == "42\n"
    [file] = folder.iterdir()
    first = file.read_bytes()
    # The file can be loaded by others, too.
    assert tvm_ffi.load_module(file).times(6) == 42
    for damaged in (b"", first[:-1], first[:100], first[:-1] + bytes([first[-1] ^ 1]), b"x" * 33):
        file.unlink()
        file.write_bytes(damaged)
        assert other() == "42\n" and file.read_bytes() == first
    # What is there is what is loaded.
    assert other(8) == "48\n"
    [second] = set(folder.iterdir()) - {file}
    second.replace(file)
    assert other() == "48\n"


def test_folders_that_cannot_be_used(tmp_path: Path) -> None:
    file = tmp_path / "file"
    file.write_text("")
    kernel = C("static long n; long k(long m) { return n += m; }")
    for wrong in (file, file / "below"):
        raises(OSError, "", lambda wrong=wrong: codegen.jit(TIMES, {"k": kernel}, cache=wrong))
    raises(TypeError, "option cache", lambda: codegen.jit(TIMES, {"k": kernel}, cache=b"x"))  # type: ignore[arg-type]
    # Nothing is linked.
    assert codegen.jit("f() -> int64 = { return 1; };", cache=file).f() == 1
