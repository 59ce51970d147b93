"""Words of Python, as which names of declarations can stand in its source."""

from __future__ import annotations

import keyword
import unicodedata


def is_word(name: str) -> bool:
    """Returns true if Python's source can have a name: an identifier, which Python reads as it is, and no keyword.

    >>> [name for name in ["x", "_f", "\u00e9", "lambda", "my.f", "1", "\ufb01"] if is_word(name)]
    ['x', '_f', '\u00e9']
    """
    return name.isidentifier() and not keyword.iskeyword(name) and unicodedata.is_normalized("NFKC", name)
