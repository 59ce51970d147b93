"""Functions of tensor IR as declarations, of stand-ins for the nodes of Apache TVM and TileLang: only names and fields matter.

`tests/systems/tvm` and `tests/systems/tilelang` declare functions of the compilers themselves.
"""

from types import SimpleNamespace
from typing import Any

import pytest
from support import raises
from tvm_ffi_codegen._tir import Declaration, Left, dtype_of
from tvm_ffi_codegen.build import Library, check


class Var(SimpleNamespace):
    """A variable, which is equal only to itself."""

    __hash__ = object.__hash__
    __eq__ = object.__eq__


class IntImm(SimpleNamespace):
    def __int__(self) -> int:
        return int(self.value)


def operation(kind: str, *operands: Any) -> Any:
    """Returns a node of the class with this name."""
    return type(kind, (SimpleNamespace,), {})(a=operands[0], b=operands[-1], value=operands[0], dtype="int64")


def var(name: str, dtype: str = "int64") -> Var:
    return Var(name=name, dtype=dtype)


def buffer(name: str, shape: Any, dtype: str = "float32", strides: Any = (), offset: Any = None, factor: int = 1) -> Any:
    fields = {"shape": shape, "dtype": dtype, "strides": strides, "elem_offset": offset, "offset_factor": factor}
    return SimpleNamespace(name=name, **fields)


n, m, narrow, s, o = var("n"), var("m"), var("n", "int32"), var("s"), var("o")
zero, two = IntImm(value=0), IntImm(value=2)


def declared(*params: Any, extra: Any = ()) -> str:
    """Declares a function of buffers and scalars, whose kernel is given their addresses, values and more."""
    declaration = Declaration("f")
    for param in (one for one in params if isinstance(one, Var)):
        declaration.reserve_scalar(param)
    datas = [Var(name="data") for _ in params]
    for param, data in zip(params, datas, strict=True):
        if isinstance(param, Var):
            declaration.add_scalar(param)
        else:
            declaration.add_tensor(param, data, "cpu")
    args = [param if isinstance(param, Var) else data for param, data in zip(params, datas, strict=True)]
    function = declaration.function(declaration.call("k", [*args, *extra]))
    assert [found for found in check(Library([function])) if found.severity == "error"] == []
    return str(function).removeprefix("f")


@pytest.mark.parametrize(
    ("params", "extra", "text"),
    [
        (
            [buffer("x", [n, two]), buffer("y", [operation("Add", n, two)])],
            [n],
            "(x: Tensor([n, 2], float32), y: Tensor([n + 2], float32)) -> None\n    = try k(x.data, y.data, n);",
        ),
        # Of one name: an extent of 32 bits, another of 64, a scalar.
        (
            [buffer("n", [narrow]), n],
            [narrow],
            "(n_1: Tensor([n_2], float32), n: int64) -> None\n    = try k(n_1.data, n, int32(n_2));",
        ),
        (
            [buffer("x", [n, m]), buffer("z", [operation("FloorMod", n, two), operation("Max", operation("Cast", m), two)])],
            [],
            "(x: Tensor([n, m], float32), z: Tensor([n % 2, max(m, 2)], float32)) -> None\n    = try k(x.data, z.data);",
        ),
        (
            [buffer("x", [n, m], strides=[s, IntImm(value=1)]), buffer("y", [n, m], strides=[m, IntImm(value=1)])],
            [s],
            "(x: Tensor([n, m], float32, strides=[s, 1]), y: Tensor([n, m], float32)) -> None\n"
            "    = try k(x.data, y.data, s);",
        ),
        (
            [buffer("x", [two], "float16x4", offset=o, factor=4)],
            [o],
            "(x: Tensor([2], float16x4)) -> None\n    where x.byte_offset / 8 % 4 == 0\n"
            "    = try k(x.data - x.byte_offset, int64(x.byte_offset / 8));",
        ),
        (
            [buffer("x", [two], offset=zero), buffer("y", [two], offset=two)],
            [],
            "(x: Tensor([2], float32), y: Tensor([2], float32)) -> None\n    where y.byte_offset == 8\n"
            "    = try k(x.data, y.data - y.byte_offset);",
        ),
        (
            [buffer("my.x", [n, two], "int4")],
            [],
            "(`my.x`: Tensor([_, _], any, strides=any)) -> None\n    = try k(`my.x`.data);",
        ),
        (
            [var("a", "bool"), var("h", "float16"), var("b", "bfloat16")],
            [],
            "(a: bool, h: float16, b: bfloat16) -> None\n    = try k(a, float16(h), b);",
        ),
    ],
)
def test_a_function_is_declared(params: Any, extra: Any, text: str) -> None:
    assert declared(*params, extra=extra) == text


def test_what_the_language_has_not_is_left_with_the_reason() -> None:
    raises(Left, "no element type of the language is custom[x]8, that of `x`", lambda: declared(buffer("x", [n], "custom[x]8")))
    raises(Left, "no extent of the language is", lambda: declared(buffer("x", [operation("Select", n, m)])))
    raises(Left, "no parameter of the language is a float8_e4m3fn, as `a` is", lambda: declared(var("a", "float8_e4m3fn")))
    raises(Left, "no argument determines m", lambda: declared(buffer("x", [n]), extra=[m]))


def test_types_of_expressions_are_those_of_either_compiler() -> None:
    number, address = SimpleNamespace(ty=SimpleNamespace(dtype="int8")), SimpleNamespace(ty="T.handle")
    assert [dtype_of(one) for one in (number, address, n)] == ["int8", "T.handle", "int64"]
