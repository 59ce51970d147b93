"""Tensors without elements, which tell a launch its device."""

from __future__ import annotations

import ctypes
import functools
from typing import Any

import tvm_ffi

# Numbers of types of devices in DLPack, by Triton's names of platforms, and our names of the types.
DEVICES = {"cuda": (2, "cuda"), "hip": (10, "rocm")}

# `kDLUInt`, and the bits of an element.
_UINT8 = (1, 8)


class Tensor(ctypes.Structure):
    """`DLTensor`."""

    _fields_ = (
        ("data", ctypes.c_void_p),
        ("device_type", ctypes.c_int32),
        ("device_id", ctypes.c_int32),
        ("ndim", ctypes.c_int32),
        ("code", ctypes.c_uint8),
        ("bits", ctypes.c_uint8),
        ("lanes", ctypes.c_uint16),
        ("shape", ctypes.POINTER(ctypes.c_int64)),
        ("strides", ctypes.POINTER(ctypes.c_int64)),
        ("byte_offset", ctypes.c_uint64),
    )


class _Managed(ctypes.Structure):
    """`DLManagedTensor`, which nobody has to delete."""

    _fields_ = (("tensor", Tensor), ("context", ctypes.c_void_p), ("deleter", ctypes.c_void_p))


class _Empty:
    """A tensor of the shape `[0]` with the protocol of DLPack. It owns the memory of its description."""

    def __init__(self, device: tuple[int, int]) -> None:
        self.device = device
        self.shape = (ctypes.c_int64 * 1)(0)
        described = Tensor(None, *device, 1, *_UINT8, 1, self.shape, None, 0)
        self.managed = _Managed(described, None, None)

    def __dlpack_device__(self) -> tuple[int, int]:
        return self.device

    def __dlpack__(self, **_: Any) -> Any:
        new = ctypes.pythonapi.PyCapsule_New
        new.restype, new.argtypes = ctypes.py_object, [ctypes.c_void_p, ctypes.c_char_p, ctypes.c_void_p]
        return new(ctypes.addressof(self.managed), b"dltensor", None)


# Descriptions, which the runtime's tensors point at.
_kept: list[_Empty] = []


@functools.cache
def tensor_on(platform: str, index: int) -> tvm_ffi.Tensor:
    """Returns a tensor without elements on a device of a platform of Triton."""
    empty = _Empty((DEVICES[platform][0], index))
    _kept.append(empty)
    return tvm_ffi.from_dlpack(empty)
