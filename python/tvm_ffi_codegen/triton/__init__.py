"""Kernels of Triton as functions of TVM FFI.

    kernel = triton.compile(...)  # or the path of NAME.json in Triton's cache
    m = tvm_ffi_codegen.triton.load(kernel, "x: *fp32[n]:16, y: *fp32[n]:16, n: i32:16, BLOCK: 1024", "cdiv(n, BLOCK)")
    m.add(x, y, n)

The signature is in Triton's syntax with names in front, as `tvm-ffi-codegen import-triton` takes it. The declaration
checks the specialisations that the kernel was compiled for.

    fast = tvm_ffi_codegen.triton.launcher(add)  # a `triton.JITFunction`, also under decorators
    fast[grid](x, y, n, BLOCK=1024)

`launcher` gives an object that is used as a kernel is, and whose launches our host functions make; `export` writes a
shared library of variants. Triton is imported when these two are called, and not by the others.
"""

from ._import import Import, declare, load
from ._launcher import Launcher, launcher
from ._library import export

__all__ = ["Import", "Launcher", "declare", "export", "launcher", "load"]
