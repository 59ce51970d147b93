"""Exports kernels of Triton as a shared library, and compares its launches with Triton's: exported.py cuda|hip. The library
is called in another process, which has no Triton."""

import os
import subprocess
import sys
import tempfile

import memory
import records
import triton
import tvm_ffi
import tvm_ffi_codegen
from gpus import GPUS
from launcher_cases import ODD, OUT, X, Y, add

GPU = GPUS[sys.argv[1]]
SIZE = ":S" if GPU.prefix == "fake_hip" else ""
SIGNATURES = [
    f"x: *fp32:16{SIZE}, y: *fp32:16{SIZE}, out: *fp32:16{SIZE}, n: i32:16, BLOCK: 1024",
    f"x: *fp32{SIZE}, y: *fp32:16{SIZE}, out: *fp32:16{SIZE}, n: i32, BLOCK: 1024",
    (f"x: *fp32:16{SIZE}, y: *fp32:16{SIZE}, out: *fp32:16{SIZE}, n: i32:1, BLOCK: 64", {"num_warps": 2}),
]
CALLS = [((5,), (X, Y, OUT, 4112), 1024, {}), ((2, 3), (ODD, Y, OUT, 5), 1024, {}), ((1,), (X, Y, OUT, 1), 64, {"num_warps": 2})]


def main():
    recorder = records.Recorder(GPU)
    GPU.choose()
    memory.Tensor.DEVICE = GPU.device
    stock = triton.jit(add)
    fast = tvm_ffi_codegen.triton.launcher(triton.jit(add))
    expected = []
    for grid, given, block, options in CALLS:
        recorder.take()
        stock[grid](*given, BLOCK=block, **options)
        expected.append(recorder.take())
        fast[grid](*given, BLOCK=block, **options)
    check(recorder, fast.library().add, expected, "library()")
    with tempfile.TemporaryDirectory() as folder:
        path = os.path.join(folder, "add.so")
        tvm_ffi_codegen.triton.export(triton.jit(add), path, SIGNATURES)
        check(recorder, tvm_ffi.load_module(path).add, expected, "export")
        alone = "import sys, tvm_ffi; print(tvm_ffi.load_module(sys.argv[1]).add, 'triton' in sys.modules)"
        said = subprocess.run([sys.executable, "-c", alone, path], check=True, capture_output=True, text=True).stdout
        assert said.strip().endswith("False"), said


def check(recorder, function, expected, what):
    recorder.take()
    for (grid, given, block, _), wanted in zip(CALLS, expected):
        function(*given, block, *(*grid, 1, 1)[:3])
        found = recorder.take()
        assert found == wanted, (what, found, wanted)
    try:
        function(X, Y, OUT, 4112, 512, 5, 1, 1)
    except TypeError as error:
        said = str(error)
        assert "there are: x: *fp32:16" in said and "n: i32:1" in said and "BLOCK: 1024" in said, said
    else:
        raise AssertionError("accepted a variant that there is not")
    print(f"| {what} | {len(expected)} | yes |")


if __name__ == "__main__":
    main()
