"""Kernels of Triton, from their files and from objects such as Triton's compiler returns."""

import json
from collections import namedtuple
from pathlib import Path

import numpy as np
import tvm_ffi_codegen as codegen
from support import raises

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
