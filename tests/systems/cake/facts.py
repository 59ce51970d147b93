"""Facts about one generated C++ host: its parameters and, in order, what it checks, encodes and launches.

`read.py` takes them from the text of a host at run time; nothing here is text of a host. Expressions have the types
and the arithmetic of C++, so that `evaluate` says for given arguments what the host would compute.
"""

from __future__ import annotations

import struct
from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass, field
from typing import Union

# The integer types of C++ here: width in bits, and whether negative values exist.
INTEGERS: dict[str, tuple[int, bool]] = {
    "bool": (8, False),
    "i8": (8, True),
    "u8": (8, False),
    "i16": (16, True),
    "u16": (16, False),
    "i32": (32, True),
    "u32": (32, False),
    "i64": (64, True),
    "u64": (64, False),
    "ptr": (64, False),
}
FLOATS = ("f32", "f64")


@dataclass(frozen=True)
class Place:
    """A line of a file, given by its path in the wheel."""

    file: str
    line: int


# Expressions.


@dataclass(frozen=True)
class Const:
    """A number."""

    value: int | float
    type: str


@dataclass(frozen=True)
class Unset:
    """What a variable holds that has no value: any number is as good."""

    type: str


@dataclass(frozen=True)
class Scalar:
    """A parameter that is a number or a truth."""

    name: str
    type: str


@dataclass(frozen=True)
class Ref:
    """A tensor, array or FFI shape: a parameter, or the element of an array at a constant index."""

    name: str
    index: int | None = None

    def __str__(self) -> str:
        return self.name if self.index is None else f"{self.name}[{self.index}]"


# The numbers that are asked of a tensor without an index, and their types.
NUMBERS = {
    "ndim": "i32",
    "numel": "i64",
    "data": "ptr",
    "device_type": "i32",
    "device_id": "i32",
    "code": "u8",
    "bits": "u8",
    "lanes": "u16",
    "contiguous": "bool",
    "is_some": "bool",
    "length": "u64",
}


@dataclass(frozen=True)
class Number:
    """One of NUMBERS. `data` is the field of the tensor: the hosts never add its byte offset. `is_some` is that of an
    optional value; `length` is that of an array or of an FFI shape; `contiguous` follows the runtime: empty tensors
    are, dims of extent 1 are ignored."""

    what: str
    of: Ref

    @property
    def type(self) -> str:
        return NUMBERS[self.what]


@dataclass(frozen=True)
class Item:
    """An extent (`size`), a stride in elements (`stride`), or a number of an FFI shape (`at`). A negative index of
    extents and strides counts from the end; one beyond the rank is an IndexError."""

    what: str
    of: Ref
    index: Expr
    type: str = "i64"


@dataclass(frozen=True)
class Foldable:
    """Whether the dims above the last `trailing` ones are one in memory: a stride is that of the next dim times its
    extent, wherever the extent is above 1."""

    of: Ref
    trailing: int
    type: str = "bool"


@dataclass(frozen=True)
class Attribute:
    """An attribute of a CUDA device by its number in the driver's enumeration: 16 is the number of multiprocessors."""

    id: int
    device: Expr
    type: str = "i32"


@dataclass(frozen=True)
class Current:
    """The current CUDA device when the host is called."""

    type: str = "i32"


@dataclass(frozen=True)
class Stream:
    """The environment's stream of a device."""

    device: Expr
    type: str = "ptr"


@dataclass(frozen=True)
class Map:
    """The tensor map that the encoder of this number has made."""

    encoder: int
    type: str = "map"


@dataclass(frozen=True)
class Struct:
    """A struct of C: its name and its fields in order."""

    name: str
    fields: tuple[Expr, ...]
    type: str = "struct"


@dataclass(frozen=True)
class Bytes:
    """The first bytes of a tensor that the host itself can read."""

    of: Ref
    count: int
    type: str = "bytes"


@dataclass(frozen=True)
class BitLength:
    """The number of bits that an unsigned number needs: 0 for 0, 3 for 4."""

    value: Expr
    type: str = "u32"


@dataclass(frozen=True)
class Variable:
    """The number of a turn of a loop."""

    name: str
    type: str = "i64"


@dataclass(frozen=True)
class Status:
    """Whether a call of the CUDA runtime or driver has succeeded."""

    function: str
    type: str = "bool"


@dataclass(frozen=True)
class Unary:
    """`-`, `!` or `~`."""

    op: str
    value: Expr
    type: str


@dataclass(frozen=True)
class Binary:
    """An operator of C++ on operands of one type, which is also the result's, unless it compares. `&&` and `||`
    evaluate their right side only if the left one does not decide."""

    op: str
    left: Expr
    right: Expr
    type: str


@dataclass(frozen=True)
class Cast:
    """A conversion of C++: integers wrap, floats are rounded to the nearest."""

    value: Expr
    type: str


@dataclass(frozen=True)
class Select:
    """`condition ? then : otherwise`."""

    condition: Expr
    then: Expr
    otherwise: Expr
    type: str


Expr = Union[
    Const,
    Unset,
    Scalar,
    Number,
    Item,
    Foldable,
    Attribute,
    Current,
    Stream,
    Map,
    Struct,
    Bytes,
    BitLength,
    Variable,
    Status,
    Unary,
    Binary,
    Cast,
    Select,
]


# Steps.


@dataclass(frozen=True)
class Check:
    """A condition that must hold, otherwise an error of this kind. `places` lead from the exported function to the
    macro that raises: the last one is that of the check itself. `status` names the call of the CUDA runtime or driver
    whose failure it is about."""

    condition: Expr
    kind: str
    places: tuple[Place, ...]
    status: str | None = None

    @property
    def line(self) -> int:
        return self.places[-1].line


@dataclass(frozen=True)
class Encode:
    """A call of cuTensorMapEncodeTiled. All lists are in the driver's order, innermost first; strides are in bytes and
    one fewer than dims; `address` includes offsets. Names are those of the driver without their prefix: `BFLOAT16`,
    `128B`, `L2_256B`, `NONE`."""

    number: int
    tensor: Ref
    address: Expr
    dtype: str
    dims: tuple[Expr, ...]
    strides: tuple[Expr, ...]
    box: tuple[Expr, ...]
    steps: tuple[Expr, ...]
    interleave: str
    swizzle: str
    l2: str
    fill: str
    places: tuple[Place, ...]


@dataclass(frozen=True)
class Argument:
    """An argument of a kernel: the name of the kernel's parameter, its type in C, and what is passed."""

    name: str
    ctype: str
    value: Expr


@dataclass(frozen=True)
class Launch:
    """A launch of a kernel. Attributes are the driver's number and the values of its fields."""

    kernel: str
    function: str
    arguments: tuple[Argument, ...]
    grid: tuple[Expr, Expr, Expr]
    block: tuple[Expr, Expr, Expr]
    smem: Expr
    attributes: tuple[tuple[int, tuple[Expr, ...]], ...]
    stream: Expr
    places: tuple[Place, ...]


@dataclass(frozen=True)
class Upload:
    """Values, laid out as an array, that a small kernel writes to device memory in the order of a stream."""

    to: Expr
    values: tuple[Expr, ...]
    stream: Expr
    places: tuple[Place, ...]


@dataclass(frozen=True)
class Copy:
    """An asynchronous copy between device memories."""

    to: Expr
    source: Expr
    bytes: Expr
    stream: Expr
    places: tuple[Place, ...]


@dataclass(frozen=True)
class Signal:
    """A 32-bit word that a stream writes to memory by cuStreamWriteValue32."""

    to: Expr
    value: Expr
    stream: Expr
    places: tuple[Place, ...]


@dataclass(frozen=True)
class Wait:
    """Makes a stream wait for what another one has been given so far."""

    stream: Expr
    other: Expr
    places: tuple[Place, ...]


@dataclass(frozen=True)
class Branch:
    """Steps of which only one list is taken."""

    condition: Expr
    then: tuple[Step, ...]
    otherwise: tuple[Step, ...]


@dataclass(frozen=True)
class Loop:
    """Steps for each number from `start` to `end`, which is excluded."""

    variable: Variable
    start: Expr
    end: Expr
    steps: tuple[Step, ...]


Step = Union[Check, Encode, Launch, Upload, Copy, Signal, Wait, Branch, Loop]


@dataclass(frozen=True)
class Parameter:
    """A parameter of an exported function. The kinds are `tensor`, `optional tensor`, `array of tensors`, `shape`,
    `i64`, `f64`, `bool` and the like."""

    name: str
    kind: str


@dataclass(frozen=True)
class Function:
    """An exported function."""

    name: str
    parameters: tuple[Parameter, ...]
    steps: tuple[Step, ...]


@dataclass(frozen=True)
class Host:
    """A file: its path in the wheel, the folder that is its family, and its exported functions."""

    path: str
    family: str
    functions: tuple[Function, ...] = field(default=())


@dataclass(frozen=True)
class Guarded:
    """A step and the conditions of the branches that lead to it."""

    guards: tuple[Expr, ...]
    step: Step


def flatten(steps: Sequence[Step], guards: tuple[Expr, ...] = ()) -> Iterator[Guarded]:
    """Yields each step that is no branch in order, with the conditions under which it is reached. A loop's steps have
    the loop before them."""
    for step in steps:
        if isinstance(step, Branch):
            yield from flatten(step.then, (*guards, step.condition))
            yield from flatten(step.otherwise, (*guards, Unary("!", step.condition, "bool")))
        elif isinstance(step, Loop):
            yield Guarded(guards, step)
            yield from flatten(step.steps, guards)
        else:
            yield Guarded(guards, step)


# Evaluation.


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


def holds(check: Check, arguments: Arguments, environment: Environment = Environment()) -> bool:
    """Whether a check passes. An index beyond a rank counts as a failure, as the runtime raises it."""
    try:
        return bool(evaluate(check.condition, arguments, environment))
    except IndexError:
        return False


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
