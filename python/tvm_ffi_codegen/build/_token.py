"""The tokens of a text, and a cursor over them."""

from __future__ import annotations

import re
from collections.abc import Callable, Iterator
from typing import NamedTuple, NoReturn, TypeVar

from .._literals import unquoted
from ._text import is_reserved

T = TypeVar("T")

_TOKEN = re.compile(
    r"(?P<doc>///[^\n]*)|(?P<word>[A-Za-z_][A-Za-z0-9_]*)|(?P<name>`[^`\x00-\x1f\x7f-\x9f]+`)"
    r"|(?P<float>[0-9]+\.[0-9]+(?:[eE][+-]?[0-9]+)?|[0-9]+[eE][+-]?[0-9]+)|(?P<int>[0-9]+)"
    r'|(?P<quoted>"(?:[^"\\\n]|\\[^\n])*")'
    r"|(?P<sign>\.\.\.|\.\.|->|=>|==|!=|<=|>=|[(){}\[\],:;@.=<>+\-*/%|])"
    r'|(?P<unknown>"(?:[^"\\\n]|\\[^\n])*|`[^`\x00-\x1f\x7f-\x9f]*|.)',
    re.DOTALL,
)
_BLANK = re.compile(r"(?:[ \t\r\n]+|#[^\n]*)*")
_CONTROL = re.compile(r"[\x00-\x1f\x7f-\x9f]")

# The limit of nesting, and the most characters of a token and of a line that an error shows.
_NESTING, _SHOWN, _WINDOW = 64, 40, 100


class Token(NamedTuple):
    """A token: its kind, a name of a group above or "end", its text, and where it starts."""

    kind: str
    text: str
    start: int

    def described(self) -> str:
        """Returns what an error calls the token."""
        if self.kind == "end":
            return "the end of the text"
        if self.kind == "doc":
            return "a doc comment"
        if self.kind != "unknown":
            shown = self.text if len(self.text) <= _SHOWN else f"{self.text[:_SHOWN]}…"
            return shown if self.kind == "name" else f"`{shown}`"
        if self.text.startswith('"'):
            return "an unterminated quotation"
        return "a name without the second backtick" if self.text.startswith("`") else f"the character {self.text!r}"


def _tokens(text: str) -> Iterator[Token]:
    """Yields the tokens of a text, unknown ones too, and its end, which is directly after the last token."""
    end = 0
    while True:
        blank = _BLANK.match(text, end)
        token = _TOKEN.match(text, end if blank is None else blank.end())
        if token is None:
            break
        yield Token(token.lastgroup or "", token[0], token.start())
        end = token.end()
    while True:
        yield Token("end", "", end)


def _fault(text: str, at: int, said: str) -> ValueError:
    """Returns the error of a text at a place in it. Of a long line it shows what is around the place."""
    start = text.rfind("\n", 0, at) + 1
    line = text[start:].split("\n", 1)[0].rstrip("\r")
    column = at - start
    first = max(min(column - _WINDOW // 2, len(line) - _WINDOW), 0)
    head, tail = "…" if first else "", "…" if first + _WINDOW < len(line) else ""
    shown = _CONTROL.sub(" ", line[first : first + _WINDOW])
    caret = " " * (len(head) + column - first) + "^"
    return ValueError(f"{text.count(chr(10), 0, at) + 1}:{column + 1}: {said}\n  | {head}{shown}{tail}\n  | {caret}")


class Cursor:
    """A place among the tokens of a text."""

    def __init__(self, text: str) -> None:
        # Editors write a byte order mark at the start, which positions are counted without.
        self._text = text.removeprefix("\ufeff")
        self._tokens = _tokens(self._text)
        self._read: list[Token] = []
        self._at = 0
        self._depth = 0
        self.blocks = 0
        """The number of open blocks."""

    @property
    def token(self) -> Token:
        """The current token."""
        return self.next(0)

    def next(self, count: int = 1) -> Token:
        """Returns a token after the current one."""
        # Tokens are read when they are needed, so that the first of several errors is found.
        while len(self._read) <= self._at + count:
            self._read.append(next(self._tokens))
        return self._read[self._at + count]

    def take(self) -> str:
        """Skips the current token and returns its text."""
        text = self.token.text
        self._at += self.token.kind != "end"
        return text

    def wrong(self, expected: str) -> NoReturn:
        """Raises the error for the current token."""
        raise self.fault(f"expected {expected}, found {self.token.described()}")

    def fault(self, said: str) -> ValueError:
        """Returns an error at the current token."""
        return _fault(self._text, self.token.start, said)

    def excess(self) -> NoReturn:
        """Raises the error for a nesting that the current token makes too deep."""
        raise self.fault(f"more than {_NESTING} levels of nesting or operators in a row (MAX_NESTING)")

    def enter(self) -> None:
        """Enters a parenthesis, a bracket or the operand of a unary operator."""
        if self._depth == _NESTING:
            self.excess()
        self._depth += 1

    def leave(self) -> None:
        """Leaves what `enter` has entered."""
        self._depth -= 1

    def above(self, height: int) -> int:
        """Returns the height of an expression, of which the highest operand has this one."""
        return height + 1 if height < _NESTING else self.excess()

    def statement(self) -> None:
        """Checks that the blocks around a statement are not too many."""
        if self.blocks > _NESTING:
            self.excess()

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
        depth, count = 0, 1
        while (token := self.next(count)).kind != "end":
            if token.text == ")" and depth <= 1:
                return self.next(count + 1).text == ";"
            depth += (token.text == "(") - (token.text == ")")
            if not depth:
                return False
            count += 1
        # A list that never ends is taken for that of a call.
        return depth > 0

    def starts_closure(self) -> bool:
        """Returns true where a function without a name starts, and not a value called `function`."""
        first, second = self.next(2), self.next(3)
        is_named = first.kind in ("word", "name") and second.text == ":"
        has_params = is_named or first.kind in ("doc", "end", "unknown") or first.text in (")", "*")
        return self.is_word("function") and self.opens() and has_params

    def accept(self, sign: str) -> bool:
        """Skips a sign if it is the current token; returns whether it was."""
        found = self.is_sign(sign)
        self._at += found
        return found

    def expect(self, sign: str, expected: str | None = None) -> None:
        """Skips a sign."""
        if not self.accept(sign):
            self.wrong(expected or f"`{sign}`")

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
        if self.token.kind != "quoted":
            self.wrong(what)
        text = unquoted(self.token.text)
        if text is None:
            self.wrong('text with no escapes but `\\"` and `\\\\`')
        self.take()
        return text

    def natural(self, what: str, most: int = (1 << 64) - 1) -> int:
        """Skips digits of a number, at most `most`."""
        digits = self.token.text.lstrip("0") if self.token.kind == "int" else None
        # Python converts no number of thousands of digits.
        if digits is None or len(digits) > len(str(most)) or int(digits or "0") > most:
            self.wrong(what)
        self.take()
        return int(digits or "0")

    def signed(self, bits: int, what: str) -> int:
        """Skips an integer of a width, which may be negative."""
        most = (1 << bits - 1) - 1
        return -self.natural(what, most + 1) if self.accept("-") else self.natural(what, most)

    def list(self, close: str, entry: Callable[[Cursor], T], after: str | None = None) -> tuple[T, ...]:
        """Skips entries, separated by commas, and the sign that closes them. `after` is what may follow an entry."""
        entries: list[T] = []
        while not self.accept(close):
            if entries:
                self.expect(",", after or f"`,` or `{close}`")
            entries.append(entry(self))
        return tuple(entries)
