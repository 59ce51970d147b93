"""Errors of declarations that were built, with the lines of Python that built them."""

from __future__ import annotations

from collections.abc import Iterable
from dataclasses import dataclass
from typing import Any, TypeVar

from .._api import Diagnostic as TextDiagnostic
from .._api import check as check_text
from ._declaration import Function, Library
from ._expression import Name
from ._part import Part, Place, printed
from ._statement import Location, Statement

P = TypeVar("P", bound=Part)


@dataclass(frozen=True, kw_only=True)
class Diagnostic(TextDiagnostic):
    """An error or a warning about a library that was built. `str` begins with the line of Python; line and column are
    those of the library's text."""

    part: Part
    """The innermost part that is concerned, other than a name, which many parts share."""

    @property
    def place(self) -> Place:
        """The line of Python that built the part."""
        return self.part.place

    def __str__(self) -> str:
        return f"{self.place}: {super().__str__()}"


def check(library: Library, *, allow: Iterable[str] = ()) -> list[Diagnostic]:
    """Returns the errors and warnings about a library, but no warnings whose names are in `allow`.

    >>> from tvm_ffi_codegen.build import function, kernel, symbols
    >>> n, m = symbols("n m")
    >>> found = check(Library([function("f", {n: "int64"}, kernel("k", m))]))
    >>> print(found[0])  # doctest: +ELLIPSIS
    <doctest ...>:1: error: 2:9: f: call argument 0: nothing determines the symbol `m`
      |     = k(m);
      |         ^
    """
    _check_type("library", library, Library)
    out = printed(library)
    text = out.text()
    starts = [0]
    for line in text.split("\n"):
        starts.append(starts[-1] + len(line) + 1)
    diagnostics = []
    for found in check_text(text, allow=allow):
        part: Part = library
        if found.line is not None and found.column is not None:
            offset = starts[found.line - 1] + found.column - 1
            inside = (part for start, end, part in out.spans if start <= offset < end and not isinstance(part, Name))
            part = next(inside, library)
        diagnostics.append(Diagnostic(**vars(found), part=part))
    return diagnostics


def checked(library: Library) -> str:
    """Returns the text of a library.

    Raises a `ValueError` with all errors about the library, each with its line of Python.
    """
    errors = [str(found) for found in check(library) if found.severity == "error"]
    if errors:
        raise ValueError("\n".join(errors))
    return str(library)


def with_lines(part: P) -> P:
    """Returns a part whose functions and statements have the lines of Python that built them as their source locations,
    unless they have others: for backtraces, and for breakpoints.

    >>> from tvm_ffi_codegen.build import Return, at
    >>> print(with_lines(Return(1)).location, with_lines(Return(1).at("f.py", 3)).location)  # doctest: +ELLIPSIS
    @"<doctest ...>":1 @"f.py":3
    """
    _check_type("part", part, Part)
    changed = {name: _with_lines(value) for name, value in part.__dict__.items() if name != "place"}
    if isinstance(part, (Statement, Function)) and part.location is None:
        changed["location"] = Location(*part.place)
    return part._with(**changed)


def _check_type(name: str, given: object, expected: type) -> None:
    """Raises a `TypeError` for an argument of another type."""
    if not isinstance(given, expected):
        raise TypeError(f"{name} is of type {type(given).__name__}, expected a `build.{expected.__name__}`")


def _with_lines(value: Any) -> Any:
    if isinstance(value, Part):
        return with_lines(value)
    return tuple(map(_with_lines, value)) if isinstance(value, tuple) else value
