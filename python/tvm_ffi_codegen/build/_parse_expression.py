"""The parser: expressions."""

from __future__ import annotations

import math
from typing import NamedTuple

from ._declaration import Closure
from ._expression import (
    MEMBERS,
    OPERATORS,
    ArrayExpr,
    Binary,
    Constant,
    DeviceAttribute,
    Element,
    Expr,
    Field,
    Member,
    Name,
    Neg,
    Precedence,
)
from ._operation import Builtin, Cast, CurrentDevice, Global, Not, Null, ShapeExpr, Stream
from ._text import SCALARS
from ._token import Cursor


class Tree(NamedTuple):
    """An expression and its height: the number of nodes on the longest path from it to a leaf."""

    expr: Expr
    height: int = 1


def expr(at: Cursor) -> Expr:
    """Parses an expression."""
    return _tree(at).expr


def _tree(at: Cursor) -> Tree:
    return _operation(at, Precedence.OR)


def _operation(at: Cursor, least: Precedence) -> Tree:
    """Parses an expression whose operators bind at least as tightly as `least`."""
    if least <= Precedence.NOT and at.accept_word("not"):
        at.enter()
        operand = _operation(at, Precedence.NOT)
        at.leave()
        left = Tree(Not(operand.expr), at.above(operand.height))
    else:
        left = _unary(at)
    compared = False
    while at.token.kind in ("sign", "word") and OPERATORS.get(at.token.text, -1) >= least:
        binds = OPERATORS[at.token.text]
        if binds == Precedence.COMPARISON and compared:
            at.wrong("`and` between comparisons")
        compared |= binds == Precedence.COMPARISON
        operator = at.take()
        right = _operation(at, Precedence(binds + 1))
        height = at.above(max(left.height, right.height))
        left = Tree(Binary(operator, left.expr, right.expr), height)
    return left


def _unary(at: Cursor) -> Tree:
    """Parses a unary expression. A `-` directly before a literal belongs to the literal."""
    negative = at.accept("-")
    literal = number(at, negative, (1 << 64) - 1)
    if literal is not None:
        return Tree(Constant(literal))
    if not negative:
        return _postfix(at)
    at.enter()
    operand = _unary(at)
    at.leave()
    return Tree(Neg(operand.expr), at.above(operand.height))


def number(at: Cursor, negative: bool, most: int) -> int | float | None:
    """Parses a number, at most `most`, after its `-`; returns None if there is none."""
    if at.token.kind == "float":
        value = float(at.token.text)
        if not math.isfinite(value):
            at.wrong("a number in the range of float64")
        at.take()
        return -value if negative else value
    if at.token.kind != "int":
        return None
    if negative:
        return -at.natural("a number down to -9223372036854775808", 1 << 63)
    return at.natural(f"a number up to {most}", most)


def _postfix(at: Cursor) -> Tree:
    base = _atom(at)
    while True:
        if at.accept("["):
            at.enter()
            index = _tree(at)
            at.leave()
            at.expect("]", "an operator or `]`")
            base = Tree(Element(base.expr, index.expr), at.above(max(base.height, index.height)))
        elif at.accept("."):
            base = _after_point(at, base)
        else:
            return base


def _after_point(at: Cursor, base: Tree) -> Tree:
    """Parses a member, or the name of an element of a tuple."""
    name = at.label("a member such as `data` or `shape[0]`")
    if name == "global" and at.is_sign("("):
        return _global(at, base.expr)
    member = _member(at, base.expr, name)
    return Tree(member, at.above(base.height))


def _global(at: Cursor, base: Expr) -> Tree:
    """Parses the name of a device variable in parentheses, after an image and `.global`."""
    if not isinstance(base, Name):
        at.wrong("an operator: only an image has `global(…)`")
    at.take()
    variable = at.quoted("the name of a variable in quotes")
    at.expect(")")
    return Tree(Global(base.name, variable))


def _member(at: Cursor, base: Expr, name: str) -> Expr:
    """Parses what follows the name of a member."""
    if name in MEMBERS:
        return Member(base, name)
    if name in ("shape", "strides"):
        at.expect("[")
        index = at.signed(32, "an index")
        at.expect("]")
        return Member(base, name, index)
    if name == "device" and at.is_sign("."):
        attribute = at.next()
        if attribute.text == "multiprocessors":
            at.take(), at.take()
            return DeviceAttribute(base, None)
        if attribute.text == "attribute" and at.next(2).text == "(":
            at.take(), at.take(), at.take()
            index = at.natural("the number of an attribute", (1 << 31) - 1)
            at.expect(")")
            return DeviceAttribute(base, index)
    return Field(base, name)


def _atom(at: Cursor) -> Tree:
    if at.token.kind == "quoted":
        return Tree(Constant(at.quoted()))
    if at.accept("("):
        return _closed(at)
    if at.accept("["):
        parts, height = _several(at, "]")
        return Tree(ArrayExpr(parts), height)
    if at.blocks and at.starts_closure():
        # The rules of expressions and of statements contain each other.
        from ._parse_item import closure

        return Tree(closure(at))
    if at.has_name():
        return Tree(Name(at.name()))
    word = at.token.text if at.token.kind == "word" else ""
    if word == "null" or word in _CONSTANTS:
        at.take()
        return Tree(Null() if word == "null" else Constant(_CONSTANTS[word]))
    if not (word in SCALARS or word in _CALLED):
        at.wrong("an expression")
    at.take()
    at.expect("(")
    return _called(at, word)


_CONSTANTS = {"None": None, "True": True, "False": False}
_CALLED = ("Shape", "stream", "current_device", "min", "max", "ceildiv")


def _called(at: Cursor, word: str) -> Tree:
    """Parses the operands of a reserved word, after `(`."""
    if word == "Shape":
        parts, height = _several(at, ")")
        return Tree(ShapeExpr(parts), height)
    if word == "current_device":
        at.expect(")")
        return Tree(CurrentDevice())
    if word == "stream" or word in SCALARS:
        operand = _closed(at)
        built = Stream(operand.expr) if word == "stream" else Cast(word, operand.expr)
        return Tree(built, at.above(operand.height))
    at.enter()
    left = _tree(at)
    at.leave()
    at.expect(",", "an operator or `,`")
    right = _closed(at)
    height = at.above(max(left.height, right.height))
    return Tree(Builtin(word, left.expr, right.expr), height)  # type: ignore[arg-type]


def _several(at: Cursor, close: str) -> tuple[tuple[Expr, ...], int]:
    """Parses expressions up to the sign that closes them; returns the height of one that is made of them, too."""
    at.enter()
    parts = at.list(close, _tree, f"an operator, `,` or `{close}`")
    at.leave()
    height = at.above(max((part.height for part in parts), default=0))
    return tuple(part.expr for part in parts), height


def _closed(at: Cursor) -> Tree:
    """Parses an expression and `)`."""
    at.enter()
    inner = _tree(at)
    at.leave()
    at.expect(")", "an operator or `)`")
    return inner


def closed(at: Cursor) -> Expr:
    """Parses an expression and `)`."""
    return _closed(at).expr
