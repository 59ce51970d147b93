"""A function of TVM FFI in five lines: a declaration, and a kernel."""

import ctypes

import numpy as np
import tvm_ffi_codegen

floats = ctypes.POINTER(ctypes.c_float)


@ctypes.CFUNCTYPE(None, floats, floats, ctypes.c_int64)
def add_one_kernel(x, y, n):  # type: ignore[no-untyped-def]
    """Any C function will do: from numba, from your own compiler, from an object file."""
    for i in range(n):
        y[i] = x[i] + 1


m = tvm_ffi_codegen.jit(
    "add_one(x: Tensor([n], float32), y: Tensor([n], float32)) -> None = k(x.data, y.data, n);",
    kernels={"k": add_one_kernel},
)
x = np.arange(5, dtype="float32")
y = np.zeros(5, "float32")
m.add_one(x, y)
print(y)

try:
    m.add_one(x, y[:4])
except ValueError as error:
    print(error)
