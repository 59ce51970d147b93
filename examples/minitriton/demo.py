"""Calls the library that minitriton made of demo.mt, which is the argument."""

import sys
import traceback

import numpy
import tvm_ffi

kernels = tvm_ffi.load_module(sys.argv[1])
x, y, out = (numpy.full(4, value, "float32") for value in (1, 2, 0))
kernels.axpy(10.0, x, y)
kernels.blend(x, y, out, 0.5)
print(y, out)

# Errors show the line of the kernel in demo.mt.
try:
    kernels.blend(x[:3], y[:3], out[:3], 0.5)
except ValueError as error:
    frame = traceback.extract_tb(error.__traceback__)[-1]
    print(f"{frame.filename}:{frame.lineno} in {frame.name}: {error}")
