"""Calls a function of a library once, under a debugger."""

import sys

import numpy
import tvm_ffi

add = tvm_ffi.load_module(sys.argv[1]).add
x, y = (tvm_ffi.from_dlpack(numpy.ones(4, "float32")) for _ in range(2))
add(x, y)
