"""Parts of declarations: values that print the text of the language and remember the line of Python that built them."""

from __future__ import annotations

import dataclasses
import os
import sys
from collections.abc import Iterable, Sequence
from types import FrameType
from typing import TYPE_CHECKING, Any, NamedTuple, Self, TypeVar, dataclass_transform

from ._field import check

if TYPE_CHECKING:
    from ._statement import Statement

_FOLDER = os.path.dirname(__file__) + os.sep

T = TypeVar("T")


class Place(NamedTuple):
    """A line of Python; `str` is `file.py:12`."""

    file: str
    line: int

    def __str__(self) -> str:
        return f"{self.file}:{self.line}"


def _caller() -> Place:
    """Returns the line that has called into this package."""
    frame: FrameType | None = sys._getframe(2)
    while frame is not None and _is_own(frame):
        frame = frame.f_back
    return Place("?", 0) if frame is None else Place(frame.f_code.co_filename, frame.f_lineno)


def _is_own(frame: FrameType) -> bool:
    """Returns true for code of this package, that which `dataclass` generates for it included."""
    file = frame.f_code.co_filename
    return file.startswith(_FOLDER) or file == "<string>" and frame.f_globals.get("__package__") == __package__


@dataclass_transform(eq_default=False, frozen_default=True)
def part(cls: type[T]) -> type[T]:
    """Makes a class of parts a frozen dataclass, with the equality of `Part`."""
    return dataclasses.dataclass(frozen=True, eq=False, repr=False)(cls)


class Part:
    """A part of a declaration. `str` is its canonical text. Parts are equal if they have the same class and the same
    parts, wherever they were built; `place` is the line of Python that built this one."""

    place: Place

    def __post_init__(self) -> None:
        check(self)
        # A name or a text that the language cannot spell is refused here, not when the whole is printed.
        self._print(_NOWHERE)
        object.__setattr__(self, "place", _caller())

    def _set(self, **values: object) -> None:
        """Sets the fields of a new part, and its place."""
        for name, value in values.items():
            object.__setattr__(self, name, value)
        Part.__post_init__(self)

    def _with(self, **values: object) -> Self:
        """Returns a copy with other values of some fields. Its place remains."""
        copied = object.__new__(type(self))
        for name, value in {**self.__dict__, **values}.items():
            object.__setattr__(copied, name, value)
        return copied

    def _print(self, out: Writer) -> None:
        raise NotImplementedError

    def __str__(self) -> str:
        return printed(self).text()

    def __repr__(self) -> str:
        return f"<{type(self).__name__} {self}>"

    def __eq__(self, other: object) -> bool:
        return same(self, other)

    def __hash__(self) -> int:
        return hash(str(self))


def printed(part: Part) -> Writer:
    """Prints a part. A nesting that Python cannot print is a `ValueError`; the language allows 64 levels."""
    out = Writer()
    try:
        out.put(part)
    except RecursionError:
        raise ValueError("the declaration is nested too deeply") from None
    return out


def same(a: object, b: object) -> bool:
    """Returns true for equal parts, also for expressions, whose `==` is a condition of the language.

    >>> from tvm_ffi_codegen.build import symbols
    >>> n, m = symbols("n m")
    >>> same(n + 1, n + 1), same(n + 1, m + 1)
    (True, False)
    """
    if type(a) is not type(b):
        return False
    if isinstance(a, Part):
        names = (a.__dict__.keys() | b.__dict__.keys()) - {"place"}
        return all(same(getattr(a, name), getattr(b, name)) for name in names)
    if isinstance(a, tuple) and isinstance(b, tuple):
        return len(a) == len(b) and all(map(same, a, b))
    return repr(a) == repr(b) if isinstance(a, float) else bool(a == b)


class Writer:
    """A text that is being printed, and the place of each part in it."""

    MARGIN = 8
    """Indentation of a body's statements."""
    STEP = 4
    """Further indentation of each nested block."""

    def __init__(self) -> None:
        self.spans: list[tuple[int, int, Part]] = []
        """Start and end of every printed part, in characters; inner parts stand before outer ones."""
        self.margin = self.MARGIN
        """Indentation of the statement that is being printed."""
        self._pieces: list[str] = []
        self._size = 0

    def text(self) -> str:
        """Returns what was printed."""
        return "".join(self._pieces)

    def put(self, *pieces: str | Part) -> None:
        """Prints pieces, one after the other."""
        for piece in pieces:
            if isinstance(piece, str):
                self._pieces.append(piece)
                self._size += len(piece)
            else:
                start = self._size
                piece._print(self)
                self.spans.append((start, self._size, piece))

    def join(self, pieces: Iterable[str | Part], between: str = ", ") -> None:
        """Prints pieces with a text between each two."""
        for index, piece in enumerate(pieces):
            self.put(between if index else "", piece)

    def enclosed(self, before: str, pieces: Iterable[str | Part], after: str) -> None:
        """Prints pieces, separated by commas, between two signs."""
        self.put(before)
        self.join(pieces)
        self.put(after)

    def block(self, statements: Sequence[Statement], margin: int) -> None:
        """Prints statements in braces, each on a line of its own at a margin."""
        if not statements:
            return self.put("{}")
        self.put("{\n")
        around, self.margin = self.margin, margin
        for statement in statements:
            if statement.location is not None:
                self.put(" " * margin, statement.location, "\n")
            self.put(" " * margin, statement, "\n")
        self.margin = around
        self.put(" " * (margin - self.STEP), "}")


class _Nowhere(Writer):
    """Prints nothing, and no parts of a part."""

    def put(self, *pieces: str | Part) -> None:
        pass

    def block(self, statements: Sequence[Statement], margin: int) -> None:
        pass


_NOWHERE = _Nowhere()


def tuple_of(values: Any, what: str) -> tuple[Any, ...]:
    """Returns the values of a sequence; a single text or part is none."""
    if isinstance(values, (str, Part)) or not isinstance(values, Iterable):
        raise TypeError(f"{what} are a sequence, not {type(values).__name__}")
    return tuple(values)
