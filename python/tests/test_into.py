"""Functions that are added to a module of a compiler, in memory."""

import subprocess
import sys
import tempfile
from pathlib import Path

import numpy as np
import pytest
import tvm_ffi
from test_files import backends

import tvm_ffi_codegen as codegen

ADD_ONE = "add_one(x: Tensor([n], float32), y: Tensor([n], float32)) -> None = add_one_kernel(x.data, y.data, n);"
SCALE = (
    "scale(x: Tensor([n], float32), y: Tensor([n], float32)) -> None = scale_kernel(x.data, y.data, n);"
)


def kernel(name: str, operation: str) -> str:
    """Returns a function of LLVM IR that applies an operation to each element."""
    return f"""define internal void @{name}(ptr %x, ptr %y, i64 %n) {{
entry:
  %some = icmp sgt i64 %n, 0
  br i1 %some, label %body, label %done

body:
  %i = phi i64 [ 0, %entry ], [ %next, %body ]
  %from = getelementptr float, ptr %x, i64 %i
  %to = getelementptr float, ptr %y, i64 %i
  %value = load float, ptr %from, align 4
  %made = {operation}
  store float %made, ptr %to, align 4
  %next = add nsw i64 %i, 1
  %more = icmp slt i64 %next, %n
  br i1 %more, label %body, label %done

done:
  ret void
}}
"""


MODULE = kernel("add_one_kernel", "fadd float %value, 1.0") + kernel(
    "scale_kernel", "fmul float %value, 3.0"
)

llvm = pytest.mark.skipif("llvm" not in backends(), reason="this build has no LLVM")


@llvm
def test_two_libraries_in_a_module_compute() -> None:
    """A module goes in and comes out as text and as bitcode; the last step makes a library of it."""
    one = codegen.emit(ADD_ONE, "native", backend="llvm", into=MODULE)
    assert isinstance(one, str)
    for form in ("native", "bitcode"):
        both = codegen.emit(SCALE, form, backend="llvm", into=one)
        library = codegen.emit("", "shared", backend="llvm", into=both)
        with tempfile.TemporaryDirectory() as folder:
            file = Path(folder, "library.so")
            file.write_bytes(library)
            functions = codegen.load(file)
            x = np.arange(5, dtype=np.float32)
            y = np.empty_like(x)
            functions.add_one(x, y)
            assert y.tolist() == [1, 2, 3, 4, 5]
            functions.scale(x, y)
            assert y.tolist() == [0, 3, 6, 9, 12]
            message = r"Mismatched y.shape\[0\] on argument #1 when calling: `scale\("
            with pytest.raises(ValueError, match=message):
                functions.scale(x, y[:3])


@llvm
def test_a_module_may_be_text_bytes_or_a_file(tmp_path: Path) -> None:
    file = tmp_path / "module.ll"
    file.write_text(MODULE)
    forms = [MODULE, MODULE.encode(), bytearray(MODULE.encode()), memoryview(MODULE.encode()), file]
    made = {codegen.emit(ADD_ONE, "native", backend="llvm", into=into) for into in forms}
    assert len(made) == 1


@llvm
def test_errors_name_the_option_and_the_line() -> None:
    rows = [
        ("define void @f( {", "backend llvm: option into:1:18: error: expected type"),
        (MODULE.replace("i64 %n)", "i32 %n)", 1), "backend llvm: option into:"),
        (
            "declare void @add_one_kernel(ptr, ptr, i32)",
            "backend llvm: `add_one_kernel`: argument 2 is i32 in the module, expected i64",
        ),
        (
            'target triple = "s390x-ibm-linux"',
            f"backend llvm: unsupported target {triple()}: the module is for s390x-ibm-linux",
        ),
    ]
    for into, message in rows:
        with pytest.raises(RuntimeError) as caught:
            codegen.emit(ADD_ONE, "native", backend="llvm", into=into)
        assert str(caught.value).startswith(message)


def triple() -> str:
    """Returns the name of the machine, which is in an error about another one."""
    with pytest.raises(RuntimeError) as caught:
        codegen.emit(ADD_ONE, "native", backend="llvm", into='target triple = "s390x-ibm-linux"')
    return str(caught.value).split("unsupported target ")[1].split(":")[0]


def test_other_backends_add_to_no_module() -> None:
    for backend in ("cranelift", "c"):
        with pytest.raises(RuntimeError, match=f"backend {backend}: it adds to no module; llvm and mlir do"):
            codegen.emit(ADD_ONE, "native", backend=backend, into=MODULE)
    with pytest.raises(ValueError, match="option into is for forms native, bitcode, object and shared"):
        codegen.emit(ADD_ONE, "header", into=MODULE)
    with pytest.raises(TypeError, match="Mismatched type of option into, expected str or bytes but got int"):
        codegen.emit(ADD_ONE, "native", backend="c", into=3)  # type: ignore[arg-type]


# Opens no file and no pipe, which a process of its own would need.
ALONE = """
import resource, sys
import tvm_ffi_codegen as codegen
add_one, module = sys.argv[1:]
codegen.check(add_one)
resource.setrlimit(resource.RLIMIT_NOFILE, (0, 0))
for form in ("native", "bitcode", "object"):
    assert len(codegen.emit(add_one, form, backend="llvm", into=module)) > 1000
print("done")
"""


@llvm
def test_nothing_but_memory_is_used() -> None:
    command = [sys.executable, "-c", ALONE, ADD_ONE, MODULE]
    run = subprocess.run(command, capture_output=True, text=True, check=False)
    assert run.stdout == "done\n", run.stderr


@llvm
def test_a_module_of_python_is_one_of_the_runtime(tmp_path: Path) -> None:
    file = tmp_path / "library.so"
    file.write_bytes(codegen.emit(ADD_ONE, "shared", backend="llvm", into=MODULE))
    x = tvm_ffi.from_dlpack(np.ones(3, np.float32))
    y = np.zeros(3, np.float32)
    tvm_ffi.load_module(file)["add_one"](x, tvm_ffi.from_dlpack(y))
    assert y.tolist() == [2, 2, 2]


@llvm
def test_the_example_prints_what_it_is_to_print() -> None:
    example = Path(__file__).parents[1] / "examples/module.py"
    run = subprocess.run([sys.executable, example], capture_output=True, text=True, check=False)
    assert run.stdout == (
        "True True\n[0. 2. 4. 6.] 3\nMismatched y.shape[0] on argument #1 when calling: "
        "`double(x: Tensor([n], float32), y: Tensor([n], float32))`, expected 4 (= x.shape[0]) but got 3\n"
    ), run.stderr
