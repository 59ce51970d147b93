"""Modules of this process: one thread at a time makes a module or looks a function up in one.

The runtime keeps the symbols of such modules in a table that has no lock of its own. Calls of functions need none.
"""

from __future__ import annotations

import os
import threading
from collections.abc import Callable, Iterable
from typing import Any

import tvm_ffi

_LOCK = threading.RLock()
_LOOKUPS = ("get_function", "get_function_metadata", "get_function_doc", "implements_function")

# Objects that own kernels, such as callbacks of ctypes: a module is never freed, nor are the kernels that it calls.
_kept: list[Any] = []

# A fork waits until no thread makes a module.
os.register_at_fork(
    before=_LOCK.acquire, after_in_parent=_LOCK.release, after_in_child=_LOCK.release
)


def module(make: Callable[[], tvm_ffi.Module], kept: Iterable[Any]) -> tvm_ffi.Module:
    """Makes a module, and keeps objects for it."""
    with _LOCK:
        made = make()
        keep(kept)
    for name in _LOOKUPS:
        setattr(made, name, _locked(getattr(tvm_ffi.Module, name), made))
    return made


def keep(kernels: Iterable[Any]) -> None:
    """Keeps objects for the rest of the process, because functions may call their code."""
    _kept.extend(kernels)


def _locked(look_up: Callable[..., Any], made: tvm_ffi.Module) -> Callable[..., Any]:
    def locked(*arguments: Any, **named: Any) -> Any:
        with _LOCK:
            return look_up(made, *arguments, **named)

    return locked
