"""JAX: functions become targets of XLA's FFI through `jax-tvm-ffi`; XLA allocates the results."""

import jax
import jax.numpy as jnp
import jax_tvm_ffi
import numpy as np

import system


def target(library, name):
    """A function of an array, which yields another of some length."""
    jax_tvm_ffi.register_ffi_target(name, system.load(library).add_one, ["args", "rets"], platform="cpu")

    def call(x, length):
        return jax.ffi.ffi_call(name, jax.ShapeDtypeStruct((length,), jnp.float32))(x)

    return call


def check(library):
    add_one = target(library, library.stem)
    x = jnp.arange(5, dtype="float32")
    assert np.array_equal(add_one(x, 5), [1, 2, 3, 4, 5])
    twice = jax.jit(lambda x: add_one(add_one(x * 2, 5), 5))
    assert np.array_equal(twice(x), [2, 4, 6, 8, 10])
    refusal = lambda: jax.block_until_ready(add_one(x, 4))
    system.refused(Exception, system.WRONG_SHAPE, refusal)


system.on_each(check, "../shared/add_one.ffi", system.compile_c("../shared/add_one.c"))
