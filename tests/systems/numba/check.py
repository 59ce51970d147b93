"""Numba: C callbacks, as objects that its LLVM makes and as its LLVM IR, which ours inlines."""

import llvmlite.binding as llvm
import numba
import numpy as np

import system

FLOATS = numba.types.CPointer(numba.types.float32)


# With Python's errors the code would need Numba's runtime, which no shared library has.
@numba.cfunc(numba.types.int32(FLOATS, FLOATS, numba.types.int64), error_model="numpy")
def add_one(x, y, n):
    for i in range(n):
        y[i] = x[i] + np.float32(1)
    return 0


def compile_kernel():
    """Compiles the same code to an object and to text, in which the function has an unmangled name."""
    text = add_one.inspect_llvm().replace(add_one.native_name, "add_one_kernel")
    machine = llvm.Target.from_default_triple().create_target_machine(opt=3, reloc="pic", codemodel="default")
    kernel, source = system.MADE / "kernel.o", system.MADE / "kernel.ll"
    kernel.write_bytes(machine.emit_object(llvm.parse_assembly(text)))
    source.write_text(text)
    return kernel, source


def check(library):
    system.check_add_one(system.load(library).add_one, lambda values: np.array(values, "float32"))


kernel, source = compile_kernel()
system.on_each(check, "add_one.ffi", kernel)
if "llvm" in system.BACKENDS:
    system.on_each(check, "add_one.ffi", source, backends=["llvm"], note="from IR")
