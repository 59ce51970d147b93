"""Launches for the scripts of systems that compile for GPUs: on the machine's GPU, which runs the kernel, or on the
stand-in of tests/driver, which records launches."""

import ctypes
import functools
import sys

import system

# Checks of tests/gpu and their tensors.
sys.path.append(str(system.ROOT / "tests" / "hosts"))

import numpy as np
from launches import cuda, place

# No multiple of a block, so that kernels have to check bounds.
N = 1000
# Architecture of the stand-in.
RECORDED = 90


@functools.cache
def real():
    """Returns the driver of a GPU, if there is one."""
    try:
        return cuda.Driver()
    except cuda.Failed:
        return None


@functools.cache
def device():
    """Opens the first device. Compilers look for drivers too, so they run before the stand-in is opened."""
    if not real():
        # Later look-ups of the driver by its name find the stand-in.
        ctypes.CDLL(str(system.build_stand_in() / "libcuda.so.1"), ctypes.RTLD_GLOBAL)
    return place.Place(real() or cuda.Driver(), system.MADE, not real())


def architecture():
    """Returns the architecture that kernels are compiled for, such as 90."""
    if not real():
        return RECORDED
    major, minor = real().capability(0)
    return 10 * major + minor


def check_add_one(declarations, cubin, launch, image="code"):
    """Checks that `add_one` of these declarations launches a kernel of the cubin, whose image they name: compares the
    launch, and the numbers on a GPU."""
    made = system.MADE / "kernel.cubin"
    made.write_bytes(cubin)

    def check(library):
        add_one = system.load(library).add_one
        with device() as here:
            x, y = here.array(np.arange(N, dtype="float32")), here.array(np.zeros(N, "float32"))
            add_one(x.tensor, y.tensor)
            here.launched(launch)
            here.holds(y, np.arange(N) + 1, "y")
            host = np.zeros(N, "float32")
            system.refused(ValueError, "expected cuda but got cpu", add_one, x.tensor, host)

    said = "launches recorded" if device().is_stand_in else "numbers of the GPU"
    system.on_each(check, declarations, options=["--image", f"{image}={made}"], note=said)
