"""Kernels: addresses of functions in this process, or files to link."""

from __future__ import annotations

import contextlib
import ctypes
import functools
import hashlib
import os
import shlex
import shutil
import subprocess
import tempfile

# The class of all functions of ctypes has no public name.
from _ctypes import CFuncPtr
from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import Any, Protocol, TypeAlias, cast, runtime_checkable


@dataclass(frozen=True)
class C:
    """Kernels in C, compiled by the C compiler of this machine (`$CC`, else `cc`) when they are needed."""

    source: str
    flags: str | Sequence[str] = ("-O2",)
    """Options of the compiler: words, or one text that is split as a shell does."""
    cache: Path_ | None = None
    """A folder that keeps objects for later processes on machines like this one, found by the preprocessed source, the
    options and the compiler. It may hold other files, and any of its files may be removed at any time."""

    def __post_init__(self) -> None:
        if not isinstance(self.source, str):
            raise TypeError(f"the source of C is of type {type(self.source).__name__}, expected str")
        object.__setattr__(self, "flags", self.words())

    def words(self) -> tuple[str, ...]:
        """Returns the options as words."""
        if isinstance(self.flags, str):
            return _split(self.flags, "flags of C")
        listed = isinstance(self.flags, Iterable) and not isinstance(self.flags, (bytes, bytearray))
        words: tuple[Any, ...] = tuple(self.flags) if listed else (self.flags,)
        for word in words:
            if not isinstance(word, str):
                kind = type(word).__name__
                raise TypeError(f"flags of C are of type {kind}, expected str or a sequence of str")
        return words


@runtime_checkable
class HasAddress(Protocol):
    """A compiled function that has its address, such as numba's `cfunc`."""

    @property
    def address(self) -> int: ...


Path_: TypeAlias = str | os.PathLike[str]
Object: TypeAlias = Path_ | bytes | C
Kernel: TypeAlias = int | ctypes.c_void_p | CFuncPtr | HasAddress | Object


def compile_c(source: C) -> bytes:
    """Compiles C to an object file, or returns that of equal C: of the cache's folder, or of this process."""
    return _object(source.words(), ("-x", "c", "-"), source.source.encode(), source.cache)


def compile_file(file: str) -> bytes:
    """Compiles a file of C as `compile_c` does. The compiler looks beside it for what it includes."""
    os.stat(file)
    return _object(C("").words(), (os.path.abspath(file),))


def _object(words: Sequence[str], given: Sequence[str], source: bytes = b"", cache: Path_ | None = None) -> bytes:
    """Returns the object file of C that is given to the compiler by its name, or as its input."""
    compiler = _split(os.environ.get("CC", ""), "CC") or ("cc",)
    command = (*compiler, *words, "-fPIC", *given)
    digest = hashlib.sha256(repr((_programs(compiler), command)).encode())
    # The preprocessed source has the contents of headers.
    digest.update(_run((*command, "-E"), source))
    key = digest.hexdigest()
    if cache is None:
        return _compiled(key, command, source)
    file = Path(cache, f"{key}.o")
    with contextlib.suppress(OSError):
        return file.read_bytes()
    made = _compiled(key, command, source)
    _put(file, made)
    return made


@functools.lru_cache(maxsize=256)
def _compiled(key: str, command: tuple[str, ...], source: bytes) -> bytes:
    """Compiles C to an object file. The key tells apart what the same command makes of the same source."""
    return _run((*command, "-c"), source)


def _split(text: str, what: str) -> tuple[str, ...]:
    """Splits a text into words as a shell does. One program may start another, as in `CC="ccache cc"`."""
    try:
        return tuple(shlex.split(text))
    except ValueError as error:
        raise ValueError(f"{what}: {error}: {text}") from None


def _programs(words: Iterable[str]) -> list[tuple[str, int, int]]:
    """Returns path, time and size of the programs among words."""
    paths = [os.path.realpath(found) for found in map(shutil.which, words) if found is not None]
    return [(path, os.stat(path).st_mtime_ns, os.stat(path).st_size) for path in paths]


def _run(command: tuple[str, ...], source: bytes) -> bytes:
    """Runs a compiler of C, with a source as its input, and returns what it writes."""
    with tempfile.TemporaryDirectory() as folder:
        output = Path(folder, "kernel.o")
        try:
            run = subprocess.run([*command, "-o", str(output)], input=source, capture_output=True, check=False)
        except OSError as error:
            raise RuntimeError(f"no C compiler for kernels in C: {error}") from error
        if run.returncode != 0:
            raise RuntimeError(f"{command[0]} failed:\n{run.stderr.decode(errors='replace')}")
        if not output.is_file():
            raise RuntimeError(f"{command[0]} wrote no object")
        return output.read_bytes()


def _put(file: Path, contents: bytes) -> None:
    """Writes a file of the cache in one step, so that other processes see all of it or none."""
    file.parent.mkdir(parents=True, exist_ok=True)
    with tempfile.TemporaryDirectory(dir=file.parent) as folder:
        written = Path(folder, file.name)
        written.write_bytes(contents)
        written.replace(file)


def path(file: Path_, what: str, otherwise: str) -> str:
    """Returns the path of a file. For a text that looks like contents raises a `TypeError` that ends with `otherwise`."""
    found = os.fspath(file)
    if not isinstance(found, str):
        raise TypeError(f"{what} is a path of bytes, expected one of text")
    if any(sign in found for sign in "\n{;") and not os.path.exists(found):
        raise TypeError(f"{what} is a source and no path: {otherwise}")
    return found


def linkable(kernel: Any, what: str) -> str | bytes:
    """Returns a file to link, as a path or as its contents. C is compiled."""
    if isinstance(kernel, C):
        return compile_c(kernel)
    if isinstance(kernel, (bytes, bytearray, memoryview)):
        return bytes(kernel)
    if isinstance(kernel, (str, os.PathLike)):
        found = path(kernel, what, "C is given as `C(source)`, PTX as one of the `images`")
        return compile_file(found) if found.endswith(".c") else found
    raise TypeError(f"{what} is of type {type(kernel).__name__}, which is no file to link")


def address(kernel: Any, what: str) -> int | None:
    """Returns the address of a function of this process; `None` for a file to link."""
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


def sorted_out(kernels: Mapping[str, Kernel]) -> tuple[dict[str, int], dict[str, Object]]:
    """Sorts kernels into addresses and files to link."""
    found = {name: address(kernel, f"kernels[{name!r}]") for name, kernel in kernels.items()}
    here = {name: place for name, place in found.items() if place is not None}
    return here, {name: cast(Object, kernels[name]) for name in found if name not in here}


def files(kernels: Mapping[str, Object]) -> list[str | bytes]:
    """Returns the files to link for kernels, several of which may be in one file, each file once."""
    names = {_key(kernel): name for name, kernel in kernels.items()}
    return [linkable(kernels[name], f"kernels[{name!r}]") for name in names.values()]


def _key(kernel: Any) -> Any:
    if isinstance(kernel, (str, os.PathLike)):
        return os.fspath(kernel)
    return kernel if isinstance(kernel, (bytes, C)) else bytes(kernel)
