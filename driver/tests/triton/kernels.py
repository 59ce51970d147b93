"""Compiles the kernels below with Triton 3.9, for sm_90 and gfx942, on a machine with or without a GPU: kernels.py FOLDER.

Writes what Triton leaves of each, NAME.json and NAME.cubin, or NAME_gfx942.json and NAME_gfx942.hsaco. What tells where the compiler is installed is left out.
"""

import json
import os
import sys

os.environ["TRITON_DISABLE_LINE_INFO"] = "1"

import triton
import triton.language as tl
from triton.backends.compiler import GPUTarget
from triton.compiler import ASTSource
from triton.experimental import gluon
from triton.experimental.gluon import language as gl
from triton.experimental.gluon._runtime import GluonASTSource
from triton.experimental.gluon.language.nvidia.hopper import mbarrier, tma


@triton.jit
def add(x, y, out, n, stride, BLOCK: tl.constexpr):
    at = tl.program_id(0) * BLOCK + tl.arange(0, BLOCK)
    inside = at < n
    total = tl.load(x + at * stride, mask=inside) + tl.load(y + at * stride, mask=inside)
    tl.store(out + at * stride, total, mask=inside)


# Descriptors that the kernel makes itself lie in scratch memory, which it hides.
@triton.jit
def tiles(x, out, rows, columns, BLOCK: tl.constexpr):
    source = tl.make_tensor_descriptor(x, [rows, columns], [columns, 1], [BLOCK, BLOCK])
    target = tl.make_tensor_descriptor(out, [rows, columns], [columns, 1], [BLOCK, BLOCK])
    at = [tl.program_id(0) * BLOCK, tl.program_id(1) * BLOCK]
    target.store(at, source.load(at))


# Descriptors that the host makes are tensor maps.
@triton.jit
def _scale(x, out, factor, BLOCK: tl.constexpr):
    at = [tl.program_id(0) * BLOCK, 0]
    out.store(at, (x.load(at) * factor).to(tl.bfloat16))


# Descriptors by columns of pixels, which only Gluon has.
@gluon.jit
def columns(images, out, BLOCK: gl.constexpr):
    tile = gl.allocate_shared_memory(images.dtype, images.block_type.shape, images.layout)
    barrier = gl.allocate_shared_memory(gl.int64, [1], mbarrier.MBarrierLayout())
    mbarrier.init(barrier, count=1)
    mbarrier.expect(barrier, images.nbytes_per_cta)
    tma.async_load_im2col(images, [gl.program_id(0), 0, 0, 0], [0, 0], barrier, tile)
    mbarrier.wait(barrier, phase=0)
    mbarrier.invalidate(barrier)
    tma.async_store(out, [gl.program_id(0) * BLOCK, 0], tile)
    tma.store_wait(0)


DIVISIBLE = [["tt.divisibility", 16]]


def source(function, types, constants, divisible):
    attributes = {(function.arg_names.index(name),): DIVISIBLE for name in divisible.split()}
    types |= {name: "constexpr" for name in constants}
    signature = {name: types[name] for name in function.arg_names}
    return ASTSource(function, signature=signature, constexprs=constants, attrs=attributes)


ADD = {"x": "*fp32", "y": "*fp32", "out": "*fp32", "n": "i32"}
TILES = {"x": "*fp16", "out": "*fp16", "rows": "i32", "columns": "i32"}
SCALE = {"x": "tensordesc<bf16[32, 32]>", "out": "tensordesc<bf16[32, 32]>", "factor": "fp32"}
LAYOUT = "NVMMASharedLayout(swizzle_byte_width=128, element_bitwidth=16, rank=2)"
COLUMNS = {"images": f"tensordesc_im2col<fp16[128, 64],input_rank=4,{LAYOUT}>", "out": f"tensordesc<fp16[128, 64],{LAYOUT}>", "BLOCK": "constexpr"}
CUDA, HIP = GPUTarget("cuda", 90, 32), GPUTarget("hip", "gfx942", 64)
# The code of an image, and what the names of its files end with.
IMAGES = {"cuda": ("cubin", ""), "hip": ("hsaco", "_gfx942")}
KERNELS = [
    (CUDA, source(add, ADD, {"stride": 1, "BLOCK": 1024}, "x y out n"), {}),
    (CUDA, source(tiles, TILES, {"BLOCK": 32}, "x out columns"), {"num_ctas": 2}),
    (CUDA, source(_scale, SCALE, {"BLOCK": 32}, ""), {"num_warps": 8, "launch_pdl": True}),
    (CUDA, GluonASTSource(columns, signature=COLUMNS, constexprs={"BLOCK": 128}), {}),
    (HIP, source(add, ADD, {"stride": 1, "BLOCK": 1024}, "x y out n"), {}),
]


def main(folder):
    for target, kernel, options in KERNELS:
        compiled = triton.compile(kernel, target=target, options=options)
        code, ending = IMAGES[target.backend]
        metadata = compiled.metadata._asdict() | {"extern_libs": []}
        metadata["target"] = vars(metadata["target"])
        path = os.path.join(folder, metadata["name"].strip("_") + ending)
        with open(path + ".json", "w") as file:
            json.dump(metadata, file, indent=1)
            file.write("\n")
        with open(f"{path}.{code}", "wb") as file:
            file.write(compiled.asm[code])


if __name__ == "__main__":
    main(sys.argv[1])
