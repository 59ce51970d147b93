"""TVM FFI host functions from declarations.

    m = tvm_ffi_codegen.jit(
        "add_one(x: Tensor([n], float32), y: Tensor([n], float32)) -> None = k(x.data, y.data, n);",
        kernels={"k": kernel},
    )
    m.add_one(x, y)

`jit` compiles declarations into this process, `function` one of them where its kernel is made, `emit` makes text,
objects and shared libraries, `check` says what is wrong with declarations and `describe` what they offer and want, `link`
links objects to a shared library, and `inspect` says what is in one. Modules are those of `tvm_ffi`; the guide of the
project has the language of declarations, and a chapter on this package. `python -m tvm_ffi_codegen` is the command line.
Compilers in C and C++ use the same functions through `include_dir()` and `library_path()`: see `tvm_ffi_codegen.config`.

What is wrong with the input is a `ValueError` or a `TypeError`, a file that cannot be read an `OSError`, and a failure
of a linker or compiler a `RuntimeError`. An `InternalError`, which is one too, is a bug of the package.
"""

from . import triton
from ._api import Diagnostic, check, describe, emit, inspect, jit, link
from ._function import function
from ._kernels import C
from ._library import InternalError, include_dir, library_path

__all__ = [
    "C",
    "Diagnostic",
    "InternalError",
    "check",
    "describe",
    "emit",
    "function",
    "include_dir",
    "inspect",
    "jit",
    "library_path",
    "link",
    "triton",
]
