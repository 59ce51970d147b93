"""Locks of this process.

Modules: one thread at a time makes a module or looks a function up in one. The runtime keeps the symbols of such modules
in a table that has no lock of its own. Calls of functions need none.

Copies: a fork waits until no other thread works in the shared object, whose locks would stay locked in the child.
"""

from __future__ import annotations

import contextlib
import os
import threading
from collections.abc import Callable, Iterable, Iterator
from typing import Any

import tvm_ffi

_LOCK = threading.RLock()
_LOOKUPS = ("get_function", "get_function_metadata", "get_function_doc", "implements_function")

# Objects that own kernels, such as callbacks of ctypes: a module is never freed, nor are the kernels that it calls.
_kept: list[Any] = []

# Threads that work in the shared object, and how often each has entered it: a loader of imports may enter it again.
_working: dict[int, int] = {}
# Forks that wait.
_forks = 0
_changed = threading.Condition()
# Seconds that a thread waits for a fork: the others may be waiting for that thread.
_COURTESY = 1.0


@contextlib.contextmanager
def working() -> Iterator[None]:
    """Makes forks of other threads wait."""
    this = threading.get_ident()
    with _changed:
        if this not in _working:
            _changed.wait_for(lambda: not _forks, _COURTESY)
        _working[this] = _working.get(this, 0) + 1
    try:
        yield
    finally:
        with _changed:
            _working[this] -= 1
            if not _working[this]:
                del _working[this]
                _changed.notify_all()


def _before_fork() -> None:
    """Waits for the others. The locks are held until the process is copied, so that nobody enters."""
    global _forks
    _changed.acquire()
    _forks += 1
    _changed.wait_for(lambda: _working.keys() <= {threading.get_ident()})
    _forks -= 1
    _LOCK.acquire()


def _after_fork() -> None:
    _LOCK.release()
    _changed.notify_all()
    _changed.release()


os.register_at_fork(before=_before_fork, after_in_parent=_after_fork, after_in_child=_after_fork)


def module(make: Callable[[], tvm_ffi.Module], kept: Iterable[Any]) -> tvm_ffi.Module:
    """Makes a module, and keeps objects for it."""
    with working(), _LOCK:
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
