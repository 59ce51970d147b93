"""The tokens of C++. Preprocessor lines are left out; of an `#if` both sides stand, since the hosts only guard
declarations with them."""

from __future__ import annotations

import re
from dataclasses import dataclass

from cpp import Unreadable

TOKEN = re.compile(
    r"""(?P<space>\s+|//[^\n]*|/\*.*?\*/|\#(?:[^\n\\]|\\\n|\\.)*)
      | (?P<number>0[xX][0-9a-fA-F]+[uUlL]*|(?:\d+\.\d*|\.\d+)(?:[eE][-+]?\d+)?[fF]?|\d+[eE][-+]?\d+[fF]?|\d+[uUlL]*)
      | (?P<name>[A-Za-z_]\w*)
      | (?P<text>"(?:[^"\\]|\\.)*"|'(?:[^'\\]|\\.)*')
      | (?P<sign><<=|>>=|\|=|&=|\^=|->|\+\+|--|<<|>>|<=|>=|==|!=|&&|\|\||\+=|-=|\*=|/=|%=|::|\.\.\.
        |[-+*/%&|^~!<>=?:;,.(){}\[\]])""",
    re.X | re.S,
)


@dataclass(frozen=True)
class Token:
    kind: str
    text: str
    line: int


def tokens(text: str) -> list[Token]:
    found, at, line = [], 0, 1
    while at < len(text):
        match = TOKEN.match(text, at)
        if match is None:
            raise Unreadable(f"line {line}: {text[at]!r} starts no token")
        if match.lastgroup != "space":
            found.append(Token(str(match.lastgroup), match.group(), line))
        line += match.group().count("\n")
        at = match.end()
    found.append(Token("end", "", line))
    return found


class Tokens:
    """The tokens of one file and the place of the next one."""

    def __init__(self, text: str, path: str):
        self.tokens = tokens(text)
        self.at = 0
        self.path = path

    @property
    def token(self) -> Token:
        return self.tokens[self.at]

    def peek(self, offset: int = 1) -> str:
        return self.tokens[min(self.at + offset, len(self.tokens) - 1)].text

    def sees(self, *texts: str) -> bool:
        return self.token.text in texts and self.token.kind != "text"

    def take(self, *texts: str) -> bool:
        if self.sees(*texts):
            self.at += 1
            return True
        return False

    def expect(self, text: str) -> Token:
        token = self.token
        if not self.take(text):
            raise self.error(text)
        return token

    def error(self, wanted: str) -> Unreadable:
        return Unreadable(f"{self.path}:{self.token.line}: expected {wanted} but got {self.token.text!r}")

    def name(self) -> str:
        token = self.token
        if token.kind != "name":
            raise self.error("a name")
        self.at += 1
        return token.text

    def skip(self, opening: str, closing: str) -> None:
        """Skips what stands between a pair, nested ones included."""
        self.expect(opening)
        depth = 1
        while depth:
            if self.token.kind == "end":
                raise self.error(closing)
            depth += self.sees(opening)
            depth -= self.sees(closing)
            if closing == ">" and self.sees(">>"):
                depth -= 2
            self.at += 1
