"""NumPy: arrays are arguments as they are."""

import numpy as np

import system


def check(library):
    module = system.load(library)
    system.check_add_one(module.add_one, lambda values: np.array(values, "float32"))
    matrix = np.arange(12, dtype="float64").reshape(3, 4)
    assert module.trace(matrix[:, 1:]) == 1 + 6 + 11
    system.refused(TypeError, "expected float64 but got float32", module.trace, matrix.astype("float32"))


system.on_each(check, "kernels.ffi", system.compile_c("kernels.c"))
