"""The shared object that does the work: loaded when it is first needed."""

from __future__ import annotations

import functools
import os
from pathlib import Path

import tvm_ffi

VARIABLE = "TVM_FFI_CODEGEN_LIBRARY"
FILE = "libtvm_ffi_codegen.so"


@functools.cache
def library() -> tvm_ffi.Module:
    """The module of the shared object beside this file, or of the one that `TVM_FFI_CODEGEN_LIBRARY` names."""
    named = os.environ.get(VARIABLE)
    path = Path(named) if named else Path(__file__).with_name(FILE)
    if not path.is_file():
        raise ImportError(
            f"{path} is not there: install the package, or name the file in {VARIABLE}"
        )
    # The kinds of errors that it raises besides those that every process knows.
    tvm_ffi.register_error("OSError", OSError)
    tvm_ffi.register_error("FileNotFoundError", FileNotFoundError)
    return tvm_ffi.load_module(path)
