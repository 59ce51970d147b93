"""Expressions that functions build: names, conditions, builtin functions, conversions, objects."""

from __future__ import annotations

from functools import reduce
from typing import Literal

from ._expression import (
    Binary,
    Constant,
    Expr,
    Name,
    Number,
    Operand,
    Precedence,
    expression,
    joint_number,
    put_operand,
)
from ._part import Writer, part
from ._text import quoted, spelled


@part
class Null(Expr):
    """`null`, the null pointer."""

    def _print(self, out: Writer) -> None:
        out.put("null")


@part
class Not(Expr):
    """`not e`."""

    operand: Expr

    @property
    def binds(self) -> Precedence:
        return Precedence.NOT

    def _print(self, out: Writer) -> None:
        out.put("not ")
        put_operand(out, self.operand, self.operand.binds >= Precedence.NOT)


@part
class Builtin(Expr):
    """`min(a, b)`: a call of `min`, `max` or `ceildiv`, with two operands."""

    name: Literal["min", "max", "ceildiv"]
    left: Expr
    right: Expr

    def _number(self) -> Number:
        return "integer" if self.name == "ceildiv" else joint_number(self.left, self.right)

    def _print(self, out: Writer) -> None:
        out.enclosed(f"{self.name}(", [self.left, self.right], ")")


@part
class Cast(Expr):
    """`int32(e)`: a checked narrowing to an integer type, or a rounding to a float type."""

    scalar: str
    operand: Expr

    def _number(self) -> Number:
        return "integer" if "int" in self.scalar else "float" if "float" in self.scalar else ""

    def _print(self, out: Writer) -> None:
        out.put(f"{self.scalar}(", self.operand, ")")


@part
class Stream(Expr):
    """`stream(x)`: the environment's stream for the device of a tensor."""

    tensor: Expr

    def _print(self, out: Writer) -> None:
        out.put("stream(", self.tensor, ")")


@part
class CurrentDevice(Expr):
    """`current_device()`: the index of the driver's current device."""

    def _print(self, out: Writer) -> None:
        out.put("current_device()")


@part
class Global(Expr):
    """`code.global("state")`: the address of a device variable of an image. Its `size` is the number of its bytes."""

    image: str
    name: str

    def _print(self, out: Writer) -> None:
        out.put(f"{spelled(self.image)}.global({quoted(self.name)})")


@part
class ShapeExpr(Expr):
    """`Shape(n, m)`: a shape object."""

    numbers: tuple[Expr, ...]

    def _print(self, out: Writer) -> None:
        out.enclosed("Shape(", self.numbers, ")")


def symbols(names: str) -> tuple[Name, ...]:
    """Returns the names of a text, which blanks or commas separate.

    >>> n, m = symbols("n m")
    >>> print(n // 2 * 4 + -m, n % 4 == 0, 2 * (n + 1), sep="; ")
    n / 2 * 4 + -m; n % 4 == 0; 2 * (n + 1)
    """
    if not isinstance(names, str):
        raise TypeError(f"names are one text, not {type(names).__name__}")
    return tuple(map(Name, names.replace(",", " ").split()))


_CHAIN = 16
"""The most operands that are joined from left to right, so that a chain of any number is no deep nesting."""


def _joined(operator: str, operands: tuple[Expr, ...], none: Expr) -> Expr:
    """Joins operands; returns `none` if there are none."""
    if len(operands) > _CHAIN:
        half = len(operands) // 2
        operands = (_joined(operator, operands[:half], none), _joined(operator, operands[half:], none))
    return reduce(lambda left, right: Binary(operator, left, right), operands) if operands else none


def all_of(*conditions: Operand) -> Expr:
    """Builds `a and b and c`; `True` without conditions.

    >>> n, m, x = symbols("n m x")
    >>> print(all_of(n % 4 == 0, any_of(n < m, not_(x.is_contiguous))))
    n % 4 == 0 and (n < m or not x.is_contiguous)
    """
    return _joined("and", tuple(map(expression, conditions)), Constant(True))


def any_of(*conditions: Operand) -> Expr:
    """Builds `a or b or c`; `False` without conditions."""
    return _joined("or", tuple(map(expression, conditions)), Constant(False))


def product(*factors: Operand) -> Expr:
    """Builds `a * b * c`; 1 without factors."""
    return _joined("*", tuple(map(expression, factors)), Constant(1))


def sum_of(*terms: Operand) -> Expr:
    """Builds `a + b + c`; 0 without terms."""
    return _joined("+", tuple(map(expression, terms)), Constant(0))


def not_(condition: Operand) -> Expr:
    """Builds `not condition`."""
    return Not(expression(condition))


def min_of(left: Operand, right: Operand) -> Expr:
    """Builds `min(left, right)`."""
    return Builtin("min", expression(left), expression(right))


def max_of(left: Operand, right: Operand) -> Expr:
    """Builds `max(left, right)`."""
    return Builtin("max", expression(left), expression(right))


def ceildiv(left: Operand, right: Operand) -> Expr:
    """Builds `ceildiv(left, right)`: the quotient of integers, rounded up."""
    return Builtin("ceildiv", expression(left), expression(right))


def stream(tensor: Expr) -> Expr:
    """Builds `stream(tensor)`: the environment's stream for the device of the tensor."""
    return Stream(tensor)


def current_device() -> Expr:
    """Builds `current_device()`: the index of the driver's current device."""
    return CurrentDevice()


def global_of(image: str, name: str) -> Expr:
    """Builds `image.global("name")`: the address of a device variable of an image.

    >>> print(global_of("code", "state") + 8, global_of("code", "state").size)
    code.global("state") + 8 code.global("state").size
    """
    return Global(image, name)


def shape_of(*numbers: Operand) -> Expr:
    """Builds `Shape(n, m)`, a shape object."""
    return ShapeExpr(tuple(map(expression, numbers)))


null = Null()
"""The null pointer."""
