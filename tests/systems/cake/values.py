"""What variables of a generated host hold while `execute.py` follows it: expressions of `facts.py`, and what is no
number; and the arithmetic that makes expressions, with the conversions of C++."""

from __future__ import annotations

from collections.abc import Iterable, Iterator
from dataclasses import dataclass, field
from typing import Union

import cpp
import evaluation
import facts
from facts import Binary, Cast, Const, Expr, Ref, Select, Status, Unary
from cpp import Unreadable


@dataclass(eq=False)
class Cell:
    """A variable, a field or an item: what it holds, its type if that is a number's, and for a pointer the size of that
    to which it points."""

    value: Value
    type: str = ""
    step: int = 0


@dataclass(frozen=True)
class TensorArg:
    ref: Ref


@dataclass(frozen=True)
class OptionalArg:
    ref: Ref
    inner: str


@dataclass(frozen=True)
class ArrayArg:
    """An array of tensors, or an FFI shape."""

    ref: Ref
    numbers: bool


@dataclass(frozen=True)
class Given:
    """The arguments of a call as the ABI passes them, of a function that takes these parameters."""

    parameters: tuple[facts.Parameter, ...]


@dataclass(frozen=True)
class Untyped:
    """One of the arguments of a call, before it is converted to the type of its parameter."""

    parameter: facts.Parameter


@dataclass(frozen=True)
class StructValue:
    type: str
    fields: dict[str, Cell] = field(hash=False)


@dataclass(frozen=True)
class ListValue:
    items: list[Cell] = field(hash=False)


@dataclass(frozen=True)
class Pointer:
    """The address of a variable."""

    to: Cell


@dataclass(frozen=True)
class Kernel:
    """The address of a kernel; an instance of a template has its arguments in its name."""

    name: str
    prototype: cpp.Function


@dataclass(frozen=True)
class Choice:
    """One of two kernels."""

    condition: Expr
    then: Kernel
    otherwise: Kernel


@dataclass(frozen=True)
class FunctionValue:
    function: cpp.Function


@dataclass(frozen=True)
class Code:
    """The status of a call of the CUDA runtime or driver; without a function it is success."""

    function: str | None


@dataclass(frozen=True)
class Text:
    value: str


@dataclass(frozen=True)
class Hidden:
    """What takes no part in what is followed: a lock, a table of what has been done before."""

    what: str


@dataclass(frozen=True)
class Unknown:
    """What a variable holds that has lost its value: a use of it is not followed."""

    why: str


@dataclass(frozen=True)
class Packed:
    """Memory of some bytes that has not been written yet."""

    size: int


Value = Union[
    Unknown,
    Packed,
    Expr,
    TensorArg,
    OptionalArg,
    ArrayArg,
    Given,
    Untyped,
    StructValue,
    ListValue,
    Pointer,
    Kernel,
    Choice,
    FunctionValue,
    Code,
    Text,
    Hidden,
    None,
]

TYPES = {
    "bool": "bool",
    "char": "i8",
    "signed char": "i8",
    "int8_t": "i8",
    "unsigned char": "u8",
    "uint8_t": "u8",
    "int16_t": "i16",
    "short": "i16",
    "uint16_t": "u16",
    "unsigned short": "u16",
    "int": "i32",
    "int32_t": "i32",
    "unsigned": "u32",
    "unsigned int": "u32",
    "uint32_t": "u32",
    "long": "i64",
    "long long": "i64",
    "int64_t": "i64",
    "unsigned long": "u64",
    "unsigned long long": "u64",
    "uint64_t": "u64",
    "size_t": "u64",
    "uintptr_t": "u64",
    "CUdeviceptr": "u64",
    "float": "f32",
    "double": "f64",
    "cudaStream_t": "ptr",
    "CUstream": "ptr",
    "cudaEvent_t": "ptr",
    "nullptr_t": "ptr",
}

def structure(name: str, values: Iterable[tuple[str, Expr]]) -> StructValue:
    return StructValue(name, {field: Cell(value, value.type) for field, value in values})


TRUE, FALSE = Const(1, "bool"), Const(0, "bool")
COMPARISONS = {"==", "!=", "<", "<=", ">", ">="}


def simple(type_: cpp.Type) -> str:
    """Returns the name of a number's type, `ptr` for a pointer, or an empty text."""
    return "ptr" if type_.pointer else TYPES.get(type_.name, "")


def is_expr(value: Value) -> bool:
    return hasattr(value, "type") and not isinstance(value, (StructValue, Cell))


def expr(value: Value, what: str = "a value") -> Expr:
    """Returns a value that must be a number."""
    if not is_expr(value):
        raise Unreadable(f"{what} is no number but {type(value).__name__}")
    return value  # type: ignore[return-value]


def convert(value: Expr, type_: str) -> Expr:
    """Returns a value converted to another type of numbers."""
    if value.type == type_ or type_ in ("", "auto"):
        return value
    if {value.type, type_} == {"ptr", "u64"}:
        return Cast(value, type_)
    if isinstance(value, Const):
        return Const(evaluation.convert(value.value, type_), type_)
    if type_ == "bool":
        return Binary("!=", value, Const(0, value.type), "bool")
    if isinstance(value, Cast) and widens(value.value.type, value.type) and widens(value.type, type_):
        return convert(value.value, type_)
    return Cast(value, type_)


def widens(inner: str, outer: str) -> bool:
    """Whether every value of one integer type is one of another, so that converting loses nothing."""
    if inner not in facts.INTEGERS or outer not in facts.INTEGERS or "ptr" in (inner, outer):
        return False
    (bits, signed), (wider, outer_signed) = facts.INTEGERS[inner], facts.INTEGERS[outer]
    if inner == "bool":
        return True
    return bits <= wider if signed == outer_signed else not signed and bits < wider


def promoted(type_: str) -> str:
    """Returns the type to which C++ promotes a small integer."""
    return "i32" if type_ in facts.INTEGERS and facts.INTEGERS[type_][0] < 32 else type_


def common(left: str, right: str) -> str:
    """Returns the type in which C++ computes with operands of two types."""
    left, right = promoted(left), promoted(right)
    for name in ("ptr", "f64", "f32"):
        if name in (left, right):
            return name
    if left == right:
        return left
    order = ["i32", "u32", "i64", "u64"]
    return order[max(order.index(left), order.index(right))]


def negate(value: Expr) -> Expr:
    value = convert(value, "bool")
    if isinstance(value, Const):
        return Const(int(not value.value), "bool")
    if isinstance(value, Unary) and value.op == "!":
        return value.value
    return Unary("!", value, "bool")


def infix(op: str, left: Expr, right: Expr) -> Expr:
    """Returns `left op right`, computed where both are constants."""
    if op in ("&&", "||"):
        return logical(op, convert(left, "bool"), convert(right, "bool"))
    type_ = promoted(left.type) if op in ("<<", ">>") else common(left.type, right.type)
    if type_ == "ptr" and op not in COMPARISONS:
        type_ = "u64"
    left, right = convert(left, type_), convert(right, type_ if op not in ("<<", ">>") else right.type)
    result = "bool" if op in COMPARISONS else type_
    if isinstance(left, Const) and isinstance(right, Const):
        return Const(evaluation.binary(op, left.value, right.value, type_), result)
    if left == right and op in COMPARISONS and type_ not in facts.FLOATS:
        return Const(int(op in ("==", "<=", ">=")), "bool")
    if op == "%" and isinstance(right, Const) and right.value == 1:
        return Const(0, result)
    if is_neutral(op, right) or op in "*+" and is_neutral(op, left):
        return left if is_neutral(op, right) else right
    return Binary(op, left, right, result)


def is_neutral(op: str, value: Expr) -> bool:
    """Whether `x op value` is `x`."""
    if not isinstance(value, Const) or value.type in facts.FLOATS:
        return False
    return value.value == 0 and op in ("+", "-") or value.value == 1 and op in ("*", "/")


def logical(op: str, left: Expr, right: Expr) -> Expr:
    if isinstance(left, Const):
        decides = bool(left.value) == (op == "||")
        return left if decides else right
    if isinstance(right, Const) and bool(right.value) == (op == "&&"):
        return left
    return Binary(op, left, right, "bool")


def select(condition: Expr, then: Expr, otherwise: Expr) -> Expr:
    """Returns `condition ? then : otherwise`."""
    if isinstance(condition, Const):
        return then if condition.value else otherwise
    if then == otherwise:
        return then
    if condition == Binary("!=", then, otherwise, "bool") or condition == Binary("!=", otherwise, then, "bool"):
        return then
    type_ = then.type if then.type == otherwise.type else common(then.type, otherwise.type)
    return Select(condition, convert(then, type_), convert(otherwise, type_), type_)


def merge(condition: Expr, then: Value, otherwise: Value) -> Value:
    """Returns what a variable holds after a branch."""
    if then is otherwise or then == otherwise:
        return then
    if isinstance(then, Code) and isinstance(otherwise, Code):
        return then if then.function else otherwise
    if isinstance(then, Kernel) or isinstance(otherwise, Kernel):
        raise Unreadable("a kernel that depends on a condition")
    return select(condition, expr(then), expr(otherwise))


def status(code: Code) -> Expr:
    """Returns whether a call has succeeded."""
    return Status(code.function) if code.function else TRUE


def copied(value: Value) -> Value:
    if isinstance(value, StructValue):
        fields = {name: Cell(copied(cell.value), cell.type) for name, cell in value.fields.items()}
        return StructValue(value.type, fields)
    return value


def literal(text: str) -> Const:
    """Returns a number as C++ types it."""
    suffix = text.lower().lstrip("0123456789abcdefx.")
    lower = text.lower()
    if not lower.startswith("0x") and ("." in lower or "e" in lower or lower.endswith("f")):
        return Const(float(lower.rstrip("f")), "f32" if lower.endswith("f") else "f64")
    value = int(lower.rstrip("ul"), 0)
    long, unsigned = "l" in suffix, "u" in suffix
    if not long and value < 1 << (32 if unsigned else 31):
        return Const(value, "u32" if unsigned else "i32")
    return Const(value, "u64" if unsigned or value >= 1 << 63 else "i64")


def stripped(value: Expr) -> Expr:
    """Returns a value without conversions, for comparing."""
    while isinstance(value, Cast):
        value = value.value
    return value


def statuses(value: Expr) -> Iterator[str]:
    """Yields the functions of CUDA whose success a condition asks for."""
    match value:
        case Status():
            yield value.function
        case Unary():
            yield from statuses(value.value)
        case Binary():
            yield from statuses(value.left)
            yield from statuses(value.right)
