"""A custom module: the library imports bytes of a kind that a loader in Python loads, and calls the functions in it."""

import tempfile

import numpy as np
import tvm_ffi

import system


@tvm_ffi.register_global_func("ffi.Module.load_from_bytes.reversed")
def load_reversed(payload):
    """Loads modules of this kind: libraries whose bytes are reversed."""
    with tempfile.NamedTemporaryFile(suffix=".so") as file:
        file.write(bytes(payload)[::-1])
        file.flush()
        return tvm_ffi.load_module(file.name)


def check(library):
    module = system.load(library)
    assert [child.kind for child in module.imports] == ["library"]
    system.check_add_one(module.add_one, lambda values: np.array(values, "float32"))


kernel = system.compile_c("../shared/add_one.c")
for backend in system.BACKENDS:
    inner = system.emit(backend, "kernels.ffi", kernel)
    reversed = system.MADE / f"{backend}.reversed"
    reversed.write_bytes(inner.read_bytes()[::-1])
    check(system.emit(backend, "add_one.ffi", options=["--import", f"reversed={reversed}"]))
system.say(", ".join(system.BACKENDS))
