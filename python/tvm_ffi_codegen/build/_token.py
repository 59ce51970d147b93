"""The tokens of a text, and a cursor over them."""

from __future__ import annotations

import re
from collections.abc import Callable
from typing import NamedTuple, NoReturn, TypeVar

from .._literals import unquoted
from ._text import is_reserved

T = TypeVar("T")

_TOKEN = re.compile(
    r"(?P<doc>///[^\n]*)|(?P<word>[A-Za-z_][A-Za-z0-9_]*)|(?P<name>`[^`\x00-\x1f\x7f-\x9f]+`)"
    r"|(?P<float>[0-9]+\.[0-9]+(?:[eE][+-]?[0-9]+)?|[0-9]+[eE][+-]?[0-9]+)|(?P<int>[0-9]+)"
    r'|(?P<quoted>"(?:[^"\\\n]|\\[^\n])*")'
    r"|(?P<sign>\.\.\.|\.\.|->|=>|==|!=|<=|>=|[(){}\[\],:;@.=<>+\-*/%|])"
)
_BLANK = re.compile(r"(?:[ \t\r\n]+|#[^\n]*)*")


class Token(NamedTuple):
    """A token: its kind, a name of a group above or "end", its text, and where it starts."""

    kind: str
    text: str
    start: int


def _tokens(text: str) -> list[Token]:
    found: list[Token] = []
    at = 0
    while True:
        blank = _BLANK.match(text, at)
        at = at if blank is None else blank.end()
        if at == len(text):
            return [*found, Token("end", "", at)]
        token = _TOKEN.match(text, at)
        if token is None:
            raise fault(text, at, "expected a token", repr(text[at]))
        found.append(Token(token.lastgroup or "", token[0], at))
        at = token.end()


def fault(text: str, at: int, expected: str, found: str) -> ValueError:
    """Returns the error of a text at a place in it."""
    before = text[:at].split("\n")
    line = text.split("\n")[len(before) - 1]
    column = len(before[-1])
    return ValueError(f"{len(before)}:{column + 1}: {expected}, found {found}\n  | {line}\n  | {' ' * column}^")


class Cursor:
    """A place among the tokens of a text."""

    def __init__(self, text: str) -> None:
        # Editors write a byte order mark at the start, which positions are counted without.
        self._text = text.removeprefix("\ufeff")
        self._tokens = _tokens(self._text)
        self._at = 0

    @property
    def token(self) -> Token:
        """The current token."""
        return self._tokens[self._at]

    def next(self, count: int = 1) -> Token:
        """Returns a token after the current one."""
        return self._tokens[min(self._at + count, len(self._tokens) - 1)]

    def take(self) -> str:
        """Skips the current token and returns its text."""
        text = self.token.text
        self._at += self.token.kind != "end"
        return text

    def wrong(self, expected: str) -> NoReturn:
        """Raises the error for the current token."""
        found = f"`{self.token.text}`" if self.token.text else "the end of the text"
        raise fault(self._text, self.token.start, f"expected {expected}", found)

    def is_sign(self, sign: str) -> bool:
        """Returns true if the current token is a sign."""
        return self.token.kind == "sign" and self.token.text == sign

    def is_word(self, *words: str) -> bool:
        """Returns true if the current token is one of some words."""
        return self.token.kind == "word" and self.token.text in words

    def opens(self) -> bool:
        """Returns true if `(` follows the current token."""
        return self.next().text == "("

    def is_call(self) -> bool:
        """Returns true if a list in parentheses that ends a statement follows the current token."""
        depth = count = 0
        while depth or not count:
            count += 1
            text = self.next(count).text if self.next(count).kind == "sign" else ""
            depth += (text == "(") - (text == ")")
            if self.next(count).kind == "end":
                return depth > 0
        return count > 1 and self.next(count + 1).text == ";"

    def starts_closure(self) -> bool:
        """Returns true where a function without a name starts, and not a value called `function`."""
        first, second = self.next(2), self.next(3)
        is_named = first.kind in ("word", "name") and second.text == ":"
        has_params = is_named or first.kind == "doc" or first.text in (")", "*")
        return self.is_word("function") and self.opens() and has_params

    def accept(self, sign: str) -> bool:
        """Skips a sign if it is the current token; returns whether it was."""
        found = self.is_sign(sign)
        self._at += found
        return found

    def expect(self, sign: str) -> None:
        """Skips a sign."""
        if not self.accept(sign):
            self.wrong(f"`{sign}`")

    def accept_word(self, word: str) -> bool:
        """Skips a word if it is the current token; returns whether it was."""
        found = self.is_word(word)
        self._at += found
        return found

    def has_name(self) -> bool:
        """Returns true if the current token names a value."""
        kind, text, _ = self.token
        return kind == "name" or kind == "word" and not is_reserved(text)

    def name(self, what: str = "a name") -> str:
        """Skips the name of a value."""
        return self.label(what) if self.has_name() else self.wrong(what)

    def word(self, what: str) -> str:
        """Skips a word, reserved or not."""
        return self.take() if self.token.kind == "word" else self.wrong(what)

    def label(self, what: str = "a name") -> str:
        """Skips a name or a word, reserved or not."""
        if self.token.kind not in ("word", "name"):
            self.wrong(what)
        return self.take().strip("`")

    def quoted(self, what: str = "text in quotes") -> str:
        """Skips text in quotes."""
        text = unquoted(self.token.text) if self.token.kind == "quoted" else None
        if text is None:
            self.wrong(what)
        self.take()
        return text

    def natural(self, what: str = "a number") -> int:
        """Skips digits."""
        return int(self.take()) if self.token.kind == "int" else self.wrong(what)

    def signed(self, what: str = "a number") -> int:
        """Skips an integer, which may be negative."""
        return -self.natural(what) if self.accept("-") else self.natural(what)

    def list(self, close: str, entry: Callable[[Cursor], T]) -> tuple[T, ...]:
        """Skips entries, separated by commas, and the sign that closes them."""
        entries: list[T] = []
        while not self.accept(close):
            if entries:
                self.expect(",")
            entries.append(entry(self))
        return tuple(entries)
