"""Uses the installed package where there is nothing else: `python/tests/bare` runs it."""

import platform
import shutil
from pathlib import Path

import numpy as np
import tvm_ffi
import tvm_ffi_codegen as codegen

DECLARATION = "add_one(x: Tensor([n], float32), y: Tensor([n], float32)) -> None = k(x.data, y.data, n);"
KERNEL = Path("kernel.o").read_bytes()


def adds_one(functions: object) -> None:
    """Checks a result, and an error, which a routine raises."""
    x, y = np.arange(5, dtype="float32"), np.zeros(5, "float32")
    functions.add_one(x, y=y)
    assert (y == x + 1).all()
    try:
        functions.add_one(x, y[:4])
    except ValueError as error:
        assert "expected 5 (= x.shape[0]) but got 4" in str(error)
    else:
        raise AssertionError("no error")


in_process = codegen.jit(DECLARATION, {"k": KERNEL})
adds_one(in_process)
assert type(in_process.add_one) is type(len), "the native caller is not loaded"
assert codegen.jit("f(n: int64) -> int64 = { return n + 1; };").f(41) == 42

for routines in ("embedded", "linked"):
    Path(f"{routines}.so").write_bytes(
        codegen.emit(DECLARATION, "shared", link=[KERNEL], routines=routines)
    )
    adds_one(codegen.load(f"{routines}.so"))
    tvm_ffi.load_module(f"./{routines}.so")

# Code for other machines, too.
for target in ("x86_64-unknown-linux-gnu", "aarch64-unknown-linux-gnu", "riscv64-unknown-linux-gnu"):
    assert codegen.inspect(codegen.emit(DECLARATION, target=target))["functions"]

# What is not in the wheel says how to get it.
assert [shutil.which(name) for name in ("cc", "gcc", "cargo", "rustc")] == [None] * 4
for backend in ("llvm", "mlir"):
    try:
        codegen.emit(DECLARATION, backend=backend)
    except RuntimeError as error:
        assert f"TVM_FFI_CODEGEN_FEATURES={backend} pip install" in str(error), error
    else:
        raise AssertionError(f"{backend} is in the wheel, which the guide denies")
try:
    codegen.jit(DECLARATION, {"k": codegen.C("void k() {}")})
except RuntimeError as error:
    assert "cc" in str(error)
else:
    raise AssertionError("there is a compiler")

print(f"{platform.machine()}, Python {platform.python_version()}, {'-'.join(platform.libc_ver())}: all is there")
