"""A runtime with state: examples/runtime_state, whose compiled libraries share the state of a runtime library."""

import shutil
import sys

import system

SAID = """\
Cannot find function mylang.get_global_state in the imported modules or global registry.
failures: 0, calls: 8000, elements: 128000, asked: 8000
calls: 8001 8001
calls: 8001, replaced: 0
"""

example = system.ROOT / "examples" / "runtime_state"
shutil.copytree(example / "mylang", system.MADE / "mylang")
shutil.copy(example / "main.py", system.MADE)
runtime = system.MADE / "mylang" / "libmylang_runtime.so"
options = ["-std=c++17", "-shared", "-fPIC", "-O2", *system.includes()]
system.run("g++", *options, example / "runtime.cc", f"-L{system.config('--libdir')}", "-ltvm_ffi", "-o", runtime)


def check(library):
    another = shutil.copy(library, system.MADE / "another.so")
    said = system.run(sys.executable, system.MADE / "main.py", library, another)
    assert said == SAID, said


system.on_each(check, example / "kernels.ffi", system.compile_c(example / "kernels.c"))
