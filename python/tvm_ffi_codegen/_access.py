"""Memory that is read-only: what functions that only read it are lent, and what is refused.

Memory is read-only if its array says so, as NumPy's do and others by DLPack's flag, or if its type does: arrays of JAX never
change, though what JAX exports does not say so.
"""

from __future__ import annotations

import re
import sys
from collections.abc import Callable, Iterator, Mapping, Sequence
from typing import Any

from ._dlpack import READ_ONLY, Versioned, address_in


def is_fixed(cls: type) -> bool:
    """Returns true for a type of arrays that never change."""
    array = getattr(sys.modules.get("jax"), "Array", None)
    return array is not None and issubclass(cls, array)


def lent(argument: Any) -> Any:
    """Returns an array that may be written to over the memory of one that may not; anything else as it is. NumPy exports
    no array that is read-only to a host that does not ask for it, as `tvm_ffi` does not."""
    numpy = sys.modules.get("numpy")
    if numpy is None or not isinstance(argument, numpy.ndarray) or argument.flags.writeable:
        return argument
    return numpy.asarray(_Memory(argument)).view(argument.dtype)


def _all_lent(argument: Any) -> Any:
    """Lends an array, and those that a list or tuple of Python has."""
    if isinstance(argument, (list, tuple)):
        return [_all_lent(entry) for entry in argument]
    return lent(argument)


class _Memory:
    """The memory of a read-only array of NumPy, as an array that may be written to."""

    def __init__(self, array: Any) -> None:
        address, _ = array.__array_interface__["data"]
        self.__array_interface__ = {**array.__array_interface__, "data": (address, False)}
        self._array = array


# The words of types that some tensor has.
_TAKING = {"Tensor", "Object", "Any", "handle"}


def refusal(function: Callable[..., Any], declared: Mapping[str, Any]) -> Callable[[Sequence[Any], bool], None]:
    """Returns a callable that is given the arguments of a call, and raises the error of the first one whose memory is
    read-only where that cannot be. `declared` is the declaration in the metadata of the function. Before a call only types
    say so, afterwards, if an argument could not be exported, it is the first one that cannot be. Where no tensor can be, the
    error is the function's, which says that of every tensor."""
    params: Sequence[Mapping[str, Any]] = declared["params"]
    takes = [not _TAKING.isdisjoint(re.findall(r"\w+", param["type"])) for param in params]

    def refuse(arguments: Sequence[Any], failed: bool) -> None:
        for index, argument in enumerate(arguments):
            place = min(index, len(params) - 1)
            param = params[place]
            for path, one in _arrays(param["name"], argument):
                is_read_only = is_fixed(type(one)) or (failed and _is_read_only(one))
                if failed and is_read_only and not takes[place] and not _fails(lent(one)):
                    # No function runs with a tensor in this place.
                    function(*map(_all_lent, arguments))
                hint = _hint(param, one) if is_read_only else None
                if hint is not None:
                    got = f"expected memory that may be written to but got a read-only {_named(type(one))}"
                    where = f"{path}.data on argument #{index} when calling: `{_call(declared)}`"
                    raise BufferError(f"Mismatched {where}, {got}: {hint}")
                if failed and _fails(lent(one) if is_read_only else one):
                    return

    return refuse


def _arrays(path: str, argument: Any) -> Iterator[tuple[str, Any]]:
    """Yields an argument, or what a list or tuple of Python has, with their names in errors."""
    if isinstance(argument, (list, tuple)):
        for index, entry in enumerate(argument):
            yield from _arrays(f"{path}[{index}]", entry)
    else:
        yield path, argument


def _is_read_only(argument: Any) -> bool:
    """Returns true for an array that says that it is read-only."""
    numpy = sys.modules.get("numpy")
    if numpy is not None and isinstance(argument, numpy.ndarray):
        return not argument.flags.writeable
    try:
        # Whoever exports by the exchange API is asked for nothing else.
        if hasattr(type(argument), "__dlpack_c_exchange_api__"):
            return False
        exported = argument.__dlpack__(max_version=(1, 0))
        tensor = Versioned.from_address(address_in(exported, b"dltensor_versioned"))
        return bool(tensor.flags & READ_ONLY)
    except (AttributeError, BufferError, TypeError, ValueError):
        return False


def _fails(argument: Any) -> bool:
    """Returns true for an array that cannot be exported, for whatever reason."""
    try:
        if not hasattr(type(argument), "__dlpack_c_exchange_api__") and hasattr(argument, "__dlpack__"):
            argument.__dlpack__()
    except BufferError:
        return True
    except Exception:
        return False
    return False


def _hint(param: Mapping[str, Any], argument: Any) -> str | None:
    """Returns what to do about a read-only argument; `None` if the parameter takes it."""
    name, fixed = param["name"], is_fixed(type(argument))
    if "tensor" not in param:
        # What JAX exports is taken as an argument of any other kind.
        return None if fixed else "only a parameter that is a tensor with `access=read` takes it"
    reads = param["tensor"].get("access") == "read"
    if fixed and reads:
        return None
    if param.get("kept") and not fixed:
        return f"the function keeps {name}, and nobody could tell that it is only read"
    numpy = sys.modules.get("numpy")
    if fixed or (numpy is not None and isinstance(argument, numpy.ndarray)):
        return None if reads else f"`access=read` of {name} in the declaration lets it pass"
    wanted = "" if reads else f"with `access=read` of {name} in the declaration, "
    return f"{wanted}an array of NumPy over the same memory passes"


def _named(cls: type) -> str:
    """Returns the name of a type of arrays in errors."""
    return "jax.Array" if is_fixed(cls) else f"{cls.__module__.partition('.')[0]}.{cls.__qualname__}"


def _call(declared: Mapping[str, Any]) -> str:
    """Returns the part of a signature that errors show: it ends with the parameters."""
    constraints = declared.get("constraints", [])
    text = str(declared["signature"]).removesuffix(f" where {', '.join(constraints)}" if constraints else "")
    return text.removesuffix(f" -> {declared['result']}")
