"""Triton: what imported kernels launch is what Triton launches. Triton itself compiles the kernels and launches them,
with its own launcher, on the stand-ins for the CUDA driver and for HIP; then they are imported and launched again
(launches.py). No GPU is needed, but a C compiler and Python's headers."""

import importlib.util
import os
import sys
import sysconfig
from pathlib import Path

import system

headers = Path(sysconfig.get_paths()["include"])
if not (headers / "Python.h").exists():
    system.not_here(f"needs Python's headers, python3-dev: no {headers}/Python.h")

# The runtime is that of the tests: its `tvm-ffi-config` is at the head of PATH.
runtime = system.run("tvm-ffi-config", "--libdir").strip()


def compare(gpu, driver, **environment):
    """Compares the launches on one kind of GPU, whose stand-in lies in a folder, and says how many there were."""
    libraries = [driver, runtime, os.environ.get("LD_LIBRARY_PATH", "")]
    printed = system.run(
        sys.executable,
        system.HERE / "launches.py",
        gpu,
        LD_LIBRARY_PATH=":".join(map(str, libraries)),
        TRITON_CACHE_DIR=str(driver / "cache"),
        TRITON_DEFAULT_FP_FUSION="1",
        **environment,
    )
    return f"{len(printed.splitlines())} calls on {gpu}"


cuda = system.build_stand_in(system.HERE / "cuda_modules.c")
headers = Path(importlib.util.find_spec("triton").origin).parent / "backends" / "amd" / "include"
hip = system.build_hip_stand_in(system.HERE / "hip_modules.c", headers=headers)
done = [
    compare("cuda", cuda, TRITON_LIBCUDA_PATH=str(cuda)),
    compare("hip", hip, TRITON_LIBHIP_PATH=str(hip / "libamdhip64.so.6")),
]
system.say(f"{', '.join(done)}, as Triton launches them: {', '.join(system.BACKENDS)}")
