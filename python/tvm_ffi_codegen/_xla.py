"""Handlers of XLA in libraries that were made with the option `register`."""

from __future__ import annotations

import collections
import ctypes
import hashlib
import threading
from typing import Any, NamedTuple

import jax
import tvm_ffi

from ._calls import function_of
from ._functions import Functions
from ._shapes import described

# Guards the tables below.
_LOCK = threading.Lock()

# Names of targets by the addresses of their handlers, and the targets and platforms that are registered, for the rest of the
# process, as programs of XLA may call them. Modules by these addresses are kept, so that no handler is unloaded.
_NAMES: dict[int, str] = {}
_TARGETS: set[tuple[str, str]] = set()
_MODULES: dict[int, tvm_ffi.Module] = {}

# `XLA_FFI_HANDLER_TRAITS_COMMAND_BUFFER_COMPATIBLE`.
_IN_GRAPHS = 1

# How many handlers there are for a signature.
_COUNTS: collections.Counter[str] = collections.Counter()


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


def target(handler: Handler, platform: str, graph: bool) -> str:
    """Registers a handler, once, and once more if XLA may capture its calls in graphs; returns the name of its target: the
    same in every process in which as many handlers of its signature were registered before, so that programs that JAX keeps
    on disk find it."""
    address, signature = handler.execute, handler.declaration["signature"]
    with _LOCK:
        if address not in _NAMES:
            digest = hashlib.sha256(f"{signature}\n{_COUNTS[signature]}".encode()).hexdigest()
            _COUNTS[signature] += 1
            _NAMES[address] = f"tvm_ffi_codegen.xla.{digest[:16]}"
        name = _NAMES[address] + (".graph" if graph else "")
        if (name, platform) not in _TARGETS:
            stages = {"execute": _capsule(address)}
            if handler.instantiate is not None:
                stages["instantiate"] = _capsule(handler.instantiate)
            # Older releases of JAX know no traits.
            traits = {"traits": _IN_GRAPHS} if graph else {}
            jax.ffi.register_ffi_target(name, stages, platform=platform, **traits)
            _TARGETS.add((name, platform))
        return name


def _capsule(address: int) -> Any:
    """Returns a capsule of an address."""
    new = ctypes.pythonapi.PyCapsule_New
    new.restype, new.argtypes = ctypes.py_object, [ctypes.c_void_p, ctypes.c_char_p, ctypes.c_void_p]
    return new(address, None, None)
