"""Helion: its kernel is written for Triton, which compiles it; the command line declares its launch."""

import importlib.util
import os

import helion
import helion.language as hl
import torch
import triton
from triton.backends.compiler import GPUTarget
from triton.compiler import ASTSource

import gpu
import system

SIGNATURE = "add_one(x: *fp32[n], y: *fp32[n], x_size_0: i32 = n, x_stride_0: i32 = 1, y_stride_0: i32 = 1)"


@helion.kernel(config=helion.Config(block_sizes=[128]), static_shapes=False)
def add_one(x: torch.Tensor) -> torch.Tensor:
    y = torch.empty_like(x)
    for tile in hl.tile(x.size(0)):
        y[tile] = x[tile] + 1
    return y


def write_kernel():
    """Returns the module that Helion writes."""
    path = system.MADE / "written.py"
    path.write_text(add_one.bind((torch.empty(gpu.N),)).to_triton_code(helion.Config(block_sizes=[128])))
    found = importlib.util.spec_from_file_location("written", path)
    module = importlib.util.module_from_spec(found)
    found.loader.exec_module(module)
    return module._helion_add_one


def compile_kernel(kernel):
    """Writes metadata and cubin to files."""
    types = {"x": "*fp32", "y": "*fp32", "x_size_0": "i32", "x_stride_0": "i32", "y_stride_0": "i32"}
    target = GPUTarget("cuda", gpu.architecture(), 32)
    compiled = triton.compile(ASTSource(fn=kernel, signature=types, constexprs={}), target=target)
    return [compiled.metadata_group[f"_helion_add_one.{end}"] for end in ("json", "cubin")]


os.environ["TRITON_CACHE_DIR"] = str(system.MADE / "cache")
metadata, cubin = compile_kernel(write_kernel())
declarations = system.MADE / "add_one.ffi"
command = os.environ["SYSTEMS_COMMAND_LINE"]
options = ["--signature", SIGNATURE, "--grid", "cdiv(n, 128)", "-o", declarations]
system.run(command, "import-triton", metadata, cubin, *options)
launch = gpu.place.launch("_helion_add_one", 8, 128)
gpu.check_add_one(declarations, open(cubin, "rb").read(), launch, image="add_one")
