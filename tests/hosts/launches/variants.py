"""Checks and costs of kernels of Triton that `tvm_ffi_codegen.triton.launcher` launches on a GPU, beside Triton's own
launcher and the one of PyTorch's compiler. They need a GPU, PyTorch, Triton and the Python package."""

import functools
import tempfile
from pathlib import Path
from types import SimpleNamespace

import numpy as np
import tvm_ffi

from launches.frameworks import BUSY, N, equal, imported, median_costs
from launches.place import NotHere, Wrong, refused


def parts(place):
    """Returns PyTorch, Triton, the package's part for it and the kernel that adds vectors, as it is written."""
    if place.is_stand_in:
        raise NotHere("the stand-in runs no kernels")
    torch, triton = imported("torch"), imported("triton")
    return torch, triton, imported("tvm_ffi_codegen.triton"), imported("launches.triton_add").add_kernel.fn


def launched(place):
    """Numbers are those of the kernel for every variant, on PyTorch's streams and in its graphs."""
    torch, triton, ours, kernel = parts(place)
    fast = ours.launcher(triton.jit(kernel))
    x, y, z = (torch.ones(N + 1, device="cuda") for _ in range(3))
    grids = {"a tuple": (N // 1024,), "a function": lambda meta: (triton.cdiv(meta["n"], meta["BLOCK"]),)}
    for name, grid in grids.items():
        for n, options in ((N, {}), (N - 5, {}), (1, {}), (N, {"num_warps": 8})):
            # Tensors at addresses that are multiples of 16, and others.
            for first in (0, 1):
                z.zero_()
                fast[grid](x[first:], y[first:], z[first:], n, BLOCK=1024, **options)
                equal(float(z.sum().cpu()), 2.0 * n, f"the sum of z for {name}, {n} elements from {first}, {options}")
    x, y, z = x[:N], y[:N], z[:N]
    with torch.cuda.stream(torch.cuda.Stream()):
        torch.cuda._sleep(BUSY)
        x.add_(1)
        fast[(4,)](x, y, z, N, BLOCK=1024)
        equal(z.cpu(), np.full(N, 3), "z on another stream")
    graph = torch.cuda.CUDAGraph()
    with torch.cuda.graph(graph):
        fast[(4,)](z, y, z, N, BLOCK=1024)
    graph.replay()
    graph.replay()
    equal(z.cpu(), np.full(N, 5), "z after the graph")
    if fast.handed_over:
        raise Wrong(f"Triton launched {dict(fast.reasons)}")
    fast[(4,)](x.cpu().pin_memory(), y, z, N, BLOCK=1024)
    equal(z.cpu(), np.full(N, 3), "z of a tensor in pinned memory")
    refused(lambda: fast[(4,)](x.cpu(), y, z, N, BLOCK=1024), "Pointer argument (at 0) cannot be accessed from Triton")
    library = fast.library()
    z.zero_()
    library[kernel.__name__](x, y, z, N, 1024, 4, 1, 1)
    equal(z.cpu(), np.full(N, 3), "z by the library")


def decorated(place):
    """Under decorators; the tuner measures, with Triton's own launches."""
    torch, triton, ours, kernel = parts(place)
    x, y, z = (torch.ones(N, device="cuda") for _ in range(3))
    by_size = triton.heuristics({"BLOCK": lambda given: 512 if given["n"] % 2 else 1024})
    configs = [triton.Config({"BLOCK": block}, num_warps=warps) for block, warps in ((256, 2), (1024, 4))]
    tuned = triton.autotune(configs, key=["n"])
    for name, decorate, handed in (("heuristics", by_size, 0), ("autotune", tuned, 2)):
        fast = ours.launcher(decorate(triton.jit(kernel)))
        for n in (N, N - 1, N, N - 1):
            z.zero_()
            fast[lambda meta: (triton.cdiv(meta["n"], meta["BLOCK"]),)](x, y, z, n)
            equal(z.cpu(), np.where(np.arange(N) < n, 2, 0), f"z under {name}")
        if fast.handed_over != handed:
            raise Wrong(f"under {name} Triton launched {dict(fast.reasons)}")


def exported(place):
    """A library of two variants, which is loaded without Triton."""
    torch, triton, ours, kernel = parts(place)
    with tempfile.TemporaryDirectory() as folder:
        path = Path(folder) / "variants.so"
        signatures = [f"x: *fp32{hint}, y: *fp32{hint}, z: *fp32{hint}, n: i32{hint}, BLOCK: 1024" for hint in (":16", "")]
        ours.export(triton.jit(kernel), path, signatures, grid="cdiv(n, BLOCK)")
        add = tvm_ffi.load_module(str(path))[kernel.__name__]
        x, y, z = (torch.ones(N, device="cuda") for _ in range(3))
        for n in (N, N - 1):
            z.zero_()
            add(x, y, z, n, 1024)
            equal(z.cpu(), np.where(np.arange(N) < n, 2, 0), "z")
        refused(lambda: add(x.double(), y, z, N, 1024), "TypeError: no variant of add_kernel for these arguments")


def by_the_compiler(torch):
    """Has PyTorch compile the addition of vectors; returns its kernel and the module that launches it."""
    from torch._inductor.codecache import PyCodeCache

    before = len(PyCodeCache.modules)
    torch.compile(lambda x, y: x + y)(*(torch.ones(N, device="cuda") for _ in range(2)))
    for module in PyCodeCache.modules[before:]:
        for name, value in vars(module).items():
            if name.startswith("triton_") and hasattr(value, "run"):
                return value, module
    raise Wrong("PyTorch's compiler has made no kernel that is found")


def cost(place):
    """Launches of three tensors, an integer and a constant."""
    torch, triton, ours, kernel = parts(place)
    stock, fast = triton.jit(kernel), ours.launcher(triton.jit(kernel))
    x, y, z = (torch.ones(N, device="cuda") for _ in range(3))
    grid = lambda meta: (triton.cdiv(meta["n"], meta["BLOCK"]),)
    ways = {}
    for name, launcher in (("ours", fast), ("Triton's", stock)):
        ways[name] = lambda launcher=launcher: launcher[(4,)](x, y, z, N, BLOCK=1024)
        ways[f"{name} with a function as grid"] = lambda launcher=launcher: launcher[grid](x, y, z, N, BLOCK=1024)
    found = median_costs(torch, ways)
    if fast.handed_over:
        raise Wrong(f"Triton launched {dict(fast.reasons)}")
    return found


def cost_of_the_compiler(place):
    """Launches of a kernel that PyTorch's compiler has made, and of one with as many blocks and the same parameters by ours;
    and what PyTorch generates around its launch, with both."""
    torch, triton, ours, kernel = parts(place)
    made, module = by_the_compiler(torch)
    config = made.launchers[0].config
    block, hint = config.kwargs["XBLOCK"], ":16"
    signature = f"x: *fp32{hint}, y: *fp32{hint}, z: *fp32{hint}, n: i32{hint}, BLOCK: {block}"
    with tempfile.TemporaryDirectory() as folder:
        path = Path(folder) / "compiled.so"
        ours.export(triton.jit(kernel), path, [(signature, {"num_warps": config.num_warps})], grid="cdiv(n, BLOCK)")
        add = imported("tvm_ffi_codegen").load(str(path))[kernel.__name__]
    x, y, z = (torch.ones(N, device="cuda") for _ in range(3))
    stream = torch.cuda.current_stream().cuda_stream
    name = next(name for name, value in vars(module).items() if value is made)
    launches = {"Inductor": made.run, "us": lambda x, y, z, n, stream: add(x, y, z, n, block)}

    def wrapper(launch):
        """Calls what PyTorch generates around a launch."""
        setattr(module, name, SimpleNamespace(run=launch))
        return module.call([x, y])[0]

    try:
        for who, launch in launches.items():
            equal(wrapper(launch).cpu(), np.full(N, 2), f"the sum by {who}")
        ways = {f"a launch by {who}": functools.partial(launch, x, y, z, N, stream=stream) for who, launch in launches.items()}
        ways |= {f"the wrapper around one by {who}": functools.partial(wrapper, launch) for who, launch in launches.items()}
        return median_costs(torch, ways)
    finally:
        setattr(module, name, made)


CHECKS = {
    "Triton's kernels, launched": launched,
    "decorated kernels": decorated,
    "a library of variants": exported,
}

COSTS = {"cost of Triton's kernels, ns": cost, "cost beside Inductor, ns": cost_of_the_compiler}
