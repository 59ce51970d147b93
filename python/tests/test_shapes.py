"""Shapes for frameworks: the same as those of the tensors that functions allocate, of numbers and of symbols."""

from __future__ import annotations

import itertools
import operator
import re
from types import SimpleNamespace
from typing import Any

import numpy as np
import pytest
import tvm_ffi_codegen as codegen
from support import raises
from tvm_ffi_codegen._shapes import Shapes, described


class Symbol:
    """An extent that is not known, as PyTorch and JAX have them: operations make others, and nothing asks for its value."""

    def __init__(self, value: int) -> None:
        self.value = value

    def __bool__(self) -> bool:
        raise AssertionError("the value of a symbol is asked for")

    __index__ = __int__ = __lt__ = __gt__ = __eq__ = __bool__  # type: ignore[assignment]
    __hash__ = None  # type: ignore[assignment]


def number(of: Any) -> int:
    return of.value if isinstance(of, Symbol) else int(of)


def symbolic(name: str) -> Any:
    compute = getattr(operator, name)
    return lambda *operands: Symbol(compute(*map(number, operands)))


for name in ("add", "sub", "mul", "floordiv", "mod"):
    setattr(Symbol, f"__{name}__", symbolic(name))
    setattr(Symbol, f"__r{name}__", lambda a, b, compute=symbolic(name): compute(b, a))
setattr(Symbol, "__neg__", symbolic("neg"))  # noqa: B010

# As PyTorch's `sym_min` and `sym_max`.
OPERATORS = {"min": lambda a, b: Symbol(min(number(a), number(b))), "max": lambda a, b: Symbol(max(number(a), number(b)))}


def shapes(text: str, name: str, operators: Any = OPERATORS) -> Shapes:
    return Shapes(described(codegen.jit(text), name)["declaration"], operators, np.dtype)


def tensor(shape: tuple[Any, ...], dtype: str = "float32") -> Any:
    return SimpleNamespace(shape=shape, dtype=np.dtype(dtype))


def unknown(one: Any) -> Any:
    """Returns an argument whose extents or numbers are symbols."""
    if isinstance(one, tuple):
        return tensor(tuple(map(Symbol, one)))
    if isinstance(one, list):
        return list(map(Symbol, one))
    return None if one is None else Symbol(one)


X = "x: Tensor([n, m], float32)"

# Parameters, extents of the result, and the shapes of arguments; numbers stand for themselves.
ROWS: list[tuple[str, str, list[Any]]] = [
    (X, "n + m, n * m, 7", [(5, 3)]),
    (X, "n - m, n / m, n % m", [(7, 3)]),
    (X, "ceildiv(n, m), min(n, m), max(n, m), min(m, n), max(m, n)", [(7, 3)]),
    (X, "(m - n) / 2 + 9, (m - n) % 4, ceildiv(m - n, 3) + 9", [(8, 3)]),
    (X, "-n + 20, -(n - m) * -2, n - (m - 1) - 1, n / (m / 2) * 2", [(8, 5)]),
    ("x: Tensor([], float32), k: int64", "k, k + 1", [(), 3]),
    ("x: Tensor([n], float32), s: Shape([m, 2 * k])", "n + m, k", [(3,), [4, 10]]),
    ("x: Tensor([n], float32), s: Shape([n, m - 1, _])", "m", [(3,), [3, 4, 9]]),
    ("x: Optional[Tensor([n], float32)], s: Optional[Shape([n + 1])]", "n", [None, [4]]),
    ("x: Tensor([n], float32), k: int32 = 4", "n * k", [(3,)]),
    ("x: Tensor([n], float32), k: int32 = 4", "n * k", [(3,), 2]),
    ("x: Tensor([n], float32), `where`: uint64", "n + `where`", [(3,), 2]),
    ("`min`: Tensor([`max`], float32), x: Tensor([_, `stream`], float32)", "min(`max`, `stream`)", [(3,), (9, 2)]),
    ("x: Tensor([2 * n + 1, m], float32)", "n, m", [(9, 4)]),
    ("x: Tensor([n], float32), y: Tensor([n * m - n], float32)", "m", [(3,), (12,)]),
    ("x: Tensor([8 - n], float32)", "n", [(3,)]),
    ("x: Tensor([..., n, m], float32)", "m, n", [(2, 3, 4, 5)]),
    ("x: Tensor([outer..., m], float32)", "outer, m", [(2, 3, 4, 5)]),
    ("x: Tensor([outer..., m], float32)", "outer, m", [(5,)]),
    ("x: Tensor([n...], float32)", "n", [(2, 3, 4)]),
    ("x: Tensor([n...], float32)", "n + 1", [()]),
    ("x: Tensor([...], float32), y: Tensor([_, n], float32)", "n", [(1, 2), (3, 4)]),
    ("x: Optional[Tensor([n], float32)], y: Tensor([n, m], float32)", "n, m", [None, (3, 4)]),
    ("x: Optional[Tensor([n], float32)], y: Optional[Tensor([n + 1], float32)]", "n", [None, (4,)]),
    ("x: Optional[Tensor([n], float32)], y: Optional[Tensor([n + 1], float32)]", "n", [(3,), None]),
]


@pytest.mark.parametrize("row", range(len(ROWS)))
def test_shapes_are_those_of_results(row: int) -> None:
    params, extents, given = ROWS[row]
    other = "s" if "s: Optional" in params else "y"
    where = f" where x.is_some or {other}.is_some" if params.count("Optional") == 2 else ""
    text = f"f({params}) -> r: Tensor([{extents}], float32){where} = {{ @\"ffi.Array\"(r); }};"
    arrays = [np.zeros(one, "float32") if isinstance(one, tuple) else one for one in given]
    expected = codegen.jit(text).f(*arrays).shape

    known = [tensor(one) if isinstance(one, tuple) else one for one in given]
    assert shapes(text, "f", {}).of(["r"], known) == [(tuple(expected), np.float32)]

    [(found, _)] = shapes(text, "f").of(["r"], list(map(unknown, given)))
    assert [number(one) for one in found] == list(expected)


def test_operators_are_those_of_functions() -> None:
    terms = ["n + m", "n - m", "n * m", "n / m", "n % m", "ceildiv(n, m)", "min(n, m)", "max(n, m)", "-n"]
    text = "".join(f"f{i}(n: int64, m: int64) -> int64 = {{ return {term}; }};" for i, term in enumerate(terms))
    text += f"g(n: int64, m: int64) -> r: Tensor([{', '.join(terms)}], float32) = {{ @\"ffi.Array\"(r); }};"
    module = codegen.jit(text)
    plain, of_symbols = shapes(text, "g", {}), shapes(text, "g")
    for n, m in itertools.product((-7, -4, -1, 0, 1, 4, 7), (-3, -2, -1, 1, 2, 3)):
        expected = [module[f"f{i}"](n, m) for i in range(len(terms))]
        assert list(plain.of(["r"], [n, m])[0][0]) == expected, (n, m)
        assert [number(one) for one in of_symbols.of(["r"], [Symbol(n), Symbol(m)])[0][0]] == expected, (n, m)


def test_element_types() -> None:
    text = (
        "f(x: Tensor([n], T: float16|float32), k: float64) -> (a: Tensor([n], T), b: Tensor([2], int8))"
        ' = { @"ffi.Array"(a, b); };'
        "g(x: Tensor([n], float16), y: Tensor([n], T: float32|int8), z: Tensor([n + 1], T), w: Tensor([n], bool)) -> None = {};"
    )
    given = [tensor((3,), "float16"), 1.5]
    assert shapes(text, "f").of(["a", "b"], given) == [((3,), np.float16), ((2,), np.int8)]
    given = [tensor((3,)), tensor((3,), "int8")]
    written = shapes(text, "g")
    written.check(["z", "w"], range(2))
    assert written.of(["z", "w"], given) == [((4,), np.int8), ((3,), np.bool_)]
    raises(TypeError, "the element type of z is not known: no argument determines it", lambda: written.check(["z"], [0]))
    raises(TypeError, "the element type of y is not known: it may be one of several", lambda: written.check(["y"], [0]))


# Parameters of which the first few are results: their shapes, and those of the others.
WRITTEN: list[tuple[str, list[tuple[int, ...]], list[tuple[int, ...]]]] = [
    ("z: Tensor([n], int8), x: Tensor([n], int8)", [(3,)], [(3,)]),
    ("z: Tensor([2 * n], int8), x: Tensor([n], int8)", [(6,)], [(3,)]),
    ("z: Tensor([n], int8), x: Tensor([2 * n + 1], int8)", [(3,)], [(7,)]),
    ("z: Tensor([n, m], int8), x: Tensor([n * m], int8), y: Tensor([m], int8)", [(2, 3)], [(6,), (3,)]),
    ("z: Tensor([n, h - k + 1], int8), x: Tensor([n, h], int8), w: Tensor([k], int8)", [(2, 5)], [(2, 7), (3,)]),
    ("z: Tensor([n], T: int8|int16), u: Tensor([n], T), x: Tensor([n], T)", [(3,), (3,)], [(3,)]),
]


@pytest.mark.parametrize("params, expected, given", WRITTEN)
def test_results_stand_before_arguments(
    params: str, expected: list[tuple[int, ...]], given: list[tuple[int, ...]]
) -> None:
    names = [param.strip().split(":")[0] for param in re.split(r", (?=[a-z]: )", params)]
    results, count = names[: len(names) - len(given)], len(names)
    known = [None] * len(results) + [tensor(one, "int8") for one in given]
    found = shapes(f"f({params}) -> None = {{}};", "f", {})
    found.check(results, range(len(results), count))
    assert found.of(results, known) == [(shape, np.int8) for shape in expected]
    unknown = [one and tensor(tuple(map(Symbol, one.shape)), "int8") for one in known]
    symbolic_shapes = shapes(f"f({params}) -> None = {{}};", "f").of(results, unknown)
    assert [tuple(map(number, shape)) for shape, _ in symbolic_shapes] == expected


def test_what_is_not_known_is_refused() -> None:
    text = (
        "f(x: Tensor([n], float32, strides=[s]), y: Tensor([_, n], float32), z: Tensor([...], float32),"
        " u: Tensor([..., n], float32), v: Tensor([n, m], float32)) -> r: Tensor([n, s], float32)"
        ' = { @"ffi.Array"(r); };'
    )
    found = shapes(text, "f")
    for name in "yzu":
        raises(TypeError, f"the shape of {name} is not known: it may be any", lambda name=name: found.check([name], range(5)))
    raises(TypeError, "the shape of v is not known: no extent of an argument determines m", lambda: found.check(["v"], range(4)))
    raises(TypeError, "the shape of r is not known: no extent of an argument determines s", lambda: found.check(["r"], range(5)))
    found.check(["v"], range(5))
    found = shapes("f(z: Tensor([n, m], int8), x: Tensor([n * m], int8)) -> None = {};", "f")
    raises(TypeError, "no extent of an argument determines n", lambda: found.check(["z"], [1]))
    found = shapes(text, "f")
    # Arguments that the function refuses.
    given = [tensor((3,))] * 5
    raises(ValueError, "Mismatched v.ndim on argument #4, expected 2 but got 1", lambda: found.of(["v"], given))
    for given, said in [
        ([(2,), (5,), [1]], "Mismatched y.shape[0] on argument #1, expected 2 * n but got 5"),
        ([(0,), (0,), [1]], "Mismatched y.shape[0] on argument #1, expected 0 * n but got 0"),
        ([(2,), (4,), [5]], "Mismatched s[0] on argument #2, expected 2 * k - 2 but got 5"),
    ]:
        params = "x: Tensor([m], int8), y: Tensor([m * n], int8), s: Shape([2 * k - m])"
        text = f'f({params}) -> r: Tensor([n, k], int8) = {{ @"ffi.Array"(r); }};'
        known = [tensor(one, "int8") if isinstance(one, tuple) else one for one in given]
        raises(ValueError, said, lambda: shapes(text, "f", {}).of(["r"], known))
    text = 'f(s: Shape([n, m])) -> r: Tensor([m], int8) = { @"ffi.Array"(r); };'
    raises(TypeError, "no argument of this call determines m", lambda: shapes(text, "f").of(["r"], [[3]]))
    text = 'g(n: int64) -> r: Tensor([1 / n], int8) = { @"ffi.Array"(r); };'
    raises(ZeroDivisionError, "", lambda: shapes(text, "g").of(["r"], [0]))
    raises(ValueError, "expected", lambda: codegen._api.shapes("f(n: int64) ->"))
    raises(ValueError, "nothing determines the symbol `m`", lambda: codegen._api.shapes("f() -> r: Tensor([m], int8)"))


def test_extents_of_returned_tensors_may_be_new() -> None:
    sizes = map(Symbol, itertools.count(100))
    given = [tensor((3, 4), "int8"), 5]
    params = "x: Tensor([n, h], T: int8|int16), k: int64"
    for result, expected in [
        ("Tensor([_, n * k], T)", [((100, 15), np.int8)]),
        ("Tensor([m, 2 * m, m - n], float32)", [((101, 202, 98), np.float32)]),
        ("Tuple[a: Tensor([m], T), b: Tensor([_, m, h], int64), c: Tensor([], T)]", None),
        ("Tuple[Tensor([min(n, h), max(k, 1)], int8)]", [((3, 5), np.int8)]),
    ]:
        found = shapes(f"f({params}) -> {result} = {{ raise RuntimeError(\"no\"); }};", "f", {"min": min, "max": max})
        known = [(tuple(map(number, shape)), of) for shape, of in found.of(found.returned([0, 1]), given, lambda: next(sizes))]
        assert known == (expected or [((102,), np.int8), ((103, 102, 4), np.int64), ((), np.int8)])
        assert {found.device(one) for one in found.returned([0, 1])} == {"cpu"}
    for result, numbers in [
        ("Tensor([...], int8)", []),
        ("Tensor([..., n], int8)", []),
        ("Tensor([n], int8|int16)", []),
        ("Tensor([n], int8, strides=any)", []),
        ("Tuple[Tensor([n], int8), int64]", [0]),
        ("Tuple[int64, Tensor([n], T)]", [1]),
        ("Optional[Tensor([n], int8)]", []),
        ("Array[Tensor([n], int8)]", []),
        ("int64", []),
        ("None", []),
    ]:
        found = shapes(f"f({params}) -> {result} = {{ raise RuntimeError(\"no\"); }};", "f")
        assert found.returned([0, 1]) == numbers
