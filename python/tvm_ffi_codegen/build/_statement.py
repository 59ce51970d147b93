"""Statements of bodies."""

from __future__ import annotations

from collections.abc import Iterable
from enum import Enum
from typing import Final, Literal, Self, TypeAlias

from ._call import Call, FunctionCall, KernelCall
from ._expression import Expr, Name, Operand, expression, expressions
from ._part import Part, Writer, part, tuple_of
from ._text import check_error_kind, quoted, spelled
from ._type import Tensor, Type, TypeLike, name_of, type_of


class Nothing(Enum):
    """The type of `NOTHING`, which tells an argument that is not given from None."""

    NOTHING = 0


NOTHING: Final = Nothing.NOTHING
Given: TypeAlias = Operand | Literal[Nothing.NOTHING]


@part
class Location(Part):
    """A place in a source file: line and column are counted from 1, and a column of 0 is not known."""

    file: str
    line: int
    column: int = 0

    def _print(self, out: Writer) -> None:
        out.put(f"@{quoted(self.file)}:{self.line}", f":{self.column}" if self.column else "")


def at(file: str, line: int, column: int = 0) -> Location:
    """Builds a source location.

    >>> print(at("kernel.py", 12), at("kernel.py", 12, 5))
    @"kernel.py":12 @"kernel.py":12:5
    """
    return Location(file, line, column)


class Statement(Part):
    """A statement of a body."""

    location: Location | None = None
    """Source location; None for that of the statement around, or of the function."""

    def at(self, file: str, line: int, column: int = 0) -> Self:
        """Returns the statement with a source location."""
        return self._with(location=Location(file, line, column))


StatementLike: TypeAlias = Statement | Call
"""What stands for a statement: one, or a call whose result is dropped."""

Body: TypeAlias = Iterable[StatementLike]


def statements(body: Body) -> tuple[Statement, ...]:
    """Returns the statements of a block."""
    return tuple(map(_statement, tuple_of(body, "the statements of a block")))


def _statement(value: StatementLike) -> Statement:
    if isinstance(value, (KernelCall, FunctionCall)):
        return CallStatement(value)._with(place=value.place)
    if isinstance(value, Statement):
        return value
    raise TypeError(f"{type(value).__name__} is no statement: {value!r}")


@part
class Let(Statement):
    """`let v = e;`: names a number, a truth or an address, or gives a value in scope a second name."""

    name: str
    value: Expr

    def __init__(self, name: str | Name, value: Operand) -> None:
        self._set(name=name_of(name), value=expression(value))

    def _print(self, out: Writer) -> None:
        out.put(f"let {spelled(self.name)} = ")
        put_value(out, self.value)
        out.put(";")


@part
class CallStatement(Statement):
    """`let v: T = call;`, `let v = call;` or `call;`. Without a name the result is dropped; without a type it is that
    of the callee, a function of the same library."""

    call: Call
    name: str | None
    type: Type | None

    def __init__(self, call: Call, name: str | Name | None = None, type: TypeLike | None = None) -> None:
        self._set(
            call=call, name=None if name is None else name_of(name), type=None if type is None else type_of(type)
        )

    def _print(self, out: Writer) -> None:
        if self.name is not None:
            out.put(f"let {spelled(self.name)}")
            out.put(" = ") if self.type is None else out.put(": ", self.type, " = ")
        out.put(self.call, ";")


def let(name: str | Name, value: Operand | Call, type: TypeLike | None = None) -> Statement:
    """Builds `let name = value;` of an expression or of a call, whose result has a type unless the callee is a function
    of the same library.

    >>> from tvm_ffi_codegen.build import call, kernel, symbols
    >>> n, k = symbols("n k")
    >>> print(let("m", n * 2), let(k, kernel("tile", n), "int64"), let("t", call("matmul", n)))
    let m = n * 2; let k: int64 = tile(n); let t = @matmul(n);
    """
    if isinstance(value, (KernelCall, FunctionCall)):
        return CallStatement(value, name, type)
    if type is not None:
        raise TypeError("the type of an expression is not declared")
    return Let(name, value)


@part
class Alloc(Statement):
    """`let t = alloc Tensor([n], float32) on x;`: workspace, on the device of another tensor or the first of its
    type."""

    name: str
    tensor: Tensor
    on: Expr | None

    def __init__(self, name: str | Name, tensor: Tensor, on: Expr | None = None) -> None:
        self._set(name=name_of(name), tensor=tensor, on=on)

    def _print(self, out: Writer) -> None:
        out.put(f"let {spelled(self.name)} = alloc ", self.tensor)
        out.put(";") if self.on is None else out.put(" on ", self.on, ";")


@part
class If(Statement):
    """`if c { … } else if d { … } else { … }`: branches of a condition and statements, and what runs if none holds.

    >>> from tvm_ffi_codegen.build import kernel, symbols
    >>> n, = symbols("n")
    >>> print(if_(n % 4 == 0, [kernel("four", n)]).elif_(n < 0, [Raise("ValueError", ["n is ", n])]).else_([Return()]))
    if n % 4 == 0 {
                four(n);
            } else if n < 0 {
                raise ValueError "n is ", n;
            } else {
                return;
            }
    """

    branches: tuple[tuple[Expr, tuple[Statement, ...]], ...]
    otherwise: tuple[Statement, ...]

    def __init__(self, branches: Iterable[tuple[Operand, Body]], otherwise: Body = ()) -> None:
        given = tuple_of(branches, "the branches of an `if`")
        self._set(
            branches=tuple(map(_branch, given)),
            otherwise=statements(otherwise),
        )

    def elif_(self, condition: Operand, body: Body) -> If:
        """Returns the statement with one more branch."""
        if self.otherwise:
            raise ValueError("`elif_` stands before `else_`")
        return self._with(branches=(*self.branches, (expression(condition), statements(body))))

    def else_(self, body: Body) -> If:
        """Returns the statement with what runs if no condition holds."""
        return self._with(otherwise=statements(body))

    def _print(self, out: Writer) -> None:
        margin = out.margin + out.STEP
        for index, (condition, body) in enumerate(self.branches):
            out.put(" else if " if index else "if ", condition, " ")
            out.block(body, margin)
        if self.otherwise:
            out.put(" else ")
            out.block(self.otherwise, margin)


def _branch(given: tuple[Operand, Body]) -> tuple[Expr, tuple[Statement, ...]]:
    if not isinstance(given, (tuple, list)) or len(given) != 2:
        raise TypeError(f"a branch of an `if` is a pair of a condition and statements, not {given!r:.100}")
    return expression(given[0]), statements(given[1])


def if_(condition: Operand, body: Body, otherwise: Body = ()) -> If:
    """Builds `if condition { … } else { … }`; `elif_` and `else_` of it add branches."""
    return If([(condition, body)], otherwise)


@part
class For(Statement):
    """`for i in a..b { … }`: `i` is an int64 from `a` to below `b`."""

    name: str
    start: Expr
    end: Expr
    body: tuple[Statement, ...]

    def __init__(self, name: str | Name, start: Operand, end: Operand, body: Body) -> None:
        self._set(name=name_of(name), start=expression(start), end=expression(end), body=statements(body))

    def _print(self, out: Writer) -> None:
        out.put(f"for {spelled(self.name)} in ", self.start, "..", self.end, " ")
        out.block(self.body, out.margin + out.STEP)


@part
class Arm(Part):
    """`name: type => { … }`: what runs if the value of a `match` has a type. Without a name it is `_`; without a type
    the arm is that of None."""

    name: str | None
    type: Type | None
    body: tuple[Statement, ...]

    def __init__(self, name: str | Name | None, type: TypeLike | None, body: Body) -> None:
        self._set(
            name=None if name is None else name_of(name),
            type=None if type is None else type_of(type),
            body=statements(body),
        )

    @staticmethod
    def none(body: Body) -> Arm:
        """Builds `None => { … }`."""
        return Arm(None, None, body)

    def _print(self, out: Writer) -> None:
        if self.type is None:
            out.put("None => ")
        else:
            out.put("_" if self.name is None else spelled(self.name), ": ", self.type, " => ")
        out.block(self.body, out.margin + 2 * out.STEP)


@part
class Match(Statement):
    """`match v { t: T => { … } None => { … } }`: one arm for each type of a union, in its order.

    >>> from tvm_ffi_codegen.build import symbols
    >>> v, = symbols("v")
    >>> print(Match(v, [Arm("t", "int64", [Return(v)]), Arm.none([])]))
    match v {
                t: int64 => {
                    return v;
                }
                None => {}
            }
    """

    value: Expr
    arms: tuple[Arm, ...]

    def __init__(self, value: Expr, arms: Iterable[Arm]) -> None:
        self._set(value=expression(value), arms=tuple_of(arms, "the arms of a `match`"))

    def _print(self, out: Writer) -> None:
        out.put("match ", self.value, " {")
        for arm in self.arms:
            out.put("\n" + " " * (out.margin + out.STEP), arm)
        out.put("\n" + " " * out.margin if self.arms else "", "}")


@part
class Return(Statement):
    """`return e;`, or `return;` without a value. A list is an array."""

    value: Expr | None

    def __init__(self, value: Given = NOTHING) -> None:
        self._set(value=None if isinstance(value, Nothing) else expression(value))

    def _print(self, out: Writer) -> None:
        out.put("return")
        if self.value is not None:
            out.put(" ")
            put_value(out, self.value)
        out.put(";")


@part
class Raise(Statement):
    """`raise ValueError "n is ", n;`: an error of a kind, whose message is joined from text and scalars."""

    kind: str
    message: tuple[Expr, ...]

    def __init__(self, kind: str, message: Iterable[Operand] | str = ()) -> None:
        pieces = [message] if isinstance(message, str) else message
        self._set(kind=kind, message=expressions(pieces, "the pieces of a message"))
        check_error_kind(self.kind)

    def _print(self, out: Writer) -> None:
        out.put(f"raise {self.kind}", " " if self.message else "")
        out.join(self.message)
        out.put(";")


class Making(Expr):
    """An expression that contains statements: a function that a body makes."""

    def put_at(self, out: Writer, margin: int) -> None:
        """Prints itself in a statement at a margin."""
        raise NotImplementedError


def put_value(out: Writer, value: Expr) -> None:
    """Prints an expression that is a whole operand of the current statement. Functions within other expressions stand
    at the margin of the body."""
    value.put_at(out, out.margin) if isinstance(value, Making) else out.put(value)
