"""Facts about one generated C++ host: its parameters and, in order, what it checks, encodes and launches.

`read.py` takes them from the text of a host at run time; nothing here is text of a host. Expressions have the types
and the arithmetic of C++, so that `evaluation.py` says for given arguments what the host would compute.
"""

from __future__ import annotations

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
class Count:
    """The number of arguments that a call gives."""

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
    Count,
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


@dataclass(frozen=True)
class Later:
    """The second phase of a function of two: what is done when what the first one has prepared is submitted. The stream
    comes only then, as the number SUBMITTED."""

    steps: tuple[Step, ...]


# The stream of a second phase.
SUBMITTED = Scalar("stream", "ptr")

Step = Union[Check, Encode, Launch, Upload, Copy, Signal, Wait, Branch, Loop, Later]


@dataclass(frozen=True)
class Parameter:
    """A parameter of an exported function. The kinds are `tensor`, `optional tensor`, `array of tensors`, `shape`,
    `i64`, `f64`, `bool` and the like."""

    name: str
    kind: str


@dataclass(frozen=True)
class Function:
    """An exported function, or the two phases of a stage: what is prepared, and at the end what is done later."""

    name: str
    parameters: tuple[Parameter, ...]
    steps: tuple[Step, ...]

    @property
    def has_phases(self) -> bool:
        """Whether it only prepares, and hands out what submits."""
        return any(isinstance(step, Later) for step in self.steps)


@dataclass(frozen=True)
class Host:
    """A file: its path in the wheel, the folder that is its family, and its exported functions."""

    path: str
    family: str
    functions: tuple[Function, ...] = field(default=())
