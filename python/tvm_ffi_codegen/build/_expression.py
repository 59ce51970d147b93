"""Expressions: dims, conditions, arguments. Python's operators build them."""

from __future__ import annotations

import operator
from collections.abc import Iterable
from enum import IntEnum
from functools import reduce
from typing import Any, ClassVar, Literal, NoReturn, SupportsIndex, TypeAlias, Union

from ._part import Part, Writer, part, tuple_of
from ._text import decimal, label, quoted, spelled

Operand: TypeAlias = Union["Expr", int, float, str, None, SupportsIndex, "list[Any]"]
"""What stands for an expression: one, or a number, a truth, text, None, or a list of operands, an array."""


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

MEMBERS = (
    *("data", "ndim", "device_type", "device_id", "byte_offset", "dtype", "numel", "is_contiguous", "size", "is_some"),
)
"""Members without an index."""


def expression(value: Operand) -> Expr:
    """Returns the expression that a value stands for.

    >>> print(expression([1, 2.0, "text", None, True]))
    [1, 2.0, "text", None, True]
    """
    if isinstance(value, Expr):
        return value
    if value is None:
        return NoneExpr()
    if isinstance(value, bool):
        return Bool(value)
    if isinstance(value, str):
        return Text(value)
    if isinstance(value, float):
        return Float(value)
    if isinstance(value, list):
        return ArrayExpr(tuple(map(expression, value)))
    if isinstance(value, SupportsIndex):
        return Int(operator.index(value))
    raise TypeError(f"{type(value).__name__} stands for no expression: {value!r}")


def expressions(values: Iterable[Operand], what: str) -> tuple[Expr, ...]:
    """Returns the expressions that values stand for."""
    return tuple(map(expression, tuple_of(values, what)))


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

    @property
    def data(self) -> Expr:
        """Builds `self.data`: the address of the first element, byte or number."""
        return Member(self, "data")

    @property
    def ndim(self) -> Expr:
        """Builds `self.ndim`: the rank."""
        return Member(self, "ndim")

    @property
    def device_type(self) -> Expr:
        """Builds `self.device_type`: the DLPack number of the device type."""
        return Member(self, "device_type")

    @property
    def device_id(self) -> Expr:
        """Builds `self.device_id`: the index of the device."""
        return Member(self, "device_id")

    @property
    def byte_offset(self) -> Expr:
        """Builds `self.byte_offset`: the offset of the first element in bytes."""
        return Member(self, "byte_offset")

    @property
    def dtype(self) -> Expr:
        """Builds `self.dtype`: the element type."""
        return Member(self, "dtype")

    @property
    def numel(self) -> Expr:
        """Builds `self.numel`: the number of elements."""
        return Member(self, "numel")

    @property
    def is_contiguous(self) -> Expr:
        """Builds `self.is_contiguous`: true if the strides are compact."""
        return Member(self, "is_contiguous")

    @property
    def size(self) -> Expr:
        """Builds `self.size`: the number of bytes, numbers or elements."""
        return Member(self, "size")

    @property
    def is_some(self) -> Expr:
        """Builds `self.is_some`: true if an optional value is not None."""
        return Member(self, "is_some")

    def _put_before_suffix(self, out: Writer) -> None:
        """Prints itself before a member or an index."""
        _put_operand(out, self, not isinstance(self, (Int, Float)) and self.binds == Precedence.POSTFIX)


def _put_operand(out: Writer, operand: Expr, plain: bool) -> None:
    """Prints an operand, in parentheses unless it is `plain`."""
    out.put(operand) if plain else out.put("(", operand, ")")


class Dims:
    """`x.shape` or `x.strides`, which an index makes an expression."""

    def __init__(self, of: Expr, name: Literal["shape", "strides"]) -> None:
        self._of, self._name = of, name

    def __getitem__(self, index: SupportsIndex) -> Expr:
        return DimMember(self._of, self._name, operator.index(index))

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
class Int(Expr):
    """An integer literal: an int64, or a uint64 in a comparison with one."""

    value: int

    def __post_init__(self) -> None:
        super().__post_init__()
        if not -(1 << 63) <= self.value < 1 << 64:
            raise ValueError(f"{self.value} is no int64 and no uint64")

    @property
    def binds(self) -> Precedence:
        return Precedence.UNARY if self.value < 0 else Precedence.POSTFIX

    def _print(self, out: Writer) -> None:
        out.put(str(self.value))


@part
class Float(Expr):
    """A finite float literal."""

    value: float

    @property
    def binds(self) -> Precedence:
        return Precedence.UNARY if decimal(self.value).startswith("-") else Precedence.POSTFIX

    def _print(self, out: Writer) -> None:
        out.put(decimal(self.value))


@part
class Text(Expr):
    """Text in quotes."""

    value: str

    def _print(self, out: Writer) -> None:
        out.put(quoted(self.value))


@part
class Null(Expr):
    """`null`, the null pointer."""

    def _print(self, out: Writer) -> None:
        out.put("null")


@part
class Bool(Expr):
    """`True` or `False`."""

    value: bool

    def _print(self, out: Writer) -> None:
        out.put(str(self.value))


@part
class NoneExpr(Expr):
    """`None`, as an argument of a function of the FFI."""

    def _print(self, out: Writer) -> None:
        out.put("None")


@part
class Name(Expr):
    """A name of a symbol, a parameter or a local; `symbols` makes several."""

    name: str

    def _print(self, out: Writer) -> None:
        out.put(spelled(self.name))


@part
class Member(Expr):
    """`x.data`: a member without an index."""

    base: Expr
    name: str

    def _print(self, out: Writer) -> None:
        self.base._put_before_suffix(out)
        out.put(".", self.name)


@part
class DimMember(Expr):
    """`x.shape[0]` or `x.strides[0]`; a negative index counts from the end."""

    base: Expr
    name: Literal["shape", "strides"]
    index: int

    def _print(self, out: Writer) -> None:
        self.base._put_before_suffix(out)
        out.put(f".{self.name}[{self.index}]")


@part
class DeviceAttribute(Expr):
    """`x.device.attribute(75)`; without a number the multiprocessors."""

    base: Expr
    number: int | None

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

    def _print(self, out: Writer) -> None:
        out.put("-")
        binds = self.operand.binds
        literal = isinstance(self.operand, (Int, Float)) and binds == Precedence.POSTFIX
        _put_operand(out, self.operand, not literal and binds >= Precedence.UNARY)


@part
class Not(Expr):
    """`not e`."""

    operand: Expr

    @property
    def binds(self) -> Precedence:
        return Precedence.NOT

    def _print(self, out: Writer) -> None:
        out.put("not ")
        _put_operand(out, self.operand, self.operand.binds >= Precedence.NOT)


@part
class Binary(Expr):
    """`a + b`, `a < b`, `a and b`: an operation of two operands."""

    operator: str
    left: Expr
    right: Expr

    @property
    def binds(self) -> Precedence:
        return OPERATORS[self.operator]

    def _print(self, out: Writer) -> None:
        own, first = self.binds, self.left.binds
        _put_operand(out, self.left, first > own or first == own and own != Precedence.COMPARISON)
        out.put(f" {self.operator} ")
        _put_operand(out, self.right, self.right.binds > own)


@part
class Builtin(Expr):
    """`min(a, b)`: a call of `min`, `max` or `ceildiv`, with two operands."""

    name: Literal["min", "max", "ceildiv"]
    left: Expr
    right: Expr

    def _print(self, out: Writer) -> None:
        out.enclosed(f"{self.name}(", [self.left, self.right], ")")


@part
class Cast(Expr):
    """`int32(e)`: a checked narrowing to an integer type, or a rounding to a float type."""

    scalar: str
    operand: Expr

    def _print(self, out: Writer) -> None:
        out.put(f"{self.scalar}(", self.operand, ")")


@part
class Stream(Expr):
    """`stream(x)`: the environment's stream for the device of a tensor."""

    tensor: Expr

    def _print(self, out: Writer) -> None:
        out.put("stream(", self.tensor, ")")


@part
class ArrayExpr(Expr):
    """`[a, b]`: an array object."""

    elements: tuple[Expr, ...]

    def _print(self, out: Writer) -> None:
        out.enclosed("[", self.elements, "]")


@part
class ShapeExpr(Expr):
    """`Shape(n, m)`: a shape object."""

    numbers: tuple[Expr, ...]

    def _print(self, out: Writer) -> None:
        out.enclosed("Shape(", self.numbers, ")")


def binary(operator: str, left: Operand, right: Operand) -> Expr:
    """Builds `left operator right`, for an operator as the language writes it."""
    return Binary(operator, expression(left), expression(right))


_INTEGERS = frozenset("ndim device_type device_id byte_offset numel size".split())


def _quotient(left: Expr, right: Expr) -> Expr:
    """Builds `left / right` of floats."""
    either = (left, right)
    if any(map(_is_integer, either)) and not any(map(_is_float, either)):
        raise TypeError(f"`{left} / {right}` divides integers: `//` does, and rounds down; `/` is for floats")
    return binary("/", left, right)


def _is_integer(value: Expr) -> bool:
    """Returns true for an expression that is an integer whatever its names are."""
    if isinstance(value, Neg):
        return _is_integer(value.operand)
    if isinstance(value, Binary):
        return value.operator == "%" or _is_integer(value.left) and _is_integer(value.right)
    if isinstance(value, Builtin):
        return value.name == "ceildiv" or _is_integer(value.left) and _is_integer(value.right)
    if isinstance(value, Cast):
        return "int" in value.scalar
    return isinstance(value, (Int, DimMember, DeviceAttribute)) or isinstance(value, Member) and value.name in _INTEGERS


def _is_float(value: Expr) -> bool:
    """Returns true for an expression that is a float whatever its names are."""
    if isinstance(value, Neg):
        return _is_float(value.operand)
    if isinstance(value, (Binary, Builtin)):
        return _is_float(value.left) or _is_float(value.right)
    return isinstance(value, Float) or isinstance(value, Cast) and "float" in value.scalar


def symbols(names: str) -> tuple[Name, ...]:
    """Returns the names of a text, which blanks or commas separate.

    >>> n, m = symbols("n m")
    >>> print(n // 2 * 4 + -m, n % 4 == 0, 2 * (n + 1), sep="; ")
    n / 2 * 4 + -m; n % 4 == 0; 2 * (n + 1)
    """
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
    return _joined("and", tuple(map(expression, conditions)), Bool(True))


def any_of(*conditions: Operand) -> Expr:
    """Builds `a or b or c`; `False` without conditions."""
    return _joined("or", tuple(map(expression, conditions)), Bool(False))


def product(*factors: Operand) -> Expr:
    """Builds `a * b * c`; 1 without factors."""
    return _joined("*", tuple(map(expression, factors)), Int(1))


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


def shape_of(*numbers: Operand) -> Expr:
    """Builds `Shape(n, m)`, a shape object."""
    return ShapeExpr(tuple(map(expression, numbers)))


null = Null()
"""The null pointer."""
