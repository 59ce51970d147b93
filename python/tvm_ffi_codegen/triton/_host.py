"""Host functions of a launcher: one for each list of types of the run-time arguments.

A host function has the arguments of the kernel that Triton does not fold into it, and what a launch needs besides. It
classifies the arguments as Triton does: by element types, and by bits that say which addresses and integers are multiples
of 16, which integers are 1 and which need 64 bits. By these it looks the variant up, and calls it. A variant that it has
not is asked of `launch.compile`.
"""

from __future__ import annotations

from collections.abc import Iterable
from typing import Any, NamedTuple

from .. import _api
from .._functions import Functions


class Left(Exception):
    """The reason why a call is left to Triton's own launcher."""


class Parameter(NamedTuple):
    """A parameter of the kernel that is no `tl.constexpr`, or an element of a tuple that is given for one."""

    name: str
    path: tuple[int, ...]
    """The place among all parameters of the kernel, and those in the tuples."""
    is_keyed: bool
    """True if the element type of a tensor is a key of the host function; Python looks at it otherwise."""
    specialized: bool
    """False if `do_not_specialize` names it, or if its type is declared and never specialised."""
    aligned: bool
    """False if `do_not_specialize_on_alignment` names it."""
    typed: bool
    """True if its type is declared, so that no argument changes it."""
    is_whole: bool = False
    """True if variants get a tensor, not its address."""


KEYED = 5
"""Parameters that may be tensors whose element types are keys of the host function."""

_BITS = 60
"""Bits of a key."""

_KEYS = 2
"""Keys of bits."""

_TYPES = {int: "int64", bool: "bool", float: "float64", type(None): "Any"}
"""Our types of arguments that are no tensors."""

BEHIND = (
    "`launch.number`: int64, `launch.compile`: Function, `launch.device`: Tensor([...], uint8, device={device}), "
    "`launch.stream`: Stream, `launch.x`: int64, `launch.y`: int64, `launch.z`: int64"
)
"""Parameters behind those of the kernel."""


def is_tensor(kind: type) -> bool:
    """Returns true if arguments of a type are tensors, for Triton and for TVM FFI."""
    ours = ("__dlpack_c_exchange_api__", "__tvm_ffi_object__", "__dlpack__")
    return hasattr(kind, "data_ptr") and any(hasattr(kind, name) for name in ours)


def is_passed(kind: type) -> bool:
    """Returns true if a variant gets arguments of a type."""
    return kind is not type(None)


def declaration(name: str, parameters: Iterable[Parameter], kinds: Iterable[type], device: str, tensors: str) -> str:
    """Declares the host function of a kernel for types of arguments; `device` is that of the launch, `tensors` that of the
    tensors. Raises `Left` if there is none."""
    declared: list[str] = []
    dtypes: list[str] = []
    bits: list[str] = []
    passed: list[str] = []
    for index, (parameter, kind) in enumerate(zip(parameters, kinds, strict=True)):
        named = f"`{parameter.name}`"
        if is_tensor(kind):
            dtype = f"`dtype.{index}`: any" if parameter.is_keyed else "any"
            declared.append(f"{named}: Tensor([...], {dtype}, strides=any, device={tensors})")
            dtypes += [f"`dtype.{index}`"] if parameter.is_keyed else []
            passed.append(named if parameter.is_whole else f"{named}.data")
            bits += [f"{named}.data % 16 == 0"] if parameter.specialized and parameter.aligned else []
        elif kind in _TYPES:
            declared.append(f"{named}: {_TYPES[kind]}")
            passed += [named] if is_passed(kind) else []
            bits += _bits_of_integer(named, parameter) if kind is int else []
        else:
            raise Left(f"an argument of type {kind.__name__}")
    keys = ["`launch.number`", *dtypes, *_packed(bits)]
    behind = [f"`launch.{one}`" for one in ("device", "stream", "x", "y", "z")]
    return (
        f"`{name}`({', '.join([*declared, BEHIND.format(device=device)])}) -> int64 = {{ "
        f"let `launch.variant`: Tuple[Function, int64] = cached ({', '.join(keys)}) @(`launch.compile`)(); "
        f"@(`launch.variant`[0])({', '.join(passed + behind)}); return `launch.variant`[1]; }};"
    )


def compiled(name: str, text: str) -> Any:
    """Compiles a host function into this process."""
    functions: Functions = _api.jit(text, metadata=True)
    return functions[name]


def _bits_of_integer(named: str, parameter: Parameter) -> list[str]:
    bits = [] if parameter.typed else [f"{named} < -2147483648 or {named} > 2147483647"]
    if parameter.specialized:
        bits.append(f"{named} == 1")
        bits += [f"{named} % 16 == 0"] if parameter.aligned else []
    return bits


def _packed(bits: list[str]) -> list[str]:
    """Returns keys that hold the bits. Raises `Left` if they are too many."""
    groups = [bits[start : start + _BITS] for start in range(0, len(bits), _BITS)]
    if len(groups) > _KEYS:
        raise Left(f"more than {_KEYS * _BITS} classes of arguments")
    return [" + ".join(f"({bit}) * {1 << place}" for place, bit in enumerate(group)) for group in groups]
