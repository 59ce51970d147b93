"""Kernels of Triton as functions of TVM FFI.

    kernel = triton.compile(...)  # or the path of NAME.json in Triton's cache
    m = tvm_ffi_codegen.triton.load(kernel, "x: *fp32[n]:16, y: *fp32[n]:16, n: i32:16, BLOCK: 1024", "cdiv(n, BLOCK)")
    m.add(x, y, n)

The signature is in Triton's syntax with names in front, as `tvm-ffi-codegen import-triton` takes it. The declaration
checks the specialisations that the kernel was compiled for. Triton itself is not imported.
"""

from ._import import Import, declare, load
from ._launcher import Launcher, launcher
from ._library import export

__all__ = ["Import", "Launcher", "declare", "export", "launcher", "load"]
