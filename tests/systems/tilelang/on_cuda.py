"""Functions of TileLang's for CUDA with our hosts, whose launches are recorded: no kernel runs. NVRTC compiles the device
code in the place of nvcc."""

from pathlib import Path

import numpy as np
import nvidia
import tilelang
from tilelang import language as T
from tilelang import tvm
from tilelang.contrib.nvrtc import compile_cuda
from tilelang.env import CUTLASS_INCLUDE_DIR, TILELANG_TEMPLATE_PATH
from tvm_ffi_codegen.tilelang import Plugin

import gpu
import system

N = T.dynamic("n")
# Of the arrays of float16 beside those that other checks use: code, bits and lanes.
gpu.place.DTYPES["float16"] = (2, 16, 1)


@T.prim_func
def add_one(x: T.Tensor((N,), "float32"), y: T.Tensor((N,), "float32")):
    with T.Kernel(T.ceildiv(N, 128), threads=128) as block:
        for i in T.Parallel(128):
            if block * 128 + i < N:
                y[block * 128 + i] = x[block * 128 + i] + T.float32(1)


@T.prim_func
def gemm(A: T.Tensor((256, 256), "float16"), B: T.Tensor((256, 256), "float16"), C: T.Tensor((256, 256), "float32")):
    with T.Kernel(2, 2, threads=128) as (bx, by):
        a, b = T.alloc_shared((128, 32), "float16"), T.alloc_shared((32, 128), "float16")
        c = T.alloc_fragment((128, 128), "float32")
        T.clear(c)
        for k in T.Pipelined(8, num_stages=3):
            T.copy(A[by * 128, k * 32], a)
            T.copy(B[k * 32, bx * 128], b)
            T.gemm(a, b, c)
        T.copy(c, C[by * 128, bx * 128])


def compile_device(code, target, pass_config=None):
    """Compiles device code to a cubin without nvcc."""
    toolkit = Path(nvidia.__path__[0]) / "cu13" / "include"
    folders = (TILELANG_TEMPLATE_PATH, CUTLASS_INCLUDE_DIR, toolkit, toolkit / "cccl")
    return compile_cuda(code, "cubin", gpu.architecture(), ["-std=c++20", *(f"-I{folder}" for folder in folders)])


def compare():
    target = {"kind": "cuda", "arch": f"sm_{gpu.architecture()}"}
    tvm.register_global_func("tilelang_callback_cuda_compile", compile_device, override=True)
    with Plugin() as plugin:
        simple, maps = (tilelang.compile(function, target=target) for function in (add_one, gemm))
    assert not plugin.left, plugin.left
    with gpu.device() as here:
        x, y = here.array(np.arange(gpu.N, dtype="float32")), here.array(np.zeros(gpu.N, "float32"))
        simple(x.tensor, y.tensor)
        here.launched(gpu.place.launch("add_one_kernel", 8, 128))
        here.holds(y, np.arange(gpu.N) + 1, "y")
        host = np.zeros(gpu.N, "float32")
        system.refused(ValueError, "expected cuda but got cpu", simple, x.tensor, host)
        halves = [here.array(np.ones((256, 256), "float16")) for _ in range(2)]
        result = here.array(np.zeros((256, 256), "float32"))
        maps(*(one.tensor for one in halves), result.tensor)
        here.launched("gemm_kernel grid=2,2,1 block=256,1,1 shared=49152 stream=null attributes=[] device=0")
        here.holds(result, np.full((256, 256), 256), "C")
    return f"{len(plugin.declared)} functions for CUDA, {'launches recorded' if here.is_stand_in else 'numbers of the GPU'}"
