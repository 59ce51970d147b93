"""Checks of operators of PyTorch and handlers of XLA on a GPU: functions that both call by their own interfaces, with no
Python in the calls. They need a GPU, the framework and the Python package; a row is `not here` without one of them."""

import tempfile
from pathlib import Path

import numpy as np

from launches.frameworks import BUSY, N, equal, imported, median_costs
from launches.place import NotHere, Wrong, refused

READ = "Tensor([n], float32, device=cuda, access=read)"
VECTOR = "Tensor([n], float32, device=cuda)"
GRID = "grid(ceildiv(n, 128)) block(128)"
DECLARATIONS = f"""
image code;

/// y += a * x.
axpy(x: {READ}, y: {VECTOR}, a: float32) -> None
    = {{ launch code."axpy_kernel"(x.data, y.data, int32(n), a) {GRID}; }};

added(x: {READ}, y: {READ}) -> z: {VECTOR}
    = {{ launch code."add_kernel"(x.data, y.data, z.data, n) {GRID}; }};

add(x: {READ}, y: {READ}, z: {VECTOR}) -> None
    = {{ launch code."add_kernel"(x.data, y.data, z.data, n) {GRID}; }};

/// 3 * x, by way of memory of its own.
thrice(x: {READ}) -> y: {VECTOR}
    = {{
        let twice = alloc Tensor([n], float32) on x;
        launch code."add_kernel"(x.data, x.data, twice.data, n) {GRID};
        launch code."add_kernel"(twice.data, x.data, y.data, n) {GRID};
    }};
"""
# What a program of XLA makes once.
CLOSURE = f"""
scaled(a: float32) -> Function = {{
    return function (x: {READ}, y: {VECTOR}) -> None {{
        launch code."axpy_kernel"(x.data, y.data, int32(n), a) {GRID};
    }};
}};
"""


def compiled(place, text, register, framework, in_process, kernels=None):
    """Returns functions with operators or handlers, of this process or of a library, and the framework. `kernels` are
    functions in C by their names, for functions of this process."""
    if place.is_stand_in:
        raise NotHere("the stand-in runs no kernels")
    codegen, module = imported("tvm_ffi_codegen"), imported(framework)
    options = {"images": {"code": place.kernels().read_bytes()}, "prepare": "prepare", "register": register}
    if in_process:
        sources = {name: codegen.C(source) for name, source in (kernels or {}).items()}
        return codegen.jit(text, sources, **options), module
    path = Path(tempfile.mkdtemp()) / "doors.so"
    # The library of an operator stays loaded, and its file may go.
    try:
        path.write_bytes(codegen.emit(text, "shared", **options))
        return codegen.load(path), module
    finally:
        path.unlink(missing_ok=True)
        path.parent.rmdir()


def with_handlers(place, text, in_process, register="xla", kernels=None):
    """Returns functions with handlers and JAX, if JAX has a GPU."""
    m, jax = compiled(place, text, register, "jax", in_process, kernels)
    if jax.default_backend() not in ("gpu", "cuda"):
        raise NotHere(f"JAX has {jax.default_backend()} only")
    return m, jax


def operators(place, in_process):
    namespace = f"launches_{'process' if in_process else 'library'}"
    m, torch = compiled(place, DECLARATIONS, f"torch={namespace}", "torch", in_process)
    imported("tvm_ffi_codegen.frameworks").register_fakes(m)
    own = getattr(torch.ops, namespace)
    x, y = torch.ones(N, device="cuda"), torch.zeros(N, device="cuda")
    torch.cuda.synchronize()
    # A stream of PyTorch that is busy: what comes too early does not see the ones.
    with torch.cuda.stream(torch.cuda.Stream()):
        torch.cuda._sleep(BUSY)
        x.add_(1)
        own.axpy(x, y, 2.0)
        equal(y.cpu(), np.full(N, 4), "y on another stream")
        equal(own.thrice(x).cpu(), np.full(N, 6), "three times x")
    equal(own.added(x, y).cpu(), np.full(N, 6), "the sum")
    refused(lambda: own.added(x.cpu(), y), "ValueError: Mismatched x.device", "expected cuda but got cpu")
    refused(lambda: own.added(x, y[:-1]), "ValueError: Mismatched y.shape[0]")
    copy = torch._lazy_clone(x)
    own.axpy(copy, y, 0.0)
    if not torch._C._is_cow_tensor(copy):
        raise Wrong("what is only read was copied")
    torch.library.opcheck(own.added.default, (x, y))
    optimized = torch.compile(lambda x, y: own.thrice(own.added(x * 2, y)) + 1, fullgraph=True)
    equal(optimized(x, y).cpu(), np.full(N, 25), "the result of torch.compile")
    m.prepare(0)
    graph = torch.cuda.CUDAGraph()
    with torch.cuda.graph(graph):
        own.axpy(x, y, 0.5)
        z = own.thrice(y)
    for times in (1, 2):
        graph.replay()
        equal(z.cpu(), np.full(N, 12 + 3 * times), f"z after {times} runs")
    before = torch.cuda.memory_allocated()
    for _ in range(100):
        own.thrice(x)
    if torch.cuda.memory_allocated() != before:
        raise Wrong(f"{torch.cuda.memory_allocated() - before} bytes of 100 calls are left")


def handlers(place, in_process):
    m, jax = with_handlers(place, DECLARATIONS + CLOSURE, in_process)
    jnp, jax_target = jax.numpy, imported("tvm_ffi_codegen.frameworks").jax_target
    axpy, added, thrice, scaled = (jax_target(m, name) for name in ("axpy", "added", "thrice", "scaled"))
    x = jnp.arange(N, dtype="float32")
    equal(added(x, x), 2 * np.arange(N), "the sum")
    equal(jax.jit(lambda x: added(thrice(x * 2), x) + 1)(x), 7 * np.arange(N) + 1, "the result of jit")
    for call in (axpy, jax.jit(axpy, donate_argnums=1, static_argnames="a")):
        equal(call(x, x + 1, a=2.0), 3 * np.arange(N) + 1, "what is updated")
    equal(x, np.arange(N), "x")

    # A stream of XLA that is busy: what comes too early does not see what the loop has made.
    def late(x):
        one = jax.lax.fori_loop(0, 3000, lambda _, value: value * 0.5 + 0.5, jnp.zeros(1 << 22, "float32"))
        return axpy(x, jnp.round(one[:N]), a=2.0)

    equal(jax.jit(late)(x), 2 * np.arange(N) + 1, "what comes behind a loop")
    loop = jax.jit(lambda x: jax.lax.fori_loop(0, 10, lambda _, value: scaled(x, value, a=0.5), x))
    equal(loop(x), 6 * np.arange(N), "calls of a closure")
    mapped = jax.jit(jax.vmap(added))(jnp.stack([x, x + 1]), jnp.stack([x, x]))
    equal(mapped, np.stack([2 * np.arange(N), 2 * np.arange(N) + 1]), "what is mapped")
    wrong = lambda: jax.block_until_ready(added(x, x[:-1]))
    refused(wrong, "INVALID_ARGUMENT: ValueError: Mismatched y.shape[0]")


def cost(place):
    """Measures operators that add vectors: of a library, in Python, and PyTorch's own."""
    namespace = "launches_cost"
    m, torch = compiled(place, DECLARATIONS, f"torch={namespace}", "torch", in_process=False)
    imported("tvm_ffi_codegen.frameworks").register_fakes(m)
    added = getattr(torch.ops, namespace).add.default
    in_python = imported("tvm_ffi_codegen.frameworks").torch_op(m, "add", namespace="launches_cost_python")
    x, y, z = (torch.ones(N, device="cuda") for _ in range(3))
    return median_costs(torch, {
        "the operator": lambda: added(x, y, z),
        "one in Python": lambda: in_python(x, y, z),
        "torch.add": lambda: torch.add(x, y, out=z),
    })  # fmt: skip


def graphs(place):
    """What XLA captures in a graph launches again without our function, on the memory of then."""
    text = f"""
image code;
count(by: int64) -> int64 = tick(by);
twice(x: {READ}) -> y: {VECTOR} = {{
    let calls: int64 = tick(1);
    launch code."add_kernel"(x.data, x.data, y.data, n) {GRID};
}};
"""
    kernels = {"tick": "long tick(long by) { static long calls; return calls += by; }"}
    m, jax = with_handlers(place, text, True, "xla:twice", kernels)
    m.prepare(0)
    runs, depth, calls = 20, 10, {}
    for graph in (False, True):
        twice, before = imported("tvm_ffi_codegen.frameworks").jax_target(m, "twice", graph=graph), m.count(0)

        def chain(x, twice=twice):
            for _ in range(depth):
                x = twice(x)
            return x

        run = jax.jit(chain)
        for factor in range(runs):
            x = factor * jax.numpy.arange(N, dtype="float32")
            equal(run(x), 2**depth * factor * np.arange(N), f"the result of run {factor}")
        calls[graph] = m.count(0) - before
    if calls[False] != runs * depth or calls[True] >= runs * depth // 2:
        raise Wrong(f"{calls[False]} calls without graphs and {calls[True]} with them, of {runs * depth}")
    return f"{calls[True]} calls in the place of {calls[False]}"


CHECKS = {
    f"{what}, {where}": lambda place, check=check, in_process=where == "process": check(place, in_process)
    for what, check in {"operators of PyTorch": operators, "handlers of XLA": handlers}.items()
    for where in ("library", "process")
} | {"graphs of XLA": graphs}

COSTS = {"cost of an operator, ns": cost}
