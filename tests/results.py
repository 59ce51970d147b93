"""Evaluates expressions about the functions of a library, and prints the values, one line for each.

Usage: results.py LIBRARY EXPRESSION..., where `m` is the library and `array` makes an array of a tensor.
"""

import ctypes
import sys

import numpy as np
import tvm_ffi

m = tvm_ffi.load_module(sys.argv[1])
runtime = ctypes.CDLL(tvm_ffi.libinfo.find_libtvm_ffi())
assert runtime.TVMFFIEnvSetDLPackManagedTensorAllocator(m["allocator"](), 0, None) == 0
array = np.from_dlpack
for expression in sys.argv[2:]:
    print(eval(expression))
