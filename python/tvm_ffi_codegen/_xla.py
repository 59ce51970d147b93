"""Handlers of XLA in libraries that were made with the option `register`."""

from __future__ import annotations

import collections
import ctypes
import hashlib
import threading
from typing import Any

import jax
import tvm_ffi

from ._functions import Functions

# Guards the tables below.
_LOCK = threading.Lock()

# Names of targets by the addresses of their handlers, and the platforms that they are registered for, for the rest of the
# process, as programs of XLA may call them. Modules by these addresses are kept, so that no handler is unloaded.
_NAMES: dict[int, str] = {}
_TARGETS: set[tuple[int, str]] = set()
_MODULES: dict[int, tvm_ffi.Module] = {}

# How many handlers there are for a signature.
_COUNTS: collections.Counter[str] = collections.Counter()


def handler(module: Functions | tvm_ffi.Module, name: str) -> int | None:
    """Returns the address of the handler of a function, which is kept from then on; None if there is none."""
    of = module.__tvm_ffi_make__() if isinstance(module, Functions) else module
    getter = of.get_function(f"_xla_{name}") if of.implements_function(f"_xla_{name}") else None
    if getter is None:
        return None
    address: int = getter().value
    _MODULES.setdefault(address, of)
    return address


def target(address: int, signature: str, platform: str) -> str:
    """Registers a handler, once; returns the name of its target: the same in every process in which as many handlers of its
    signature were registered before, so that programs that JAX keeps on disk find it."""
    with _LOCK:
        if address not in _NAMES:
            digest = hashlib.sha256(f"{signature}\n{_COUNTS[signature]}".encode()).hexdigest()
            _COUNTS[signature] += 1
            _NAMES[address] = f"tvm_ffi_codegen.xla.{digest[:16]}"
        name = _NAMES[address]
        if (address, platform) not in _TARGETS:
            jax.ffi.register_ffi_target(name, _capsule(address), platform=platform)
            _TARGETS.add((address, platform))
        return name


def _capsule(address: int) -> Any:
    """Returns a capsule of an address."""
    new = ctypes.pythonapi.PyCapsule_New
    new.restype, new.argtypes = ctypes.py_object, [ctypes.c_void_p, ctypes.c_char_p, ctypes.c_void_p]
    return new(address, None, None)
