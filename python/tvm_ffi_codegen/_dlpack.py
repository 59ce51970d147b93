"""Structs of DLPack as types of ctypes, and the capsules in which Python passes them."""

from __future__ import annotations

import ctypes
from typing import Any


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


class Managed(ctypes.Structure):
    """`DLManagedTensor`, in capsules named `dltensor`."""

    _fields_ = (("tensor", Tensor), ("context", ctypes.c_void_p), ("deleter", ctypes.c_void_p))


class Versioned(ctypes.Structure):
    """`DLManagedTensorVersioned`, in capsules named `dltensor_versioned`."""

    _fields_ = (
        ("version", ctypes.c_uint32 * 2),
        ("context", ctypes.c_void_p),
        ("deleter", ctypes.c_void_p),
        ("flags", ctypes.c_uint64),
        ("tensor", Tensor),
    )


# A flag of a versioned tensor.
READ_ONLY = 1


def capsule(address: int, name: bytes) -> Any:
    """Makes a capsule of an address, which nobody deletes. `name` lives as long as it."""
    new = ctypes.pythonapi.PyCapsule_New
    new.restype, new.argtypes = ctypes.py_object, [ctypes.c_void_p, ctypes.c_char_p, ctypes.c_void_p]
    return new(address, name, None)


def address_in(made: Any, name: bytes) -> int:
    """Returns the address in a capsule. Raises a `ValueError` for anything else, and for another name."""
    get = ctypes.pythonapi.PyCapsule_GetPointer
    get.restype, get.argtypes = ctypes.c_void_p, [ctypes.py_object, ctypes.c_char_p]
    return int(get(made, name))
