"""The parser: launches, tensor maps and commands."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

from ._expression import Expr
from ._launch import (
    ATTRIBUTES,
    Attribute,
    BytesOf,
    Copy,
    Fill,
    Launch,
    LaunchArg,
    Scratch,
    Struct,
    Upload,
    Wait,
)
from ._map import MAP_OPTIONS, Im2col, TensorMap
from ._parse_expression import expr
from ._statement import Statement
from ._token import Cursor


def _given(at: Cursor) -> LaunchArg:
    """Parses an argument of a launch."""
    word = at.token.text if at.token.kind == "word" and at.opens() else ""
    if word == "tensormap":
        return tensor_map(at)
    if word not in ("struct", "scratch", "bytes"):
        return expr(at)
    at.take(), at.take()
    if word == "struct":
        return Struct(at.list(")", _given))
    first = expr(at)
    at.expect(",")
    number = at.natural("a number of bytes")
    at.expect(")")
    return Scratch(first, number) if word == "scratch" else BytesOf(first, number)


def tensor_map(at: Cursor) -> TensorMap:
    """Parses a tensor map, from its word on."""
    at.take(), at.take()
    tensor = expr(at)
    options: dict[str, Any] = {}
    while at.accept(","):
        option = at.token.text
        if option in options:
            at.wrong("every option once")
        if {"box", "im2col"} <= {option, *options}:
            at.wrong("one of `box` and `im2col`")
        at.take()
        options[option] = _im2col(at) if option == "im2col" else _map_option(at, option)
    at.expect(")")
    mode = options.pop("im2col", None) or options.pop("box", ())
    return TensorMap(tensor, mode, **options)


def _im2col(at: Cursor) -> Im2col:
    """Parses a column of pixels, after its word."""
    at.expect("(")
    known = ("lower", "upper", "channels", "pixels")
    parts: dict[str, Any] = {}
    while not parts or at.accept(","):
        name = at.token.text
        if name not in known or name in parts:
            at.wrong("`lower`, `upper`, `channels` and `pixels`, each once")
        at.take()
        at.expect("=")
        parts[name] = _dims(at) if name in ("lower", "upper") else expr(at)
    if len(parts) < len(known):
        at.wrong("`lower`, `upper`, `channels` and `pixels`, each once")
    at.expect(")")
    return Im2col(**parts)


def _dims(at: Cursor) -> tuple[Expr, ...]:
    at.expect("[")
    return at.list("]", expr)


def _map_option(at: Cursor, option: str) -> Any:
    """Parses the value of an option, after its word."""
    at.expect("=")
    if option in ("dims", "strides", "box", "steps"):
        return _dims(at)
    if option == "offset":
        return expr(at)
    words = MAP_OPTIONS.get(option)
    if words is None:
        at.wrong("an option of a tensor map")
    known = at.token.text.strip('"') in words
    return at.quoted() if known else at.wrong(", ".join(f'"{word}"' for word in words))


def _launch(at: Cursor) -> Statement:
    image = at.label("the name of an image")
    at.expect(".")
    kernel = at.quoted("the name of a kernel in quotes")
    at.expect("(")
    args = at.list(")", _given)
    clauses: dict[str, Any] = {}
    attributes: list[Attribute] = []
    while not at.accept(";"):
        word = at.token.text
        if word in clauses:
            at.wrong("every clause once")
        if word == "attribute" or word in ATTRIBUTES:
            attributes.append(_attribute(at))
        elif word in ("grid", "block", "smem", "on", "stream"):
            at.take()
            clauses[word] = expr(at) if word in ("on", "stream") else _numbers(at)
        else:
            at.wrong("`grid`, `block` or another clause")
    smem = clauses.pop("smem", (None,))[0]
    if not ("grid" in clauses and "block" in clauses):
        at.wrong("`grid` and `block` before this token")
    return Launch(image, kernel, args, smem=smem, attributes=attributes, **clauses)


def _numbers(at: Cursor) -> tuple[Expr, ...]:
    at.expect("(")
    return at.list(")", expr)


def _attribute(at: Cursor) -> Attribute:
    word = at.take()
    if word != "attribute":
        return Attribute(word, _numbers(at) if ATTRIBUTES[word] != range(1) else ())
    at.expect("(")
    number = at.natural("the number of an attribute")
    at.expect(",")
    return Attribute(number, at.list(")", expr))


def _target(at: Cursor) -> dict[str, Expr]:
    """Parses `on` and `stream` in any order, and `;`."""
    target: dict[str, Expr] = {}
    while not at.accept(";"):
        if not at.is_word("on", "stream") or at.token.text in target:
            at.wrong("`on`, `stream` or `;`, each once")
        word = at.take()
        target[word] = expr(at)
    return target


def _operands(at: Cursor, count: int) -> list[Expr]:
    operands = [expr(at)]
    while len(operands) < count:
        at.expect(",")
        operands.append(expr(at))
    return operands


def _upload(at: Cursor) -> Statement:
    to = expr(at)
    at.expect("(")
    return Upload(to, at.list(")", _given), **_target(at))


def _fill(at: Cursor) -> Statement:
    return Fill(*_operands(at, 3), **_target(at))


def _copy(at: Cursor) -> Statement:
    return Copy(*_operands(at, 3), **_target(at))


def _wait(at: Cursor) -> Statement:
    waiter, other = _operands(at, 2)
    on = expr(at) if at.accept_word("on") else None
    at.expect(";")
    return Wait(waiter, other, on=on)


COMMANDS: dict[str, Callable[[Cursor], Statement]] = {
    **{"launch": _launch, "upload": _upload, "fill": _fill, "copy": _copy, "wait": _wait},
}
"""The statements of this file, by their words."""
