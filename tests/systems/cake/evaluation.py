"""What expressions of facts.py are for given arguments, by the arithmetic of C++, and the arguments themselves."""

from __future__ import annotations

import struct
from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field, replace
from typing import Union

from facts import (
    FLOATS,
    INTEGERS,
    Attribute,
    Binary,
    BitLength,
    Bytes,
    Cast,
    Const,
    Count,
    Current,
    Expr,
    Foldable,
    Item,
    Map,
    Number,
    Ref,
    Scalar,
    Select,
    Status,
    Stream,
    Struct,
    Unary,
    Unset,
    Variable,
)


@dataclass(frozen=True)
class TensorValue:
    """A tensor as an argument. Strides are in elements; None is compact. The element type is code, bits and lanes of
    DLPack; the device is its type and index."""

    shape: tuple[int, ...]
    strides: tuple[int, ...] | None
    dtype: tuple[int, int, int]
    device: tuple[int, int] = (2, 0)
    data: int = 0x7F0000000000
    byte_offset: int = 0

    def compact(self) -> tuple[int, ...]:
        strides, step = [], 1
        for extent in reversed(self.shape):
            strides.append(step)
            step *= extent
        return tuple(reversed(strides))

    def strided(self) -> TensorValue:
        """Returns the tensor with strides that are there."""
        return replace(self, strides=self.compact()) if self.strides is None else self

    def stride(self, index: int) -> int:
        return (self.compact() if self.strides is None else self.strides)[index]

    def numel(self) -> int:
        product = 1
        for extent in self.shape:
            product *= extent
        return product

    def contiguous(self) -> bool:
        """Whether the runtime's IsContiguous holds."""
        if self.strides is None or 0 in self.shape:
            return True
        expected = 1
        for extent, stride in zip(reversed(self.shape), reversed(self.strides)):
            if extent != 1:
                if stride != expected:
                    return False
                expected *= extent
        return True

    def foldable(self, trailing: int) -> bool:
        """Whether the dims above the last `trailing` ones are one in memory."""
        last = len(self.shape) - trailing - 1
        if last <= 0:
            return True
        expected = self.stride(last)
        for axis in range(last - 1, -1, -1):
            expected = wrap(expected * self.shape[axis + 1], "i64")
            if self.shape[axis] > 1 and self.stride(axis) != expected:
                return False
        return True


Value = Union[int, float, None, TensorValue, Sequence["Value"]]
Arguments = Mapping[str, Value]


@dataclass(frozen=True)
class Environment:
    """What is no argument: the devices' attributes by number, their streams by index, the turns of loops, and the
    current device."""

    attributes: Mapping[int, int] = field(default_factory=lambda: {16: 132})
    streams: Mapping[int, int] = field(default_factory=dict)
    variables: Mapping[str, int] = field(default_factory=dict)
    current: int = 0


class Undefined(Exception):
    """What C++ does not define: a division by zero, a tensor that is not there."""


def wrap(value: int, type_: str) -> int:
    """Returns an integer as the type holds it."""
    if type_ == "bool":
        return int(value != 0)
    bits, signed = INTEGERS[type_]
    value &= (1 << bits) - 1
    return value - (1 << bits) if signed and value >> (bits - 1) else value


def convert(value: int | float, type_: str) -> int | float:
    if type_ == "f64":
        return float(value)
    if type_ == "f32":
        try:
            return float(struct.unpack("f", struct.pack("f", value))[0])
        except OverflowError:
            return float("inf") if value > 0 else float("-inf")
    return wrap(int(value), type_) if type_ != "bool" else int(value != 0)


def evaluate(expr: Expr, arguments: Arguments, environment: Environment = Environment()) -> int | float:
    """Returns the value of an expression; truths are 0 and 1. Raises IndexError for an index beyond a rank or a length,
    which the runtime raises too, and Undefined."""

    def value(inner: Expr) -> int | float:
        return evaluate(inner, arguments, environment)

    match expr:
        case Const():
            return expr.value
        case Unset():
            return 0
        case Scalar():
            return convert(plain(arguments[expr.name]), expr.type)
        case Number():
            return number(expr, arguments)
        case Item():
            return item(expr, int(value(expr.index)), arguments)
        case Foldable():
            return int(tensor(expr.of, arguments).foldable(expr.trailing))
        case Attribute():
            return environment.attributes[expr.id]
        case Current():
            return environment.current
        case Count():
            return len(arguments)
        case Stream():
            return environment.streams.get(int(value(expr.device)), 0)
        case Variable():
            return environment.variables[expr.name]
        case Status():
            return 1
        case Unary():
            return unary(expr.op, value(expr.value), expr.type)
        case Binary("&&"):
            return int(bool(value(expr.left)) and bool(value(expr.right)))
        case Binary("||"):
            return int(bool(value(expr.left)) or bool(value(expr.right)))
        case Binary():
            return binary(expr.op, value(expr.left), value(expr.right), expr.type)
        case Cast():
            return convert(value(expr.value), expr.type)
        case Select():
            return value(expr.then if value(expr.condition) else expr.otherwise)
        case BitLength():
            return int(value(expr.value)).bit_length()
        case Map() | Struct() | Bytes():
            raise TypeError(f"{expr} is no number")


def plain(value: Value) -> int | float:
    if not isinstance(value, (int, float)):
        raise Undefined(f"{value} is no number")
    return value


def lookup(ref: Ref, arguments: Arguments) -> Value:
    value = arguments[ref.name]
    if ref.index is None:
        return value
    if not isinstance(value, Sequence):
        raise Undefined(f"{ref.name} is no array")
    if ref.index >= len(value):
        raise IndexError(f"{ref} of {len(value)}")
    return value[ref.index]


def tensor(ref: Ref, arguments: Arguments) -> TensorValue:
    value = lookup(ref, arguments)
    if not isinstance(value, TensorValue):
        raise Undefined(f"{ref} is no tensor")
    return value


def number(expr: Number, arguments: Arguments) -> int:
    if expr.what == "is_some":
        return int(lookup(expr.of, arguments) is not None)
    if expr.what == "length":
        array = lookup(expr.of, arguments)
        if not isinstance(array, Sequence):
            raise Undefined(f"{expr.of} is no array")
        return len(array)
    of = tensor(expr.of, arguments)
    values = {
        "ndim": len(of.shape),
        "numel": wrap(of.numel(), "i64"),
        "data": of.data,
        "device_type": of.device[0],
        "device_id": of.device[1],
        "code": of.dtype[0],
        "bits": of.dtype[1],
        "lanes": of.dtype[2],
        "contiguous": int(of.contiguous()),
    }
    return values[expr.what]


def item(expr: Item, index: int, arguments: Arguments) -> int:
    if expr.what == "at":
        numbers = lookup(expr.of, arguments)
        if not isinstance(numbers, Sequence):
            raise Undefined(f"{expr.of} is no shape")
        if not 0 <= index < len(numbers):
            raise IndexError(f"{expr.of}[{index}] of {len(numbers)}")
        return int(plain(numbers[index]))
    of = tensor(expr.of, arguments)
    rank = len(of.shape)
    if not -rank <= index < rank:
        raise IndexError(f"{expr.what} {index} of {expr.of}, whose rank is {rank}")
    return of.shape[index] if expr.what == "size" else of.stride(index)


def unary(op: str, value: int | float, type_: str) -> int | float:
    if op == "!":
        return int(not value)
    return convert(-value if op == "-" else ~int(value), type_)


def binary(op: str, left: int | float, right: int | float, type_: str) -> int | float:
    match op:
        case "==":
            return int(left == right)
        case "!=":
            return int(left != right)
        case "<":
            return int(left < right)
        case "<=":
            return int(left <= right)
        case ">":
            return int(left > right)
        case ">=":
            return int(left >= right)
        case "+":
            return convert(left + right, type_)
        case "-":
            return convert(left - right, type_)
        case "*":
            return convert(left * right, type_)
        case "/" if type_ in FLOATS:
            return convert(left / right, type_)
        case "/" | "%":
            return quotient(op, int(left), int(right), type_)
        case "&":
            return int(left) & int(right)
        case "|":
            return int(left) | int(right)
        case "^":
            return int(left) ^ int(right)
        case "<<":
            return wrap(int(left) << int(right), type_)
        case ">>":
            return int(left) >> int(right)
    raise ValueError(op)


def quotient(op: str, left: int, right: int, type_: str) -> int:
    """Returns the quotient or the remainder of C++, which truncates."""
    if right == 0:
        raise Undefined("a division by zero")
    magnitude = abs(left) // abs(right)
    whole = magnitude if (left < 0) == (right < 0) else -magnitude
    return wrap(whole if op == "/" else left - whole * right, type_)
