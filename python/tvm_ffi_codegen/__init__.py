"""TVM FFI host functions from declarations.

    m = tvm_ffi_codegen.jit(
        "add_one(x: Tensor([n], float32), y: Tensor([n], float32)) -> None = k(x.data, y.data, n);",
        kernels={"k": kernel},
    )
    m.add_one(x, y)

`tvm_ffi_codegen.build` makes declarations of values, for compilers: names, operators, statements.

`jit` compiles declarations into this process, and `function` compiles one where its kernel is made. `emit` makes text,
objects and shared libraries, and `link` links objects to a shared library. `check` reports errors and warnings about
declarations, `describe` their functions and kernels, and `inspect` the contents of an object or a shared library.
The functions are those of `tvm_ffi`, called faster; `m.module()` is its module of them. The guide of the project has the language of declarations, and a chapter on this package.
The package brings the program `tvm-ffi-codegen`, which `python -m tvm_ffi_codegen` is too. Compilers in C and C++ use
the same functions through `include_dir()` and `library_path()`: see `tvm_ffi_codegen.config`.

Wrong input raises a `ValueError` or a `TypeError`, an unreadable file an `OSError`, and a failing linker or compiler a
`RuntimeError`. An `InternalError`, which is a `RuntimeError` too, is a bug of the package.
"""

import importlib
from typing import TYPE_CHECKING, Any

from ._api import Diagnostic, check, describe, emit, inspect, jit, link, load
from ._function import function
from ._functions import Functions
from ._kernels import C
from ._library import InternalError, include_dir, library_path, version
from ._stub import stub

if TYPE_CHECKING:
    from . import build, frameworks, triton

__version__: str
"""The version of the shared object, which is that of the package."""

__all__ = [
    "C",
    "Diagnostic",
    "Functions",
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
    "load",
    "stub",
    "triton",
]


def __getattr__(name: str) -> Any:
    """Imports the modules that not everybody needs, a half of the package, where they are used first, and asks the shared
    object for its version."""
    if name == "__version__":
        return version()
    if name in ("build", "frameworks", "triton"):
        return importlib.import_module(f".{name}", __name__)
    raise AttributeError(f"module {__name__!r} has no attribute {name!r}")


def __dir__() -> list[str]:
    return sorted([*__all__, "__version__"])
