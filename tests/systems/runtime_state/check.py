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
flags = [system.config(option) for option in ("--cxxflags", "--ldflags", "--libs")]
runtime = system.MADE / "mylang" / "libmylang_runtime.so"
system.run("g++", "-shared", "-fPIC", "-O2", "-o", runtime, *flags[0], example / "runtime.cc", *flags[1], *flags[2])


def check(library):
    another = shutil.copy(library, system.MADE / "another.so")
    said = system.run(sys.executable, system.MADE / "main.py", library, another)
    assert said == SAID, said


system.on_each(check, example / "kernels.ffi", system.compile_c(example / "kernels.c"))
