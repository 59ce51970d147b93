"""CuPy: a kernel in CUDA C++, compiled by its NVRTC to a cubin; its arrays are arguments if there is a GPU."""

from cupy_backends.cuda.libs import nvrtc

import gpu
import system

SOURCE = """
extern "C" __global__ void add_one_kernel(const float* x, float* y, long long n) {
  long long i = blockIdx.x * (long long)blockDim.x + threadIdx.x;
  if (i < n) y[i] = x[i] + 1;
}
"""


def compile_kernel():
    program = nvrtc.createProgram(SOURCE, "kernel.cu", (), ())
    nvrtc.compileProgram(program, (f"--gpu-architecture=sm_{gpu.architecture()}",))
    return nvrtc.getCUBIN(program)


def check_arrays(library):
    import cupy

    add_one = system.load(library).add_one
    system.check_add_one(add_one, lambda values: cupy.array(values, "float32"))


gpu.check_add_one("add_one.ffi", compile_kernel(), gpu.place.launch("add_one_kernel", 8, 128))
if gpu.device().is_stand_in:
    system.say("its arrays need a GPU")
else:
    image = f"code={system.MADE / 'kernel.cubin'}"
    system.on_each(check_arrays, "add_one.ffi", options=["--image", image], note="on its arrays")
