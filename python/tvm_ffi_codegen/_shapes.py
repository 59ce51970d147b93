"""Shapes of tensors, computed from the arguments of a call, whose extents may be numbers or a framework's symbols.

The shared object reads the declaration and says what to compute: see `tvm_ffi_codegen::shapes` in the documentation of Rust.
"""

from __future__ import annotations

import ast
import functools
import json
import operator
from collections.abc import Callable, Collection, Iterator, Mapping, Sequence
from typing import Any

import tvm_ffi

from . import _api
from ._functions import Functions, metadata

_OPERATORS: dict[str, Callable[..., Any]] = {
    "neg": operator.neg,
    "+": operator.add,
    "-": operator.sub,
    "*": operator.mul,
    "/": operator.floordiv,
    "%": operator.mod,
    "ceildiv": lambda a, b: -(-a // b),
    "min": min,
    "max": max,
}


class Shapes:
    """How shapes and element types of a function's tensors follow from its arguments.

    `declared` is the declaration in the metadata of the function. `operators` takes the place of operators of Python, where
    a framework has others for its symbols. `dtype` returns the framework's element type of a name.
    """

    def __init__(
        self, declared: Mapping[str, Any], operators: Mapping[str, Callable[..., Any]], dtype: Callable[[str], Any]
    ) -> None:
        described = _api.shapes(declared["signature"])
        self._symbols, self._returned = described["symbols"], described["returned"]
        # Those that are returned have no names but their numbers.
        returned: dict[str | int, Any] = {number: one for number, one in enumerate(self._returned) if one is not None}
        self._tensors = {**described["tensors"], **returned}
        self._indices = {param["name"]: index for index, param in enumerate(declared["params"])}
        self._lists = {index for index, param in enumerate(declared["params"]) if "tensor" not in param}
        integers = {one["argument"] for one in self._symbols if "extents" not in one}
        defaults = {index: declared["params"][index].get("default") for index in integers}
        self._defaults = {index: ast.literal_eval(default) for index, default in defaults.items() if default}
        self._operators = {**_OPERATORS, **operators}
        self._dtype = dtype

    def returned(self, arguments: Collection[int]) -> list[int]:
        """Returns the numbers of the results that are tensors of a known rank and element type, which the function does
        not allocate by its signature. They may have extents that no argument determines."""

        def is_known(number: int, tensor: Mapping[str, Any] | None) -> bool:
            if tensor is None or tensor["shape"] is None:
                return False
            return tensor["dtype"] is not None or self._typed(number, arguments) is not None

        return [number for number, tensor in enumerate(self._returned) if is_known(number, tensor)]

    def check(self, names: Sequence[str], arguments: Collection[int]) -> None:
        """Raises a `TypeError` if one of these tensors does not follow from the arguments with these indices."""
        places = [one for one in self._symbols if one["argument"] in arguments]
        known: set[str] = set()
        while new := {one["symbol"] for one in places if known.issuperset(_terms(one))} - known:
            known |= new
        for name in names:
            tensor = self._tensors[name]
            shape, of = tensor["shape"], self._typed(name, arguments)
            if shape is None or None in shape:
                raise TypeError(f"the shape of {name} is not known: it may be any")
            for symbol in (symbol for term in shape for symbol in _symbols(term)):
                if symbol not in known:
                    raise TypeError(f"the shape of {name} is not known: no extent of an argument determines {symbol}")
            if of is not None:
                continue
            if "dtype_of" in tensor:
                raise TypeError(f"the element type of {name} is not known: no argument determines it")
            if tensor["dtype"] is None:
                raise TypeError(f"the element type of {name} is not known: it may be one of several")
            self._dtype(tensor["dtype"])

    def device(self, name: str | int) -> str:
        """Returns the device type that a tensor is declared for, or `any`."""
        return str(self._tensors[name]["device"])

    def of(
        self, names: Sequence[str | int], arguments: Sequence[Any], new: Callable[[], Any] | None = None
    ) -> list[tuple[tuple[Any, ...], Any]]:
        """Returns shape and element type of tensors that have been checked or are [`returned`]. `arguments` has `None` for
        what is not there. `new` makes the extents that no argument determines."""
        sizes = self._sizes(arguments)
        there = [index for index, argument in enumerate(arguments) if argument is not None]
        found = []
        for name in names:
            tensor = self._tensors[name]
            of = self._typed(name, there)
            dtype = self._dtype(tensor["dtype"]) if of is None else arguments[of].dtype
            for symbol in (symbol for term in tensor["shape"] for symbol in _symbols(term)):
                if new is not None and symbol not in sizes:
                    sizes[symbol] = new()
            shape = (new() if term is None and new else self._value(term, sizes) for term in tensor["shape"])
            found.append((tuple(shape), dtype))
        return found

    def _typed(self, name: str | int, arguments: Collection[int]) -> int | None:
        """Returns one of the arguments that has the element type of a tensor by the declaration; `None` if there is none."""
        first = self._tensors[name].get("dtype_of", self._indices.get(name))
        if first is None:
            return None
        same = (self._indices.get(other) for other, one in self._tensors.items() if one.get("dtype_of") == first)
        return next((index for index in (first, *same) if index is not None and index in arguments), None)

    def _sizes(self, arguments: Sequence[Any]) -> dict[str, Any]:
        """Returns the values of the symbols that the arguments determine."""
        sizes: dict[str, Any] = {}
        places, left = self._symbols, -1
        # A place may need a symbol that only a later one determines.
        while places and len(places) != left:
            left = len(places)
            places = [one for one in places if not self._solve(one, arguments, sizes)]
        return sizes

    def _solve(self, one: Mapping[str, Any], arguments: Sequence[Any], sizes: dict[str, Any]) -> bool:
        """Adds the value of the symbol of a place; returns false if other symbols must be known before."""
        size = None if one["symbol"] in sizes else self._size(one, arguments)
        if size is None:
            return True
        if not all(symbol in sizes for symbol in _terms(one)):
            return False
        if "coefficient" in one:
            coefficient, constant = (self._value(one[term], sizes) for term in ("coefficient", "constant"))
            if not _divides(coefficient, size - constant):
                raise ValueError(self._mismatch(one, size, coefficient, constant))
            size = (size - constant) // coefficient
        sizes[one["symbol"]] = size
        return True

    def _mismatch(self, one: Mapping[str, Any], size: Any, coefficient: Any, constant: Any) -> str:
        """Returns the error of a place whose number is that of no value of its symbol."""
        index, (first, _) = one["argument"], one["extents"]
        shape = "" if index in self._lists else ".shape"
        constant = f" {'-' if constant < 0 else '+'} {abs(constant)}" if constant else ""
        place = f"{list(self._indices)[index]}{shape}[{first}]"
        return f"Mismatched {place} on argument #{index}, expected {coefficient} * {one['symbol']}{constant} but got {size}"

    def _size(self, one: Mapping[str, Any], arguments: Sequence[Any]) -> Any:
        """Returns the number at a place of a symbol; `None` if it is not there."""
        index = one["argument"]
        argument = arguments[index] if index < len(arguments) else self._defaults.get(index)
        if argument is None or "extents" not in one:
            return argument
        first, end = one["extents"]
        name = list(self._indices)[index]
        if index in self._lists and not isinstance(argument, Sequence):
            raise TypeError(f"{name} is a list of integers, not {argument!r}")
        declared = None if index in self._lists else self._tensors[name]["shape"]
        if declared is not None and len(declared) != len(argument.shape):
            said = f"expected {len(declared)} but got {len(argument.shape)}"
            raise ValueError(f"Mismatched {name}.ndim on argument #{index}, {said}")
        extents = (argument if index in self._lists else argument.shape)[first:end]
        # Only a range of leading extents may be empty.
        return functools.reduce(operator.mul, extents) if extents else 1 if first is None else None

    def _value(self, term: Any, sizes: Mapping[str, Any]) -> Any:
        if isinstance(term, int):
            return term
        if isinstance(term, str):
            if term not in sizes:
                raise TypeError(f"no argument of this call determines {term}")
            return sizes[term]
        name, *operands = term
        return self._operators[name](*(self._value(operand, sizes) for operand in operands))


def _divides(coefficient: Any, number: Any) -> bool:
    """Returns false if a number is known to be the coefficient times no integer, or times any. Symbols of a framework are
    not looked at."""
    if not isinstance(coefficient, int):
        return True
    return coefficient != 0 and (not isinstance(number, int) or number % coefficient == 0)


def _terms(one: Mapping[str, Any]) -> list[str]:
    """Returns the symbols in the terms of a place."""
    return [symbol for term in ("coefficient", "constant") for symbol in _symbols(one.get(term, 0))]


def _symbols(term: Any) -> Iterator[str]:
    """Yields the symbols in a term."""
    if isinstance(term, str):
        yield term
    elif isinstance(term, list):
        for operand in term[1:]:
            yield from _symbols(operand)


def described(module: Functions | tvm_ffi.Module, name: str) -> dict[str, Any]:
    """Returns the metadata of a function; `codegen::metadata` lists the keys."""
    found = metadata(module, name)
    if found is None:
        # Raises an `AttributeError` if there is no such function.
        getattr(module, name)
        raise ValueError(f"{name} has no metadata")
    return dict(json.loads(found) if isinstance(found, str) else found)


def access(param: dict[str, Any]) -> str:
    """Returns what a function does with the elements of a parameter; what is no tensor is only read."""
    tensor = param.get("tensor")
    access: str = "read" if tensor is None else tensor.get("access", "update")
    return access
