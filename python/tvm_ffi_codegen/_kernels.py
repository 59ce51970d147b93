"""What kernels may be: addresses of functions in this process, or files to link."""

from __future__ import annotations

import ctypes
import os
import shlex
import subprocess
import tempfile

# The class of all functions of ctypes has no public name.
from _ctypes import CFuncPtr
from collections.abc import Mapping
from dataclasses import dataclass
from pathlib import Path
from typing import Any, Protocol, TypeAlias, runtime_checkable


@dataclass(frozen=True)
class C:
    """Kernels in C, compiled by the C compiler of this machine (`$CC`, else `cc`) when they are needed."""

    source: str
    flags: tuple[str, ...] = ("-O2",)


@runtime_checkable
class HasAddress(Protocol):
    """A compiled function that says where it is, as numba's `cfunc` makes them."""

    @property
    def address(self) -> int: ...


Path_: TypeAlias = str | os.PathLike[str]
Object: TypeAlias = Path_ | bytes | C
Kernel: TypeAlias = int | ctypes.c_void_p | CFuncPtr | HasAddress | Object


def compile_c(source: C) -> bytes:
    """An object file of C."""
    command = [*shlex.split(os.environ.get("CC") or "cc"), *source.flags, "-fPIC", "-c", "-x", "c"]
    with tempfile.TemporaryDirectory() as folder:
        output = Path(folder, "kernel.o")
        try:
            run = subprocess.run(
                [*command, "-", "-o", str(output)],
                input=source.source,
                capture_output=True,
                text=True,
                check=False,
            )
        except OSError as error:
            raise RuntimeError(f"no C compiler for kernels in C: {error}") from error
        if run.returncode != 0:
            raise RuntimeError(f"{command[0]} failed:\n{run.stderr}")
        return output.read_bytes()


def path(file: Path_, what: str, otherwise: str) -> str:
    """The path of a file; for a text that is its contents the error says how those are given."""
    found = os.fspath(file)
    if not isinstance(found, str):
        raise TypeError(f"{what} is a path of bytes, expected one of text")
    if any(sign in found for sign in "\n{;") and not os.path.exists(found):
        raise TypeError(f"{what} is a source and no path: {otherwise}")
    return found


def linkable(kernel: Any, what: str) -> str | bytes:
    """A file to link, as a path or as its contents; C is compiled."""
    if isinstance(kernel, C):
        return compile_c(kernel)
    if isinstance(kernel, (bytes, bytearray, memoryview)):
        return bytes(kernel)
    if isinstance(kernel, (str, os.PathLike)):
        found = path(kernel, what, "C is given as `C(source)`, PTX as one of the `images`")
        return compile_c(C(Path(found).read_text())) if found.endswith(".c") else found
    raise TypeError(f"{what} is of type {type(kernel).__name__}, which is no file to link")


def address(kernel: Any, what: str) -> int | None:
    """Where a function of this process is; `None` for what may be a file to link."""
    if isinstance(kernel, int) and not isinstance(kernel, bool):
        return kernel
    if isinstance(kernel, (str, os.PathLike, bytes, bytearray, memoryview, C)):
        return None
    if isinstance(kernel, CFuncPtr):
        return ctypes.cast(kernel, ctypes.c_void_p).value or 0
    if isinstance(kernel, ctypes.c_void_p):
        return kernel.value or 0
    if isinstance(kernel, HasAddress) and isinstance(kernel.address, int):
        return kernel.address
    raise TypeError(
        f"{what} is of type {type(kernel).__name__}, expected an address, a function of ctypes, something with an "
        "address, a path, the bytes of an object or C"
    )


def addresses(kernels: Mapping[str, Kernel]) -> dict[str, int] | None:
    """The addresses of all kernels; `None` if they are files to link. Both at once is an error."""
    found = {name: address(kernel, f"kernels[{name!r}]") for name, kernel in kernels.items()}
    here = {name: place for name, place in found.items() if place is not None}
    if len(here) == len(found):
        return here
    if here:
        raise ValueError(
            f"kernels are addresses ({', '.join(here)}) and files to link "
            f"({', '.join(name for name in found if name not in here)}): only one of both in one module"
        )
    return None


def files(kernels: Mapping[str, Kernel]) -> list[str | bytes]:
    """The files of kernels to link, each once."""
    # Several kernels may come from one file.
    names = {_key(kernel): name for name, kernel in kernels.items()}
    return [linkable(kernels[name], f"kernels[{name!r}]") for name in names.values()]


def _key(kernel: Any) -> Any:
    if isinstance(kernel, (str, os.PathLike)):
        return os.fspath(kernel)
    return kernel if isinstance(kernel, (bytes, C)) else bytes(kernel)
