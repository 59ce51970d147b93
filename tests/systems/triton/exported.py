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

    def recorded(launch):
        recorder.take()
        launch()
        return recorder.take()

    for grid, given, block, options in CALLS:
        expected.append(recorded(lambda: stock[grid](*given, BLOCK=block, **options)))
        fast[grid](*given, BLOCK=block, **options)
    made = fast.library().add
    check(recorder, made, expected, "library()")
    # What was not launched yet Triton compiles.
    assert recorded(lambda: made(X, Y, OUT, 4112, 512, 5, 1, 1)) == recorded(lambda: stock[(5,)](X, Y, OUT, 4112, 512))
    assert len(fast.device_caches[0][0]) == 4 and not fast.handed_over
    with tempfile.TemporaryDirectory() as folder:
        path = os.path.join(folder, "add.so")
        tvm_ffi_codegen.triton.export(triton.jit(add), path, SIGNATURES)
        made = tvm_ffi.load_module(path).add
        check(recorder, made, expected, "export")
        try:
            made(X, Y, OUT, 4112, 512, 5, 1, 1)
        except TypeError as error:
            said = str(error)
            assert "there are: x: *fp32:16" in said and "n: i32:1" in said and "BLOCK: 1024" in said, said
        else:
            raise AssertionError("accepted a variant that there is not")
        # The grid may be said once for all calls, and a signature is enough to compile for.
        tvm_ffi_codegen.triton.export(triton.jit(add), path + "2.so", SIGNATURES[:1], grid="cdiv(n, BLOCK)")
        made = tvm_ffi.load_module(path + "2.so").add
        assert recorded(lambda: made(X, Y, OUT, 4112, 1024)) == expected[0]
        alone = "import sys, tvm_ffi; print(tvm_ffi.load_module(sys.argv[1]).add, 'triton' in sys.modules)"
        said = subprocess.run([sys.executable, "-c", alone, path], check=True, capture_output=True, text=True).stdout
        assert said.strip().endswith("False"), said


def check(recorder, function, expected, what):
    """Compares the calls of a function with what is expected of them."""
    recorder.take()
    for (grid, given, block, _), wanted in zip(CALLS, expected):
        function(*given, block, *(*grid, 1, 1)[:3])
        found = recorder.take()
        assert found == wanted, (what, found, wanted)
    print(f"| {what} | {len(expected)} | yes |")


if __name__ == "__main__":
    main()
