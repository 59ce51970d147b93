"""Variants of a kernel: what Triton has compiled, as functions that launch it."""

from __future__ import annotations

import functools
import operator
from collections.abc import Iterable, Mapping
from typing import Any

import tvm_ffi

from .. import _calls
from . import _scratch
from ._host import Left, Parameter, is_passed
from ._import import load

_INTEGERS = {"i1", "i8", "i16", "i32", "i64", "u1", "u8", "u16", "u32", "u64"}
_FLOATS = {"fp16", "fp32", "f32", "fp64"}

_TENSOR_MEMORY = 512
"""Columns of tensor memory that every device has which has any."""

_HINTS = {"tt.divisibility": ":16", "tt.pointer_range": ":S"}
"""Hints of the importer for attributes of Triton."""


def function(kernel: Any, parameters: Iterable[Parameter], kinds: Iterable[type]) -> Any:
    """Returns the function of `tvm_ffi` that launches a compiled kernel for arguments of these types: it gets them, a tensor
    on the device, a stream and three extents. Raises `Left` if the launch is none of ours."""
    metadata = kernel.metadata
    if metadata.profile_scratch_size:
        raise Left("scratch memory of a profiler")
    text = ", ".join(_written(kernel, parameters, kinds))
    try:
        made = load(kernel, f"{metadata.name}({text})", "...")
    except ValueError as error:
        raise Left(str(error)) from error
    launch = _calls.function_of(made[metadata.name])
    if not metadata.global_scratch_size:
        return launch
    return tvm_ffi.convert(_scratch.allocating(launch, metadata.global_scratch_align))


def check_device(kernel: Any, active: Any) -> None:
    """Raises `Left` if Triton's launcher refuses a compiled kernel on the current device."""
    from triton.compiler.compiler import max_shared_mem

    if kernel.metadata.shared > max_shared_mem(active.get_current_device()):
        raise Left("shared memory above that of the device")
    if (getattr(kernel.metadata, "tmem_size", None) or 0) > _TENSOR_MEMORY:
        raise Left("tensor memory that not every device has")


def _written(kernel: Any, parameters: Iterable[Parameter], kinds: Iterable[type]) -> list[str]:
    """Writes the signature of a compiled kernel for the importer."""
    attributes = _attributes(kernel.src.attrs)
    types = tuple(kernel.src.signature.values())
    written: list[str] = []
    for parameter, kind in zip(parameters, kinds, strict=True):
        type_: Any = functools.reduce(operator.getitem, parameter.path, types)
        if str(type_).startswith("tensordesc"):
            # The importer names the parts that follow.
            written += [f"{parameter.name}: {type_}"] if parameter.is_whole else []
            continue
        if type_ == "constexpr":
            # An integer that is 1 is passed, and not used; None is not passed.
            written += [f"{parameter.name}: i64:1"] if is_passed(kind) else []
            continue
        check(parameter.name, type_, kind)
        written.append(f"{parameter.name}: {type_}{attributes.get(parameter.path, '')}")
    return written


def check(name: str, type_: Any, kind: type) -> None:
    """Raises `Left` if Triton converts arguments of a type of Python to the type of a parameter in another way than we do."""
    if not isinstance(type_, str):
        raise Left(f"{name}: a tuple")
    is_integer = type_ in _INTEGERS and kind in (int, bool) and not (kind is int and type_ in ("i1", "u1"))
    is_float = type_ in _FLOATS and kind in (int, bool, float)
    is_address = type_.startswith("*") and kind not in (int, bool, float, type(None))
    if not (is_integer or is_float or is_address):
        raise Left(f"{name}: {type_} from {kind.__name__}")


def _attributes(attrs: Mapping[tuple[int, ...], Iterable[Any]]) -> dict[tuple[int, ...], str]:
    """Returns the hints of the importer by the path of the parameter. Raises `Left` for attributes that it does not know."""
    hints = {}
    for path, found in attrs.items():
        unknown = [name for name, _ in found if name not in _HINTS]
        if unknown:
            raise Left(f"the attribute {unknown[0]}")
        hints[path] = "".join(_HINTS[name] for name, _ in found)
    return hints
