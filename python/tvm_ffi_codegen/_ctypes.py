"""Functions of ctypes as kernels: the check of their types, and the transport of their exceptions to the caller.

C has no exceptions: if a function in Python raises one, ctypes prints it and returns an arbitrary value. Here a guard
keeps the exception in the thread, and the compiled function raises it after the call of the kernel.
"""

from __future__ import annotations

import ctypes
import functools
import gc
import threading

# The class of all functions of ctypes has no public name.
from _ctypes import CFuncPtr
from collections.abc import Callable, Mapping
from typing import Any

import tvm_ffi

# The shared object calls the function of this name.
_RAISE = "tvm_ffi_codegen.raise_left"

_left = threading.local()

_POINTERS = (ctypes._Pointer, ctypes.c_void_p, ctypes.c_char_p, ctypes.c_wchar_p, CFuncPtr)
_DATA = (ctypes._SimpleCData, ctypes.Structure, ctypes.Union, ctypes.Array, *_POINTERS)

# The type codes of `_SimpleCData` for integers.
_INTEGERS = set("cbBhHiIlLqQ")
_FLOATS = {"float": "f", "double": "d"}
_SIZES = {"int8_t": 1, "int16_t": 2, "int32_t": 4, "int64_t": 8}


def guards(kernels: Mapping[str, Any], described: Mapping[str, Any]) -> dict[str, CFuncPtr]:
    """Returns the functions to call instead of the kernels that are written in Python; each keeps an exception in its thread.

    Raises a `TypeError` if a function of ctypes has another prototype than the declarations call it with.
    """
    found: dict[str, CFuncPtr] = {}
    for wanted in described["kernels"]:
        kernel = kernels.get(wanted["name"])
        if isinstance(kernel, CFuncPtr):
            _check(kernel, wanted)
            guard = _guarded(kernel)
            found |= {} if guard is None else {wanted["name"]: guard}
    if found:
        _register()
    return found


def _guarded(kernel: CFuncPtr) -> CFuncPtr | None:
    """Returns the kernel with a guard around it; `None` for a function that is not written in Python."""
    function = _python(kernel)
    if function is None:
        return None
    prototype: Any = type(kernel)
    result = prototype._restype_
    instead = None if result is None else 0

    @functools.wraps(function)
    def guard(*arguments: Any) -> Any:
        try:
            returned = function(*arguments)
            # This raises for a value that ctypes cannot convert, in place of which it would return an arbitrary one.
            if result is not None:
                result(returned)
            return returned
        except BaseException as error:
            _left.error = error
            return instead

    made: CFuncPtr = prototype(guard)
    return made


@functools.cache
def _register() -> None:
    tvm_ffi.register_global_func(_RAISE, _raise_left, override=True)


def _raise_left() -> None:
    error = getattr(_left, "error", None)
    if error is not None:
        _left.error = None
        raise error


def _python(kernel: CFuncPtr) -> Callable[..., Any] | None:
    """Returns the Python function that a function of ctypes wraps, which only the garbage collector can tell."""
    kept = (getattr(kernel, "_objects", None) or {}).values()
    thunk = next((one for one in kept if type(one).__name__ == "CThunkObject"), None)
    if thunk is None:
        return None
    known = (type(thunk), getattr(type(kernel), "_restype_", None))
    held = [one for one in gc.get_referents(thunk) if not isinstance(one, tuple)]
    found = [one for one in held if callable(one) and not any(one is other for other in known)]
    if len(found) != 1:
        return None
    function: Callable[..., Any] = found[0]
    inner = _guarded(function) if isinstance(function, CFuncPtr) else None
    return function if inner is None else inner


def _check(kernel: CFuncPtr, wanted: Mapping[str, Any]) -> None:
    name, params = wanted["name"], wanted["params"]
    by = f"{' and '.join(wanted['callers'])} calls it as `{wanted['prototype']}`"
    declared = hasattr(type(kernel), "_argtypes_")
    types = kernel.argtypes
    if types is not None:
        if len(types) != len(params):
            count = f"{len(types)} argument{'s' * (len(types) != 1)}"
            raise TypeError(f"kernels[{name!r}] takes {count}, but {by}")
        for index, (spelled, given) in enumerate(zip(params, types, strict=True)):
            if not _fits(spelled, given):
                raise TypeError(f"kernels[{name!r}] takes {_name(given)} as argument {index}, but {by}")
    # `restype` of a function from a library is `c_int` by default, which declares nothing.
    said = declared or kernel.restype is not ctypes.c_int
    # An unused result may have any type.
    if said and wanted["result"] is not None and not _fits(wanted["result"], kernel.restype):
        raise TypeError(f"kernels[{name!r}] returns {_name(kernel.restype)}, but {by}")


def _fits(spelled: str, given: Any) -> bool:
    """Tells whether a type of ctypes is passed like a type of C. An integer may have either sign, as in C itself."""
    if not isinstance(given, type):
        return given is not None
    if not issubclass(given, _DATA):
        return True
    code = getattr(given, "_type_", None)
    integer = issubclass(given, ctypes._SimpleCData) and code in _INTEGERS
    if spelled.endswith("*"):
        # An integer of the same size may stand for a pointer.
        return issubclass(given, _POINTERS) or integer and ctypes.sizeof(given) == ctypes.sizeof(ctypes.c_void_p)
    if spelled in _FLOATS:
        return code == _FLOATS[spelled]
    if code == "?":
        return spelled == "uint8_t"
    # ctypes has no 16-bit floats.
    return integer and ctypes.sizeof(given) == _SIZES.get(spelled.removeprefix("u"))


def _name(given: Any) -> str:
    return getattr(given, "__name__", repr(given))
