"""CuTe DSL: code of a host function for the CPU, and a cubin, which ours launches without the DSL's runtime."""

import cutlass
import numpy as np
from cutlass import cute
from cutlass.cute.runtime import make_fake_compact_tensor

import gpu
import system


@cute.jit
def on_cpu(x: cute.Tensor, y: cute.Tensor):
    for i in range(cute.size(x)):
        y[i] = x[i] + cutlass.Float32(1)


@cute.kernel
def on_gpu(x: cute.Tensor, y: cute.Tensor):
    i = cute.arch.block_idx()[0] * 128 + cute.arch.thread_idx()[0]
    if i < cute.size(x):
        y[i] = x[i] + cutlass.Float32(1)


@cute.jit
def launch(x: cute.Tensor, y: cute.Tensor):
    on_gpu(x, y).launch(grid=(cute.ceil_div(cute.size(x), 128), 1, 1), block=(128, 1, 1))


def vectors(**options):
    n = cute.sym_int64()
    return [make_fake_compact_tensor(cutlass.Float32, (n,), **options) for _ in range(2)]


def compile_object():
    compiled = cute.compile(on_cpu, *vectors(memspace=cute.AddressSpace.generic))
    compiled.export_to_c(str(system.MADE), "kernel", "kernel")
    return system.MADE / "kernel.o"


def compile_cubin():
    compiler = cute.compile[cute.KeepCUBIN(True), cute.GPUArch(f"sm_{gpu.architecture()}a")]
    return compiler(launch, *vectors()).artifacts.CUBIN


def check(library):
    system.check_add_one(system.load(library).add_one, lambda values: np.array(values, "float32"))


system.on_each(check, "cpu.ffi", compile_object(), note="on the CPU")
name = "kernel_cutlass_on_gpu_tensorptrf32gmemoi641_tensorptrf32gmemoi641_0"
gpu.check_add_one("gpu.ffi", compile_cubin(), gpu.place.launch(name, 8, 128))
