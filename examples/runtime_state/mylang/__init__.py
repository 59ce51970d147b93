"""The runtime of a language: its import registers the functions that compiled libraries look up by name."""

import ctypes
import os

import tvm_ffi

# `tvm_ffi` first: the runtime library needs libtvm_ffi. It stays loaded, since libraries keep its functions.
_RUNTIME = ctypes.CDLL(os.path.join(os.path.dirname(__file__), "libmylang_runtime.so"), ctypes.RTLD_GLOBAL)

calls = tvm_ffi.get_global_func("mylang.calls")
elements = tvm_ffi.get_global_func("mylang.elements")
asked = tvm_ffi.get_global_func("mylang.asked")


def load(path):
    """Loads a compiled library."""
    return tvm_ffi.load_module(os.path.abspath(path))
