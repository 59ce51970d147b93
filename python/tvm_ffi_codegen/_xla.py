"""Handlers of XLA in libraries that were made with the option `register`."""

from __future__ import annotations

import collections
import ctypes
import functools
import hashlib
import os
import struct
import threading
from typing import Any, NamedTuple

import jax
import tvm_ffi

from ._calls import function_of
from ._functions import Functions
from ._shapes import described

# Guards the tables below.
_LOCK = threading.Lock()

# Names of targets by the addresses of their handlers, and what is registered for targets and platforms: a handler, and
# whether XLA may capture its calls. All is kept for the rest of the process, as programs of XLA may call it. Modules by
# these addresses are kept, so that no handler is unloaded.
_NAMES: dict[int, str] = {}
_TARGETS: dict[tuple[str, str], tuple[int, bool]] = {}
_MODULES: dict[int, tvm_ffi.Module] = {}

# How many handlers there are for a place in a library, or for a signature.
_COUNTS: collections.Counter[str] = collections.Counter()

# `XLA_FFI_HANDLER_TRAITS_COMMAND_BUFFER_COMPATIBLE`.
_IN_GRAPHS = 1

# Of ELF: the type of a segment that is loaded, and the flag of one that may be written to.
_PT_LOAD, _PF_W = 1, 2


class _Found(ctypes.Structure):
    """`Dl_info`: what `dladdr` has found at an address."""

    _fields_ = [
        ("path", ctypes.c_char_p),
        ("start", ctypes.c_void_p),
        ("symbol", ctypes.c_char_p),
        ("place", ctypes.c_void_p),
    ]


class Handler(NamedTuple):
    """The handlers of a function, by their addresses, and the declaration of the call of XLA."""

    execute: int
    # Makes the closure that the call is one of; None for functions without one.
    instantiate: int | None
    declaration: dict[str, Any]


def handler(module: Functions | tvm_ffi.Module, name: str) -> Handler | None:
    """Returns the handler of a function, which is kept from then on; None if there is none."""
    of = module.__tvm_ffi_make__() if isinstance(module, Functions) else module
    execute = _address(of, f"_xla_{name}")
    if execute is None:
        return None
    _MODULES.setdefault(execute, of)
    instantiate = _address(of, f"_xla_{name}_instantiate")
    declared = described(module, name) if instantiate is None else described(of, f"_xla_{name}")
    return Handler(execute, instantiate, declared["declaration"])


def _address(module: tvm_ffi.Module, name: str) -> int | None:
    """Returns the address that a function returns; None if there is no such function."""
    if not module.implements_function(name):
        return None
    address: int = function_of(module.get_function(name))().value
    return address


def target(handler: Handler, platform: str, graph: bool, own: str | None) -> str:
    """Registers a handler, once, and once more if XLA may capture its calls in graphs; returns the name of its target:
    its own, if it has one, and else one that follows from its code."""
    address, kept = handler.execute, (handler.execute, graph)
    with _LOCK:
        if own is None and address not in _NAMES:
            _NAMES[address] = _name(handler)
        name = _NAMES[address] + (".graph" if graph else "") if own is None else own
        if _TARGETS.get((name, platform), kept) != kept:
            raise ValueError(f"the target {name} is that of another function, or of calls that differ in `graph`")
        if (name, platform) not in _TARGETS:
            stages = {"execute": _capsule(address)}
            if handler.instantiate is not None:
                stages["instantiate"] = _capsule(handler.instantiate)
            # Older releases of JAX know no traits.
            traits = {"traits": _IN_GRAPHS} if graph else {}
            jax.ffi.register_ffi_target(name, stages, platform=platform, **traits)
            _TARGETS[name, platform] = kept
        return name


def _name(handler: Handler) -> str:
    """Returns a name that follows from the library of a handler and from its place there, and for code in no library from
    the signature. Handlers for which these are equal have numbers, in the order in which they came."""
    known = _place(handler.execute) or handler.declaration["signature"]
    digest = hashlib.sha256(f"{known}\n{_COUNTS[known]}".encode()).hexdigest()
    _COUNTS[known] += 1
    return f"tvm_ffi_codegen.xla.{digest[:16]}"


def _place(address: int) -> str | None:
    """Returns a digest of the library at an address and the distance from its start; None if there is no library."""
    found = _Found()
    if not ctypes.CDLL(None).dladdr(ctypes.c_void_p(address), ctypes.byref(found)):
        return None
    return f"{_contents(found.start, os.fsdecode(found.path))}+{address - found.start}"


@functools.cache
def _contents(start: int, path: str) -> str:
    """Returns a digest of a library, which is never unloaded: of the code and the constants that it has loaded, and of
    its file, if there is one, which has more but may have been replaced."""
    digest, segments = hashlib.sha256(), []
    # The format of macOS has no such headers.
    if ctypes.string_at(start, 4) == b"\x7fELF":
        offset, count = struct.unpack("<32xQ16xH6x", ctypes.string_at(start, 64))
        headers = [*struct.iter_unpack("<IIQQQQQQ", ctypes.string_at(start + offset, 56 * count))]
        segments = [(flags, place, size) for kind, flags, _, place, _, size, *_ in headers if kind == _PT_LOAD]
    for flags, place, size in segments:
        if not flags & _PF_W:
            digest.update((ctypes.c_char * size).from_address(start + place - segments[0][1]))
    if os.path.isfile(path):
        with open(path, "rb") as file:
            digest.update(hashlib.file_digest(file, "sha256").digest())
    return digest.hexdigest()


def _capsule(address: int) -> Any:
    """Returns a capsule of an address."""
    new = ctypes.pythonapi.PyCapsule_New
    new.restype, new.argtypes = ctypes.py_object, [ctypes.c_void_p, ctypes.c_char_p, ctypes.c_void_p]
    return new(address, None, None)
