"""Tensors that NumPy cannot represent: `DLManagedTensor` of dlpack.h, in the form in which Python passes it."""

import ctypes

import tvm_ffi

# Name of capsules, which keep its address.
NAME = b"dltensor"


class Managed(ctypes.Structure):
    """`DLManagedTensor` of dlpack.h."""

    _fields_ = [
        ("data", ctypes.c_void_p),
        ("device", 2 * ctypes.c_int32),
        ("ndim", ctypes.c_int32),
        ("code", ctypes.c_uint8),
        ("bits", ctypes.c_uint8),
        ("lanes", ctypes.c_uint16),
        ("shape", ctypes.POINTER(ctypes.c_int64)),
        ("strides", ctypes.POINTER(ctypes.c_int64)),
        ("byte_offset", ctypes.c_uint64),
        ("context", ctypes.c_void_p),
        ("deleter", ctypes.c_void_p),
    ]


# Memory of tensors without a deleter.
kept = []


def tensor(data, dtype, shape, strides, device, byte_offset=0):
    """Makes a tensor with these fields; the caller keeps the memory alive."""
    dims = [None if dims is None else (ctypes.c_int64 * len(dims))(*dims) for dims in (shape, strides)]
    value = Managed(data, (2 * ctypes.c_int32)(*device), len(shape), *dtype, *dims, byte_offset, None, None)
    kept.append((dims, value))
    new = ctypes.pythonapi.PyCapsule_New
    new.restype, new.argtypes = ctypes.py_object, [ctypes.c_void_p, ctypes.c_char_p, ctypes.c_void_p]
    return tvm_ffi.from_dlpack(new(ctypes.addressof(value), NAME, None))
