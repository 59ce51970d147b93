"""Expressions: dims, conditions, arguments. Python's operators build them."""

from __future__ import annotations

import operator
from collections.abc import Iterable
from enum import IntEnum
from typing import Any, ClassVar, Literal, NoReturn, SupportsIndex, TypeAlias, Union

from ._part import Part, Writer, part, tuple_of
from ._text import label, literal, spelled

Operand: TypeAlias = Union["Expr", int, float, str, None, SupportsIndex, "list[Any]"]
"""What stands for an expression: one, or a number, a truth, text, None, or a list of operands, an array."""


Number: TypeAlias = Literal["integer", "float", ""]
"""The kind of a number, as far as it is known."""


class Precedence(IntEnum):
    """How tightly an operator binds, loosest first."""

    OR = 0
    AND = 1
    NOT = 2
    COMPARISON = 3
    SUM = 4
    PRODUCT = 5
    UNARY = 6
    POSTFIX = 7


OPERATORS = {
    **{"or": Precedence.OR, "and": Precedence.AND},
    **dict.fromkeys(("==", "!=", "<", "<=", ">", ">="), Precedence.COMPARISON),
    **{"+": Precedence.SUM, "-": Precedence.SUM},
    **{"*": Precedence.PRODUCT, "/": Precedence.PRODUCT, "%": Precedence.PRODUCT},
}
"""The binary operators of the language."""

MEMBERS = tuple("data ndim device_type device_id byte_offset dtype numel is_contiguous object size is_some".split())
"""Members without an index."""

_INTEGERS = frozenset("ndim device_type device_id byte_offset numel size".split())


def expression(value: Operand) -> Expr:
    """Returns the expression that a value stands for.

    >>> print(expression([1, 2.0, "text", None, True]))
    [1, 2.0, "text", None, True]
    """
    if isinstance(value, Expr):
        return value
    if value is None or isinstance(value, (int, float, str)):
        return Constant(value)
    if isinstance(value, list):
        return ArrayExpr(tuple(map(expression, value)))
    if isinstance(value, SupportsIndex):
        return Constant(operator.index(value))
    raise TypeError(f"{type(value).__name__} stands for no expression: {value!r}")


def expressions(values: Iterable[Operand], what: str) -> tuple[Expr, ...]:
    """Returns the expressions that values stand for."""
    return tuple(map(expression, tuple_of(values, what)))


class Plain:
    """A member without an index, as an attribute of every expression."""

    def __init__(self, name: str, what: str) -> None:
        self._name = name
        self.__doc__ = f"Builds `self.{name}`: {what}."

    def __get__(self, of: Expr, owner: object) -> Expr:
        return Member(of, self._name)


class Expr(Part):
    """An expression. Operators build others; `==` and the other comparisons build conditions, not truths of Python, so
    that `and`, `or`, `not`, `if` and chained comparisons of Python raise a TypeError.

    `//` is the floor division of the language, which writes it `/`. Python's `/` divides floats only.
    """

    __iter__: ClassVar[None] = None
    __hash__ = Part.__hash__

    @property
    def binds(self) -> Precedence:
        """How tightly the outermost operator of the text binds."""
        return Precedence.POSTFIX

    def __bool__(self) -> NoReturn:
        raise TypeError(
            f"`{self}` is true or false only when the function is called: join conditions with `all_of`, `any_of` and"
            " `not_`, and compare expressions with `same`"
        )

    def __add__(self, other: Operand) -> Expr:
        return binary("+", self, other)

    def __radd__(self, other: Operand) -> Expr:
        return binary("+", other, self)

    def __sub__(self, other: Operand) -> Expr:
        return binary("-", self, other)

    def __rsub__(self, other: Operand) -> Expr:
        return binary("-", other, self)

    def __mul__(self, other: Operand) -> Expr:
        return binary("*", self, other)

    def __rmul__(self, other: Operand) -> Expr:
        return binary("*", other, self)

    def __floordiv__(self, other: Operand) -> Expr:
        return binary("/", self, other)

    def __rfloordiv__(self, other: Operand) -> Expr:
        return binary("/", other, self)

    def __truediv__(self, other: Operand) -> Expr:
        return _quotient(self, expression(other))

    def __rtruediv__(self, other: Operand) -> Expr:
        return _quotient(expression(other), self)

    def __mod__(self, other: Operand) -> Expr:
        return binary("%", self, other)

    def __rmod__(self, other: Operand) -> Expr:
        return binary("%", other, self)

    def __neg__(self) -> Expr:
        return Neg(self)

    def __eq__(self, other: Operand) -> Expr:  # type: ignore[override]
        return binary("==", self, other)

    def __ne__(self, other: Operand) -> Expr:  # type: ignore[override]
        return binary("!=", self, other)

    def __lt__(self, other: Operand) -> Expr:
        return binary("<", self, other)

    def __le__(self, other: Operand) -> Expr:
        return binary("<=", self, other)

    def __gt__(self, other: Operand) -> Expr:
        return binary(">", self, other)

    def __ge__(self, other: Operand) -> Expr:
        return binary(">=", self, other)

    def __getitem__(self, index: Operand) -> Expr:
        return Element(self, expression(index))

    def field(self, name: str) -> Expr:
        """Builds `self.name`: an element of a tuple by its name."""
        return Field(self, name)

    @property
    def shape(self) -> Dims:
        """Builds `self.shape[i]` with an index, which counts from the end if it is negative."""
        return Dims(self, "shape")

    @property
    def strides(self) -> Dims:
        """Builds `self.strides[i]`, in elements, with an index as of `shape`."""
        return Dims(self, "strides")

    @property
    def device(self) -> DeviceOf:
        """Builds `self.device.multiprocessors` and `self.device.attribute(id)`."""
        return DeviceOf(self)

    data = Plain("data", "the address of the first element, byte or number")
    ndim = Plain("ndim", "the rank")
    device_type = Plain("device_type", "the DLPack number of the device type")
    device_id = Plain("device_id", "the index of the device")
    byte_offset = Plain("byte_offset", "the offset of the first element in bytes")
    dtype = Plain("dtype", "the element type")
    numel = Plain("numel", "the number of elements")
    is_contiguous = Plain("is_contiguous", "true if the strides are compact")
    object = Plain("object", "the address of the tensor object")
    size = Plain("size", "the number of bytes, numbers or elements")
    is_some = Plain("is_some", "true if an optional value is not None")

    def _number(self) -> Number:
        """Returns which kind of number this is whatever its names are."""
        return ""

    def _put_before_suffix(self, out: Writer) -> None:
        """Prints itself before a member or an index."""
        put_operand(out, self, not is_number(self) and self.binds == Precedence.POSTFIX)


def is_number(value: Expr) -> bool:
    """Returns true for literals that are numbers."""
    return isinstance(value, Constant) and value._number() != ""


def put_operand(out: Writer, operand: Expr, plain: bool) -> None:
    """Prints an operand, in parentheses unless it is `plain`."""
    out.put(operand) if plain else out.put("(", operand, ")")


class Dims:
    """`x.shape` or `x.strides`, which an index makes an expression."""

    def __init__(self, of: Expr, name: Literal["shape", "strides"]) -> None:
        self._of, self._name = of, name

    def __getitem__(self, index: SupportsIndex) -> Expr:
        return Member(self._of, self._name, operator.index(index))

    __iter__: ClassVar[None] = None


class DeviceOf:
    """The device of a tensor, whose attributes are expressions."""

    def __init__(self, of: Expr) -> None:
        self._of = of

    @property
    def multiprocessors(self) -> Expr:
        """Builds `x.device.multiprocessors`."""
        return DeviceAttribute(self._of, None)

    def attribute(self, number: int) -> Expr:
        """Builds `x.device.attribute(number)`, by the number of a `CUdevice_attribute`."""
        return DeviceAttribute(self._of, number)


@part
class Constant(Expr):
    """A literal: None, a truth, a finite float, text, or an integer: an int64, or a uint64 in a comparison with one."""

    value: None | bool | int | float | str

    def __post_init__(self) -> None:
        super().__post_init__()
        if isinstance(self.value, int) and not -(1 << 63) <= self.value < 1 << 64:
            raise ValueError(f"{self.value} is no int64 and no uint64")

    @property
    def binds(self) -> Precedence:
        return Precedence.UNARY if self._number() and str(self).startswith("-") else Precedence.POSTFIX

    def _number(self) -> Number:
        if isinstance(self.value, float):
            return "float"
        return "integer" if isinstance(self.value, int) and not isinstance(self.value, bool) else ""

    def _print(self, out: Writer) -> None:
        out.put(literal(self.value))


@part
class Name(Expr):
    """A name of a symbol, a parameter or a local; `symbols` makes several."""

    name: str

    def _print(self, out: Writer) -> None:
        out.put(spelled(self.name))


@part
class Member(Expr):
    """`x.data`, or `x.shape[0]` and `x.strides[0]`, where a negative index counts from the end."""

    base: Expr
    name: str
    index: int | None = None

    def _number(self) -> Number:
        return "integer" if self.index is not None or self.name in _INTEGERS else ""

    def _print(self, out: Writer) -> None:
        self.base._put_before_suffix(out)
        out.put(f".{self.name}", "" if self.index is None else f"[{self.index}]")


@part
class DeviceAttribute(Expr):
    """`x.device.attribute(75)`; without a number the multiprocessors."""

    base: Expr
    number: int | None

    def _number(self) -> Number:
        return "integer"

    def _print(self, out: Writer) -> None:
        self.base._put_before_suffix(out)
        out.put(".device.", "multiprocessors" if self.number is None else f"attribute({self.number})")


@part
class Element(Expr):
    """`xs[i]`: an element of an array, a list or a tuple, or a number of a shape."""

    base: Expr
    index: Expr

    def _print(self, out: Writer) -> None:
        self.base._put_before_suffix(out)
        out.put("[", self.index, "]")


@part
class Field(Expr):
    """`t.x`: an element of a tuple by its name."""

    base: Expr
    name: str

    def _print(self, out: Writer) -> None:
        self.base._put_before_suffix(out)
        out.put(".", label(self.name))


@part
class Neg(Expr):
    """`-e`."""

    operand: Expr

    @property
    def binds(self) -> Precedence:
        return Precedence.UNARY

    def _number(self) -> Number:
        return self.operand._number()

    def _print(self, out: Writer) -> None:
        out.put("-")
        binds = self.operand.binds
        plain = not is_number(self.operand) and binds == Precedence.POSTFIX
        put_operand(out, self.operand, plain or binds == Precedence.UNARY)


@part
class Binary(Expr):
    """`a + b`, `a < b`, `a and b`: an operation of two operands."""

    operator: str
    left: Expr
    right: Expr

    def __post_init__(self) -> None:
        if self.operator not in OPERATORS:
            raise ValueError(f"`{self.operator}` is no operator, expected one of {', '.join(OPERATORS)}")
        super().__post_init__()

    @property
    def binds(self) -> Precedence:
        return OPERATORS[self.operator]

    def _number(self) -> Number:
        return "integer" if self.operator == "%" else joint_number(self.left, self.right)

    def _print(self, out: Writer) -> None:
        own, first = self.binds, self.left.binds
        put_operand(out, self.left, first > own or first == own and own != Precedence.COMPARISON)
        out.put(f" {self.operator} ")
        put_operand(out, self.right, self.right.binds > own)


@part
class ArrayExpr(Expr):
    """`[a, b]`: an array object."""

    elements: tuple[Expr, ...]

    def _print(self, out: Writer) -> None:
        out.enclosed("[", self.elements, "]")


def binary(operator: str, left: Operand, right: Operand) -> Expr:
    """Builds `left operator right`, for an operator as the language writes it."""
    return Binary(operator, expression(left), expression(right))



def _quotient(left: Expr, right: Expr) -> Expr:
    """Builds `left / right` of floats."""
    numbers = (left._number(), right._number())
    if "integer" in numbers and "float" not in numbers:
        raise TypeError(f"`{left} / {right}` divides integers: `//` does, and rounds down; `/` is for floats")
    return binary("/", left, right)


def joint_number(left: Expr, right: Expr) -> Number:
    """Returns which kind of number an operation of two operands yields, as far as they say."""
    numbers = {left._number(), right._number()}
    return "float" if "float" in numbers else "integer" if numbers == {"integer"} else ""
