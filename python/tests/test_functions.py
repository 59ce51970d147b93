"""The functions that `jit` and `load` return, and how long their code lives."""

import copy
import ctypes
import gc
import os
import pickle
import threading
import weakref
from pathlib import Path
from typing import Any

import numpy as np
import pytest
import tvm_ffi
import tvm_ffi_codegen as codegen
from support import ADD_ONE, adds_one, callback, raises
from tvm_ffi_codegen import C

TWO = "f(n: int64) -> int64 = { return n + 1; }; g(n: int64) -> int64 = { return n + 2; };"


def resident() -> int:
    return int(Path("/proc/self/statm").read_text().split()[1]) * os.sysconf("SC_PAGE_SIZE")


def mappings() -> int:
    return len(Path("/proc/self/maps").read_text().splitlines())


def test_functions_are_attributes_and_items() -> None:
    m = codegen.jit(TWO)
    assert (m.f(1), m["g"](1), list(m), len(m), "f" in m, "h" in m) == (2, 3, ["f", "g"], 2, True, False)
    assert repr(m) == "<f(n: int64) -> int64, g(n: int64) -> int64>"
    assert {"f", "g", "module"} <= set(dir(m))
    raises(AttributeError, "no function 'h': there is f, g", lambda: m.h)
    raises(KeyError, "h", lambda: m["h"])
    raises(AttributeError, "cannot set 'f'", lambda: setattr(m, "f", 1))
    raises(AttributeError, "cannot delete 'f'", lambda: delattr(m, "f"))
    raises(TypeError, "the option `entry` names one", lambda: m())
    for work in (pickle.dumps, copy.copy, copy.deepcopy):
        raises(TypeError, "cannot pickle functions", lambda work=work: work(m))  # type: ignore[misc]
    assert repr(codegen.jit("")) == "<no functions>"


def test_no_method_hides_a_function() -> None:
    names = ["module", "keys", "items", "get_function", "imports", "f_", "dict"]
    text = " ".join(f"{name}() -> int64 = {{ return {index}; }};" for index, name in enumerate(names))
    m = codegen.jit(text)
    assert [getattr(m, name)() for name in names] == [m[name]() for name in names] == list(range(len(names)))
    assert codegen.Functions.module(m).get_function("module")() == 0


def test_functions_own_their_code() -> None:
    kernel = callback()
    held = weakref.ref(kernel)
    m = codegen.jit(ADD_ONE, {"k": kernel})
    function = m.add_one
    del kernel, m
    gc.collect()
    x, y = np.arange(5, dtype="float32"), np.zeros(5, "float32")
    function(x, y)
    assert (y == x + 1).all() and held() is not None
    # A container of the runtime holds the code, too.
    kept = tvm_ffi.convert([function.__self__.function if hasattr(function, "__self__") else function])
    del function
    gc.collect()
    assert held() is not None
    kept[0](x, y)
    del kept
    gc.collect()
    assert held() is None


def test_code_of_functions_that_are_returned_lives() -> None:
    text = "f(x: Tensor([n], float32)) -> Function = { return function (k: int64) -> int64 { return k + n; }; };"
    inner = codegen.jit(text).f(np.zeros(4, "float32"))
    gc.collect()
    for _ in range(50):
        codegen.jit(TWO)
    assert inner(3) == 7


def test_a_call_survives_the_last_reference() -> None:
    made: dict[str, Any] = {}

    @ctypes.CFUNCTYPE(ctypes.c_int64, ctypes.c_int64)
    def k(n: int) -> int:
        made.clear()
        gc.collect()
        return n * 3

    made["m"] = codegen.jit("f(n: int64) -> int64 = { let a: int64 = k(n); return a + 1; };", {"k": k})
    assert made["m"].f(2) == 7
    assert not made


def test_modules_are_made_when_asked_for() -> None:
    m = codegen.jit(TWO, entry="g")
    assert m(1) == 3 and list(m) == ["f", "g", "main"]
    module = m.module()
    assert isinstance(module, tvm_ffi.Module) and m.module() is module
    assert module.f(1) == 2 and module(1) == 3
    assert tvm_ffi.get_global_func("ffi.ModuleGetFunction")(m, "f", False)(1) == 2


def test_libraries_are_the_same(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    path = tmp_path / "two.so"
    path.write_bytes(codegen.emit(TWO, "shared"))
    monkeypatch.chdir(tmp_path)
    for name in (path, "two.so"):
        m = codegen.load(name)
        assert (m.f(1), m["g"](1), list(m)) == (2, 3, ["f", "g"])
    assert repr(m) == "<f(n: int64) -> int64, g(n: int64) -> int64>"
    assert m.module().f(1) == 2


def test_memory_and_mappings_stay() -> None:
    one = callback()

    def work(index: int) -> None:
        m = codegen.jit(ADD_ONE + f"h{index}(n: int64) -> int64 = {{ return n + {index}; }};", {"k": one})
        assert m[f"h{index}"](1) == 1 + index

    for index in range(100):
        work(index)
    gc.collect()
    before, places = resident(), mappings()
    for index in range(1000):
        work(index)
    gc.collect()
    assert resident() - before < 2 << 20 and mappings() - places < 20


def test_equal_compilations_share_nothing() -> None:
    text = """
    count() -> int64 = next_number();
    ask() -> int64 = { let r: int64 = @"tests.equal_compilations"(); return r; };
    """
    kernel = C("long long next_number(void) { static long long n; return ++n; }")

    def numbers() -> tuple[int, int]:
        m = codegen.jit(text, {"next_number": kernel})
        return m.count(), m.ask()

    tvm_ffi.register_global_func("tests.equal_compilations", lambda: 1)
    assert numbers() == (1, 1)
    tvm_ffi.register_global_func("tests.equal_compilations", lambda: 2, override=True)
    assert numbers() == (1, 2)


def test_notebooks_show_lines() -> None:
    m = codegen.jit("/// Adds one.\n/// Always.\nf(n: int64) -> int64 = { return n + 1; }; g() -> None = {};")
    assert shown(m) == "f(n: int64) -> int64\n    Adds one.\ng() -> None"
    assert shown(codegen.jit("")) == "no functions"
    [error] = codegen.check("f(n: int7) -> None = k();")
    assert shown(error) == str(error)


def shown(value: Any) -> str:
    """Returns what a notebook shows; stands in for IPython's printer, which has these two methods."""
    lines = [""]

    class Printer:
        def text(self, text: str) -> None:
            lines[-1] += text

        def break_(self) -> None:
            lines.append("")

    value._repr_pretty_(Printer(), False)
    return "\n".join(lines)


def test_threads_make_and_drop() -> None:
    wrong = []

    def work() -> None:
        for index in range(40):
            m = codegen.jit(f"f(n: int64) -> int64 = {{ return n + {index}; }};" + ADD_ONE, {"k": callback()})
            if m.f(1) != 1 + index or not adds_one(m):
                wrong.append(index)

    threads = [threading.Thread(target=work) for _ in range(6)]
    for thread in threads:
        thread.start()
    for thread in threads:
        thread.join()
    assert not wrong


def test_functions_of_this_process_have_handlers() -> None:
    text = "f(x: Tensor([n], int8)) -> None = {}; g() -> int64 = { return 1; };"
    m = codegen.jit(text, register=["xla:f", "torch=here"])
    assert list(m) == ["f", "g"] and m.g() == 1
    module = m.module()
    assert module["_xla_f"]().value and not module.implements_function("_xla_g")
    assert module["_torch"]() is None
    text, kernel = "f(x: Tensor([n], int8)) -> None = k(n);", codegen.C("void k(long n) {}")
    linked = codegen.jit(text, {"k": kernel}, register="xla=own")
    assert list(linked) == ["f"] and linked.module()["_xla_f"]().value
    raises(ValueError, "option register: no host", lambda: codegen.jit(text, register="xlb"))
    raises(ValueError, "f: result: XLA's calls yield", lambda: codegen.jit("f() -> int64 = { return 1; };", register="xla"))
