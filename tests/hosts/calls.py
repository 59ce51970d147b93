"""Makes the calls of a library that Rust sends, and prints the outcomes, one line for each call.

Usage: calls.py LIBRARY < CALLS, where CALLS is a JSON list of [function, [expression, ...]].
"""

import ctypes
import json
import sys

import numpy as np
import tvm_ffi

import dlpack

MIDDLE = 4096

notes = []


def array(dtype, shape, strides, start):
    """Makes an array whose first element lies `start` bytes above a multiple of 256, inside a buffer of its own."""
    memory = np.zeros(2 * MIDDLE + 256, dtype="uint8")
    aligned = MIDDLE + -(memory.ctypes.data + MIDDLE) % 256
    if dtype == "float32":
        first = (aligned % 4) - aligned
        count = (len(memory) - aligned % 4) // 4
        memory[aligned % 4 :][: 4 * count].view("float32")[:] = np.arange(count) + first // 4
    if strides is not None:
        strides = [stride * np.dtype(dtype).itemsize for stride in strides]
    return np.ndarray(shape, dtype, memory, aligned + start, strides)


def tensor(*args):
    return tvm_ffi.from_dlpack(array(*args))


# Memory of tensors, which do not own it.
kept = []


def foreign(dtype, shape, strides, device, start, byte_offset):
    """Makes a tensor that NumPy cannot represent from its fields; its memory is as in `array`."""
    memory = None if start is None else array("float32", [1], None, start)
    kept.append(memory)
    data = None if memory is None else memory.ctypes.data
    return dlpack.tensor(data, dtype, shape, strides, device, byte_offset)


def runtime(name):
    return ctypes.cast(ctypes.CDLL(tvm_ffi.libinfo.find_libtvm_ffi())[name], ctypes.c_void_p)


def note(*arguments):
    """A function that notes its calls."""
    notes.append(f"called with {len(arguments)}")
    return len(arguments)


def call(function, arguments):
    try:
        result = function(*arguments)
    except Exception as error:
        return type(error).__name__, error.args[0]
    value = result.value or 0 if isinstance(result, ctypes.c_void_p) else result
    if result is None or type(result) in (bool, int, float, ctypes.c_void_p):
        return type(result).__name__, repr(value)
    return "other", f"({describe(result)})"


# Classes that are told apart by their type index alone.
CLASSES = {"Object": 64, "Error": 67, "Function": 68, "Map": 72, "Module": 73, "List": 75, "Dict": 76}


def quoted(text):
    """Writes a text in the form of the table."""
    escaped = (f"\\x{ord(c):02x}" if c < " " or c in '\x7f"\\' else c for c in text)
    return f'"{"".join(escaped)}"'


def describe(value):
    """Writes a result in the form of the table."""
    if value is None or isinstance(value, bool):
        return str(value).lower()
    if isinstance(value, (int, float)):
        return repr(value)
    if isinstance(value, tvm_ffi.dtype):
        return f"dtype({value})"
    if isinstance(value, str):
        return quoted(value)
    if isinstance(value, bytes):
        return f"bytes({quoted(value.decode())})"
    if isinstance(value, tvm_ffi.Device):
        return f"device({value})"
    if isinstance(value, tvm_ffi.Shape):
        return f"shape({', '.join(map(str, value))})"
    if isinstance(value, tvm_ffi.Array):
        return f"array({', '.join(map(describe, value))})"
    if isinstance(value, tvm_ffi.Tensor):
        device = (value.device.dlpack_device_type(), value.device.index)
        options = "" if device == (1, 0) else f"{{device={device}}}"
        return f"{value.dtype}{list(value.shape)}{options}"
    return f"object({CLASSES[type(value).__name__]})"


def set_environment(allocator):
    """Sets the allocator of this thread, and distinct streams of two devices."""
    library = ctypes.CDLL(tvm_ffi.libinfo.find_libtvm_ffi())
    assert library.TVMFFIEnvSetDLPackManagedTensorAllocator(allocator, 0, None) == 0
    for index in range(2):
        assert library.TVMFFIEnvSetStream(2, index, ctypes.c_void_p(0x5000 + index), None) == 0


def main():
    module = tvm_ffi.load_module(sys.argv[1])
    set_environment(module["allocator"]())
    for function, arguments in json.load(sys.stdin):
        arguments = [eval(argument) for argument in arguments]
        outcome = call(module[function], arguments)
        recorded = ctypes.string_at(module["recorded"]().value).decode()
        noted = ", ".join(filter(None, [recorded, *notes]))
        notes.clear()
        print(json.dumps([noted, *outcome]))


main()
