"""What apache_tvm.c and apache_tvm.o were made with: python3 apache_tvm.py, apache-tvm 0.27.0.post1.

A module of LLVM imports two modules of constants, the second of which imports a third.
"""

import numpy as np
import tvm
import tvm_ffi
from tvm.script import tirx as T


@tvm.script.ir_module
class Kernels:
    @T.prim_func
    def add_one(a: T.handle, b: T.handle):
        T.func_attr({"global_symbol": "add_one"})
        A = T.match_buffer(a, (4,), "float32")
        B = T.match_buffer(b, (4,), "float32")
        for i in T.serial(4):
            B[i] = A[i] + T.float32(1)


def constants(symbol, values):
    weights = {"w": tvm.runtime.tensor(np.array(values, dtype="float32"))}
    create = tvm_ffi.get_global_func("ffi.Module.create.const_loader")
    return create(weights, {symbol: ["w"]})


root = tvm.compile(Kernels, target="llvm").mod
chain = constants("f", [1, 2, 3])
chain.import_module(constants("g", [9]))
root.import_module(chain)
root.import_module(constants("h", [4, 5]))
pack = tvm_ffi.get_global_func("runtime.ModulePackImportsToLLVM")
pack(root, False, "llvm", "").write_to_file("apache_tvm.o", "o")
pack = tvm_ffi.get_global_func("runtime.ModulePackImportsToC")
with open("apache_tvm.c", "w") as file:
    file.write(str(pack(root, False, "")))
