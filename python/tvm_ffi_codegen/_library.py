"""The shared object that does the work: loaded when it is first needed."""

from __future__ import annotations

import functools
import os
from pathlib import Path

import tvm_ffi

VARIABLE = "TVM_FFI_CODEGEN_LIBRARY"
FILE = "libtvm_ffi_codegen.so"


class InternalError(RuntimeError):
    """A bug of this package."""


# What is raised besides the errors that every process knows, by the names of the shared object.
KINDS: dict[str, type[Exception]] = {
    "OSError": OSError,
    "FileNotFoundError": FileNotFoundError,
    "tvm_ffi_codegen.InternalError": InternalError,
}


def library_path() -> Path:
    """The shared object beside this file, or the one that `TVM_FFI_CODEGEN_LIBRARY` names."""
    named = os.environ.get(VARIABLE)
    return Path(named) if named else Path(__file__).with_name(FILE)


def include_dir() -> Path:
    """The folder of `tvm_ffi_codegen.h` and `tvm_ffi_codegen.hpp`."""
    return Path(__file__).with_name("include")


@functools.cache
def library() -> tvm_ffi.Module:
    """The module of the shared object."""
    path = library_path()
    if not path.is_file():
        raise ImportError(
            f"{path} is not there: install the package, or name the file in {VARIABLE}"
        )
    for name, kind in KINDS.items():
        # Another package may have a class for it.
        if name not in tvm_ffi.core.ERROR_NAME_TO_TYPE:
            tvm_ffi.register_error(name, kind)
    return tvm_ffi.load_module(path)
