"""Kernels of Triton, from their files and from objects such as Triton's compiler returns."""

import json
from collections import namedtuple
from pathlib import Path
from types import SimpleNamespace

import numpy as np
import tvm_ffi
import tvm_ffi_codegen as codegen
from support import raises
from tvm_ffi_codegen.triton import _device, _host, _library, _signature, _variant
from tvm_ffi_codegen.triton._host import Left, Parameter

KERNELS = Path(__file__).parents[2] / "driver" / "tests" / "triton"
SIGNATURE = "x: *fp32[n]:16, y: *fp32[n]:16, out: *fp32[n]:16, n: i32:16, stride: i32:1, BLOCK: 1024"
GRID = "cdiv(n, BLOCK)"


class Compiled:
    """A stand-in for the result of `triton.compile`."""

    def __init__(self, name: str = "add", code: str = "cubin") -> None:
        fields = json.loads((KERNELS / f"{name}.json").read_text())
        self.metadata = namedtuple("metadata", fields)(**fields)
        self.asm = {code: (KERNELS / f"{name}.{code}").read_bytes()}


def test_files_and_objects_are_the_same() -> None:
    from_files = codegen.triton.declare(KERNELS / "add.json", SIGNATURE, GRID)
    assert from_files == codegen.triton.declare(Compiled(), SIGNATURE, GRID)
    assert from_files.text.startswith("image add;\n\nadd(x: Tensor([n], float32, device=cuda, align=16), ")
    assert codegen.check(from_files.text) == []


def test_kernels_for_amd_are_as_others() -> None:
    from_files = codegen.triton.declare(KERNELS / "add_gfx942.json", SIGNATURE, GRID)
    assert from_files == codegen.triton.declare(Compiled("add_gfx942", "hsaco"), SIGNATURE, GRID)
    assert from_files.text.startswith("image add;\n\nadd(x: Tensor([n], float32, device=rocm, align=16), ")
    module = codegen.triton.load(Compiled("add_gfx942", "hsaco"), SIGNATURE, GRID)
    x = np.zeros(16, "float32")
    raises(ValueError, "expected rocm but got cpu", lambda: module.add(x, x, x, 16, 1))


def test_kernels_become_functions() -> None:
    module = codegen.triton.load(Compiled(), SIGNATURE, GRID, prepare="load")
    x = np.zeros(16, "float32")
    raises(ValueError, "expected cuda but got cpu", lambda: module.add(x, x, x, 16, 1))
    declared = codegen.triton.declare(Compiled(), SIGNATURE, GRID)
    shared = codegen.inspect(codegen.emit(declared.text, "shared", images=declared.images))
    assert [one["name"] for one in shared["functions"]] == ["add"]


def test_what_is_wrong_is_said() -> None:
    raises(TypeError, "expected one that Triton has compiled", lambda: codegen.triton.declare(5, "", ""))
    raises(ValueError, "fp33", lambda: codegen.triton.declare(Compiled(), "x: *fp33", GRID))
    raises(FileNotFoundError, "none.json", lambda: codegen.triton.declare("none.json", SIGNATURE, GRID))


class Array:
    """An array with the method that Triton wants of a tensor."""

    def __init__(self, array: np.ndarray) -> None:
        self.array = array

    def data_ptr(self) -> int:
        return self.array.ctypes.data

    def __dlpack__(self, **options: object) -> object:
        return self.array.__dlpack__(**options)

    def __dlpack_device__(self) -> tuple[int, int]:
        return self.array.__dlpack_device__()


PARAMETERS = [Parameter(name, (place,), True, True, True, False) for place, name in enumerate("xnf")]


def test_host_functions_ask_once_for_each_class_of_arguments() -> None:
    text = _host.declaration("f", PARAMETERS, [Array, int, float], "cuda", "any")
    host = _host.compiled("f", text)
    given: list[tuple[object, ...]] = []
    variant = tvm_ffi.convert(lambda *passed: given.append(passed))
    made: list[int] = []

    def answer() -> tvm_ffi.Array:
        made.append(len(made))
        return tvm_ffi.Array([variant, made[-1]])

    words = np.zeros(64, "int64")
    aligned = next(words[at:] for at in range(2) if words[at:].ctypes.data % 16 == 0)
    here = _device.tensor_on("cuda", 0)
    ask = tvm_ffi.convert(answer)
    numbers = [(1, 0), (7, 1), (15, 1), (0, 2), (16, 2), (-16, 2), (2**31 - 1, 1), (2**31, 3), (2**31 + 1, 4), (2**63 - 1, 4)]
    for n, expected in numbers:
        assert host(Array(aligned), n, 2.5, 0, ask, here, 0, 5, 1, 1) == expected, n
    assert given[-1][1:3] == (2**63 - 1, 2.5) and given[-1][-3:] == (5, 1, 1)
    others = [(aligned[1:], 0, 5), (aligned.view("int32"), 0, 6), (aligned, 1, 7), (aligned, 0, 1)]
    for array, number, expected in others:
        assert host(Array(array), 7, 1.0, number, ask, here, 0, 5, 1, 1) == expected


def test_what_is_not_specialised_is_no_key() -> None:
    cases = [
        (Parameter("n", (0,), True, False, True, False), ["(`n` < -2147483648 or `n` > 2147483647) * 1"]),
        (Parameter("n", (0,), True, True, False, True), ["(`n` == 1) * 1"]),
        (Parameter("n", (0,), True, False, True, True), []),
    ]
    for parameter, keys in cases:
        text = _host.declaration("f", [parameter], [int], "cuda", "cuda")
        assert f"cached ({', '.join(['`launch.number`', *keys])})" in text
    raises(Left, "an argument of type list", lambda: _host.declaration("f", PARAMETERS[:1], [list], "cuda", "cuda"))


def test_conversions_that_differ_from_triton_are_left_to_it() -> None:
    for type_, kind in (("bf16", float), ("u1", int), ("i32", float), (("i32", "i32"), tuple), ("*fp32", int)):
        raises(Left, "n: ", lambda type_=type_, kind=kind: _variant.check("n", type_, kind))
    for type_, kind in (("fp16", float), ("i1", bool), ("i64", int), ("*fp32", Array), ("fp32", int)):
        _variant.check("n", type_, kind)


def _variants() -> list[_library.Variant]:
    compiled = Compiled()
    # Triton's own class, which the metadata has after compiling, writes its fields as the dict does.
    compiled.metadata = compiled.metadata._replace(target=SimpleNamespace(**compiled.metadata.target))
    return [_library.Variant(compiled, _signature.parse(SIGNATURE.replace("[n]", "")), {})]


def test_variants_become_one_function() -> None:
    made = _library.text("add", _variants(), None)
    assert codegen.check(made.declarations, allow=["unused-parameter"]) == []
    shared = codegen.inspect(codegen.emit(made.declarations, "shared", images=made.images))
    assert [one["name"] for one in shared["functions"]] == ["add", "add_0"]
    add = codegen.jit(made.declarations, images=made.images).add
    x = np.zeros(16, "float32")
    raises(ValueError, "expected cuda but got cpu", lambda: add(x, x, x, 16, 1, 1024, 1))
    assert _library.names(_variants()) == ["x", "y", "out", "n", "stride", "BLOCK"]
    assert '@"other"(`x`, `y`, `out`, `n`, `stride`, `BLOCK`, `grid.x`' in _library.text("add", _variants(), None, "other").declarations
    given = _library.text("add", _variants(), "cdiv(n, BLOCK), n // 2")
    assert "ceildiv(`n`, `BLOCK`), `n` / 2, 1" in given.declarations


def test_signatures_of_variants_are_what_triton_writes() -> None:
    text = "x: *fp32:16:S, n: i32:1, b: i1, MODE: 'a, b', BLOCK: 1024, W: 2.5, LIST: (1, 2), N: None"
    parsed = _signature.parse(text)
    assert ", ".join(map(str, parsed)) == text
    kinds = [argument.kind() for argument in parsed if argument.name != "LIST"]
    assert kinds == ["Tensor", "int64", "bool", "str", "int64", "float64", None]
    for wrong, said in (("n", "expected a name"), ("n: i33", "no type `i33`"), ("n: i32:15", "no type")):
        raises(ValueError, said, lambda wrong=wrong: _signature.parse(wrong))
    raises(ValueError, "is no argument of a function", parsed[-2].kind)


def test_variants_of_several_functions_are_refused() -> None:
    one = _variants()[0]
    cases = [
        ([], "no variants"),
        ([one, one._replace(arguments=_signature.parse("x: fp32"))], "parameter x is Tensor in one signature and float64"),
        ([one._replace(arguments=_signature.parse("n: i32"))], "no signature has a tensor"),
        ([one, one._replace(arguments=_signature.parse("x: None"))], "parameter x is None in one signature and Tensor"),
    ]
    for variants, said in cases:
        raises(ValueError, said, lambda variants=variants: _library.text("add", variants, None))
    raises(ValueError, "expected one to three extents, found 4", lambda: _library.text("add", [one], "1, 2, 3, 4"))

