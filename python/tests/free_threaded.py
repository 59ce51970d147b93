"""The package in a Python without a lock: `python/tests/free-threaded` runs it."""

import ctypes
import sys
import sysconfig
import threading
import warnings
from collections.abc import Callable

# Python says so when a module turns the lock on again.
warnings.simplefilter("error")
assert sysconfig.get_config_var("Py_GIL_DISABLED"), "this Python has a lock"

import numpy as np  # noqa: E402
import tvm_ffi  # noqa: E402
import tvm_ffi_codegen as codegen  # noqa: E402
from support import ADD_ONE, adds_one, callback  # noqa: E402

THREADS, ROUNDS = 8, 200


def at_once(work: Callable[[int], None]) -> None:
    """Calls a function in several threads, and raises what it raises."""
    errors: list[BaseException] = []
    start = threading.Barrier(THREADS)

    def run(number: int) -> None:
        try:
            start.wait()
            work(number)
        except BaseException as error:  # noqa: BLE001
            errors.append(error)

    threads = [threading.Thread(target=run, args=(number,)) for number in range(THREADS)]
    for thread in threads:
        thread.start()
    for thread in threads:
        thread.join()
    if errors:
        raise errors[0]


shared = codegen.jit(ADD_ONE + "f(n: int64) -> int64 = { return n + 1; };", {"k": callback()})
# `tvm_ffi` calls: the native caller, which needs the lock, is not loaded.
assert type(shared.f) is not type(len) and shared.f(n=41) == 42
assert adds_one(shared)


def call(number: int) -> None:
    """Calls functions that all threads share, with arrays of its own."""
    x, y = np.full(16, number, "float32"), np.zeros(16, "float32")
    for _ in range(ROUNDS):
        shared.add_one(x, y)
        assert (y == number + 1).all() and shared.f(number) == number + 1


def compile_(number: int) -> None:
    """Compiles functions with kernels of its own, equal ones among them, and frees them."""
    for turn in range(ROUNDS // 20):
        kernel = ctypes.CFUNCTYPE(ctypes.c_int64, ctypes.c_int64)(lambda n: n * 10 + number)
        functions = codegen.jit("f(n: int64) -> int64 = k(n);", {"k": kernel})
        assert functions.f(turn) == turn * 10 + number
        module = functions.module()
        assert module.get_function("f")(turn) == turn * 10 + number
        library = codegen.emit("f(n: int64) -> int64 = { return n; };", "shared")
        assert codegen.inspect(library)["functions"][0]["name"] == "f"
        assert codegen.check("f(n: int64) -> int64 = { return m; };")


at_once(call)
at_once(compile_)
assert not sys._is_gil_enabled(), "the lock was turned on"
print(f"Python {sys.version.split()[0]} without a lock, tvm_ffi {tvm_ffi.__version__}: all is well")
