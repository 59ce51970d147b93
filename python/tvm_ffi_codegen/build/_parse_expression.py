"""The parser: expressions."""

from __future__ import annotations

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


def expr(at: Cursor) -> Expr:
    """Parses an expression."""
    return _operation(at, Precedence.OR)


def _operation(at: Cursor, least: Precedence) -> Expr:
    """Parses an expression whose operators bind at least as tightly as `least`."""
    if least <= Precedence.NOT and at.accept_word("not"):
        left: Expr = Not(_operation(at, Precedence.NOT))
    else:
        left = _unary(at)
    compared = False
    while at.token.kind in ("sign", "word") and OPERATORS.get(at.token.text, -1) >= least:
        binds = OPERATORS[at.token.text]
        if binds == Precedence.COMPARISON and compared:
            at.wrong("`and` between comparisons")
        compared |= binds == Precedence.COMPARISON
        operator = at.take()
        left = Binary(operator, left, _operation(at, Precedence(binds + 1)))
    return left


def _unary(at: Cursor) -> Expr:
    """Parses a unary expression. A `-` directly before a literal belongs to the literal."""
    negative = at.accept("-")
    if at.token.kind == "int":
        number = int(at.take())
        return Constant(-number if negative else number)
    if at.token.kind == "float":
        value = float(at.take())
        return Constant(-value if negative else value)
    return Neg(_unary(at)) if negative else _postfix(at)


def _postfix(at: Cursor) -> Expr:
    base = _atom(at)
    while True:
        if at.accept("["):
            base = Element(base, expr(at))
            at.expect("]")
        elif at.accept("."):
            base = _after_point(at, base)
        else:
            return base


def _after_point(at: Cursor, base: Expr) -> Expr:
    """Parses a member, or the name of an element of a tuple."""
    name = at.label("a member such as `data` or `shape[0]`")
    if name in MEMBERS:
        return Member(base, name)
    if name in ("shape", "strides"):
        at.expect("[")
        index = at.signed("an index")
        at.expect("]")
        return Member(base, name, index)
    if name == "device" and at.is_sign("."):
        attribute = at.next()
        if attribute.text == "multiprocessors":
            at.take(), at.take()
            return DeviceAttribute(base, None)
        if attribute.text == "attribute" and at.next(2).text == "(":
            at.take(), at.take(), at.take()
            number = at.natural("the number of an attribute")
            at.expect(")")
            return DeviceAttribute(base, number)
    if name == "global" and isinstance(base, Name) and at.accept("("):
        variable = at.quoted()
        at.expect(")")
        return Global(base.name, variable)
    return Field(base, name)


def _atom(at: Cursor) -> Expr:
    if at.token.kind == "quoted":
        return Constant(at.quoted())
    if at.accept("("):
        return closed(at)
    if at.accept("["):
        return ArrayExpr(at.list("]", expr))
    if at.starts_closure():
        # The rules of expressions and of statements contain each other.
        from ._parse_item import block, signature

        return Closure(signature(at), block(at))
    if at.has_name():
        return Name(at.name())
    word = at.token.text if at.token.kind == "word" else ""
    if word == "null" or word in _CONSTANTS:
        at.take()
        return Null() if word == "null" else Constant(_CONSTANTS[word])
    if not (word in SCALARS or word in _CALLED):
        at.wrong("an expression")
    at.take()
    at.expect("(")
    if word == "Shape":
        return ShapeExpr(at.list(")", expr))
    if word == "current_device":
        at.expect(")")
        return CurrentDevice()
    if word == "stream":
        return Stream(closed(at))
    if word in SCALARS:
        return Cast(word, closed(at))
    left = expr(at)
    at.expect(",")
    return Builtin(word, left, closed(at))  # type: ignore[arg-type]


_CONSTANTS = {"None": None, "True": True, "False": False}
_CALLED = ("Shape", "stream", "current_device", "min", "max", "ceildiv")


def closed(at: Cursor) -> Expr:
    """Parses an expression and `)`."""
    inner = expr(at)
    at.expect(")")
    return inner
