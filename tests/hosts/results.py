"""Evaluates expressions about the functions of a library, and prints the values, one line for each.

Usage: results.py [--plain] LIBRARY EXPRESSION..., where `m` is the library and `array` makes an array of a
tensor; the library may call "results.same", which yields its argument. Unless it is told to be plain, it sets the
allocator of the kernels, as a framework does.
"""

import ctypes
import sys
import traceback

import numpy as np
import tvm_ffi

arguments = [argument for argument in sys.argv[1:] if argument != "--plain"]
m = tvm_ffi.load_module(arguments[0])
if "--plain" not in sys.argv:
    runtime = ctypes.CDLL(tvm_ffi.libinfo.find_libtvm_ffi())
    assert runtime.TVMFFIEnvSetDLPackManagedTensorAllocator(m["allocator"](), 0, None) == 0
array = np.from_dlpack


def error(call):
    """Returns the error of a call."""
    try:
        call()
    except Exception as error:
        return f"{type(error).__name__}: {error}"


def frames(call):
    """Returns the frames of a call's error."""
    try:
        call()
    except Exception as error:
        return traceback.extract_tb(error.__traceback__)


def odd(code, bits):
    """Makes a tensor of three elements of an invented type."""
    base = tvm_ffi.from_dlpack(np.zeros(3, "int64"))
    view = base.__chandle__() + 24
    for offset, byte in [(20, code), (21, bits)]:
        ctypes.c_uint8.from_address(view + offset).value = byte
    return base


def resident():
    """Returns the bytes of memory of the process."""
    with open("/proc/self/statm") as file:
        return int(file.read().split()[1]) * 4096


def grows(call):
    """Returns whether 100,000 calls take more memory than the first thousand did."""
    for _ in range(1000):
        call()
    before = resident()
    for _ in range(100_000):
        call()
    return resident() - before > 1 << 20


tvm_ffi.register_global_func("results.same", lambda value: value)

for expression in arguments[1:]:
    print(eval(expression))
