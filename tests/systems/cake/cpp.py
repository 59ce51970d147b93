"""The tree of a file in the subset of C++ that generated hosts use."""

from __future__ import annotations

from dataclasses import dataclass, field
from typing import Union


class Unreadable(Exception):
    """Why a host cannot be read: one line."""


# Types: names without qualifiers, and what stands after them.


@dataclass(frozen=True)
class Type:
    """A type: its name without namespace, the arguments of its template, whether it is a pointer or a reference, and
    `static` if its variable outlives the call."""

    name: str
    arguments: tuple[Type | Expr, ...] = ()
    pointer: bool = False
    reference: bool = False
    static: bool = False


# Expressions.


@dataclass(frozen=True)
class Literal:
    text: str
    line: int


@dataclass(frozen=True)
class Text:
    value: str


@dataclass(frozen=True)
class Name:
    """A name without its namespace; `scope` is the last one, for members of types."""

    name: str
    line: int
    scope: str = ""
    arguments: tuple[Type | Expr, ...] = ()


@dataclass(frozen=True)
class Call:
    function: Expr
    arguments: tuple[Expr, ...]
    line: int


@dataclass(frozen=True)
class Member:
    of: Expr
    name: str
    line: int
    arguments: tuple[Type | Expr, ...] = ()


@dataclass(frozen=True)
class Index:
    of: Expr
    index: Expr
    line: int


@dataclass(frozen=True)
class Prefix:
    """`-`, `!`, `~`, `&`, `*`, `++` and `--`, also behind their operand, where the result is not used."""

    op: str
    value: Expr
    line: int


@dataclass(frozen=True)
class Infix:
    """A binary operator, `=` and its kin among them."""

    op: str
    left: Expr
    right: Expr
    line: int


@dataclass(frozen=True)
class Conditional:
    condition: Expr
    then: Expr
    otherwise: Expr
    line: int


@dataclass(frozen=True)
class Convert:
    """A cast of any form."""

    type: Type
    value: Expr
    line: int


@dataclass(frozen=True)
class Braces:
    """A braced list, of a type where one stands before it."""

    items: tuple[Expr, ...]
    line: int
    type: Type | None = None


@dataclass(frozen=True)
class Opaque:
    """`new`, `sizeof` and lambdas, whose inside is not read; `type` is that of `sizeof` and `new`."""

    what: str
    type: Type | None
    line: int


Expr = Union[Literal, Text, Name, Call, Member, Index, Prefix, Infix, Conditional, Convert, Braces, Opaque]


# Statements.


@dataclass(frozen=True)
class Declare:
    """A variable; `extent` is that of an array, whose number of items may be left to its initial value."""

    type: Type
    name: str
    extent: Expr | None
    is_array: bool
    value: Expr | None
    line: int
    built: bool = False


@dataclass(frozen=True)
class Evaluate:
    expr: Expr
    line: int


@dataclass(frozen=True)
class If:
    condition: Expr
    then: tuple[Statement, ...]
    otherwise: tuple[Statement, ...]
    line: int


@dataclass(frozen=True)
class For:
    start: Statement | None
    condition: Expr | None
    step: Expr | None
    body: tuple[Statement, ...]
    line: int


@dataclass(frozen=True)
class Switch:
    """Each case is its value, None for `default`, and its statements."""

    value: Expr
    cases: tuple[tuple[Expr | None, tuple[Statement, ...]], ...]
    line: int


@dataclass(frozen=True)
class Return:
    value: Expr | None
    line: int


@dataclass(frozen=True)
class Break:
    line: int


@dataclass(frozen=True)
class Block:
    body: tuple[Statement, ...]
    line: int


Statement = Union[Declare, Evaluate, If, For, Switch, Return, Break, Block]


# Declarations.


@dataclass(frozen=True)
class Parameter:
    type: Type
    name: str


@dataclass(frozen=True)
class Function:
    """A function; that of a class has its name in `scope`."""

    name: str
    parameters: tuple[Parameter, ...]
    body: tuple[Statement, ...] | None
    line: int
    scope: str = ""
    template: tuple[str, ...] = ()


@dataclass(frozen=True)
class Class:
    name: str
    fields: tuple[Declare, ...]
    line: int
    template: tuple[str, ...] = ()


@dataclass
class File:
    """A file: its functions by name (those of classes `Class::name`), classes, constants, kernels with their
    parameters, includes, and the exported names with the functions behind them."""

    path: str
    functions: dict[str, Function] = field(default_factory=dict)
    classes: dict[str, Class] = field(default_factory=dict)
    variables: dict[str, Declare] = field(default_factory=dict)
    kernels: dict[str, Function] = field(default_factory=dict)
    includes: list[str] = field(default_factory=list)
    exports: dict[str, str] = field(default_factory=dict)
