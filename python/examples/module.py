"""A compiler that has a module of LLVM IR: its kernels' host functions are added to the module, as text and in memory.

The result is the module with two more functions: nothing else in it changes, so that the compiler goes on with it as it
would without. Here it is made a library at once, which NumPy calls.
"""

import tempfile
from pathlib import Path

import numpy as np

import tvm_ffi_codegen as codegen

# What the compiler has made: two kernels that nobody else sees, and a variable that everybody does.
MODULE = """
@calls = global i64 0

define internal void @double_kernel(ptr %x, ptr %y, i64 %n) {
entry:
  %before = load i64, ptr @calls
  %now = add i64 %before, 1
  store i64 %now, ptr @calls
  %some = icmp sgt i64 %n, 0
  br i1 %some, label %body, label %done

body:
  %i = phi i64 [ 0, %entry ], [ %next, %body ]
  %from = getelementptr float, ptr %x, i64 %i
  %to = getelementptr float, ptr %y, i64 %i
  %value = load float, ptr %from
  %twice = fadd float %value, %value
  store float %twice, ptr %to
  %next = add i64 %i, 1
  %more = icmp slt i64 %next, %n
  br i1 %more, label %body, label %done

done:
  ret void
}

define internal i64 @number_of_calls() {
  %calls = load i64, ptr @calls
  ret i64 %calls
}
"""

DOUBLE = "double(x: Tensor([n], float32), y: Tensor([n], float32)) -> None = double_kernel(x.data, y.data, n);"
COUNT = "calls() -> int64 = number_of_calls();"


def main() -> None:
    grown = codegen.emit(DOUBLE, "native", backend="llvm", into=MODULE)
    print("@calls = global i64 0" in grown, "define internal void @double_kernel" in grown)
    # A second library goes into the same module; what both need is there once.
    both = codegen.emit(COUNT, "native", backend="llvm", into=grown)
    with tempfile.TemporaryDirectory() as folder:
        file = Path(folder, "library.so")
        file.write_bytes(codegen.emit("", "shared", backend="llvm", into=both))
        library = codegen.load(file)
        x = np.arange(4, dtype=np.float32)
        y = np.empty_like(x)
        for _ in range(3):
            library.double(x, y)
        print(y, library.calls())
        try:
            library.double(x, y[:3])
        except ValueError as error:
            print(error)


main()
