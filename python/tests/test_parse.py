"""The parser in Python, beside the one of the shared object: both refuse the same texts at the same places."""

import random
import re
import time
from collections.abc import Iterator

import tvm_ffi_codegen as codegen
from test_build import ROOT, texts
from tvm_ffi_codegen import build

# What `check` says of a text that is none of the grammar, behind the location that the declaration gives.
SYNTAX = re.compile(r"(?:\S*:\d+(?::\d+)?: )?(?:expected .*, found |more than 64 levels of nesting )", re.DOTALL)
TOKEN = re.compile(r'///[^\n]*|#[^\n]*|"(?:[^"\\\n]|\\.)*"|`[^`\n]*`|\d+\.\d+|\w+|=>|->|[=!<>]=|\.\.\.|\.\.|\s+|.', re.DOTALL)
# Tokens that may stand where no text of the tables has them.
OTHERS = """0 -1 00 1.5 1e400 99999999999999999999 2147483648 min null None True stream not and where else Tensor Array Optional
 Shape Tuple Literal Object any let alloc if for match return raise launch upload fill copy wait on image cached into try errors
 function struct scratch tensormap strides=[...,s,1] strides=[1] [...,m] ... .data .shape[0] .global("x") .device ( ) [ ] { } , ; :
 = -> => .. + - * == < | @ @"x" " `a` ` é § /// def while int8|any any|int8 Optional( cached()""".split()


def wrong() -> list[str]:
    """Returns the texts of the table of errors."""
    entries = (ROOT / "tests/declarations.txt").read_text().split("\n\n")
    lines = ([line for line in one.split("\n") if not line.startswith("!")] for one in entries)
    return [text for one in lines if (text := "\n".join(one).strip())]


def mutations(seed: random.Random, sources: list[str]) -> Iterator[str]:
    """Yields texts of which some tokens are missing, are there twice, are swapped, or are others."""
    tokens = [TOKEN.findall(source) for source in sources]
    while True:
        text = list(seed.choice(tokens))
        for _ in range(1 if seed.random() < 0.8 else seed.randint(2, 4)):
            places = [place for place, token in enumerate(text) if not token.isspace()]
            if not places:
                break
            one, other = seed.choice(places), seed.choice(places)
            kind = seed.randrange(8)
            if kind == 0:
                del text[one]
            elif kind == 1:
                text.insert(one, text[one] + " ")
            elif kind == 2:
                text[one], text[other] = text[other], text[one]
            elif kind == 3:
                text[one] = seed.choice(seed.choice(tokens))
            elif kind < 6:
                text[one : one + kind - 4] = [f" {seed.choice(OTHERS)} "]
            else:
                like = [token for token in seed.choice(tokens) if sort(token) == sort(text[one])]
                text[one] = seed.choice(like or ["n"])
        yield "".join(text)


def sort(token: str) -> str:
    """Returns what is equal for tokens that may often take each other's place."""
    if token in {"+", "-", "*", "/", "%", "==", "<", ">="}:
        return "operator"
    return "word" if token[0].isalpha() else "number" if token[0].isdigit() else token[0]


def disagreement(text: str) -> str | None:
    """Says how the parsers disagree about a text; None if they do not."""
    errors = [found for found in codegen.check(text) if found.severity == "error"]
    expected = next((f"{found.line}:{found.column}: " for found in errors[:1] if SYNTAX.match(found.message)), None)
    try:
        library = build.parse(text)
    except ValueError as error:
        said = str(error)
        if not re.match(r"\d+:\d+: ", said):
            return f"no place: {said}"
        if expected is None:
            return None if errors else f"only refused here: {said}"
        return None if said.startswith(expected) else f"{expected}{errors[0].message} but {said}"
    if expected is not None:
        return f"only refused there: {expected}{errors[0].message}"
    printed = str(library)
    again = build.parse(printed)
    if str(again) != printed or not build.same(again, library):
        return f"reads {printed} as {again}"
    said = [found.message for found in codegen.check(printed) if found.severity == "error"]
    return None if said == [found.message for found in errors] else f"prints {printed}, of which {said}"


def test_the_parsers_refuse_the_same() -> None:
    # A longer text is the same statements again.
    sources = [text for text in [*texts(), *wrong()] if len(text) < 1500]
    assert len(sources) > 700
    for text in sources:
        assert disagreement(text) is None, f"{text}\n{disagreement(text)}"
    end = time.monotonic() + 4
    for count, text in enumerate(mutations(random.Random(0), sources)):
        if count == 4000 or time.monotonic() > end and count > 500:
            break
        assert disagreement(text) is None, f"{text}\n{disagreement(text)}"


def test_the_parsers_refuse_the_same_depth() -> None:
    def of(expr: str) -> str:
        return f"f(n: int64) -> int64 = {{ return {expr}; }};"

    def blocks(count: int, inside: str) -> str:
        return f"f(n: int64) -> None = {{ {'if True { ' * count} {inside} {'}' * count} }};"

    for depth in (1, 62, 63, 64, 65, 66, 3000):
        for text in (
            of("(" * depth + "n" + ")" * depth),
            of("-" * depth + "n"),
            of("n" + " + n" * depth),
            of("n" + ".a" * depth),
            of("[" * depth + "]" * depth),
            of("min(" * depth + "n" + ", n)" * depth),
            of("not " * depth + "n"),
            f"f(x: {'Optional[' * depth}int64{']' * depth}) -> None = k();",
            f"f(x: {'Tuple[' * depth}int64{']' * depth}) -> None = k();",
            f"f() -> None = k(); g() -> None = {{ launch i.\"k\"({'struct(' * depth}{')' * depth}) grid(1) block(1); }};",
            blocks(depth, ""),
            blocks(min(depth, 63), f"k({'(' * min(depth, 64)}n{')' * min(depth, 64)});"),
        ):
            assert disagreement(text) is None, f"{text:.200}\n{disagreement(text)}"


def test_errors_are_those_of_the_first_wrong_token() -> None:
    for text in (
        "f(x: Tensor([n], float32, strides=[..., 1])) -> None = k();",
        "f(x: Shape([..., m])) -> None = k();",
        "f(x: Tensor([n], int8|any)) -> None = k();",
        "f(x: Tensor([n], any|int8)) -> None = k();",
        "f() -> None = k(function() -> None {});",
        "f(x: Optional(n: int64)) -> None = k();",
        f"f() -> int64 = {{ return {'1' * 5000}; }};",
        f"f() -> int64 = {{ return {'0' * 5000}1; }};",
        "f( -> \0",
        "f() -> None = { cached () @g(); };",
        "f() -> None = { @g() into; };",
        "f() -> None = k()  # the end\n\n",
        'f() -> None = k("a',
    ):
        [message] = [str(found).removeprefix("error: ") for found in codegen.check(text)][:1] or [None]
        said = None
        try:
            build.parse(text)
        except ValueError as error:
            said = str(error)
        assert said == message, text
