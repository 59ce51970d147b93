"""Measures a launch through a function of ours, beside `cuLaunchKernelEx` alone: the median of the ratios of pairs."""

import ctypes
import statistics
import subprocess
import tempfile
from contextlib import nullcontext
from pathlib import Path

import numpy as np
import tvm_ffi

from launches.place import Wrong, on

HERE = Path(__file__).parent
# Fewer launches than a driver queues, so that none waits for the device.
TIMES = 256
PAIRS = 200


def loops():
    """The functions of cost.c."""
    with tempfile.TemporaryDirectory() as folder:
        library = Path(folder) / "cost.so"
        include = [f"-I{path}" for path in tvm_ffi.libinfo.include_paths()]
        options = ["-std=gnu11", "-O2", "-Wall", "-Wextra", "-Werror", "-shared", "-fPIC"]
        subprocess.run(["cc", *options, *include, str(HERE / "cost.c"), "-o", str(library)], check=True)
        loaded = ctypes.CDLL(str(library))
    for loop in (loaded.ours, loaded.direct):
        loop.restype = ctypes.c_double
    return loaded


def kernel(driver, image):
    """Loads the kernel once more, as the driver's handle."""
    code = ctypes.create_string_buffer(image.read_bytes())
    nothing, none = ctypes.c_void_p(), ctypes.c_uint(0)
    options = (nothing, nothing, none, nothing, nothing, none)
    library = ctypes.c_void_p(driver.pointer("cuLibraryLoadData", code, *options))
    return library, ctypes.c_void_p(driver.pointer("cuLibraryGetKernel", library, b"axpy_kernel"))


def pairs(place, loaded, found, handle):
    """Measures our launches and the driver's, in turn."""
    x, y = (ctypes.c_void_p(place.array(np.ones(1, "float32")).address.value) for _ in range(2))
    axpy = ctypes.CDLL(str(place.folder / f"{place.image()}.so")).__tvm_ffi_axpy
    launch = place.driver.library.cuLaunchKernelEx
    times = []
    # The first pair loads the kernels.
    for _ in range(1 + (1 if place.is_stand_in else PAIRS)):
        one = loaded.ours(axpy, x, y, ctypes.c_int64(TIMES))
        place.driver("cuCtxSynchronize")
        other = loaded.direct(launch, found, ctypes.c_void_p(handle), x, y, ctypes.c_int64(TIMES))
        place.driver("cuCtxSynchronize")
        if one < 0 or other < 0:
            raise Wrong(f"a launch failed {'through ours' if one < 0 else 'of the driver'}")
        times.append((one, other))
    return times[1:]


def measure(place, stream):
    library, found = kernel(place.driver, place.kernels())
    with on(stream) if stream else nullcontext():
        times = pairs(place, loops(), found, stream.handle if stream else 0)
    place.driver("cuLibraryUnload", library)
    if place.is_stand_in:
        return "figures of the stand-in mean nothing"
    ours, direct = (statistics.median(column) for column in zip(*times))
    ratio = statistics.median(one / other for one, other in times)
    return f"{ratio:.2f}x, {ours:.0f} ns, {direct:.0f} ns by the driver alone"


COSTS = {
    "cost on a stream": lambda place: measure(place, place.stream()),
    "cost on the default stream": lambda place: measure(place, None),
}
