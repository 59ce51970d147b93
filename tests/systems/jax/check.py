"""JAX: functions become targets of XLA's FFI by what their metadata says; XLA allocates the results."""

import jax
import jax.numpy as jnp
import jax_tvm_ffi
import numpy as np

import system
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


system.on_each(check, "../shared/add_one.ffi", system.compile_c("../shared/add_one.c"))
