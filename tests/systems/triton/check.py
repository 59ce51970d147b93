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

driver = system.build_stand_in(system.HERE / "modules.c")

# The runtime is that of the tests: its `tvm-ffi-config` is at the head of PATH.
libraries = [driver, system.run("tvm-ffi-config", "--libdir").strip(), os.environ.get("LD_LIBRARY_PATH", "")]
printed = system.run(
    sys.executable,
    system.HERE / "launches.py",
    LD_LIBRARY_PATH=":".join(map(str, libraries)),
    TRITON_LIBCUDA_PATH=str(driver),
    TRITON_CACHE_DIR=str(driver / "cache"),
    TRITON_DEFAULT_FP_FUSION="1",
)
system.say(f"{len(printed.splitlines()) - 2} calls as Triton launches them: {', '.join(system.BACKENDS)}")
