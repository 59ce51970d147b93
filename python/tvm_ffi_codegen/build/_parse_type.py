"""The parser: types, results and literals."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

from . import _text
from ._declaration import Output
from ._expression import Name
from ._parse_expression import expr
from ._token import Cursor
from ._type import (
    AnyDim,
    Array,
    Dict,
    DimLike,
    Dots,
    Folded,
    List,
    Literal,
    Map,
    NamedElement,
    ObjectClass,
    Optional,
    Shape,
    Tensor,
    Tuple,
    Type,
    Union,
    Value,
    type_of,
)


def type_(at: Cursor) -> Type:
    """Parses a type."""
    word = at.token.text if at.token.kind == "word" else ""
    if word == "Tensor" and at.opens():
        return tensor(at)
    if word in _PARTS and at.next().text == "[":
        at.take(), at.take()
        return _PARTS[word](at)
    if word == "Shape" and at.opens():
        at.take(), at.take()
        shape = Shape(_shape(at))
        at.expect(")")
        return shape
    if not (word in _text.SCALARS or word in _text.LEAVES or word in _text.CLASSES or word in _BARE):
        at.wrong("`Tensor` or another type such as `float32`")
    return type_of(at.take())


_BARE = ("Shape", "Array", "List", "Map", "Dict")


def _one(at: Cursor) -> Type:
    inner = type_(at)
    at.expect("]")
    return inner


def _two(at: Cursor) -> tuple[Type, Type]:
    key = type_(at)
    at.expect(",")
    return key, _one(at)


def _element(at: Cursor) -> Type | NamedElement:
    if not at.has_name():
        return type_(at)
    name = at.name()
    at.expect(":")
    return NamedElement(name, type_(at))


def _class(at: Cursor) -> Type:
    key = at.quoted("the type key of a class in quotes")
    at.expect("]")
    return ObjectClass.of(key)


_PARTS: dict[str, Callable[[Cursor], Type]] = {
    "Optional": lambda at: Optional(_one(at)),
    "Array": lambda at: Array(_one(at)),
    "List": lambda at: List(_one(at)),
    "Map": lambda at: Map(*_two(at)),
    "Dict": lambda at: Dict(*_two(at)),
    "Tuple": lambda at: Tuple(at.list("]", _element)),
    "Union": lambda at: Union(at.list("]", type_)),
    "Literal": lambda at: Literal(at.list("]", value)),
    "Object": _class,
}


def value(at: Cursor) -> Value:
    """Parses a literal."""
    if at.token.kind == "quoted":
        return at.quoted()
    if at.is_word("None", "True", "False"):
        return {"None": None, "True": True, "False": False}[at.take()]
    negative = at.accept("-")
    if at.token.kind == "float":
        return float(at.take()) * (-1 if negative else 1)
    number = at.natural("`None`, `True`, `False`, a number or text in quotes")
    return -number if negative else number


def tensor(at: Cursor) -> Tensor:
    """Parses a tensor type, from the word `Tensor` on."""
    at.take()
    at.expect("(")
    shape = _shape(at)
    at.expect(",")
    symbol, dtypes = None, []
    if at.token.kind == "name" or at.has_name() and not _text.reads_as_dtype(at.token.text):
        symbol = Name(at.name())
    if symbol is None or at.accept(":"):
        dtypes.append(_dtype(at))
    while dtypes and at.accept("|"):
        dtypes.append(_dtype(at))
    options: dict[str, Any] = {}
    while at.accept(","):
        option = at.token.text
        if option in options:
            at.wrong("every option once")
        if option not in _OPTIONS:
            at.wrong("`strides`, `device`, `align`, `dtypes` or `access`")
        at.take()
        at.expect("=")
        options[option] = _OPTIONS[option](at)
    at.expect(")")
    storage = options.pop("dtypes", "exact") == "storage"
    return Tensor(shape, dtypes, symbol=symbol, storage=storage, **options)


def _dtype(at: Cursor) -> str:
    if not (_text.is_dtype(at.token.text) or at.is_word(_text.ANY_DTYPE)):
        at.wrong("an element type such as `float32`")
    return at.take()


def _shape(at: Cursor) -> tuple[DimLike, ...]:
    at.expect("[")
    return at.list("]", _dim)


def _dim(at: Cursor) -> DimLike:
    if at.accept("..."):
        return Dots()
    if at.is_word("_"):
        at.take()
        return AnyDim()
    if at.next().text == "...":
        name = Folded(at.name())
        at.take()
        return name
    return expr(at)


def _one_of(at: Cursor, *words: str) -> str:
    return at.take() if at.is_word(*words) else at.wrong(f"`{words[0]}` or another of {', '.join(words[1:])}")


_OPTIONS: dict[str, Callable[[Cursor], Any]] = {
    "strides": lambda at: _shape(at) if at.is_sign("[") else _one_of(at, "contiguous", "any"),
    "device": lambda at: _one_of(at, *_text.DEVICES),
    "align": lambda at: at.natural("a number of bytes"),
    "dtypes": lambda at: _one_of(at, "exact", "storage"),
    "access": lambda at: _one_of(at, *_text.ACCESSES),
}


def result(at: Cursor) -> Type | tuple[Output, ...] | None:
    """Parses the result, after `->`."""
    if at.accept("("):
        return at.list(")", _output)
    if at.token.kind in ("word", "name") and at.next().text == ":":
        return (_output(at),)
    return None if at.accept_word("None") else type_(at)


def _output(at: Cursor) -> Output:
    name = at.name("the name of a result")
    at.expect(":")
    return Output(name, tensor(at)) if at.is_word("Tensor") else at.wrong("`Tensor`")
