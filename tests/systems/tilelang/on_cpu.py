"""Functions of TileLang's for the CPU, by its own hosts and by ours."""

import tilelang
import torch
from tilelang import language as T
from tvm_ffi_codegen.tilelang import Plugin

N, M = T.dynamic("n"), T.dynamic("m")


@T.prim_func
def add(x: T.Tensor((N,), "float32"), y: T.Tensor((N,), "float32"), z: T.Tensor((N,), "float32")):
    with T.Kernel(T.ceildiv(N, 16)) as block:
        for i in T.serial(16):
            if block * 16 + i < N:
                z[block * 16 + i] = x[block * 16 + i] + y[block * 16 + i]


@T.prim_func
def transpose(x: T.Tensor((4, 8), "float16"), y: T.Tensor((8, 4), "float16")):
    with T.Kernel(1) as _:
        for i, j in T.grid(4, 8):
            y[j, i] = x[i, j]


@T.prim_func
def scaled(x: T.Tensor((N, M), "int32"), y: T.Tensor((N, M), "int32"), factor: T.int32):
    with T.Kernel(N) as i:
        for j in T.serial(M):
            y[i, j] = x[i, j] * factor


def floats(*shape):
    return torch.arange(int(torch.tensor(shape).prod()), dtype=torch.float32).reshape(shape)


# Functions, positions of results, and arguments of calls.
ROWS = [
    (add, None, [(floats(20), floats(20), floats(20)), (floats(20), floats(19), floats(20)), (floats(20), floats(20))]),
    (add, [2], [(floats(20), floats(20)), (floats(20), floats(21)), (floats(20).int(), floats(20))]),
    (transpose, [-1], [(floats(4, 8).half(),), (floats(8, 4).half(),), (floats(8, 4).half().T,)]),
    (scaled, None, [(floats(3, 4).int(), floats(3, 4).int(), 5), (floats(3, 4).int(), floats(4, 3).int(), 5)]),
]


UNCHECKED = {("add", 1), ("scaled", 1)}
"""Calls that TileLang's own host for the CPU lets through: it compares no extents of different tensors."""


def copied(tensor):
    """Returns a copy with the same strides."""
    return torch.empty_strided(tensor.shape, tensor.stride(), dtype=tensor.dtype).copy_(tensor)


def outcome(kernel, arguments):
    """Makes a call; returns its result and the tensors after it, or that it is refused."""
    given = [copied(one) if isinstance(one, torch.Tensor) else one for one in arguments]
    try:
        result = kernel(*given)
    except Exception:
        return "refused"
    lists = [one.tolist() for one in given if isinstance(one, torch.Tensor)]
    # Without results TileLang's own hosts return an empty list.
    return (result.tolist() if isinstance(result, torch.Tensor) else result or None), lists


def compare():
    calls, plugin = 0, Plugin()
    for function, results, rows in ROWS:
        stock = tilelang.compile(function, out_idx=results, target="c")
        with plugin:
            ours = tilelang.compile(function, out_idx=results, target="c")
        name = function.attrs["global_symbol"]
        for number, arguments in enumerate(rows):
            unchecked = (name, number) in UNCHECKED
            expected, got = "refused" if unchecked else outcome(stock, arguments), outcome(ours, arguments)
            assert expected == got, (name, arguments, expected, got)
            calls += 1
    assert not plugin.left, plugin.left
    access = [[getattr(one.type, "access", None) for one in function.signature.params] for function in plugin.declared]
    assert access == [["read", "read", "update"], ["read", "read"], ["read"], ["read", "update", None]], access
    return f"{len(plugin.declared)} functions for the CPU, {calls} calls as by TileLang's own hosts"
