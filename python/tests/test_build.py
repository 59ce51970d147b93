"""Declarations that are built from values: their texts, and what is refused."""

import copy
import dataclasses
import doctest
import enum
import importlib
import pickle
import pkgutil
import re
import subprocess
import sys
from collections.abc import Callable, Iterator
from pathlib import Path
from typing import Any

import numpy as np
import pytest
import tvm_ffi_codegen as codegen
from support import raises
from tvm_ffi_codegen import build
from tvm_ffi_codegen.build import *

MODULES = [build.__name__, *(f"{build.__name__}.{module.name}" for module in pkgutil.iter_modules(build.__path__))]
MODULES += ["tvm_ffi_codegen._literals", "tvm_ffi_codegen._words"]
n, m, x, y, f = symbols("n m x y f")


@pytest.mark.parametrize("name", MODULES)
def test_the_examples_of_the_documentation_are_true(name: str) -> None:
    tested = doctest.testmod(importlib.import_module(name))
    assert tested.failed == 0


# The texts are those that Rust's `Display` prints for the same expressions.
@pytest.mark.parametrize(
    ("expr", "text"),
    [
        (n - (m - 1), "n - (m - 1)"),
        (n - m - 1, "n - m - 1"),
        (2 * (n + 1) % m, "2 * (n + 1) % m"),
        (n // (m * 2), "n / (m * 2)"),
        (7 // n - 3 % m + (1 - n), "7 / n - 3 % m + (1 - n)"),
        (-n * -(n + 1), "-n * -(n + 1)"),
        (-(-n), "--n"),
        (-build.expression(5), "-(5)"),
        (-build.expression(-5), "--5"),
        (n - -5, "n - -5"),
        ((n < 4) == (m < 4), "(n < 4) == (m < 4)"),
        (not_(not_(n < 4)), "not not n < 4"),
        (not_(all_of(n < 4, m >= 2)), "not (n < 4 and m >= 2)"),
        (any_of(all_of(n < 1, m < 2), n != 3), "n < 1 and m < 2 or n != 3"),
        (all_of(any_of(n < 1, m < 2), n != 3), "(n < 1 or m < 2) and n != 3"),
        (all_of(), "True"),
        (product(), "1"),
        (sum_of(n, 1, m), "n + 1 + m"),
        (sum_of(), "0"),
        (0 < n, "n > 0"),
        (x.shape[-1] * x.strides[0] + x.numel, "x.shape[-1] * x.strides[0] + x.numel"),
        (x[n + 1][0].field("min").data, "x[n + 1][0].min.data"),
        ((x.data + 4)[0], "(x.data + 4)[0]"),
        (build.expression(1).field("a"), "(1).a"),
        (x.device.multiprocessors + x.device.attribute(75), "x.device.multiprocessors + x.device.attribute(75)"),
        (x.dtype == "float16", 'x.dtype == "float16"'),
        (Scalar("float32")(n) / 2, "float32(n) / 2"),
        (f / x, "f / x"),
        (1.0 / n, "1.0 / n"),
        (min_of(n, max_of(m, 2)) + ceildiv(n, 2), "min(n, max(m, 2)) + ceildiv(n, 2)"),
        (stream(x), "stream(x)"),
        (build.expression([shape_of(n, 2), None, True, "a", null]), '[Shape(n, 2), None, True, "a", null]'),
        (symbols("stream")[0] + symbols("Tensor")[0], "`stream` + `Tensor`"),
        (symbols("my.n")[0] + 1, "`my.n` + 1"),
        (build.expression(1 << 63), "9223372036854775808"),
        (build.expression(1e300), "1" + "0" * 300 + ".0"),
        (build.expression(5e-324), "0." + "0" * 323 + "5"),
        (build.expression(-0.5) * 2, "-0.5 * 2"),
    ],
    ids=lambda value: str(value)[:40],
)
def test_an_expression_prints_its_text(expr: Expr, text: str) -> None:
    assert str(expr) == text


@pytest.mark.parametrize("name", ["build", "frameworks", "triton"])
def test_modules_are_imported_where_they_are_used_first(name: str) -> None:
    script = f"import tvm_ffi_codegen as codegen; print(codegen.{name}.__name__)"
    run = subprocess.run([sys.executable, "-c", script], check=True, capture_output=True, text=True)
    assert run.stdout == f"tvm_ffi_codegen.{name}\n"


def test_long_chains_are_no_deep_nesting() -> None:
    assert str(all_of(*[n < i for i in range(17)])).count("(") == 1
    many = function("f", {n: "int64"}, [Return(sum(range(100), start=n))], "int64")
    assert [found.message for found in check(Library([many]))] == [
        "more than 64 levels of nesting or operators in a row (MAX_NESTING)"
    ]
    raises(ValueError, "the declaration is nested too deeply", lambda: str(sum(range(9999), start=n)))


def test_what_is_no_expression_is_refused() -> None:
    truth = "`n < 4` is true or false only when the function is called: join conditions with `all_of`"
    raises(TypeError, truth, lambda: bool(n < 4))
    raises(TypeError, truth, lambda: n < 4 and m < 4)
    raises(TypeError, "`n > 0` is true or false", lambda: 0 < n < 4)
    raises(TypeError, "not iterable", lambda: list(n))
    raises(TypeError, "not iterable", lambda: list(x.shape))
    raises(TypeError, "`n / 2` divides integers: `//` does", lambda: n / 2)
    raises(TypeError, "`x.shape[0] / n` divides integers", lambda: x.shape[0] / n)
    raises(TypeError, "unsupported operand", lambda: n**2)
    raises(TypeError, "object stands for no expression", lambda: n + object())
    raises(ValueError, "18446744073709551616 is no int64", lambda: n + (1 << 64))
    raises(ValueError, "inf is not a number that can be written", lambda: str(n + float("inf")))
    raises(ValueError, "text in quotes is one line", lambda: str(x.dtype == "a\nb"))


def test_parts_are_equal_by_their_contents() -> None:
    assert same(n + 1, n + 1) and not same(n + 1, n + 2) and not same(n + 1, n + 1.0)
    assert Tensor([n, 2], "int8") == Tensor([n, 2], "int8") != Tensor([m, 2], "int8")
    assert Return(n) == Return(n) != Return(n).at("f.py", 1)
    assert Param("n", "int64") == Param(n, "int64") != Param(n, "int64", docs="Rows.")
    assert len({Tensor([n], "int8"), Tensor([n], "int8")}) == 1


@pytest.mark.parametrize(
    ("built", "text"),
    [
        (Tensor([], "float32x4"), "Tensor([], float32x4)"),
        (Tensor([...], ["int8", "uint8"], storage=True), "Tensor([...], int8|uint8, dtypes=storage)"),
        (Tensor([any_dim, n], "float32", strides="any", align=4), "Tensor([_, n], float32, strides=any)"),
        (Tensor([n], "float32", device="any", align=64), "Tensor([n], float32, device=any, align=64)"),
        (Tensor([n], "int8", storage=True, access="read"), "Tensor([n], int8, dtypes=storage, access=read)"),
        (Tensor([n], "float32", access="update"), "Tensor([n], float32)"),
        (Tensor([folded("n")], symbols("int8")[0]), "Tensor([n...], `int8`)"),
        (Tensor([folded("n"), m], "int8", strides=[8, 1]), "Tensor([n..., m], int8, strides=[8, 1])"),
        (Tensor([..., m], "int8", strides=[..., 1]), "Tensor([..., m], int8, strides=[..., 1])"),
        (Tensor([n], ["float16"], symbol="half"), "Tensor([n], `half`: float16)"),
        (Tensor([n], symbols("stream")[0]), "Tensor([n], `stream`)"),
        (Tensor([n], symbols("any")[0]), "Tensor([n], `any`)"),
        (Tensor([n], "any", symbol="T", align=1), "Tensor([n], T: any)"),
        (Optional(Array(Map("str", List(Dict())))), "Optional[Array[Map[str, List[Dict[Any, Any]]]]]"),
        (ObjectClass.of("my.Class"), 'Object["my.Class"]'),
        (Literal([-1, 2.5, "a", None, False]), 'Literal[-1, 2.5, "a", None, False]'),
        (Tuple([]), "Tuple[]"),
    ],
    ids=lambda value: str(value)[:40],
)
def test_a_type_prints_its_text(built: Type, text: str) -> None:
    assert str(built) == text


def test_what_is_no_type_is_refused() -> None:
    raises(ValueError, "`float` is no word for a type", lambda: Optional("float"))
    raises(TypeError, "NoneType stands for no type", lambda: Array(None))
    raises(ValueError, "'float33' is no element type", lambda: Tensor([n], "float33"))
    raises(ValueError, "a tensor has an element type", lambda: Tensor([n]))
    raises(ValueError, "'gpu' is no type of device", lambda: Tensor([n], "int8", device="gpu"))
    raises(ValueError, "not 'const'", lambda: Tensor([n], "int8", access="const"))
    raises(ValueError, "strides are", lambda: Tensor([n], "int8", strides="compact"))
    raises(TypeError, "a dim is a number or an expression, not 'n': `symbols` makes names", lambda: Shape(["n"]))
    raises(ValueError, "strides begin with `...` where the extents do", lambda: Tensor([n], "int8", strides=[..., 1]))
    raises(TypeError, "the extents of a tensor are a sequence, not Name", lambda: Tensor(n, "int8"))


ROOT = Path(__file__).parents[2]


STRUCTS = """\
image code;
image other on load @"init";

f(x: Tensor([n], float32, device=cuda), c: Tensor([m], int32), i: Tensor([m, 4, 8], float16, device=cuda)) -> None
    = {
        let columns = tensormap(i, im2col(lower=[-1], upper=[m - 1], channels=8, pixels=m), steps=[1, 2, 1], swizzle="128b");
        launch code."columns"(columns) grid(1) block(1);
        launch code."k"(struct(n, struct(x.data)), scratch(n * 4, 16), bytes(c, 64)) grid(n, 1, 2) block(current_device()) smem(4);
        launch other."k"(code.global("state"), code.global("state").size) grid(1) block(1);
        launch code."other"(n) grid(n) block(32) attribute(13, int32(1)) pdl;
        upload x.data (struct(n), n) on x stream stream(x);
    };
"""


def declared(path: Path) -> list[str]:
    """Returns the declarations of a file of the table of calls, without the calls."""
    found, lines = [], []
    for line in path.read_text().splitlines():
        start = line.strip()[:1]
        if start in ("", "#") or not lines and (start == "(" or line.strip().startswith("count=")):
            continue
        lines.append(line)
        text = "\n".join(lines)
        if line.endswith(";") and text.count("{") == text.count("}"):
            found.append(text)
            lines = []
    assert not lines, path
    return found


def texts() -> list[str]:
    """Returns declarations of all that the language has: the table of calls, launches, and pages of the guide."""
    found = [STRUCTS]
    found += [text for path in sorted(ROOT.glob("tests/cases/*.txt")) for text in declared(path)]
    for pattern in ("tests/hosts/**/*.ffi", "tests/races/*.ffi"):
        found += [path.read_text() for path in sorted(ROOT.glob(pattern))]
    for path in sorted(ROOT.glob("codegen/src/guide/language/*.md")):
        found += re.findall(r"^```ffi\n(.*?)^```$", path.read_text(), re.DOTALL | re.MULTILINE)
    return found


# The suite compares these texts, and random ones, with what Rust prints: tests/suite/built.rs.
def test_what_is_parsed_prints_as_it_is_parsed() -> None:
    found = texts()
    assert len(found) > 500
    for text in found:
        library = parse(text)
        printed = str(library)
        assert same(parse(printed), library) and str(parse(printed)) == printed, text
        # The signatures are those that Rust prints.
        signatures = [one["signature"] for one in codegen.describe(text)["functions"]]
        assert [str(function.signature) for function in library.functions] == signatures


def test_the_header_for_cxx_knows_the_same_words() -> None:
    header = (ROOT / "python/tvm_ffi_codegen/include/tvm_ffi_codegen/build/text.hpp").read_text()
    tables = re.findall(r"string_view k(\w+)\[\] = \{([^}]*)\};", header)
    found = {name: re.findall(r'"([^"]*)"', words) for name, words in tables}
    words = build._text
    assert set(found["Scalars"]) == set(words.SCALARS)
    assert set(found["Leaves"]) == {*words.LEAVES, "handle"}
    assert set(found["Classes"]) == set(words.CLASSES)
    assert set(found["Devices"]) == set(words.DEVICES)
    assert set(found["NoElements"]) == {*words._ELSEWHERE, words.ANY_DTYPE}
    named = {name for table in ("Scalars", "Leaves", "Classes", "Keywords") for name in found[table]}
    assert named == words._RESERVED | {"handle"}
    assert all(words.is_dtype(name) for name in found["Elements"])
    spelled_out = set(re.findall(r"[a-z]+[0-9]*(?:_[a-z0-9]+)?", words._DTYPE.pattern))
    assert {name for name in spelled_out if words.is_dtype(name)} <= set(found["Elements"])


def test_every_class_is_among_what_is_parsed() -> None:
    def parts(value: object) -> Iterator[Part]:
        for part in value if isinstance(value, tuple) else vars(value).values() if isinstance(value, Part) else ():
            yield from parts(part)
        if isinstance(value, Part):
            yield value

    def classes(cls: type) -> Iterator[type]:
        for sub in cls.__subclasses__():
            yield from classes(sub)
            yield sub

    used = {type(part) for text in texts() for part in parts(parse(text))}
    abstract = {build.Expr, build.Statement, build.Type, build._statement.Making}
    assert set(classes(Part)) - abstract - used == set()


@pytest.mark.parametrize(
    ("text", "error"),
    [
        ("f", "1:2: expected `(`, found the end of the text"),
        ("f() -> None = k() k", "1:19: expected `;`, found `k`"),
        ("f() -> None = {\n  let x = 1 < 2 < 3;\n};", "2:17: expected `and` between comparisons, found `<`"),
        ("f(x: Tensor([n], float32, align=1, align=2)) -> None = k();", "1:36: expected every option once"),
        ("f(x: Tensor([n], 8)) -> None = k();", "1:18: expected an element type such as `float32`, found `8`"),
        ('f() -> None = { k("a\\n"); };', "1:19: expected"),
        ("f() -> None = { launch i.\"k\"() grid(1); };", "expected `grid` and `block`"),
        ("f(n: int64) -> None = k(" + "(" * 9999 + "n" + ")" * 9999 + ");", "1:90: more than 64 levels of nesting"),
        ("f() -> None = { raise `a`; };", "1:23: expected a kind of error such as `ValueError`, found `a`"),
        ("f() -> None = k(§);", "1:17: expected an expression, found the character '§'"),
    ],
    ids=lambda value: value[:30],
)
def test_what_is_no_text_is_refused(text: str, error: str) -> None:
    raises(ValueError, error, lambda: parse(text))


def test_what_is_no_statement_is_refused() -> None:
    raises(TypeError, "Name is no statement", lambda: For("i", 0, n, [n]))
    raises(TypeError, "the statements of a block are a sequence, not KernelCall", lambda: For("i", 0, n, kernel("k")))
    for branch in [None, (n,), "ab"]:
        raises(TypeError, "a branch of an `if` is a pair of a condition and statements, not ", lambda b=branch: If([b]))
    raises(TypeError, "the type of an expression is not declared", lambda: let("i", n, "int64"))
    raises(TypeError, "int is no name: 3", lambda: Let(3, n))
    raises(TypeError, "a callee is a name or an expression, not int", lambda: kernel(3))
    raises(ValueError, "`elif_` stands before `else_`", lambda: if_(n > 0, [], [Return()]).elif_(n < 0, []))


def test_what_is_no_launch_is_refused() -> None:
    def launch(grid: Any, **attributes: Any) -> Callable[[], object]:
        return lambda: Launch("i", "k", [], grid=grid, block=1, attributes=attributes)

    raises(ValueError, "the extents of a grid are one to three, not 4", launch([1] * 4))
    raises(ValueError, "the extents of a grid are one to three, not 0", launch([]))
    raises(ValueError, "'pd' is no attribute, expected one of cluster, ", launch(1, pd=True))
    raises(ValueError, "the attribute pdl has not 1 fields", launch(1, pdl=1))
    raises(ValueError, "swizzle is one of none, 32b", lambda: TensorMap(x, [1], swizzle="16b"))
    raises(TypeError, "the offsets of a corner are a sequence, not int", lambda: Im2col(1, [1], 1, 1))
    each = "expected `lower`, `upper`, `channels` and `pixels`, each once"
    for part in ("lower=[1]", "lower=[1], lower=[1]", "left=1"):
        raises(ValueError, each, lambda: parse(f"f() -> None = {{ let m = tensormap(x, im2col({part})); }};"))
    both = "f() -> None = { let m = tensormap(x, box=[1], im2col(lower=[1])); };"
    raises(ValueError, "expected one of `box` and `im2col`", lambda: parse(both))
    raises(TypeError, "parameters are a sequence, not str", lambda: Signature("f", "n"))


class Mode(int, enum.Enum):
    FAST = 2


class Word(str, enum.Enum):
    VALUE = "ValueError"


class Index:
    def __index__(self) -> int:
        return 5


@pytest.mark.parametrize(
    ("built", "text"),
    [
        (Constraint(True), "True"),
        (Signature("f", where=[8 % 4 == 0, (True, "never")]), 'f() -> None where True, True else "never"'),
        (Param("m", "int64", default=Mode.FAST), "m: int64 = 2"),
        (Param("m", "int64", default=np.int32(-3)), "m: int64 = -3"),
        (Param("m", "int64", default=Index()), "m: int64 = 5"),
        (Param("b", "bool", default=True), "b: bool = True"),
        (Param("x", "float64", default=np.float64(0.5)), "x: float64 = 0.5"),
        (Param("s", "str", default=Word.VALUE), 's: str = "ValueError"'),
        (Literal([Mode.FAST, np.uint8(3), Word.VALUE, None, False]), 'Literal[2, 3, "ValueError", None, False]'),
        (n + Mode.FAST, "n + 2"),
        (x.device.attribute(Mode.FAST), "x.device.attribute(2)"),
        (Tensor([Mode.FAST], "int8", align=np.int64(16)), "Tensor([2], int8, align=16)"),
        (at("f.py", np.int64(7), Mode.FAST), '@"f.py":7:2'),
        (Raise(Word.VALUE), "raise ValueError;"),
        (Raise("my_package.Error2", ["n is ", n]), 'raise my_package.Error2 "n is ", n;'),
        (try_kernel("k", errors={Mode.FAST: ("OSError", "lost")}), 'try k() errors { 2: OSError "lost" }'),
        (build.KernelCall("k", [n, m]), "k(n, m)"),
    ],
)
def test_values_of_other_classes_are_those_of_python(built: Part, text: str) -> None:
    assert str(built) == text
    assert not isinstance(built, Param) or parse_signature(f"f({text}) -> None").params == (built,)


KINDS = ['ValueError "a"; g(); raise TypeError', "", "a.", ".a", "a..b", "1", "a b", "`a`", "é", "a\n"]


@pytest.mark.parametrize("kind", KINDS)
def test_the_kind_of_an_error_is_words(kind: str) -> None:
    error = f"the kind of an error is words with dots between them, not {kind!r}"
    raises(ValueError, error, lambda: Raise(kind, ["b"]))
    raises(ValueError, error, lambda: try_kernel("k", errors={1: (kind, "b")}))


CONDITION = "a condition is an expression, not 'n > 0': `symbols` makes names"
LINE = "text in quotes is one line"
NAME = "a name is text without backticks and control characters"

WRONG: list[tuple[type, str, Callable[[], object]]] = [
    (TypeError, CONDITION, lambda: Signature("f", where=["n > 0"])),
    (TypeError, CONDITION, lambda: Signature("f", where=[("n > 0", "no n")])),
    (TypeError, "message of Constraint is of type int, expected str or None", lambda: Constraint(n > 0, 3)),
    (ValueError, LINE, lambda: Constraint(n > 0, "a\nb")),
    (ValueError, LINE, lambda: Literal(["a\nb"])),
    (ValueError, LINE, lambda: let("s", "a\nb")),
    (ValueError, LINE, lambda: at("a\nb", 1)),
    (ValueError, LINE, lambda: try_kernel("k", errors={1: ("OSError", "a\nb")})),
    (TypeError, "functions[0] of Library is of type str, expected Function", lambda: Library(["text"])),
    (TypeError, "functions[1] of Library is of type int", lambda: Library([function("f", [], []), 3])),
    (TypeError, "images[0] of Library is of type int, expected Image", lambda: Library([], [3])),
    (TypeError, "tensor of Output is of type str, expected Tensor", lambda: Output("y", "int64")),
    (TypeError, "result[0] of Signature is of type Name, expected Output", lambda: Signature("f", result=[n])),
    (TypeError, "align of Tensor is of type str", lambda: Tensor([n], "int8", align="16, device=cuda")),
    (TypeError, "align of Tensor is of type bool, expected int or None", lambda: Tensor([n], "int8", align=True)),
    (TypeError, "storage of Tensor is of type int, expected bool", lambda: Tensor([n], "int8", storage=1)),
    (TypeError, "line of Location is of type bool, expected int", lambda: at("f", True)),
    (TypeError, "line of Location is of type str, expected int", lambda: Return().at("f", "1; g()")),
    (TypeError, "docs of Function is of type int, expected str", lambda: function("f", [], [], docs=3)),
    (TypeError, "docs of Param is of type int, expected str", lambda: Param("n", "int64", docs=3)),
    (TypeError, "default of Param is of type tuple, expected None or bool", lambda: Param("n", "int64", default=[])),
    (ValueError, "inf is not a number that can be written", lambda: Param("n", "float64", default=float("inf"))),
    (TypeError, "values[1] of Literal is of type Name, expected None or bool", lambda: Literal([1, n])),
    (TypeError, "arms[0] of Match is of type Return, expected Arm", lambda: Match(n, [Return()])),
    (TypeError, "status of StatusError is of type bool", lambda: try_kernel("k", errors={True: ("E", "")})),
    (TypeError, "on of Fill is of type int, expected Expr or None", lambda: Fill(n, 1, 2, on=0)),
    (TypeError, "image of Launch is of type int, expected str", lambda: Launch(3, "k", [], grid=1, block=1)),
    (TypeError, "callee of FunctionCall is of type int, expected str or Expr", lambda: call_name(3)),
    (TypeError, "name of Name is of type int, expected str", lambda: Name(3)),
    (TypeError, "names are one text, not list", lambda: symbols(["n"])),
    (ValueError, NAME, lambda: Name("a`b")),
    (ValueError, NAME, lambda: Param("", "int64")),
    (ValueError, NAME, lambda: Signature("a`b")),
    (ValueError, NAME, lambda: Image("a\n")),
    (ValueError, NAME, lambda: n.field("a`b")),
    (ValueError, NAME, lambda: call("a`b")),
    (ValueError, LINE, lambda: call_name("a\nb")),
    (ValueError, LINE, lambda: kernel("a\nb")),
    (ValueError, LINE, lambda: Launch("code", "k\n", [], grid=1, block=1)),
    (ValueError, LINE, lambda: ObjectClass.of("a\n")),
    (ValueError, "`**` is no operator, expected one of or, and, ==", lambda: build.binary("**", n, n)),
    (ValueError, "`int64, m` is no type without parts", lambda: build.Leaf("int64, m")),
    (ValueError, "`Class` is no class of objects", lambda: ObjectClass("Class")),
    (ValueError, "`Tensor` has no type key, `Object` has", lambda: ObjectClass("Tensor", "my.Class")),
    (ValueError, "'on x' is no attribute", lambda: Attribute("on x", ())),
]


@pytest.mark.parametrize("row", range(len(WRONG)))
def test_what_is_no_part_is_refused_where_it_is_built(row: int) -> None:
    raises(*WRONG[row])


def test_values_are_frozen_copied_and_pickled() -> None:
    made = function("f", {n: "int64"}, [Return(n + 1).at("f.py", 2)], "int64")
    for copied in (copy.deepcopy(made), pickle.loads(pickle.dumps(made))):
        assert copied == made and copied.place == made.place
    raises(dataclasses.FrozenInstanceError, "cannot assign to field 'docs'", lambda: setattr(made, "docs", ""))


def test_errors_name_the_line_that_built_the_part() -> None:
    line = sys._getframe().f_lineno
    z = symbols("z")[0]
    wrong = [
        function("default", [Param(f, "int64", default=1.5)], []),
        function("where", {n: "int64"}, [], where=[n > 1, n > z]),
        function(
            "statement",
            {n: "int64"},
            [
                kernel("k", n),
                if_(n > 0, [kernel("k", n, z)]),
            ],
        ),
        function("result", {n: "int64"}, [], "int64"),
    ]
    found = check(Library([function("good", {n: "int64"}, kernel("k", n)), *wrong]))
    assert {one.place.file for one in found} == {__file__}
    assert [(one.place.line - line, type(one.part).__name__, one.message) for one in found] == [
        (3, "Param", "default: f's default: `1.5` is no value of type `int64`"),
        (4, "Binary", "where: constraint 1: nothing determines the symbol `z`"),
        (10, "KernelCall", "statement: statement 2: nothing determines the symbol `z`"),
        (13, "Scalar", "result: result: a path ends here without `return` or `raise`"),
    ]
    assert str(found[2]) == f"""\
{__file__}:{line + 10}: error: 15:13: statement: statement 2: nothing determines the symbol `z`
  |             k(n, z);
  |             ^"""
    raises(ValueError, f"{found[0].place}: error: 1:20: default", lambda: checked(Library(wrong)))
    raises(ValueError, f"\n{found[3].place}: error: ", lambda: checked(Library(wrong)))


def test_libraries_are_compiled_as_they_are() -> None:
    n, m, x = symbols("n m x")
    good = Library([function("f", {x: "Tensor", n: "handle"}, kernel("k", x.object, x, n))])
    assert str(good) == "f(x: Tensor, n: handle) -> None\n    = k(x.object, x, n);\n"
    assert codegen.describe(good)["kernels"][0]["prototype"] == "void k(TVMFFIObject*, DLTensor*, void*)"
    assert codegen.emit(good) == codegen.emit(str(good))
    wrong = Library([function("f", {n: "int64"}, kernel("k", m))])
    place = f"{check(wrong)[0].place}: error: 2:"
    for use in (codegen.emit, codegen.jit, codegen.describe):
        raises(ValueError, place, lambda use=use: use(wrong))
    raises(TypeError, "expected str", lambda: codegen.emit(good.functions[0]))  # type: ignore[call-overload]


def test_lines_of_python_are_locations_on_request() -> None:
    line = sys._getframe().f_lineno
    inner = closure({"i": "int64"}, [kernel("step", symbols("i")[0])])
    body = [kernel("k", n), Let("g", inner), if_(n > 0, [Return().at("net.py", 7)])]
    located = with_lines(function("f", {n: "int64"}, body))
    lines = [int(found) - line for found in re.findall(rf'@"{re.escape(__file__)}":([0-9]+)', str(located))]
    assert lines == [3, 2, 2, 1, 2]
    assert '@"net.py":7\n' in str(located)


# Compilers that are built as LLVM is have no exceptions.
def test_cxx_builds_declarations_without_exceptions(tmp_path: Path) -> None:
    source, program = tmp_path / "built.cc", tmp_path / "built"
    source.write_text("""
        #include <cstdio>
        #include <tvm_ffi_codegen/build.hpp>
        namespace b = tvm_ffi_codegen::build;
        int main(int count, char** names) {
          std::puts(b::function("f").params({b::param(count > 1 ? names[1] : "n", b::int64)}).text().c_str());
        }
    """)
    options = ["-std=c++17", "-fno-exceptions", "-fno-rtti", f"-I{codegen.include_dir()}"]
    subprocess.run(["g++", *options, source, "-o", program], check=True)
    printed = subprocess.run([program], check=True, capture_output=True, text=True).stdout
    assert printed == "f(n: int64) -> None\n    = {};\n"
    refused = subprocess.run([program, ""], check=False, capture_output=True, text=True)
    assert refused.returncode < 0
    assert refused.stderr == "tvm_ffi_codegen: a name is empty\n"


def test_what_is_no_part() -> None:
    for use in (build.check, build.checked):
        raises(TypeError, "library is of type int, expected a `build.Library`", lambda use=use: use(5))
    raises(TypeError, "part is of type int, expected a `build.Part`", lambda: build.with_lines(5))


def test_the_check_of_texts_takes_a_library() -> None:
    n, m = symbols("n m")
    library = Library([function("f", {n: "int64"}, kernel("k", m))])
    (found,) = codegen.check(library)
    assert str(found) == str(build.check(library)[0])
    assert f"{Path(__file__).name}:" in str(found)


def test_a_byte_order_mark_at_the_start_is_not_counted() -> None:
    text = "f(n: int64) -> None = k(n);"
    assert build.parse("\ufeff" + text) == build.parse(text)
    raises(ValueError, "1:3: expected", lambda: build.parse("\ufefff(1"))
    raises(ValueError, "1:1: expected the name of a function, found the character", lambda: build.parse("\ufeff\ufeff" + text))
