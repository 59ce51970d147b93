"""Checks and costs of calls from PyTorch, JAX, CuPy and Triton, on their streams and with their memory. They need a GPU,
the framework and the Python package; a row is `not here` without one of them."""

import importlib
import statistics
import threading
import time
from pathlib import Path

import numpy as np
import tvm_ffi

from launches.place import NotHere, Wrong

N = 4096
# Clock cycles of the device for which a stream is busy, so that a launch on another stream would come too early.
BUSY = 50_000_000
# Fewer launches than a driver queues.
LAUNCHES = 256
ROUNDS = 200

VECTOR = "Tensor([n], float32, device=cuda)"
# What tests/gpu launches without frameworks, and what results, prepared launches and other statements need.
DECLARATIONS = (Path(__file__).parent / "kernels.ffi").read_text() + f"""
added(x: {VECTOR}, y: {VECTOR}) -> z: {VECTOR}
    = {{ launch code."add_kernel"(x.data, y.data, z.data, n) grid(ceildiv(n, 128)) block(128); }};

prepared(x: {VECTOR}, y: {VECTOR}) -> Function
    = {{
        return function(a: float32) -> None {{
            launch code."axpy_kernel"(x.data, y.data, int32(n), a) grid(ceildiv(n, 128)) block(128);
        }};
    }};

/// Writes a, 2.5 and zeros into x by way of another stream, and copies x to y.
written(x: {VECTOR}, y: {VECTOR}, a: float32, side: Stream) -> None
    where n >= 2, y.shape[0] == n, x.device.multiprocessors > 1
    = {{
        wait side, stream(x);
        fill x.data, 4 * n, 0 on x stream side;
        upload x.data (a, float32(2.5)) on x stream side;
        wait stream(x), side;
        copy y.data, x.data, 4 * n on x;
    }};

/// Launches a kernel that does nothing, with memory from the allocator of the environment.
scratch(x: {VECTOR}) -> None
    = {{ launch code."hidden"(x.data, int32(n), scratch(4096, 128), null) grid(1) block(32); }};
"""


def imported(name):
    try:
        return importlib.import_module(name)
    except ImportError as why:
        raise NotHere(f"no {why.name or name}") from None


def functions(place, *needed):
    """Compiles the declarations in process; returns the functions and the modules that a check needs."""
    if place.is_stand_in:
        raise NotHere("the stand-in runs no kernels")
    found = [imported(name) for name in ("tvm_ffi_codegen", *needed)]
    made = found[0].jit(DECLARATIONS, images={"code": place.kernels().read_bytes()}, prepare="prepare")
    return made, *found[1:]


def equal(found, expected, what):
    if not np.array_equal(found, expected):
        raise Wrong(f"{what} is {found}, expected {expected}")


def callers(function):
    """Returns the ways to call a function: that of the package, and `tvm_ffi`."""
    return {"the package": function, "tvm_ffi": function.__self__.function}


def torch_stream(place):
    """A launch waits for what PyTorch's current stream does before it, and the stream of the environment is as before."""
    m, torch = functions(place, "torch")
    for name, axpy in callers(m.axpy).items():
        x, y = (torch.zeros(N, device="cuda") for _ in range(2))
        torch.cuda.synchronize()
        with torch.cuda.stream(torch.cuda.Stream()):
            torch.cuda._sleep(BUSY)
            x.add_(1)
            axpy(x, y, 2.0)
            found = y.cpu()
        equal(found, np.full(N, 2), f"y by {name}")
        axpy(x, y, 2.0)
        equal(y.cpu(), np.full(N, 4), f"y by {name} on the default stream")


def torch_graph(place):
    """A graph of PyTorch holds launches, and results in its own memory."""
    m, torch = functions(place, "torch")
    m.prepare(0)
    x, y = torch.ones(N, device="cuda"), torch.zeros(N, device="cuda")
    torch.cuda.synchronize()
    graph = torch.cuda.CUDAGraph()
    with torch.cuda.graph(graph):
        m.axpy(x, y, 2.5)
        z = m.added(x, y)
    equal(y.cpu(), np.zeros(N), "y before the graph runs")
    for times in (1, 2, 3):
        graph.replay()
        equal(z.cpu(), np.full(N, 1 + 2.5 * times), f"z after {times} runs")


def torch_prepared(place):
    """A prepared launch, in a loop and in a graph."""
    m, torch = functions(place, "torch")
    m.prepare(0)
    x, y = torch.ones(N, device="cuda"), torch.zeros(N, device="cuda")
    submit = m.prepared(x, y)
    for a in (1.0, 2.0, 3.0):
        submit(a)
    equal(y.cpu(), np.full(N, 6), "y")
    graph = torch.cuda.CUDAGraph()
    # A call without tensors of PyTorch does not know its stream.
    with tvm_ffi.use_torch_stream(torch.cuda.graph(graph)):
        submit(10.0)
    equal(y.cpu(), np.full(N, 6), "y before the graph runs")
    for _ in range(2):
        graph.replay()
    equal(y.cpu(), np.full(N, 26), "y after the graph")


def torch_commands(place):
    """Statements on memory and streams, in a loop and in a graph."""
    m, torch = functions(place, "torch")
    m.prepare(0)
    x, y, side = torch.ones(N, device="cuda"), torch.ones(N, device="cuda"), torch.cuda.Stream()
    expected = np.pad([1.5, 2.5], (0, N - 2))
    m.written(x, y, 1.5, side.cuda_stream)
    equal(y.cpu(), expected, "y")
    graph = torch.cuda.CUDAGraph()
    with torch.cuda.graph(graph):
        m.written(x, y, 7.5, side.cuda_stream)
        m.scratch(x)
    for tensor in (x, y):
        tensor.fill_(-1)
    graph.replay()
    expected[0] = 7.5
    equal(y.cpu(), expected, "y after the graph")


def torch_results(place):
    """Results are tensors of PyTorch, in memory of its allocator."""
    m, torch = functions(place, "torch")
    x = torch.arange(N, device="cuda", dtype=torch.float32)
    before = torch.cuda.memory_allocated()
    for name, added in callers(m.added).items():
        z = added(x, x)
        if not torch.is_tensor(z) or z.device != x.device or torch.cuda.memory_allocated() <= before:
            raise Wrong(f"by {name} the result is {z!r}, {torch.cuda.memory_allocated() - before} bytes were allocated")
        equal(z.cpu(), 2 * np.arange(N), f"z by {name}")
        del z
    if torch.cuda.memory_allocated() != before:
        raise Wrong("the memory of the results is not free")


def torch_compile(place):
    m, torch = functions(place, "torch")
    added = imported("tvm_ffi_codegen.frameworks").torch_op(m, "added", namespace="launches")
    x = torch.arange(N, device="cuda", dtype=torch.float32)
    torch.library.opcheck(added, (x, x))
    compiled = torch.compile(lambda x: added(x * 2, x) + 1, fullgraph=True)
    equal(compiled(x).cpu(), 3 * np.arange(N) + 1, "the result")


def torch_threads(place):
    """Threads launch at once, each on a stream of its own."""
    m, torch = functions(place, "torch")
    wrong = []

    def work(index):
        try:
            with torch.cuda.stream(torch.cuda.Stream()):
                x, y = torch.full([N], float(index), device="cuda"), torch.zeros(N, device="cuda")
                for _ in range(500):
                    m.axpy(x, y, 1.0)
                equal(y.cpu(), np.full(N, 500 * index), f"y of thread {index}")
        except Exception as why:
            wrong.append(f"{type(why).__name__}: {why}")

    threads = [threading.Thread(target=work, args=(index,)) for index in range(8)]
    for thread in threads:
        thread.start()
    for thread in threads:
        thread.join()
    if wrong:
        raise Wrong("; ".join(wrong))


def jax_jit(place):
    m, jax, _ = functions(place, "jax", "jax_tvm_ffi")
    add = imported("tvm_ffi_codegen.frameworks").jax_target(m, "add")
    x = jax.numpy.arange(N, dtype="float32")
    equal(jax.jit(lambda x: add(x * 2, x) + 1)(x), 3 * np.arange(N) + 1, "the result")


def cupy_arrays(place):
    m, cupy = functions(place, "cupy")
    x, y = cupy.arange(N, dtype="float32"), cupy.zeros(N, "float32")
    m.axpy(x, y, 2.0)
    equal(cupy.asnumpy(y), 2 * np.arange(N), "y")


def imported_add(torch):
    """Launches a kernel of Triton through Triton and imports it; returns both launchers and their tensors."""
    source = imported("launches.triton_add")
    kernel, block = source.add_kernel, source.BLOCK
    x, y, z = (torch.ones(N, device="cuda") for _ in range(3))
    launch = lambda: kernel[(N // block,)](x, y, z, N, BLOCK=block)
    signature = f"x: *fp32[n]:16, y: *fp32[n]:16, z: *fp32[n]:16, n: i32:16, BLOCK: {block}"
    made = imported("tvm_ffi_codegen.triton").load(launch(), signature, "cdiv(n, BLOCK)")
    return launch, made["add_kernel"], (x, y, z)


def triton_import(place):
    """Triton's own output becomes a function, which launches the kernel that Triton launches."""
    _, torch, _ = functions(place, "torch", "triton")
    _, add, (x, y, z) = imported_add(torch)
    x.fill_(2)
    add(x, y, z, N)
    equal(z.cpu(), np.full(N, 3), "z")


def median_costs(torch, ways):
    """Returns the median of what each launch takes, in ns, measured in turn."""
    times = {name: [] for name in ways}
    for _ in range(ROUNDS):
        for name, way in ways.items():
            torch.cuda.synchronize()
            start = time.perf_counter_ns()
            for _ in range(LAUNCHES):
                way()
            times[name].append((time.perf_counter_ns() - start) / LAUNCHES)
    torch.cuda.synchronize()
    return ", ".join(f"{statistics.median(found):.0f} {name}" for name, found in times.items())


def cost_from_python(place):
    """Measures calls from Python with three tensors, in turn: ours, Triton's of the same kernel, PyTorch's of its own."""
    m, torch, _ = functions(place, "torch", "triton")
    by_triton, add, (x, y, z) = imported_add(torch)
    ways = {
        "the package": lambda: m.add(x, y, z),
        "tvm_ffi": lambda function=m.add.__self__.function: function(x, y, z),
        "prepared": lambda submit=m.prepared(x, y): submit(1.0),
        "the import": lambda: add(x, y, z, N),
        "Triton": by_triton,
        "torch.add": lambda: torch.add(x, y, out=z),
    }
    return median_costs(torch, ways)


CHECKS = {
    "PyTorch's stream": torch_stream,
    "a graph of PyTorch": torch_graph,
    "a prepared launch": torch_prepared,
    "memory and streams": torch_commands,
    "results by PyTorch": torch_results,
    "torch.compile": torch_compile,
    "eight threads of PyTorch": torch_threads,
    "jax.jit": jax_jit,
    "CuPy's arrays": cupy_arrays,
    "Triton's kernel, imported": triton_import,
}

COSTS = {"cost from Python, ns": cost_from_python}
