"""TileLang: it generates C++ for the CPU, whose kernel our function calls, from PyTorch. Then it compiles functions with our
hosts, for the CPU, where they give what TileLang's own give, and for CUDA, where the launches are compared.

    check.py --suite DIR   runs upstream's tests of a checkout, by TileLang alone and with our hosts: see shared/hosts.py
    check.py --times       measures both: see times.py
"""

import sys

import tilelang
import torch
from tilelang import language as T
from tilelang.language.kernel import Kernel

import system

N = T.dynamic("n")


@T.prim_func
def add_one(x: T.Tensor((N,), "float32"), y: T.Tensor((N,), "float32")):
    with Kernel(T.ceildiv(N, 128)) as block:
        for i in T.serial(128):
            if block * 128 + i < N:
                y[block * 128 + i] = x[block * 128 + i] + T.float32(1)


def compile_kernel():
    source = system.MADE / "kernel.cc"
    source.write_text(tilelang.compile(add_one, target="c").get_kernel_source())
    return system.compile_c(source, f"-I{tilelang.env.TILELANG_TEMPLATE_PATH}", compiler="g++")


def check(library):
    add_one = system.load(library).add_one
    system.check_add_one(add_one, lambda values: torch.tensor(values, dtype=torch.float32))


FILES = ("testing/python/cpu/test_*.py",)
"""Patterns of upstream's files that need no GPU."""

words = sys.argv[1:]
if words[:1] == ["--suite"]:
    import hosts

    hosts.main("tilelang", system.ROOT / words[1], FILES)
elif words == ["--times"]:
    import times

    times.main()
else:
    import on_cpu
    import on_cuda

    system.on_each(check, "add_one.ffi", compile_kernel())
    system.say(on_cpu.compare())
    system.say(on_cuda.compare())
