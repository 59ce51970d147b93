"""The functions of the package. They convert arguments and call the shared object, which checks them."""

from __future__ import annotations

import functools
import json
import os
import sys
import warnings
from collections.abc import Callable, Iterable, Mapping, Sequence
from dataclasses import dataclass
from pathlib import Path
from types import ModuleType
from typing import TYPE_CHECKING, Any, Literal, TypedDict, Unpack, cast, overload

import tvm_ffi

from . import _calls, _ctypes, _functions, _process
from ._functions import Functions
from ._kernels import Kernel, Object, Path_, files, linkable, path, sorted_out
from ._library import library

if TYPE_CHECKING:
    from .build import Library

Form = Literal["resolved", "ir", "native", "bitcode", "object", "shared", "header", "html"]
Routines = Literal["embedded", "linked", "once"]
Group = Literal["shape", "strides", "device", "alignment"]
Observer = Literal["debugger", "profiler"]


@dataclass(frozen=True)
class Diagnostic:
    """An error or a warning about declarations; `str` formats it as the command line does."""

    severity: Literal["error", "warning"]
    message: str
    line: int | None
    """The line, counted from 1; None if the diagnostic has no position."""
    column: int | None
    """The column in characters, counted from 1."""
    source: str | None
    """The text of the line, and a caret below the position."""
    name: str | None = None
    """The name of a warning, which `check` allows by `allow`; None for an error."""

    def __str__(self) -> str:
        if self.line is None:
            return f"{self.severity}: {self.message}"
        return f"{self.severity}: {self.line}:{self.column}: {self.message}\n{self.source}"

    def _repr_pretty_(self, printer: Any, cycle: bool) -> None:
        """Prints itself in a notebook as `str` does, so that the caret stands below its place."""
        for index, line in enumerate(str(self).split("\n")):
            if index:
                printer.break_()
            printer.text(line)


def check(text: str | Library, *, allow: Iterable[str] = ()) -> list[Diagnostic]:
    """Returns the errors and warnings about declarations, but no warnings whose names are in `allow`. Those about built ones
    name the line of Python."""
    if isinstance(allow, (str, bytes)) or not isinstance(allow, Iterable):
        raise TypeError(f"allow is of type {type(allow).__name__}, expected a sequence of names")
    build = _builder()
    if build is not None and isinstance(text, build.Library):
        return cast("list[Diagnostic]", build.check(text, allow=allow))
    # The shared object refuses what is no text.
    return [Diagnostic(**dict(found.items())) for found in _call("check", text, list(allow))]


def describe(text: str | Library) -> dict[str, Any]:
    """Describes declarations: their `functions`, the C functions that they call, as `kernels` with types and callers, and
    the names of their `images`."""
    text = _text(text)
    # The shared object refuses what is no text.
    described = _described(text) if isinstance(text, str) else _call("describe", text)
    return cast("dict[str, Any]", json.loads(described))


def shapes(signature: str) -> dict[str, Any]:
    """Returns how the shapes of a function's tensors follow from its arguments; `tvm_ffi_codegen::shapes` lists the keys."""
    return cast("dict[str, Any]", json.loads(_call("shapes", signature)))


@functools.lru_cache(maxsize=16)
def _described(text: str) -> str:
    """Returns the description as JSON: one compilation asks for it several times."""
    return str(_call("describe", text))


class TextOptions(TypedDict, total=False):
    """Options of `emit` for every form, with the names and the values of `tvm-ffi-codegen emit --help`."""

    backend: str
    """The code generator: "cranelift" or "c"; others where this was built with them."""
    target: str | None
    """The triple of the machine to compile for."""
    cpu: str | None
    """The processor to compile for."""
    features: Iterable[str]
    """Features of the processor to use or not, such as "+avx2" or "-fma"."""
    optimization: int | None
    """The level of optimisation, 0 to 3."""
    headers: Literal["own", "include"]
    """The source of the declarations in the text of backend c: "own", or "include" for a file that has the runtime's headers
    and the prototypes of the kernels before the text."""
    images: Mapping[str, Path_ | bytes] | None
    """Contents of declared images, as paths or bytes."""
    imports: Mapping[str, Path_ | bytes] | None
    """Modules that the library imports: kinds, and paths or bytes."""
    prepare: str | None
    """The name of one more function, which loads all images."""
    entry: str | None
    """The function that is exported as `main` too."""
    system_lib: str | None
    """The prefix of a system library."""
    register: str | Sequence[str] | None
    """Hosts besides TVM FFI that call the functions: "xla", "xla=PREFIX", "torch=NAMESPACE", and perhaps ":NAME,NAME"."""
    into: str | bytes | bytearray | memoryview | os.PathLike[str] | None
    """The module to add the functions to: LLVM IR or MLIR, as the backend, in text, as bitcode, or the path of its file. The
    forms `native`, `bitcode`, `object` and `shared` are then all of it."""
    metadata: bool
    """True for a library with metadata and documentation of its functions."""
    unchecked: Iterable[Group]
    """Checks to leave out."""


class Options(TextOptions, total=False):
    """Options of `emit` for the forms that are no text."""

    link: Sequence[Object]
    """Objects, archives and shared libraries as paths or bytes, or `C`."""
    linker: Literal["wild", "cc", "lld"] | None
    """The linker: that of the package, the C compiler of this machine, or LLVM's, for Windows and macOS."""
    sysroot: str | None
    """The root folder of the system to link for; without it that is glibc 2.28 for GNU/Linux."""
    exports: Sequence[str]
    """Symbols of linked files that a shared library exports, besides functions of the FFI and what a loader fills."""
    soname: str | None
    """The name by which the loader knows a shared library, and what is linked with it."""
    rpath: Sequence[str]
    """Folders in which the loader looks for the libraries that a shared library needs."""
    runtime_dependency: bool | None
    """True for a shared library that records that it needs the runtime."""
    routines: Routines | None
    """Where routines are: "embedded" makes the smallest file, "linked" compiles fastest and lets many objects share one
    copy, which "once" does by itself."""


@overload
def emit(
    text: str | Library, form: Literal["resolved", "ir", "native", "header", "html"], **options: Unpack[TextOptions]
) -> str: ...


@overload
def emit(
    text: str | Library, form: Literal["bitcode", "object", "shared"] = ..., **options: Unpack[Options]
) -> bytes: ...


def emit(text: str | Library, form: Form = "object", **options: Any) -> str | bytes:
    """Compiles declarations, a text or a `build.Library`: to text for the forms `resolved`, `ir`, `native` and `header`,
    else to bytes.

    `Options` documents the options. An unknown one is a `ValueError` that lists the known ones.
    """
    given = _given(options)
    if "link" in given:
        given["link"] = _objects(given["link"], "link")
    if "into" in given:
        given["into"] = _module(given["into"])
    return cast("str | bytes", _call("emit", _text(text), {"form": form, **given}))


def link(
    objects: Sequence[Object],
    *,
    target: str | None = None,
    linker: Literal["wild", "cc", "lld"] | None = None,
    sysroot: str | None = None,
    exports: Sequence[str] = (),
    soname: str | None = None,
    rpath: Sequence[str] = (),
    runtime_dependency: bool = True,
) -> bytes:
    """Links objects, archives and shared libraries, as paths or bytes or `C`, to a shared library.

    It exports functions of the FFI, what a loader fills, and `exports`. Their names are those of C.
    """
    options = _given(
        {
            "target": target,
            "linker": linker,
            "sysroot": sysroot,
            "exports": exports,
            "soname": soname,
            "rpath": rpath,
            "runtime_dependency": runtime_dependency,
        }
    )
    return bytes(_call("link", _objects(objects, "objects"), options))


def jit(
    text: str | Library,
    kernels: Mapping[str, Kernel] | None = None,
    *,
    link: Sequence[Object] | None = None,
    cache: Path_ | None = None,
    images: Mapping[str, Path_ | bytes] | None = None,
    imports: Mapping[str, Path_ | bytes] | None = None,
    prepare: str | None = None,
    entry: str | None = None,
    register: str | Sequence[str] | None = None,
    metadata: bool = True,
    unchecked: Iterable[Group] = (),
    observers: Iterable[Observer] = (),
) -> Functions:
    """Compiles declarations, a text or a `build.Library`, into this process.

    A kernel is an address, a function of `ctypes`, an object with an `address` (numba's `cfunc`), a path or the bytes
    of an object file that defines it, or `C`; one call may mix these. `link` has the files that kernels need besides:
    objects, archives and shared libraries as paths or bytes, or `C`. A kernel must have the C type that the declaration
    calls it with (`describe` returns it). Functions of `ctypes` are checked for that; any other kernel of another type
    crashes. An exception in a function of `ctypes` that is written in Python is raised by the call.

    `register` names hosts besides TVM FFI that call the functions, as for `emit`; `frameworks` hands the functions to them.

    `observers` are tools that then know functions by name: "debugger", GDB and LLDB, which also know the lines of
    declarations that have locations, and "profiler", `perf` and others that read `/tmp/perf-PROCESS.map`. They learn of
    what is compiled into memory, and not of what is linked.

    The code, and with it the references to the kernels, is freed with the last of the functions and of those that they
    return; where files are linked, or `imports` or `register` are given, it is kept for the rest of the process. Equal code
    that is linked and has no variables is kept once. `cache` is a folder that keeps linked libraries for later processes,
    found by their contents; it may hold other files, and any of its files may be removed at any time.
    """
    text = _text(text)
    kernels = {} if kernels is None else kernels
    if not isinstance(kernels, Mapping):
        raise TypeError(
            f"kernels is of type {type(kernels).__name__}, expected a mapping from names"
        )
    places, objects = sorted_out(kernels)
    linked = files(objects) + _objects(() if link is None else link, "link")
    guards: dict[str, Any] = {}
    if kernels:
        described = describe(text)
        # Linked files may call an address that no declaration calls.
        unused = _unused(objects if linked else kernels, described)
        if unused is not None:
            warnings.warn(unused, stacklevel=2)
        guards = _ctypes.guards(kernels, described)
        places |= sorted_out(guards)[0]
    raising = set(guards)
    if guards and linked:
        # What is linked may call a guarded kernel in turn.
        raising |= {kernel["name"] for kernel in described["kernels"]}
    options = _given(
        {
            "link": linked or None,
            "rpath": sorted(_folders(linked)),
            "cache": os.fspath(cache) if linked and cache is not None else None,
            "raising": sorted(raising) or None,
            "images": images,
            "imports": imports,
            "prepare": prepare,
            "entry": entry,
            "register": register,
            "metadata": metadata,
            "unchecked": unchecked,
            "observers": observers,
        }
    )
    kept = [*kernels.values(), *guards.values()]

    @functools.cache
    def module() -> tvm_ffi.Module:
        if linked:
            made: tvm_ffi.Module = _call("jit", text, places, options)
            _process.keep(kept)
            return _calls.attach(made)
        return _calls.attach(_process.module(lambda: _call("jit", text, places, options), kept))

    # Neither XLA nor PyTorch forgets a function.
    if not linked and not imports and register is None:
        # The code keeps the kernels as a function that holds them.
        return _functions.owning(_call("functions", text, places, options, lambda: kept), module)
    names = [one["name"] for one in describe(text)["functions"]]
    names += [name for name in (prepare, "main" if entry else None) if name is not None]
    return _functions.of_module(module(), names)


def load(library: Path_) -> Functions:
    """Loads a shared library that `emit` has made. Its functions are called as those that `jit` makes."""
    found = {one["name"]: one["signature"] for one in inspect(library)["functions"]}
    # Functions that return addresses of handlers and that register operators are for `frameworks`. They have no signature of
    # their own, as a declared one has.
    getters = {f"_xla_{name}{stage}" for name in found for stage in ("", "_instantiate")} | {"_torch"}
    names = [name for name, signed in found.items() if name not in getters or _is_declared(name, signed)]
    # The loader would look for a name without a folder where the system has its libraries.
    module = tvm_ffi.load_module(os.path.abspath(library))
    return _functions.of_module(_calls.attach(module), names)


def _is_declared(name: str, signature: str | None) -> bool:
    """Returns true if the signature of a function is known and its own, not that of the function of a handler."""
    return signature is not None and signature.startswith((f"{name}(", f"`{name}`("))


def inspect(file: Path_ | bytes) -> dict[str, Any]:
    """Reports what an object or a shared library exports and needs. `file` is a path, or the contents of the file."""
    contents = bytes(file) if isinstance(file, (bytearray, memoryview)) else file
    path = os.fspath(contents) if isinstance(contents, os.PathLike) else contents
    return cast("dict[str, Any]", json.loads(_call("inspect", path)))


def _builder() -> ModuleType | None:
    """Returns the module `build`, if it is imported: who has built declarations has imported it."""
    return sys.modules.get(f"{__package__}.build")


def _text(declarations: str | Library) -> str:
    """Returns the text of declarations. Errors about built ones name the line of Python."""
    if isinstance(declarations, str):
        return declarations
    build = _builder()
    if build is not None and isinstance(declarations, build.Library):
        return str(build.checked(declarations))
    # The shared object refuses what is no text.
    return cast(str, declarations)


def _call(name: str, *arguments: Any) -> Any:
    function: Callable[..., Any] = getattr(library(), name)
    return _process.working(function, *arguments)


def _given(options: Mapping[str, Any]) -> dict[str, Any]:
    """Returns the options that are not None or empty, as the shared object takes them."""
    lists = {"features", "unchecked", "observers", "exports", "rpath"}
    tables = {"images", "imports"}
    given: dict[str, Any] = {}
    for name, value in options.items():
        if name in lists and not isinstance(value, str) and isinstance(value, Iterable):
            value = list(value) or None
        elif name in tables and isinstance(value, Mapping):
            value = {key: _contents(one, f"{name}[{key!r}]") for key, one in value.items()} or None
        if value is not None:
            given[name] = value
    return given


def _contents(file: Any, what: str) -> Any:
    """Reads a file that is given by its path, and copies bytes; returns other values as they are."""
    if not isinstance(file, (str, os.PathLike)):
        return bytes(file) if isinstance(file, (bytearray, memoryview)) else file
    otherwise = "what would be in the file is given as `bytes`, PTX as `source.encode()`"
    return Path(path(file, what, otherwise)).read_bytes()


def _module(module: Any) -> Any:
    """Reads a module that is given by its path, and copies bytes; returns other values as they are."""
    if isinstance(module, os.PathLike):
        return Path(module).read_bytes()
    return bytes(module) if isinstance(module, (bytearray, memoryview)) else module


def _objects(objects: Any, what: str) -> list[str | bytes]:
    if isinstance(objects, (str, bytes, os.PathLike)) or not isinstance(objects, Iterable):
        raise TypeError(f"{what} is of type {type(objects).__name__}, expected a sequence of files")
    return [linkable(one, f"{what}[{index}]") for index, one in enumerate(objects)]


def _unused(kernels: Mapping[str, Any], described: Mapping[str, Any]) -> str | None:
    """Returns the warning about kernels that no declaration calls."""
    called = [one["name"] for one in described["kernels"]]
    unused = [repr(name) for name in kernels if isinstance(name, str) and name not in called]
    if not unused:
        return None
    calls = f"they call {', '.join(called)}" if called else "they call none"
    return f"no declaration calls {', '.join(unused)} of kernels: {calls}; `link` is for what kernels need"


def _folders(files: Iterable[str | bytes]) -> set[str]:
    """Returns the folders of the files, where the loader looks for shared libraries among them."""
    return {os.path.dirname(os.path.abspath(file)) for file in files if isinstance(file, str)}
