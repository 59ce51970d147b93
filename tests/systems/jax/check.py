"""JAX: functions become targets of XLA's FFI by what their metadata says; XLA allocates the results."""

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
    # A process has some thousand places for functions.
    for _ in range(2000):
        add_one = jax_target(module, "add_one")
    assert np.array_equal(add_one(x), [1, 2, 3, 4, 5])
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
    y, z = jax.eval_shape(lambda x: tuple(f(x)), jax.ShapeDtypeStruct((n, m), jnp.float32))
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
    system.refused(ValueError, "same writes to no tensor", jax_target, m, "same")


check_symbols()
check_updates()
system.on_each(check, "../shared/add_one.ffi", system.compile_c("../shared/add_one.c"))
