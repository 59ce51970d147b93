"""From text to values: the inverse of `str`."""

from __future__ import annotations

from collections.abc import Callable
from typing import TypeVar

from . import _parse_expression, _parse_item, _parse_type
from ._declaration import Function, Library, Signature
from ._expression import Expr
from ._token import Cursor
from ._type import Type

T = TypeVar("T")


def parse(text: str) -> Library:
    """Parses declarations. Their names and types are not looked at: `check` does.

    >>> print(parse("f(n:int64)->int64={return (n)/2;};"), end="")
    f(n: int64) -> int64
        = {
            return n / 2;
        };
    >>> parse("f(n: int65) -> None = k(n);")
    Traceback (most recent call last):
    ...
    ValueError: 1:6: expected `Tensor` or another type such as `float32`, found `int65`
      | f(n: int65) -> None = k(n);
      |      ^
    """
    return _whole(text, _parse_item.library)


def parse_function(text: str) -> Function:
    """Parses one function, `;` included."""
    return _whole(text, _parse_item.function)


def parse_signature(text: str) -> Signature:
    """Parses a signature."""
    return _whole(text, _parse_item.signature)


def parse_type(text: str) -> Type:
    """Parses a type."""
    return _whole(text, _parse_type.type_)


def parse_expr(text: str) -> Expr:
    """Parses an expression.

    >>> print(parse_expr("(n + (m)) * 2"))
    (n + m) * 2
    """
    return _whole(text, _parse_expression.expr)


def _whole(text: str, rule: Callable[[Cursor], T]) -> T:
    """Parses a text that consists of one rule."""
    if not isinstance(text, str):
        raise TypeError(f"text is of type {type(text).__name__}, expected str")
    cursor = Cursor(text)
    try:
        value = rule(cursor)
    except RecursionError:
        raise cursor.fault("the text is nested too deeply for Python's limit of recursion") from None
    if cursor.token.kind != "end":
        cursor.wrong("the end of the text")
    return value
