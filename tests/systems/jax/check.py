"""JAX: functions become targets of XLA's FFI by what their metadata says; XLA allocates the results.

With --times a handler is called beside one in C++ by XLA's own headers, and nothing else is done.
"""

import inspect
import os
import sys
from concurrent.futures import ThreadPoolExecutor
from pathlib import Path

# Two devices, for shards.
os.environ["XLA_FLAGS"] = "--xla_force_host_platform_device_count=2"

import jax
import jax.numpy as jnp
import jax_tvm_ffi
import numpy as np

import system
import tvm_ffi_codegen as codegen
from tvm_ffi_codegen.frameworks import jax_target


def check(library):
    module = system.load(library)
    add_one = jax_target(module, "add_one")
    x = jnp.arange(5, dtype="float32")
    assert np.array_equal(add_one(x), [1, 2, 3, 4, 5])
    twice = jax.jit(lambda x: add_one(add_one(x * 2)))
    assert np.array_equal(twice(x), [2, 4, 6, 8, 10])
    jax_tvm_ffi.register_ffi_target(library.stem, module.add_one, ["args", "rets"], platform="cpu")
    shorter = jax.ffi.ffi_call(library.stem, jax.ShapeDtypeStruct((4,), jnp.float32))
    refusal = lambda: jax.block_until_ready(shorter(x))
    system.refused(Exception, system.WRONG_SHAPE, refusal)


def check_symbols():
    """The shapes of results follow from symbolic extents."""
    m = codegen.jit(
        "f(x: Tensor([n, m], float32, access=read), y: Tensor([ceildiv(n, 2) + m, n / 2 * m, n % 4], float32),"
        " z: Tensor([min(n, m), max(n, m)], int8)) -> None = {};"
    )
    f = jax_target(m, "f", results=["y", "z"])
    n, m = jax.export.symbolic_shape("n, m")
    y, z = jax.eval_shape(f, jax.ShapeDtypeStruct((n, m), jnp.float32))
    for value in (11, 20):
        [y_shape, z_shape] = [one.shape for one in f(jnp.zeros((value, 6), "float32"))]
        found = [extent if isinstance(extent, int) else extent._evaluate({"n": value, "m": 6}) for extent in (*y.shape, *z.shape)]
        assert found == [*y_shape, *z_shape], (found, y_shape, z_shape)


def check_updates():
    """A tensor that a function updates is an argument and a result: XLA gives it the memory, or copies what is in use."""
    vector = "Tensor([n], float32"
    m = codegen.jit(
        f"bump(x: {vector}, access=read), y: {vector}), w: {vector}, access=update), z: {vector}, access=write)) -> None"
        " = bump(x.data, y.data, w.data, z.data, n); same(x: Tensor([n], float32, access=read)) -> None = {};",
        {
            "bump": codegen.C(
                "void bump(const float* x, float* y, float* w, float* z, long n)"
                " { while (n--) { y[n] += x[n]; w[n] *= 2; z[n] = y[n] + w[n]; } }"
            )
        },
    )
    bump = jax_target(m, "bump")
    x, y = jnp.arange(4, dtype="float32"), jnp.full(4, 10, dtype="float32")
    for call in (bump, jax.jit(bump), jax.jit(bump, donate_argnums=1)):
        kept = y + 0
        found = call(x, kept, x)
        assert np.array_equal(found[0], [10, 11, 12, 13]) and np.array_equal(found[1], [0, 2, 4, 6])
        assert np.array_equal(found[2], [10, 13, 16, 19]) and np.array_equal(x, [0, 1, 2, 3])
    assert np.array_equal(y, [10, 10, 10, 10])
    looped = jax.jit(lambda y: jax.lax.fori_loop(0, 3, lambda _, y: bump(x, y, x)[0], y))
    assert np.array_equal(looped(y), [10, 13, 16, 19])
    # What a caller names is allocated, whatever its access.
    named = jax_target(m, "bump", results=["w", "z"])
    assert [one.shape for one in named(x, y)] == [(4,)] * 3
    # What is no array of JAX is made one, whose type is one of those that are enabled.
    for given in ([0.0, 1.0, 2.0, 3.0], np.arange(4.0), np.arange(4, dtype="float32")):
        assert np.array_equal(np.array(bump(given, w=x + 0, y=np.full(4, 10.0))), np.array(bump(x, y, x + 0)))
    # Results are a tuple, as the state of a loop is.
    assert jax.lax.fori_loop(0, 3, lambda _, state: bump(x, *state[:2]), (y, x + 0, y))[1][1] == 8
    rows = [
        (ValueError, "same writes to no tensor", lambda: jax_target(m, "same")),
        (AttributeError, "no function 'none': there is bump, same", lambda: jax_target(m, "none")),
        (AttributeError, "Module has no function 'none'", lambda: jax_target(m.module(), "none")),
        (TypeError, "bump has got x twice", lambda: bump(x, y, x, x=x)),
        (ValueError, "bump writes to no tensor x", lambda: jax_target(m, "bump", results=["x"])),
        (ValueError, "bump writes to no tensor v", lambda: jax_target(m, "bump", results=["v"])),
        (TypeError, "bump takes 3 arrays, x, y, w, but 2 were given", lambda: bump(x, y)),
    ]
    for row in rows:
        system.refused(*row)


def check_without_handlers():
    """What only handlers pass is refused when a target is made."""
    vector = "Tensor([n], float32"
    m = codegen.jit(
        f"number(x: {vector}), a: float64) -> None = {{}}; list(x: {vector}), of: Array[Tensor]) -> None = {{}};"
        f"object(x: Tensor, y: {vector})) -> None = {{}};"
        f"result(x: {vector}, access=read)) -> y: {vector}) = same(x.data, y.data, n);"
        f"counted(x: {vector}, access=read), y: {vector}, access=write)) -> int64"
        " = { same(x.data, y.data, n); return n; };"
        f"any(x: {vector}, access=read), o: Optional[{vector}, access=read)], a: Any, u: Union[int64, handle],"
        f" y: {vector}, access=write)) -> None = {{ same(x.data, y.data, n); }};",
        {"same": codegen.C("void same(const float* x, float* y, long n) { while (n--) y[n] = x[n]; }")},
    )
    said = 'make the library with the option register="xla"'
    for name, why in {
        "number": "takes a: float64",
        "list": "takes of: Array[Tensor]",
        "object": "takes x: Tensor",
        "result": "yields y: Tensor([n], float32)",
        "counted": "yields int64",
    }.items():
        system.refused(ValueError, f"{name} {why}, but jax-tvm-ffi", lambda name=name: jax_target(m, name))
        system.refused(ValueError, said, lambda name=name: jax_target(m, name))
    x = jnp.arange(4, dtype="float32")
    assert np.array_equal(jax_target(m, "any")(x, x, x, x), x)


def check_places():
    """Results stand before, between and behind arguments; results are those in the order of the parameters."""
    n, m = "Tensor([n], float32", "Tensor([n + 1], float32"
    k = codegen.jit(
        f"first(z: {n}, access=write), x: {n}, access=read)) -> None = shift(z.data, x.data, n, 1.0);"
        f"between(x: {m}, access=read), z: {n}, access=write), y: {n}, access=read)) -> None"
        " = { shift(z.data, y.data, n, 2.0); };"
        f"mixed(z: {n}, access=write), y: {n}), x: {n}, access=read), w: {n}, access=write), v: {n})) -> None"
        " = { shift(z.data, y.data, n, 1.0); shift(w.data, x.data, n, 2.0); shift(y.data, y.data, n, 4.0);"
        " shift(v.data, v.data, n, 8.0); };",
        {
            "shift": codegen.C(
                "void shift(float* z, const float* x, long n, double k) { while (n--) z[n] = x[n] + (float)k; }"
            )
        },
    )
    x, longer = jnp.arange(3, dtype="float32"), jnp.zeros(4, "float32")
    first, between, mixed = (jax_target(k, name) for name in ("first", "between", "mixed"))
    for of in (lambda f: f, jax.jit):
        assert np.array_equal(of(first)(x), [1, 2, 3])
        assert np.array_equal(of(between)(longer, x), [2, 3, 4])
        found = of(mixed)(x * 10, x, x * 100)
        expected = [[1, 11, 21], [4, 14, 24], [2, 3, 4], [8, 108, 208]]
        assert np.array_equal(np.array(found), expected), found
    symbol = jax.export.symbolic_shape("n")[0]
    [shape] = jax.eval_shape(first, jax.ShapeDtypeStruct((symbol,), jnp.float32)).shape
    assert str(shape) == "n"
    # What is given away is updated where it is.
    given = [x * 10, x + 0, x * 100]
    places = [given[0].unsafe_buffer_pointer(), given[2].unsafe_buffer_pointer()]
    found = jax.jit(lambda *of: mixed(*of)[1::2], donate_argnums=(0, 2))(*given)
    assert [one.unsafe_buffer_pointer() for one in found] == places
    assert [one.is_deleted() for one in given] == [True, False, True]
    assert np.array_equal(np.array(found), [[4, 14, 24], [8, 108, 208]])


def check_platforms():
    """Functions for GPUs have targets on every machine, by all names of the platform."""
    m = codegen.jit("on(x: Tensor([n], float32, device=cuda, access=read), y: Tensor([n], float32, device=cuda)) -> None = {};")
    for platform, graph in ((None, False), ("gpu", False), ("CUDA", True)):
        call = jax.jit(jax_target(m, "on", platform=platform, graph=graph)).trace(*[jax.ShapeDtypeStruct((4,), jnp.float32)] * 2)
        assert "tvm_ffi_codegen." in call.lower(lowering_platforms=("cuda",)).as_text(), platform
    add_one = "add_one(x: Tensor([n], float32, access=read), y: Tensor([n], float32, access=write)) -> None = add_one(x.data, y.data, n);"
    kernel = "void add_one(const float* x, float* y, long n) { while (n--) y[n] = x[n] + 1; }"
    # The cpu has no graphs, and calls.
    for m in (codegen.jit(add_one, {"add_one": codegen.C(kernel)}), library("graphs", add_one, kernel)):
        for graph in (True, False, True):
            assert np.array_equal(jax.jit(jax_target(m, "add_one", graph=graph))(jnp.zeros(3)), [1, 1, 1])


def check_direct():
    """Arrays of JAX never change: by themselves they are arguments of what only reads them."""
    kernel = codegen.C("void twice(float* x, long n) { while (n--) x[n] *= 2; }")
    m = codegen.jit(
        "twice(x: Tensor([n], float32)) -> None = twice(x.data, n);"
        "total(x: Tensor([n], float32, access=read)) -> int64 = { return n; };"
        "kept(x: Tensor([n], float32, access=read)) -> Any = { return x; };",
        {"twice": kernel},
    )
    x = jnp.arange(4, dtype="float32")
    assert m.total(x) == 4 and np.from_dlpack(m.kept(x)).tolist() == [0, 1, 2, 3]
    said = "got a read-only jax.Array: `access=read` of x in the declaration lets it pass"
    system.refused(BufferError, said, m.twice, x)
    own = np.array(x)
    m.twice(own)
    assert own.tolist() == [0, 2, 4, 6] and np.array_equal(x, [0, 1, 2, 3])


def check_many():
    """Functions take no places of jax-tvm-ffi, of which there are 1,024 in a process: their forms do. Threads make targets
    and call them."""
    count = 1500
    declared = "".join(
        f"add_{k}(z: Tensor([n], float32, access=write), x: Tensor([n], float32, access=read)) -> None"
        f" = add(z.data, x.data, n, {k});"
        for k in range(count)
    )
    kernel = codegen.C("void add(float* z, const float* x, long n, long k) { while (n--) z[n] = x[n] + k; }")
    m, before, x = codegen.jit(declared, {"add": kernel}), jax_tvm_ffi.registered_count(), jnp.arange(4, dtype="float32")

    def made_and_called(k):
        made = jax_target(m, f"add_{k}")
        # A call by itself is a program by itself, which takes its time.
        return made, np.asarray(made(x)) if k % 50 == 0 else np.arange(4) + k

    with ThreadPoolExecutor(8) as threads:
        made, found = zip(*threads.map(made_and_called, range(count)), strict=True)
    assert all(np.array_equal(one, np.arange(4) + k) for k, one in enumerate(found))
    assert jax_tvm_ffi.registered_count() <= before + 1
    all_at_once = jax.jit(lambda x: [one(x) for one in made])
    assert all(np.array_equal(one, np.arange(4) + k) for k, one in enumerate(all_at_once(x)))
    # An error is that of the function that is called.
    system.refused(Exception, "`add_7(z: Tensor([n], float32, access=write)", made[7], jnp.zeros(4, "int8"))
    # A call keeps nothing: numbers as attributes would take 16 bytes of each.
    loop = jax.jit(lambda x: jax.lax.fori_loop(0, 1_000_000, lambda _, x: made[1](x), x))
    assert loop(x)[0] == 1_000_000
    resident = lambda: int(Path("/proc/self/statm").read_text().split()[1]) * os.sysconf("SC_PAGESIZE")
    start = resident()
    loop(x).block_until_ready()
    assert resident() - start < 4 << 20, resident() - start
    # A program of another process finds its function, or none.
    stale = jax.ffi.ffi_call("tvm_ffi_codegen.wr", jax.ShapeDtypeStruct((4,), jnp.float32))
    system.refused(Exception, "no function of this process has the key 0000000", lambda: stale(x, function="0000000"))


def library(name, text, kernel, register="xla", backend="cranelift"):
    """Returns functions with handlers: of a library that a backend has made, or of this process for the backend `jit`."""
    if backend == "jit":
        return system.in_process(name, text, kernel, register)
    path = system.MADE / f"{name}.so"
    path.write_bytes(codegen.emit(text, "shared", link=[codegen.C(kernel)], register=register, backend=backend))
    return codegen.load(path)


def check_handlers(backend):
    """Functions are called by handlers of their own: no number and no text is lost, and errors have their text."""
    vector = "Tensor([n], float32"
    m = library(
        f"handlers-{backend}",
        f"scale(a: float64, x: {vector}, access=read), k: int64 = 3, mode: str = 'fast') -> y: {vector})"
        " = scale_kernel(a, x.data, k, mode, y.data, n);"
        f"bump(z: {vector}, access=write), x: {vector}, access=read), w: {vector})) -> None = bump(x.data, w.data, z.data, n);"
        f"on(x: {vector}, device=cuda, access=read), y: {vector}, device=cuda, access=write)) -> None = {{}};"
        f"staged(x: {vector}, access=read)) -> y: {vector})"
        " = { let t = alloc Tensor([2, n], float32) on x; staged_kernel(x.data, t.data, y.data, n); };"
        "padded(x: Tensor([n, m], float32, access=read), by: Shape([a, b]), scale: Optional[Array[float64]] = None)"
        " -> y: Tensor([n + a, m + b], float32) = { for i in 0..n + a { for j in 0..m + b {"
        " let inside = i < n and j < m; put(x.data, y.data, i * m + j, i * (m + b) + j, inside, scale.is_some, scale.size); } } };"
        "grow(n: int64) -> (y: Tensor([2 * n], int32), z: Tensor([n], bool)) = grow(y.data, z.data, n);".replace("'", '"'),
        "void scale_kernel(double a, const float* x, long k, const char* mode, long size, float* y, long n)"
        " { while (n--) y[n] = a * x[n] + k + size; }"
        "void bump(const float* x, float* w, float* z, long n) { while (n--) { w[n] *= 2; z[n] = x[n] + w[n]; } }"
        "void staged_kernel(const float* x, float* t, float* y, long n)"
        " { for (long i = 0; i < n; i++) t[n + i] = x[i] + 1; for (long i = 0; i < n; i++) y[i] = 2 * t[n + i]; }"
        "void put(const float* x, float* y, long from, long to, _Bool inside, _Bool scaled, long size)"
        " { y[to] = inside ? x[from] * (scaled ? size : 1) : -1; }"
        "void grow(int* y, char* z, long n) { for (long i = 0; i < n; i++) y[i] = y[n + i] = i, z[i] = i % 2; }",
        backend=backend,
    )
    assert sorted(m) == ["bump", "grow", "on", "padded", "scale", "staged"], list(m)
    scale, bump, grow = (jax_target(m, name) for name in ("scale", "bump", "grow"))
    x = jnp.arange(4, dtype="float32")
    assert np.array_equal(scale(x, a=2.0), [7, 9, 11, 13])
    assert np.array_equal(jax.jit(lambda x: scale(scale(x, a=1), a=0.5, k=-10, mode="größer"))(x), [1.5, 2, 2.5, 3])
    assert scale(x[:0], a=1.0).shape == (0,)
    for call in (bump, jax.jit(bump), jax.jit(bump, donate_argnums=1)):
        z, w = call(x, x + 0)
        assert np.array_equal(z, [0, 3, 6, 9]) and np.array_equal(w, [0, 2, 4, 6])
    assert np.array_equal(x, [0, 1, 2, 3])
    assert np.array_equal(jax.jit(jax_target(m, "staged"))(x), [2, 4, 6, 8])
    y, z = jax.jit(lambda: grow(n=3))()
    assert np.array_equal(y, [0, 1, 2, 0, 1, 2]) and np.array_equal(z, [False, True, False])
    padded, square = jax_target(m, "padded"), jnp.arange(4, dtype="float32").reshape(2, 2)
    for by in ([1, 2], (1, 2), np.array([1, 2], "int8")):
        expected = np.pad(np.arange(4).reshape(2, 2), ((0, 1), (0, 2)), constant_values=-1)
        assert np.array_equal(padded(square, by=by), expected)
    assert jax.jit(lambda x: padded(x, by=[0, 0], scale=[0.5, 1.5]))(square)[1, 1] == 6
    assert jax.eval_shape(lambda x: padded(x, by=[3, 0]), jax.ShapeDtypeStruct((2, 2), jnp.float32)).shape == (5, 2)
    mapped = jax.vmap(lambda x: scale(x, a=1.0), in_axes=1)(jnp.stack([x, x + 1], axis=1))
    assert np.array_equal(mapped, [[7, 8, 9, 10], [8, 9, 10, 11]])
    mapped = jax.jit(jax.vmap(bump))(jnp.stack([x, x]), jnp.stack([x, x + 1]))
    assert np.array_equal(mapped[1], [[0, 2, 4, 6], [2, 4, 6, 8]])
    looped = jax.lax.map(lambda x: scale(x, a=1.0), jnp.stack([x, x + 1]))
    assert np.array_equal(looped, [[7, 8, 9, 10], [8, 9, 10, 11]])
    with ThreadPoolExecutor(8) as threads:
        found = list(threads.map(lambda a: float(scale(x, a=float(a))[1]), range(200)))
    assert found == [a + 7.0 for a in range(200)]
    refused = [
        (TypeError, "scale has no keyword b: there is a, k, mode", lambda: scale(x, a=1.0, b=2)),
        (TypeError, "scale takes 1 arrays, x, but 2 were given", lambda: scale(x, x, a=1.0)),
        (Exception, "INVALID_ARGUMENT: TypeError: Missing attribute a when calling: `scale(", lambda: scale(x)),
        (Exception, "ValueError: Mismatched by.size on argument #1 when calling: `padded(", lambda: padded(square, by=[0, 0, 0])),
        (TypeError, "no argument of this call determines b", lambda: padded(square, by=[1])),
        (TypeError, "by is a list of integers, not 1", lambda: padded(square, by=1)),
        (Exception, "Mismatched type of attribute scale when calling: `padded(", lambda: padded(square, by=[0, 0], scale=1.0)),
        (Exception, "expected int64 but got float", lambda: scale(x, a=1.0, k=0.5)),
        (Exception, "TypeError: Mismatched x.dtype on argument #1", lambda: scale(x.astype("int32"), a=1.0)),
        (Exception, "expected float32 but got void", lambda: scale(x.astype("int4"), a=1.0)),
        (Exception, "ValueError: Mismatched w.shape[0] on argument #2", lambda: bump(x, x[:2])),
    ]
    refused.append((ValueError, "the handler of on is for the platform CUDA, not for cpu", lambda: jax_target(m, "on", platform="cpu")))
    assert jax_target(m, "on", platform="gpu") and jax_target(m, "on", platform="CUDA")
    for kind, text, call in refused:
        system.refused(kind, text, lambda call=call: jax.block_until_ready(call()))


def check_attributes(backend):
    """Keywords are what XLA has attributes for, or an error that names function and keyword."""
    m = library(
        f"attributes-{backend}",
        "/// Shows keywords.\n"
        "seen(x: Tensor([n], float32, access=read), flags: Array[bool], parts: Array[float32], big: uint64 = 0,"
        " half: float16 = 0.0, none: Optional[int64] = None, some: Optional[int64] = 7) -> y: Tensor([n], float64) = {"
        " see(y.data, 0, float64(big)); see(y.data, 1, float64(float32(half))); see(y.data, 2, float64(some.is_some));"
        " see(y.data, 3, float64(none.is_some)); for i in 0..flags.size { see(y.data, 4 + i, float64(flags[i])); }"
        " for i in 0..parts.size { see(y.data, 4 + flags.size + i, float64(parts[i])); } };"
        "grow(n: int64 = 3) -> y: Tensor([n], float64) = { for i in 0..n { see(y.data, i, 1.0); } };",
        "void see(double* y, long i, double value) { y[i] = value; }",
        backend=backend,
    )
    seen, x = jax_target(m, "seen"), jnp.zeros(6, "float32")
    lists = {"flags": [True], "parts": [0.5]}
    rows = [
        ({}, [0, 0, 1, 0, 1, 0.5]),
        ({"none": None, "big": np.array(3), "half": np.float16(1.5)}, [3, 1.5, 1, 0, 1, 0.5]),
        ({"none": jnp.int32(2), "big": 2**62, "half": jnp.bfloat16(1.5)}, [2**62, 1.5, 1, 1, 1, 0.5]),
        ({"flags": np.array([False]), "parts": np.array([1.5], "float16")}, [0, 0, 1, 0, 0, 1.5]),
        ({"flags": (), "parts": jnp.array([0.5, 2.0], "bfloat16")}, [0, 0, 1, 0, 0.5, 2]),
        ({"flags": [1], "parts": range(1, 2)}, [0, 0, 1, 0, 1, 1]),
    ]
    with jax.enable_x64(True):
        for given, expected in rows:
            found = seen(x, **lists | given)
            assert np.array_equal(found, expected), (given, found)
        grow = jax_target(m, "grow")
        assert grow().shape == (3,) and grow(n=np.int8(2)).tolist() == [1, 1]
    refused = [
        (ValueError, "big of seen is 9223372036854775808, which is no int64", {"big": 2**63}),
        (ValueError, "big of seen is 9223372036854775808, which is no int64", {"big": np.uint64(2**63)}),
        (TypeError, "some of seen cannot be None: XLA has no None, and 7 is the default", {"some": None}),
        (TypeError, "half of seen is 1j, no number, text or list of numbers", {"half": 1j}),
        (TypeError, "parts of seen has 2 dimensions, and a list has one", {"parts": np.zeros((2, 1))}),
        (TypeError, "parts of seen is a list of <U1, not of integers, floats or bool", {"parts": ["a"]}),
        (Exception, "Missing attribute flags", {"flags": None}),
    ]
    for kind, text, given in refused:
        system.refused(kind, text, lambda given=given: jax.block_until_ready(seen(x, **lists | given)))
    for given in (lambda k: {"big": k}, lambda k: {"parts": [k]}):
        call = jax.jit(lambda x, k, given=given: seen(x, **lists | given(k)))
        system.refused(TypeError, "of seen is a tracer, no constant", call, x, 1)
    shown = "(x, *, flags, parts, big=0, half=0.0, none=None, some=7)"
    assert (seen.__name__, str(inspect.signature(seen))) == ("seen", shown), inspect.signature(seen)
    assert seen.__doc__.startswith("seen(x: Tensor(") and seen.__doc__.endswith("\n\nShows keywords."), seen.__doc__


def check_names():
    """Programs know a function by the library that it is in, whatever else a process has loaded, or by its own name."""
    text = "times(x: Tensor([n], float32, access=read)) -> y: Tensor([n], float32) = times(x.data, y.data, n);"
    kernel = "void times(const float* x, float* y, long n) {{ while (n--) y[n] = {} * x[n]; }}".format
    two, three, again = (library(name, text, kernel(name[0])) for name in ("2-times", "3-times", "2-times-again"))
    x = jnp.ones(2, "float32")
    two, three, again = calls = [jax_target(one, "times") for one in (two, three, again)]
    assert [call(x)[0] for call in calls] == [2, 3, 2] and len({call.target for call in calls}) == 3
    # Files may differ in variables alone.
    variable = "float k = {}; void times(const float* x, float* y, long n) {{ while (n--) y[n] = k * x[n]; }}".format
    variables = [jax_target(library(f"{k}-variable", text, variable(k)), "times") for k in (8, 9)]
    assert [call(x)[0] for call in variables] == [8, 9] and variables[0].target != variables[1].target
    program = system.MADE / "names.py"
    program.write_text(
        "import sys, jax, tvm_ffi_codegen as codegen\n"
        "from tvm_ffi_codegen.frameworks import jax_target\n"
        "x, program, *paths = jax.numpy.ones(2), *sys.argv[1:]\n"
        "for path in paths: print(jax_target(codegen.load(path), 'times').target)\n"
        "try: print(jax.ffi.ffi_call(program, jax.ShapeDtypeStruct((2,), 'float32'))(x)[0])\n"
        "except Exception as error: print(str(error).partition(':')[0])\n"
    )
    for other, names, found in [
        (three, ["3-times", "2-times"], "3.0"),
        (two, ["3-times", "2-times"], "2.0"),
        (two, ["3-times"], "NOT_FOUND"),
        (again, ["2-times"], "NOT_FOUND"),
    ]:
        paths = [system.MADE / f"{name}.so" for name in names]
        targets = [{"2-times": two, "3-times": three}[name].target for name in names]
        assert system.run(sys.executable, program, other.target, *paths).split() == [*targets, found]
    # The same for what is linked in memory, and code in no library has its place among those of its signature.
    linked = codegen.jit(text, {"times": codegen.C(kernel(5))}, register="xla")
    inner = [library(f"{k}-inner", text, kernel(k), backend="jit") for k in (6, 7)]
    inner = [jax_target(one, "times") for one in (linked, *inner)]
    assert [call(x)[0] for call in inner] == [5, 6, 7] and len({call.target for call in calls + inner}) == 6
    plain = codegen.jit(
        "a(x: Tensor([n], float32)) -> None = twice(x.data, n); b(x: Tensor([n], float32)) -> None = twice(x.data, n);",
        {"twice": codegen.C("void twice(float* x, long n) { while (n--) x[n] *= 2; }")},
    )
    handlers = library("4-times", text.replace("times(x:", "a(x:") + text.replace("times(x:", "b(x:"), kernel(4))
    for m, value in ((plain, 2), (handlers, 4)):
        name = f"check.a{value}"
        for _ in range(2):
            assert jax_target(m, "a", target=name)(x)[0] == value
        said = f"the target {name} is that of another function"
        system.refused(ValueError, said, lambda: jax_target(m, "b", target=name))
    own = jax.ffi.ffi_call("check.a4", jax.ShapeDtypeStruct((2,), jnp.float32))
    assert own(x)[0] == 4 and jax_target(handlers, "a", target="check.a4").target == "check.a4"
    options = jax_target(handlers, "a", has_side_effect=True, vmap_method="broadcast_all")
    assert "has_side_effect=True" in str(jax.make_jaxpr(options)(x))
    system.refused(Exception, "Mismatched x.ndim", lambda: jax.block_until_ready(jax.vmap(options)(jnp.ones((2, 2)))))
    # A program that is exported says which targets it may call.
    allowed = [jax.export.DisabledSafetyCheck.custom_call(two.target)]
    exported = jax.export.export(jax.jit(two), disabled_checks=allowed)(jax.ShapeDtypeStruct((2,), jnp.float32))
    assert exported.call(x)[0] == 2


def check_closures(backend):
    """A function that returns a closure is called once for a program, and the closure by each of its calls."""
    m = library(
        f"closures-{backend}",
        "count() -> int64 = made();"
        "weights(k: int64, scale: float64 = 1.0) -> Function = {"
        " if k > 9 { raise ValueError 'k is ', k; }"
        " let w = alloc Tensor([k], float32); fill(w.data, k, scale); let columns = 1 * k;"
        " return function (x: Tensor([n], float32, access=read), bias: float64 = 0.0) -> y: Tensor([n, columns], float32)"
        " { outer(x.data, w.data, y.data, n, k, bias); }; };"
        "into(k: int64) -> Function = { return function (x: Tensor([n], float32)) -> None { shift(x.data, n, k); }; };".replace("'", '"'),
        "static long calls; long made(void) { return calls; }"
        "void fill(float* w, long k, double scale) { __atomic_add_fetch(&calls, 1, 5); while (k--) w[k] = scale * k; }"
        "void outer(const float* x, const float* w, float* y, long n, long k, double bias)"
        " { for (long i = 0; i < n * k; i++) y[i] = x[i / k] * w[i % k] + bias; }"
        "void shift(float* x, long n, long k) { while (n--) x[n] += k; }",
        "xla:weights,into",
        backend=backend,
    )
    assert sorted(m) == ["count", "into", "weights"], list(m)
    weights, into = jax_target(m, "weights"), jax_target(m, "into")
    x = jnp.arange(4, dtype="float32")
    outer = lambda k, scale, bias: np.outer(np.arange(4), scale * np.arange(k)) + bias
    run = jax.jit(lambda x: weights(x, k=3, scale=2.0, bias=1.0))
    before = m.count()
    for _ in range(5):
        assert np.array_equal(run(x), outer(3, 2.0, 1.0))
    assert m.count() == before + 1
    # Two closures in one program, and one for each program of another shape.
    both = jax.jit(lambda x: weights(weights(x, k=1)[:, 0], k=2, bias=0.5))
    assert np.array_equal(both(x), np.outer(np.zeros(4), np.arange(2)) + 0.5)
    assert m.count() == before + 3
    assert run(x[:2]).shape == (2, 3) and m.count() == before + 4
    with ThreadPoolExecutor(8) as threads:
        found = list(threads.map(lambda k: weights(x, k=1 + k % 5), range(100)))
    assert all(np.array_equal(one, outer(1 + k % 5, 1.0, 0.0)) for k, one in enumerate(found))
    mapped = jax.jit(jax.vmap(lambda x: weights(x, k=2)))(jnp.stack([x, x + 1]))
    assert mapped.shape == (2, 4, 2) and mapped[1][3][1] == 4
    for call in (into, jax.jit(into, donate_argnums=0, static_argnames="k")):
        assert np.array_equal(call(x + 0, k=7), [7, 8, 9, 10])
    shape = jax.eval_shape(lambda x: weights(x, k=6), jax.ShapeDtypeStruct((9,), jnp.float32)).shape
    assert shape == (9, 6), shape
    refused = [
        (TypeError, "weights has no keyword n: there is k, scale, bias", lambda: weights(x, k=1, n=2)),
        (Exception, "INVALID_ARGUMENT: ValueError: k is 10", lambda: weights(x, k=10)),
        (Exception, "INVALID_ARGUMENT: TypeError: Missing attribute k when calling: `into(", lambda: into(x)),
        (Exception, "TypeError: Mismatched x.dtype on argument #0", lambda: weights(x.astype("int32"), k=1)),
    ]
    for kind, text, call in refused:
        system.refused(kind, text, lambda call=call: jax.block_until_ready(call()))


def check_devices():
    """Shards on several devices of the cpu are calls of one handler."""
    m = library(
        "shards",
        "one(x: Tensor([n], float32, access=read)) -> y: Tensor([n], float32) = one_kernel(x.data, y.data, n);"
        "both(x: Tensor([n], float32), y: Tensor([n], float32)) -> None = one_kernel(x.data, y.data, n);",
        "void one_kernel(const float* x, float* y, long n) { while (n--) y[n] = x[n] + 1; }",
    )
    one, both = jax_target(m, "one"), jax_target(m, "both")
    mesh = jax.make_mesh((2,), ("i",))
    spec = jax.sharding.PartitionSpec("i")
    x = jax.device_put(jnp.arange(8, dtype="float32"), jax.NamedSharding(mesh, spec))
    for call, specs in ((one, spec), (lambda x: both(x, x)[1], spec), (lambda x: both(x, x), (spec, spec))):
        sharded = jax.jit(jax.shard_map(call, mesh=mesh, in_specs=spec, out_specs=specs, check_vma=False))
        assert np.array_equal(jax.tree.leaves(sharded(x))[-1], np.arange(1, 9))


def check_layouts():
    """The facts about XLA are those of its header."""
    source = system.MADE / "xla.c"
    source.write_text(system.run(Path(os.environ["SYSTEMS_TARGET"]) / "debug" / "examples" / "xla"))
    system.run("cc", "-std=c11", "-fsyntax-only", "-I", jax.ffi.include_dir(), source)


def measure():
    """Says what a call of a handler of three vectors takes beside that of one in C++."""
    includes = ["-I", jax.ffi.include_dir()]
    objects = {name: system.MADE / f"{name}.o" for name in ("times.c", "handler.cc")}
    system.run("gcc", "-std=c11", "-O2", *includes, "-c", system.HERE / "times.c", "-o", objects["times.c"])
    system.run("g++", "-std=c++17", "-O2", "-w", *includes, "-c", system.HERE / "handler.cc", "-o", objects["handler.cc"])
    runtime = Path(system.config("--libdir"))
    for backend in system.BACKENDS:
        ours = system.MADE / f"{backend}.o"
        text = ", ".join(f"{name}: Tensor([n], float32, access={access})" for name, access in [("x", "read"), ("y", "read"), ("z", "write")])
        text = f"add({text}) -> None = add(x.data, y.data, z.data, n);"
        ours.write_bytes(codegen.emit(text, "object", backend=backend, register="xla"))
        program = system.MADE / backend
        system.run("g++", *objects.values(), ours, runtime / "libtvm_ffi.so", f"-Wl,-rpath,{runtime}", "-o", program)
        handler, other = map(float, system.run(program).split())
        said = f"{backend}: {handler} ns, C++ {other} ns, {handler / other:.2f}"
        print(said)
        system.say(said)


if "--times" in sys.argv:
    measure()
    sys.exit()
check_symbols()
check_updates()
check_without_handlers()
check_places()
check_platforms()
check_direct()
check_many()
for backend in (*system.BACKENDS, "jit"):
    check_handlers(backend)
    check_attributes(backend)
    check_closures(backend)
check_names()
check_devices()
check_layouts()
system.check_guide_and_example("jax")
system.on_each(check, "../shared/add_one.ffi", system.compile_c("../shared/add_one.c"))
