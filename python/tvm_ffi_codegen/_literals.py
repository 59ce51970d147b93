"""Literals of the language, as values of Python."""

from __future__ import annotations

import ast
import re
from typing import Any

_QUOTED = re.compile(r'"((?:[^"\\\n]|\\["\\])*)"')


def unquoted(text: str) -> str | None:
    r"""Returns the text in quotes; None if it has an escape that the language does not know.

    >>> unquoted(r'"a \"b\" \\"'), unquoted(r'"\n"')
    ('a "b" \\', None)
    """
    found = _QUOTED.fullmatch(text)
    return None if found is None else re.sub(r"\\(.)", r"\1", found[1])


def literal(text: str) -> Any:
    r"""Returns the value of a literal. Raises a `SyntaxError` or a `ValueError` for what is none.

    >>> literal("None"), literal("-2"), literal('"a\r\0\\\\"')
    (None, -2, 'a\r\x00\\')
    """
    if not text.startswith('"'):
        return ast.literal_eval(text)
    value = unquoted(text)
    if value is None:
        raise ValueError(f"{text} is no text in quotes")
    return value
