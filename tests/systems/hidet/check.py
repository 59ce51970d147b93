"""Hidet: a kernel in its language for the CPU becomes C++, which needs a library of Hidet."""

from pathlib import Path

import hidet
import torch
from hidet.backend import codegen
from hidet.lang import attrs, f32
from hidet.lang.types import i64

import system

HIDET = Path(hidet.__file__).parent

with hidet.script_module() as module:

    @hidet.script
    def add_one(x: ~f32, y: ~f32, n: i64):
        attrs.func_kind = "public"
        attrs.func_name = "add_one"
        for i in range(n):
            y[i] = x[i] + 1.0


def compile_kernel():
    source = system.MADE / "kernel.cc"
    codegen(module.ir_module(), src_out_path=str(source), target="cpu")
    return system.compile_c(source, f"-I{HIDET / 'include'}", compiler="g++")


def check(library):
    add_one = system.load(library).add_one
    system.check_add_one(add_one, lambda values: torch.tensor(values, dtype=torch.float32))


# Generated code has destructors for when the library is closed, which the default linker supports.
options = ["-L", HIDET / "lib", "-l", "hidet_runtime", "--rpath", HIDET / "lib"]
system.on_each(check, "add_one.ffi", compile_kernel(), options=options)
