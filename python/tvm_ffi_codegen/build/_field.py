"""Fields of parts: their types, which are checked where a part is built."""

from __future__ import annotations

import dataclasses
import functools
import operator
from collections.abc import Callable
from enum import Enum
from types import NoneType, UnionType
from typing import Any, Literal, Union, get_args, get_origin, get_type_hints


def plain(value: Any) -> Any:
    """Returns the value of Python's own that a number or a text of another class is, such as a member of an `IntEnum`
    or an integer of NumPy, and a tuple for a list; anything else as it is.

    >>> from enum import IntEnum
    >>> plain([IntEnum("Mode", "FAST").FAST, True])
    (1, True)
    """
    if type(value) in _PLAIN:
        return value
    if isinstance(value, str):
        return str.__str__(value)
    if isinstance(value, float):
        return float(value)
    if isinstance(value, (tuple, list)):
        return tuple(map(plain, value))
    # To ask a part for the protocol would take longer.
    return operator.index(value) if hasattr(type(value), "__index__") else value


_PLAIN = (NoneType, bool, int, float, str)


def check(part: Any) -> None:
    """Makes the fields of a part plain. Raises a `TypeError` for one that has not the type of its annotation."""
    cls: Any = type(part)
    for name, hint, fits in _fields(cls):
        given = getattr(part, name)
        value = plain(given)
        if not fits(value):
            raise _misfit(name, f" of {cls.__name__}", value, hint)
        if value is not given:
            object.__setattr__(part, name, value)


@functools.cache
def _fields(cls: type) -> tuple[tuple[str, Any, Callable[[Any], bool]], ...]:
    """Returns names, types and tests of the fields of a class."""
    hints = get_type_hints(cls)
    return tuple((field.name, hints[field.name], _test(hints[field.name])) for field in dataclasses.fields(cls))


def _test(hint: Any) -> Callable[[Any], bool]:
    """Returns what tells whether a value has a type."""
    args = get_args(hint)
    if _is_class(hint):
        return lambda value: isinstance(value, hint)
    if hint is int:
        return lambda value: isinstance(value, int) and not isinstance(value, bool)
    if _is_union(hint):
        classes = tuple(arg for arg in args if _is_class(arg))
        tests = tuple(_test(arg) for arg in args if not _is_class(arg))
        return lambda value: isinstance(value, classes) or any(fits(value) for fits in tests)
    if get_origin(hint) is Literal:
        # An expression would be compared by a condition of the language.
        return lambda value: isinstance(value, (str, Enum)) and value in args
    if args[1:] == (...,):
        each = _test(args[0])
        return lambda value: isinstance(value, tuple) and all(map(each, value))
    tests = tuple(map(_test, args))
    return lambda value: (
        isinstance(value, tuple)
        and len(value) == len(tests)
        and all(fits(one) for fits, one in zip(tests, value, strict=True))
    )


def _is_class(hint: Any) -> bool:
    """Returns true for a type that has all instances of a class; `int` has no `bool`."""
    return isinstance(hint, type) and not get_args(hint) and hint is not int


def _is_union(hint: Any) -> bool:
    return get_origin(hint) in (Union, UnionType)


def _misfit(name: str, of: str, value: Any, hint: Any) -> TypeError:
    """Returns the error of a field, or of the first wrong value in it."""
    for one in get_args(hint) if _is_union(hint) else (hint,):
        if isinstance(value, tuple) and get_args(one)[1:] == (...,):
            inner = get_args(one)[0]
            index = next(index for index, entry in enumerate(value) if not _test(inner)(entry))
            return _misfit(f"{name}[{index}]", of, value[index], inner)
    return TypeError(f"{name}{of} is of type {type(value).__name__}, expected {_spelled(hint)}")


def _spelled(hint: Any) -> str:
    if _is_union(hint):
        return " or ".join(map(_spelled, get_args(hint)))
    if get_origin(hint) is Literal:
        return " or ".join(repr(one) for one in get_args(hint) if isinstance(one, str))
    return "None" if hint is NoneType else "a sequence" if get_args(hint) else str(hint.__name__)
