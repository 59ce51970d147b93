"""Threads of this process.

Modules: one thread at a time makes a module or looks a function up in one. The runtime keeps the symbols of such modules
in a table that has no lock of its own. Calls of functions need none.

Copies: a fork waits until no other thread works in the shared object, whose locks would stay locked in the child.

Signals: an exception such as KeyboardInterrupt may be raised at every bytecode. What a thread does is therefore said by an
object alone, which C makes and frees: a weak reference that only the interpreter's stack holds, or an attribute that a
function of C replaces. No `finally` is needed, and an exception leaves nothing behind.
"""

from __future__ import annotations

import _thread
import functools
import operator
import os
import threading
import time
import weakref
from collections.abc import Callable, Iterable
from typing import Any, TypeVar, cast

import tvm_ffi

T = TypeVar("T")

_LOCK = threading.RLock()
_LOOKUPS = ("get_function", "get_function_metadata", "get_function_doc", "implements_function")

# Objects that own kernels, such as callbacks of ctypes: a module is never freed, nor are the kernels that it calls.
_kept: list[Any] = []

# Seconds that a thread waits for a fork: the others may be waiting for that thread.
_COURTESY = 1.0
# Seconds between looks at what other threads do.
_PAUSE = 0.001


class _State:
    """A state that threads may be in. Each weak reference to it, whose callback is the thread, is one that is."""

    __slots__ = ("__weakref__",)


_WORKING, _WAITING, _COPYING = _State(), _State(), _State()


class _Thread(tuple[int, int]):
    """A thread of a process: a child has copies of the references that other threads of its parent held."""

    def __call__(self, dead: object) -> None:
        """Does nothing: states end with the interpreter."""


def _this() -> _Thread:
    return _Thread((os.getpid(), threading.get_ident()))


def _reference(state: _State) -> object:
    """Returns an object that says, as long as it lives, that this thread is in a state."""
    return weakref.ref(state, cast(Any, _this()))


_thread_of = operator.attrgetter("__callback__")


def _threads(state: _State) -> set[_Thread]:
    """Returns the threads in a state. No variable holds a reference, as a traceback would keep it."""
    return set(map(_thread_of, weakref.getweakrefs(state)))


def _others(state: _State) -> bool:
    """Returns true if another thread of this process is in a state."""
    pid, this = _this()
    return any(process == pid and thread != this for process, thread in _threads(state))


def working(function: Callable[..., T], *arguments: Any) -> T:
    """Calls a function, and makes forks of other threads wait. A thread that works may do so again, in a loader of
    imports."""
    if _this() not in _threads(_WORKING):
        _let_forks_go_first()
    # The reference is on the interpreter's stack until the function has returned or raised.
    return (_reference(_WORKING), _copies_end(), function(*arguments))[2]


def _let_forks_go_first() -> None:
    end = time.monotonic() + _COURTESY
    while (_others(_WAITING) or _others(_COPYING)) and time.monotonic() < end:
        time.sleep(_PAUSE)


def _copies_end() -> bool:
    """Waits for forks that nothing may change any more."""
    while _others(_COPYING):
        time.sleep(_PAUSE)
    return True


class _Fork(threading.local):
    """The fork of a thread."""

    state: object = None
    """The reference to the state that the thread is in because of the fork."""
    interrupted = False


_fork = _Fork()


def _wait_for_work() -> None:
    """Waits until no other thread works. From then on none begins to."""
    while True:
        _fork.state = _reference(_COPYING)
        # A thread that begins between these lines sees the state, or is seen.
        if not _others(_WORKING):
            return
        _fork.state = _reference(_WAITING)
        time.sleep(_PAUSE)


def _before_fork() -> None:
    """Waits for the others, whatever a signal raises meanwhile: Python forks also if this function raises."""
    raised: BaseException | None = None
    while True:
        try:
            _wait_for_work()
            break
        except BaseException as error:  # noqa: BLE001
            raised = error
    if isinstance(raised, KeyboardInterrupt) and threading.current_thread() is threading.main_thread():
        _fork.interrupted = True
    elif raised is not None:
        raise raised


class _Again:
    """Interrupts the main thread again, by `-`. Python looks for signals after a call, which would raise the interrupt in
    the function called at a fork, whose exceptions it ignores, but not after an operator."""

    __neg__ = staticmethod(_thread.interrupt_main)


_AGAIN = _Again()


def _after_in_parent() -> None:
    """Raises the interrupt of a fork where the process was forked."""
    if _fork.interrupted:
        _fork.interrupted = False
        _ = -_AGAIN


def _after_in_child() -> None:
    """Forgets what only the parent has: the interrupt, and a thread that has the lock but does not work yet."""
    global _LOCK
    _fork.interrupted = False
    if _LOCK.acquire(blocking=False):
        _LOCK.release()
    else:
        _LOCK = threading.RLock()


# The fork ends by a call of C, which no signal keeps from ending it. It waits twice, as a signal may raise before the first
# statement.
_end = functools.partial(setattr, _fork, "state", None)
os.register_at_fork(before=_before_fork, after_in_parent=_end, after_in_child=_end)
os.register_at_fork(before=_before_fork, after_in_parent=_after_in_parent, after_in_child=_after_in_child)


def module(make: Callable[[], tvm_ffi.Module], kept: Iterable[Any]) -> tvm_ffi.Module:
    """Makes a module, and keeps objects for it."""
    with _LOCK:
        made = working(make)
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
            return working(functools.partial(look_up, made, **named), *arguments)

    return locked
