"""Declarations of kernels that Triton has compiled, from their metadata and their code."""

from __future__ import annotations

import json
import os
from dataclasses import dataclass
from pathlib import Path
from typing import Any

from .. import _api
from .._functions import Functions
from .._kernels import Path_

# Kinds of code, of which Triton writes one; its file ends with it.
_CODES = ("cubin", "hsaco")


@dataclass(frozen=True)
class Import:
    """A declaration and the code that it launches."""

    text: str
    """The declaration, to be read and edited."""
    images: dict[str, bytes]
    """The option `images` of `emit` and `jit`."""


def declare(kernel: Any, signature: str, grid: str) -> Import:
    """Declares a compiled kernel: an object with `metadata` and `asm`, or the path of its `.json`."""
    metadata, code, ttir = _files(kernel) if isinstance(kernel, (str, os.PathLike)) else _compiled(kernel)
    text = str(_api._call("import_triton", metadata, code, signature, grid, ttir))
    name = text.split(maxsplit=2)[1].rstrip(";")
    return Import(text, {name: code})


def load(kernel: Any, signature: str, grid: str, *, prepare: str | None = None) -> Functions:
    """Compiles one function that launches the kernel. For a shared library pass the result of `declare` to `emit`."""
    declared = declare(kernel, signature, grid)
    return _api.jit(declared.text, images=declared.images, prepare=prepare)


def _files(path: Path_) -> tuple[str, bytes, str | None]:
    json_file = Path(path)
    ttir = json_file.with_suffix(".ttir")
    codes = [json_file.with_suffix(f".{kind}") for kind in _CODES]
    code = next(filter(Path.is_file, codes), codes[0])
    return json_file.read_text(), code.read_bytes(), ttir.read_text() if ttir.is_file() else None


def _compiled(kernel: Any) -> tuple[str, bytes, str | None]:
    try:
        fields, asm = kernel.metadata._asdict(), kernel.asm
        code = next(asm[kind] for kind in _CODES if kind in asm)
    except (AttributeError, StopIteration) as error:
        raise TypeError(
            f"kernel is of type {type(kernel).__name__}, expected one that Triton has compiled for a GPU, or the path of "
            "its .json"
        ) from error
    ttir = asm.get("ttir")
    return json.dumps(fields, default=vars), bytes(code), None if ttir is None else str(ttir)
