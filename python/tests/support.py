"""A declaration, kernels for it, and the check of exceptions, for all tests."""

import ctypes
from collections.abc import Callable
from typing import Any

import numpy as np

ADD_ONE = (
    "add_one(x: Tensor([n], float32), y: Tensor([n], float32)) -> None = k(x.data, y.data, n);"
)

C_KERNEL = """
#include <stdint.h>
void k(const float* x, float* y, int64_t n) { for (int64_t i = 0; i < n; ++i) y[i] = x[i] + 1; }
"""

floats = ctypes.POINTER(ctypes.c_float)
KernelType = ctypes.CFUNCTYPE(None, floats, floats, ctypes.c_int64)


def callback() -> Any:
    """Makes a kernel in Python, which lives as long as a reference to it."""

    def k(x: Any, y: Any, n: int) -> None:
        for i in range(n):
            y[i] = x[i] + 1

    return KernelType(k)


def adds_one(module: Any) -> bool:
    """Tells whether `add_one` of a module adds one and checks its arguments."""
    x, y = np.arange(5, dtype="float32"), np.zeros(5, "float32")
    module.add_one(x, y)
    raises(ValueError, "expected 5 (= x.shape[0]) but got 4", lambda: module.add_one(x, y[:4]))
    return bool((y == x + 1).all())


def raises(kind: type, text: str, call: Callable[[], Any]) -> None:
    """Checks that the call raises exactly this class of exception, with this text in the message."""
    try:
        result = call()
    except Exception as error:
        assert type(error) is kind and text in str(error), f"{type(error).__name__}: {error}"
    else:
        raise AssertionError(f"no {kind.__name__} but {result!r:.100}, expected {text!r}")
