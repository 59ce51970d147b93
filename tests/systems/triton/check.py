"""Triton: what imported kernels launch is what Triton launches, and what our launcher launches, too. Triton itself
compiles the kernels and launches them, with its own launcher, on the stand-ins for the CUDA driver and for HIP; then they
are imported and launched again (launches.py), called through `tvm_ffi_codegen.triton.launcher` (launcher.py), and
exported as shared libraries (exported.py). With `--times` both launchers are measured with tensors of PyTorch (times.py);
with `--older` Triton is that of shared/triton-3.6.txt, and only the launches for CUDA are compared. No GPU is needed, but a
C compiler and Python's headers."""

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


def run(script, driver, *words, libraries=(), **environment):
    """Runs a script on the stand-in in a folder, and returns what it prints."""
    return system.run(
        sys.executable,
        system.HERE / script,
        *words,
        LD_LIBRARY_PATH=":".join(map(str, [driver, *libraries, os.environ.get("LD_LIBRARY_PATH", "")])),
        TRITON_CACHE_DIR=str(driver / "cache"),
        TRITON_DEFAULT_FP_FUSION="1",
        **environment,
    )


def compare(gpu, driver, **environment):
    """Compares the launches on one kind of GPU, and says how many there were. The launcher brings the runtime of its own
    package."""
    imported = run("launches.py", driver, gpu, libraries=[runtime], **environment)
    launched = run("launcher.py", driver, gpu, **environment)
    exported = run("exported.py", driver, gpu, **environment)
    print(f"On {gpu}:\n\n| library | calls | the same |\n|---|---|---|\n{exported}")
    print(f"| case | calls | variants | handed over | the same |\n|---|---|---|---|---|\n{launched}")
    calls = sum(int(line.split("|")[2]) for line in launched.splitlines())
    return f"{len(imported.splitlines())} calls of imports and {calls} of the launcher on {gpu}"


cuda = system.build_stand_in(system.HERE / "cuda_modules.c")
if "--times" in sys.argv:
    if importlib.util.find_spec("torch") is None:
        system.not_here("needs PyTorch: `tests/systems/run triton_times`")
    print(run("times.py", cuda, TRITON_LIBCUDA_PATH=str(cuda)))
    system.say("times of launches")
    sys.exit()
done = [compare("cuda", cuda, TRITON_LIBCUDA_PATH=str(cuda))]
if "--older" in sys.argv:
    system.say(f"{done[0]}, as Triton launches them: {', '.join(system.BACKENDS)}")
    sys.exit()
headers = Path(importlib.util.find_spec("triton").origin).parent / "backends" / "amd" / "include"
hip = system.build_hip_stand_in(system.HERE / "hip_modules.c", headers=headers)
done.append(compare("hip", hip, TRITON_LIBHIP_PATH=str(hip / "libamdhip64.so.6")))
system.say(f"{', '.join(done)}, as Triton launches them: {', '.join(system.BACKENDS)}")
