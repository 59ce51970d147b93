"""The parser: types, results and literals."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from typing import Any, TypeVar

from . import _text
from ._declaration import Output
from ._expression import Name
from ._parse_expression import expr, number
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


T = TypeVar("T")


def type_(at: Cursor, expected: str = "`Tensor` or another type such as `float32`") -> Type:
    """Parses a type; `expected` names what else may stand there."""
    word = at.token.text if at.token.kind == "word" else ""
    if word == "Tensor" and at.next().text in ("(", "["):
        return tensor(at)
    if word in _PARTS and not (word in _BARE and at.next().text != "["):
        at.take()
        at.expect("[")
        return _PARTS[word](at)
    if word == "Shape" and at.opens():
        at.take(), at.take()
        shape = Shape(_shape(at))
        at.expect(")")
        return shape
    if not (word in _text.SCALARS or word in _text.LEAVES or word in _text.CLASSES or word in _BARE):
        at.wrong(expected)
    return type_of(at.take())


_BARE = ("Shape", "Array", "List", "Map", "Dict", "Object")


def _one(at: Cursor) -> Type:
    at.enter()
    inner = type_(at)
    at.leave()
    at.expect("]")
    return inner


def _two(at: Cursor) -> tuple[Type, Type]:
    at.enter()
    key = type_(at)
    at.expect(",")
    second = type_(at)
    at.leave()
    at.expect("]")
    return key, second


def _several(at: Cursor, entry: Callable[[Cursor], T]) -> tuple[T, ...]:
    at.enter()
    entries = at.list("]", entry)
    at.leave()
    return entries


def _element(at: Cursor) -> Type | NamedElement:
    if not at.has_name():
        return type_(at)
    name = at.name()
    at.expect(":", "`:` after what is no type")
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
    "Tuple": lambda at: Tuple(_several(at, _element)),
    "Union": lambda at: Union(_several(at, type_)),
    "Literal": lambda at: Literal(_several(at, value)),
    "Object": _class,
}


def value(at: Cursor) -> Value:
    """Parses a literal."""
    if at.token.kind == "quoted":
        return at.quoted()
    if at.is_word("None", "True", "False"):
        return {"None": None, "True": True, "False": False}[at.take()]
    found = number(at, at.accept("-"), (1 << 63) - 1)
    return at.wrong("`None`, `True`, `False`, a number or text in quotes") if found is None else found


def tensor(at: Cursor) -> Tensor:
    """Parses a tensor type, from the word `Tensor` on."""
    at.take()
    at.expect("(")
    shape = _tensor_shape(at)
    at.expect(",", "`,` and an element type")
    symbol, dtypes = None, []
    if at.token.kind == "name" or at.has_name() and not _text.reads_as_dtype(at.token.text):
        symbol = Name(at.name())
    if symbol is None or at.accept(":"):
        dtypes.append(at.take() if at.is_word(_text.ANY_DTYPE) else _dtype(at))
    while dtypes and dtypes[0] != _text.ANY_DTYPE and at.accept("|"):
        dtypes.append(_dtype(at))
    options: dict[str, Any] = {}
    while at.accept(","):
        option = at.token.text
        if option in options:
            at.wrong("every option once")
        if option not in ("strides", *_OPTIONS):
            at.wrong("`strides`, `device`, `align`, `dtypes` or `access`")
        at.take()
        at.expect("=")
        options[option] = _strides(at, shape) if option == "strides" else _OPTIONS[option](at)
    at.expect(")", "`,` or `)`")
    storage = options.pop("dtypes", "exact") == "storage"
    return Tensor(shape, dtypes, symbol=symbol, storage=storage, **options)


def _dtype(at: Cursor) -> str:
    if not _text.is_dtype(at.token.text):
        at.wrong("an element type such as `float32`")
    return at.take()


def _shape(at: Cursor) -> tuple[DimLike, ...]:
    """Parses the numbers of a shape: `[...]`, or dims in brackets."""
    at.expect("[")
    if at.accept("..."):
        at.expect("]")
        return (Dots(),)
    return _dims(at)


def _dims(at: Cursor) -> tuple[DimLike, ...]:
    """Parses dims, and the bracket that closes them."""
    return at.list("]", _dim, "an operator, `,` or `]`")


def _dim(at: Cursor) -> DimLike:
    if at.accept_word("_"):
        return AnyDim()
    return expr(at)


def _tensor_shape(at: Cursor) -> tuple[DimLike, ...]:
    """Parses the extents of a tensor: those of a shape, `[..., m, k]` and `[outer..., m, k]`."""
    trailing = at.next().text == "..." and at.next(2).text == ","
    folds = at.next().kind in ("word", "name") and at.next(2).text == "..."
    if not (trailing or folds):
        return _shape(at)
    at.expect("[")
    first: DimLike = Folded(at.name("the name of all leading dims")) if folds else Dots()
    at.take()
    return (first, *_after_dots(at, folds))


def _after_dots(at: Cursor, ends: bool) -> tuple[DimLike, ...]:
    """Parses the dims after `...`. There may be none if `ends` is true."""
    if ends and at.accept("]"):
        return ()
    at.expect(",", "`,` or `]`" if ends else "`,` and the strides of the declared dims")
    return at.wrong("a dim") if at.is_sign("]") else _dims(at)


def _strides(at: Cursor, shape: tuple[DimLike, ...]) -> tuple[DimLike, ...] | str:
    """Parses strides, which have dots where the extents have."""
    if not at.accept("["):
        return _one_of(at, ("contiguous", "any"), "`contiguous`, `any` or `[`")
    if len(shape) > 1 and isinstance(shape[0], Dots):
        at.expect("...", "`...`, for the strides of the leading dims")
        return _after_dots(at, False)
    return _dims(at)


def _one_of(at: Cursor, words: Sequence[str], expected: str) -> str:
    return at.take() if at.is_word(*words) else at.wrong(expected)


_OPTIONS: dict[str, Callable[[Cursor], Any]] = {
    "device": lambda at: _one_of(at, _text.DEVICES, "`any` or a type of device such as `cuda`"),
    "align": lambda at: at.natural("a number of bytes"),
    "dtypes": lambda at: _one_of(at, ("exact", "storage"), "`exact` or `storage`"),
    "access": lambda at: _one_of(at, _text.ACCESSES, "`update`, `read` or `write`"),
}


def result(at: Cursor) -> Type | tuple[Output, ...] | None:
    """Parses the result, after `->`."""
    if at.accept("("):
        return at.list(")", _output)
    if at.token.kind in ("word", "name") and at.next().text == ":":
        return (_output(at),)
    return None if at.accept_word("None") else type_(at, "`None`, a type such as `float32` or `str`, or a name and `:`")


def _output(at: Cursor) -> Output:
    name = at.name("the name of a result")
    at.expect(":")
    return Output(name, tensor(at)) if at.is_word("Tensor") else at.wrong("`Tensor`")
