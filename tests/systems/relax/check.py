"""Apache TVM: an object of its LLVM target is called by symbol, from a program of Relax that calls ours by name and
allocates its results."""

import numpy as np
import tvm
import tvm_ffi
from tvm import relax
from tvm.script import ir as I
from tvm.script import relax as R
from tvm.script import tirx as T

import system


@I.ir_module
class Kernel:
    @T.prim_func
    def relax_kernel(x: T.handle, y: T.handle):
        n = T.int64()
        source = T.match_buffer(x, (n,), "float32")
        target = T.match_buffer(y, (n,), "float32")
        for i in range(n):
            target[i] = source[i] + T.float32(1)


@I.ir_module
class Program:
    @R.function
    def main(x: R.Tensor(("n",), "float32")) -> R.Tensor(("n",), "float32"):
        n = T.int64()
        y = R.call_dps_packed("systems.add_one", (x,), out_ty=R.Tensor((n,), "float32"))
        return R.call_dps_packed("systems.add_one", (y,), out_ty=R.Tensor((n,), "float32"))


def compile_kernel():
    path = system.MADE / "kernel.o"
    tvm.compile(Kernel, target="llvm").mod.write_to_file(str(path), "o")
    return path


def check(library):
    add_one = system.load(library).add_one
    tvm_ffi.register_global_func("systems.add_one", add_one, override=True)
    machine = relax.VirtualMachine(tvm.compile(Program, target="llvm"), tvm.cpu())
    x = np.arange(5, dtype="float32")
    assert np.array_equal(machine["main"](tvm.runtime.tensor(x)).numpy(), x + 2)
    # TVM's own kernels assume an alignment that tensors of TVM have.
    tensor = lambda values: tvm.runtime.tensor(np.array(values, "float32"))
    system.check_add_one(add_one, tensor, numbers=lambda made: made.numpy())


system.on_each(check, "add_one.ffi", compile_kernel())
