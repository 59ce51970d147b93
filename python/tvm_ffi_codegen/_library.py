"""The shared object, which is loaded by the first call."""

from __future__ import annotations

import functools
import os
from pathlib import Path

import tvm_ffi

VARIABLE = "TVM_FFI_CODEGEN_LIBRARY"
FILE = "libtvm_ffi_codegen.so"


class InternalError(RuntimeError):
    """A bug of this package."""


# The exceptions that `tvm_ffi` has no class for, by the kinds that the shared object raises.
KINDS: dict[str, type[Exception]] = {
    "OSError": OSError,
    "FileNotFoundError": FileNotFoundError,
    "tvm_ffi_codegen.InternalError": InternalError,
}


def library_path() -> Path:
    """Returns the path of the shared object: the file that `TVM_FFI_CODEGEN_LIBRARY` names, else the one beside this file."""
    named = os.environ.get(VARIABLE)
    return Path(named) if named else Path(__file__).with_name(FILE)


def include_dir() -> Path:
    """Returns the folder of `tvm_ffi_codegen.h` and `tvm_ffi_codegen.hpp`."""
    return Path(__file__).with_name("include")


@functools.cache
def library() -> tvm_ffi.Module:
    """Loads the shared object and returns its module."""
    path = library_path()
    if not path.is_file():
        raise ImportError(
            f"{path} is not there: install the package, or name the file in {VARIABLE}"
        )
    for name, kind in KINDS.items():
        # Another package may have registered a class for the kind.
        if name not in tvm_ffi.core.ERROR_NAME_TO_TYPE:
            tvm_ffi.register_error(name, kind)
    return tvm_ffi.load_module(path)


def version() -> str:
    """Returns the version of the shared object, such as `0.1.0`: that of the crates and the package."""
    return str(library().version())
