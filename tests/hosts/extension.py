"""Registers functions of a library as global functions `ours.<name>`, with the library's metadata, as an extension does
that wants stubs. The environment names the library and the functions."""

import ctypes
import os

import tvm_ffi
from tvm_ffi import _ffi_api

FUNCTION = 68


class ByteArray(ctypes.Structure):
    _fields_ = [("data", ctypes.c_char_p), ("size", ctypes.c_size_t)]


class AnyValue(ctypes.Structure):
    _fields_ = [("type_index", ctypes.c_int32), ("padding", ctypes.c_uint32), ("object", ctypes.c_void_p)]


class MethodInfo(ctypes.Structure):
    _fields_ = [
        ("name", ByteArray),
        ("doc", ByteArray),
        ("metadata", ByteArray),
        ("flags", ctypes.c_int64),
        ("method", AnyValue),
    ]


def byte_array(text):
    data = (text or "").encode()
    return ByteArray(data, len(data))


module = tvm_ffi.load_module(os.environ["LIBRARY"])
runtime = ctypes.CDLL(tvm_ffi.libinfo.find_libtvm_ffi())
for name in os.environ["FUNCTIONS"].split():
    info = MethodInfo(
        byte_array("ours." + name),
        byte_array(module.get_function_doc(name)),
        byte_array(_ffi_api.ModuleGetFunctionMetadata(module, name, False)),
        0,
        AnyValue(FUNCTION, 0, module.get_function(name).__chandle__()),
    )
    assert runtime.TVMFFIFunctionSetGlobalFromMethodInfo(ctypes.byref(info), 0) == 0
