"""Kernels of Triton as functions of TVM FFI.

    kernel = triton.compile(...)  # or the path of NAME.json in Triton's cache
    m = tvm_ffi_codegen.triton.export(kernel, "x: *fp32[n]:16, y: *fp32[n]:16, n: i32:16, BLOCK: 1024", "cdiv(n, BLOCK)")
    m.add(x, y, n)

The signature is in Triton's syntax with names in front, as `tvm-ffi-codegen import-triton` takes it. The declaration
checks the specialisations that the kernel was compiled for. Triton itself is not imported.
"""

from __future__ import annotations

import json
import os
from dataclasses import dataclass
from pathlib import Path
from typing import Any

import tvm_ffi

from . import _api
from ._kernels import Path_


@dataclass(frozen=True)
class Import:
    """A declaration and the code that it launches."""

    text: str
    """The declaration, to be read and edited."""
    images: dict[str, bytes]
    """The option `images` of `emit` and `jit`."""


def declare(kernel: Any, signature: str, grid: str) -> Import:
    """Declares a compiled kernel: an object with `metadata` and `asm`, or the path of its `.json`."""
    metadata, cubin, ttir = _files(kernel) if isinstance(kernel, (str, os.PathLike)) else _compiled(kernel)
    text = str(_api._call("import_triton", metadata, cubin, signature, grid, ttir))
    name = text.split(maxsplit=2)[1].rstrip(";")
    return Import(text, {name: cubin})


def export(kernel: Any, signature: str, grid: str, *, prepare: str | None = None) -> tvm_ffi.Module:
    """Compiles a module with one function that launches the kernel. For a shared library pass the result of `declare` to `emit`."""
    declared = declare(kernel, signature, grid)
    return _api.jit(declared.text, images=declared.images, prepare=prepare)


def _files(path: Path_) -> tuple[str, bytes, str | None]:
    json_file = Path(path)
    ttir = json_file.with_suffix(".ttir")
    cubin = json_file.with_suffix(".cubin").read_bytes()
    return json_file.read_text(), cubin, ttir.read_text() if ttir.is_file() else None


def _compiled(kernel: Any) -> tuple[str, bytes, str | None]:
    try:
        fields, asm = kernel.metadata._asdict(), kernel.asm
        cubin = asm["cubin"]
    except (AttributeError, KeyError) as error:
        raise TypeError(
            f"kernel is of type {type(kernel).__name__}, expected one that Triton has compiled for CUDA, or the path of "
            "its .json"
        ) from error
    ttir = asm.get("ttir")
    return json.dumps(fields, default=vars), bytes(cubin), None if ttir is None else str(ttir)
