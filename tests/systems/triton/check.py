"""Triton: what imported kernels launch is what Triton launches. Triton itself compiles the kernels and launches them,
with its own launcher, on the stand-in for the CUDA driver; then they are imported and launched again (launches.py). No
GPU is needed, but a C compiler and Python's headers."""

import os
import sys
import sysconfig
from pathlib import Path

import system

headers = Path(sysconfig.get_paths()["include"])
if not (headers / "Python.h").exists():
    system.not_here(f"needs Python's headers, python3-dev: no {headers}/Python.h")

sources = [*sorted((system.ROOT / "tests" / "driver").glob("*.c")), system.HERE / "modules.c"]
options = ["-std=gnu11", "-O2", "-fPIC", "-fvisibility=hidden", "-shared", "-Wl,-soname,libcuda.so.1"]
system.run("gcc", *options, *sources, "-lpthread", "-o", system.MADE / "libcuda.so.1")

# The runtime is that of the tests, whose `tvm-ffi-config` is at the head of PATH.
libraries = [system.MADE, system.run("tvm-ffi-config", "--libdir").strip(), os.environ.get("LD_LIBRARY_PATH", "")]
printed = system.run(
    sys.executable,
    system.HERE / "launches.py",
    LD_LIBRARY_PATH=":".join(map(str, libraries)),
    TRITON_LIBCUDA_PATH=str(system.MADE),
    TRITON_CACHE_DIR=str(system.MADE / "cache"),
    TRITON_DEFAULT_FP_FUSION="1",
)
print(f"{len(printed.splitlines()) - 2} kernels launched as Triton does, cranelift")
