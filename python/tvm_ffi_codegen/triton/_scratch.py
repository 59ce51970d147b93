"""Scratch memory of launches: the allocator that Triton was given allocates it, in the place of the environment's."""

from __future__ import annotations

import ctypes
import threading
from collections.abc import Callable
from typing import Any

import tvm_ffi

from .._dlpack import Tensor, Versioned

_DELETER = ctypes.CFUNCTYPE(None, ctypes.c_void_p)

# `DLPackManagedTensorAllocator`: prototype, result, context, function that sets an error.
_ALLOCATOR = ctypes.CFUNCTYPE(
    ctypes.c_int, ctypes.POINTER(Tensor), ctypes.POINTER(ctypes.c_void_p), ctypes.c_void_p, ctypes.c_void_p
)


class _Launch(threading.local):
    """The launch of a thread that allocates."""

    align = 0
    stream = 0
    kept: list[Any] = []
    """What has to live until the launch is made."""
    error: BaseException | None = None


_launch = _Launch()


def _keep(_: int) -> None:
    """Keeps the memory, which the launch holds."""


def _request(size: int) -> Any:
    """Returns what the allocator that Triton was given returns for a size in bytes."""
    from triton.runtime import _allocation

    return _allocation._allocator.get()(size, _launch.align, _launch.stream)


def _allocate(prototype: Any, out: Any, _context: Any, _set_error: Any) -> int:
    """Allocates for the environment of TVM FFI."""
    wanted = prototype[0]
    try:
        memory = _request(wanted.shape[0])
        address = memory if isinstance(memory, int) else memory.data_ptr()
    except BaseException as error:
        _launch.error = error
        return -1
    shape = (ctypes.c_int64 * 1)(wanted.shape[0])
    tensor = Tensor(address, wanted.device_type, wanted.device_id, 1, wanted.code, wanted.bits, wanted.lanes, shape, None, 0)
    made = Versioned((1, 1), None, ctypes.cast(_KEEP, ctypes.c_void_p), 0, tensor)
    _launch.kept += [memory, shape, made]
    out[0] = ctypes.addressof(made)
    return 0


# What C calls.
_KEEP = _DELETER(_keep)
_ALLOCATE = _ALLOCATOR(_allocate)


def allocating(inner: Any, align: int) -> Callable[..., None]:
    """Returns a function that launches by another one, whose scratch memory has an alignment in bytes."""
    choose = ctypes.CDLL(tvm_ffi.libinfo.find_libtvm_ffi()).TVMFFIEnvSetDLPackManagedTensorAllocator

    def launch(*passed: Any) -> None:
        stream, *extents = passed[-4:]
        _launch.align, _launch.stream = align, getattr(stream, "value", stream) or 0
        _launch.kept, _launch.error = [], None
        if 0 in extents:
            # Nothing is launched. Triton asks for no bytes.
            _request(0)
            return
        before = ctypes.c_void_p()
        choose(_ALLOCATE, 0, ctypes.byref(before))
        try:
            inner(*passed)
        except Exception:
            if _launch.error is not None:
                raise _launch.error from None
            raise
        finally:
            choose(before, 0, None)
            _launch.kept = []

    return launch
