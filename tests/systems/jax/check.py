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
    add_one = jax_target(module, "add_one", results=["y"])
    x = jnp.arange(5, dtype="float32")
    assert np.array_equal(add_one(x), [1, 2, 3, 4, 5])
    twice = jax.jit(lambda x: add_one(add_one(x * 2)))
    assert np.array_equal(twice(x), [2, 4, 6, 8, 10])
    # A process has some thousand places for functions.
    for _ in range(2000):
        add_one = jax_target(module, "add_one", results=["y"])
    assert np.array_equal(add_one(x), [1, 2, 3, 4, 5])
    jax_tvm_ffi.register_ffi_target(library.stem, module.add_one, ["args", "rets"], platform="cpu")
    shorter = jax.ffi.ffi_call(library.stem, jax.ShapeDtypeStruct((4,), jnp.float32))
    refusal = lambda: jax.block_until_ready(shorter(x))
    system.refused(Exception, system.WRONG_SHAPE, refusal)


def check_symbols():
    """The shapes of results follow from symbolic extents."""
    m = codegen.jit(
        "f(x: Tensor([n, m], float32), y: Tensor([ceildiv(n, 2) + m, n / 2 * m, n % 4], float32),"
        " z: Tensor([min(n, m), max(n, m)], int8)) -> None = {};"
    )
    f = jax_target(m, "f", results=["y", "z"])
    n, m = jax.export.symbolic_shape("n, m")
    y, z = jax.eval_shape(lambda x: tuple(f(x)), jax.ShapeDtypeStruct((n, m), jnp.float32))
    for value in (11, 20):
        [y_shape, z_shape] = [one.shape for one in f(jnp.zeros((value, 6), "float32"))]
        found = [extent if isinstance(extent, int) else extent._evaluate({"n": value, "m": 6}) for extent in (*y.shape, *z.shape)]
        assert found == [*y_shape, *z_shape], (found, y_shape, z_shape)


check_symbols()
system.on_each(check, "../shared/add_one.ffi", system.compile_c("../shared/add_one.c"))
