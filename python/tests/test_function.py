"""Functions that are made where a kernel is."""

import numpy as np
import tvm_ffi_codegen as codegen
from support import ADD_ONE, C_KERNEL, callback, raises
from tvm_ffi_codegen import C


def test_one_kernel_needs_no_name() -> None:
    for kernel in (callback(), C(C_KERNEL)):

        @codegen.function(ADD_ONE)
        def add_one(kernel: object = kernel) -> object:
            return kernel

        x, y = np.arange(3, dtype="float32"), np.zeros(3, "float32")
        add_one(x, y)
        assert (y == x + 1).all()
        raises(ValueError, "expected 3 (= x.shape[0]) but got 2", lambda: add_one(x, y[:2]))


def test_several_kernels_have_names() -> None:
    two = "f(n: int64) -> int64 = { let a: int64 = g(n); let b: int64 = h(a); return b; };"
    source = "long long g(long long n) { return n + 1; } long long h(long long n) { return n * 10; }"

    @codegen.function(two)
    def f() -> object:
        both = C(source)
        return {"g": both, "h": both}

    assert f(4) == 50
    raises(TypeError, "f_of_one returns one kernel, but the declaration calls", lambda: codegen.function(two)(f_of_one))


def f_of_one() -> object:
    return callback()
