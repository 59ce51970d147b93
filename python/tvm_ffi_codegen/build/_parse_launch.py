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
    if word == "struct":
        at.take()
        at.enter()
        at.take()
        fields = _arguments(at)
        at.leave()
        return Struct(fields)
    at.take(), at.take()
    first = expr(at)
    at.expect(",", f"an operator, or `,` and {'an alignment' if word == 'scratch' else 'a number of bytes'}")
    number = at.natural("a number of bytes", (1 << (64 if word == "scratch" else 32)) - 1)
    at.expect(")")
    return Scratch(first, number) if word == "scratch" else BytesOf(first, number)


def _arguments(at: Cursor) -> tuple[LaunchArg, ...]:
    """Parses arguments of a launch, and the parenthesis that closes them."""
    return at.list(")", _given, "an operator, `,` or `)`")


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
        options[option] = _im2col(at) if option == "im2col" else _map_option(at, option)
    at.expect(")", "an operator, `,` or `)`")
    mode = options.pop("im2col", None) or options.pop("box", ())
    return TensorMap(tensor, mode, **options)


def _im2col(at: Cursor) -> Im2col:
    """Parses a column of pixels."""
    at.take()
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
    at.expect(")", "an operator, `,` or `)`")
    return Im2col(**parts)


def _dims(at: Cursor) -> tuple[Expr, ...]:
    at.expect("[")
    return at.list("]", expr, "an operator, `,` or `]`")


def _map_option(at: Cursor, option: str) -> Any:
    """Parses an option."""
    lists = ("dims", "strides", "box", "steps")
    if option not in (*lists, "offset", *MAP_OPTIONS):
        at.wrong("an option of a tensor map")
    at.take()
    at.expect("=")
    if option in lists:
        return _dims(at)
    if option == "offset":
        return expr(at)
    words = [f'"{word}"' for word in MAP_OPTIONS[option]]
    return at.quoted() if at.token.text in words else at.wrong(", ".join(words))


def _launch(at: Cursor) -> Statement:
    image = at.word("the name of an image")
    at.expect(".", "`.` and the name of a kernel in quotes")
    kernel = at.quoted("the name of a kernel in quotes")
    at.expect("(")
    args = _arguments(at)
    clauses: dict[str, Any] = {}
    attributes: list[Attribute] = []
    while not at.accept(";"):
        word = at.token.text
        if word in clauses:
            at.wrong("every clause once")
        if word == "attribute" or word in ATTRIBUTES:
            attributes.append(_attribute(at))
        elif word in ("on", "stream"):
            at.take()
            clauses[word] = expr(at)
        elif word in ("grid", "block", "smem"):
            at.take()
            clauses[word] = _numbers(at, 1 if word == "smem" else 3)
        else:
            at.wrong("`grid`, `block` or another clause")
    smem = clauses.pop("smem", (None,))[0]
    if not ("grid" in clauses and "block" in clauses):
        at.wrong("`grid` and `block` before this token")
    return Launch(image, kernel, args, smem=smem, attributes=attributes, **clauses)


def _numbers(at: Cursor, most: int) -> tuple[Expr, ...]:
    """Parses expressions in parentheses, at least one and not more than `most`."""
    at.expect("(")
    numbers = [expr(at)]
    while len(numbers) < most and at.accept(","):
        numbers.append(expr(at))
    at.expect(")", "an operator, `,` or `)`" if len(numbers) < most else "an operator or `)`")
    return tuple(numbers)


def _attribute(at: Cursor) -> Attribute:
    word = at.take()
    if word != "attribute":
        most = ATTRIBUTES[word][-1]
        return Attribute(word, _numbers(at, most) if most else ())
    at.expect("(")
    number = at.natural("the number of an attribute", (1 << 32) - 1)
    at.expect(",", "`,` and the fields of its value")
    return Attribute(number, at.list(")", expr, "an operator, `,` or `)`"))


def _target(at: Cursor) -> dict[str, Expr]:
    """Parses `on` and `stream` in any order, and `;`."""
    target: dict[str, Expr] = {}
    while not at.accept(";"):
        if not at.is_word("on", "stream") or at.token.text in target:
            at.wrong("`on`, `stream` or `;`, each once")
        word = at.take()
        target[word] = expr(at)
    return target


def _operands(at: Cursor, *what: str) -> list[Expr]:
    """Parses an operand, and one more for each of these descriptions."""
    operands = [expr(at)]
    for one in what:
        at.expect(",", f"an operator, or `,` and {one}")
        operands.append(expr(at))
    return operands


def _upload(at: Cursor) -> Statement:
    to = expr(at)
    at.expect("(", "an operator, or `(` and the values")
    return Upload(to, _arguments(at), **_target(at))


def _fill(at: Cursor) -> Statement:
    return Fill(*_operands(at, "a number of bytes", "the value of a byte"), **_target(at))


def _copy(at: Cursor) -> Statement:
    return Copy(*_operands(at, "the address to read", "a number of bytes"), **_target(at))


def _wait(at: Cursor) -> Statement:
    waiter, other = _operands(at, "the stream to wait for")
    on = expr(at) if at.accept_word("on") else None
    at.expect(";", "an operator, `on` or `;`" if on is None else "an operator or `;`")
    return Wait(waiter, other, on=on)


COMMANDS: dict[str, Callable[[Cursor], Statement]] = {
    **{"launch": _launch, "upload": _upload, "fill": _fill, "copy": _copy, "wait": _wait},
}
"""The statements of this file, by their words."""
