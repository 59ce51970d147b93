"""The device of the checks: arrays on it, libraries that launch there, or the stand-in for the driver, which runs no
kernels but records launches."""

import ctypes
import re
from contextlib import ExitStack, contextmanager
from pathlib import Path

import numpy as np
import tvm_ffi

import dlpack
from launches.cuda import Failed, Stream

CUDA = 2
# Type code, bits and lanes of DLPack.
DTYPES = {"float32": (2, 32, 1), "int32": (0, 32, 1)}
RECORDED = re.compile(r'cuLaunchKernelEx\(\w+\."(\w+)" (.*)\) -> (device=\d+) .*?( captured)?$')


class Wrong(Exception):
    """A wrong result of a check."""


class NotHere(Exception):
    """The reason why a check cannot run here."""


def launch(kernel, grid, block, shared=0, stream="null", attributes="", device=0, captured=False):
    """Writes a launch as it is recorded."""
    sizes = f"grid={grid},1,1 block={block},1,1 shared={shared}"
    ending = " captured" if captured else ""
    return f"{kernel} {sizes} stream={stream} attributes=[{attributes}] device={device}{ending}"


class Array:
    """An array on a device."""

    def __init__(self, driver, values, device):
        self.driver, self.like = driver, np.ascontiguousarray(values)
        # The driver refuses to allocate 0 bytes.
        size = ctypes.c_size_t(max(values.nbytes, 1))
        self.address = ctypes.c_uint64(driver.pointer("cuMemAlloc_v2", size))
        driver("cuMemcpyHtoD_v2", self.address, ctypes.c_void_p(self.like.ctypes.data), ctypes.c_size_t(values.nbytes))
        # Non-blocking streams too see the copy when the call returns.
        driver("cuCtxSynchronize")
        dtype = DTYPES[str(values.dtype)]
        self.tensor = dlpack.tensor(self.address.value, dtype, values.shape, None, (CUDA, device))

    def read(self):
        values = np.empty_like(self.like)
        self.driver("cuMemcpyDtoH_v2", ctypes.c_void_p(values.ctypes.data), self.address, ctypes.c_size_t(values.nbytes))
        return values

    def free(self):
        self.driver("cuMemFree_v2", self.address)


class Place:
    """A device, and the resources that a check creates there and that the end of a `with` releases."""

    def __init__(self, driver, folder, is_stand_in):
        self.driver, self.folder, self.is_stand_in = driver, Path(folder), is_stand_in
        self.capability = driver.capability(0)
        driver("cuCtxSetCurrent", driver.primary(0))

    def __enter__(self):
        # The kernels are compiled for this architecture and newer.
        self.needs(8, 0)
        self.made = ExitStack()
        self.before = self.driver.current()
        if self.is_stand_in:
            self.driver.library.fake_cuda_reset()
        return self

    def __exit__(self, kind, *_):
        try:
            self.made.close()
        except Failed:
            # After an error that destroys the context this call fails too, with less information.
            if kind is None:
                raise
        if kind is None and self.driver.current() != self.before:
            raise Wrong("another context is current than before")
        if kind is None and self.is_stand_in:
            self.nothing_is_left()

    def nothing_is_left(self):
        live = (ctypes.c_int64 * 5)()
        self.driver.library.fake_cuda_live(live)
        _, pushed, streams, memory, _ = live
        if (pushed, streams, memory) != (1, 0, 0):
            raise Wrong(f"left behind: {pushed - 1} contexts, {streams} streams, {memory} pieces of memory")

    def library(self, image):
        """Loads the library of an image, such as `kernels.cubin`."""
        return tvm_ffi.load_module(self.folder / f"{image}.so")

    def image(self):
        """Returns the image of the tests that this device runs: machine code for 9.0 or 8.0, otherwise PTX."""
        return {9: "kernels.cubin", 8: "kernels.fatbin"}.get(self.capability[0], "kernels.ptx")

    def kernels(self):
        """Returns the path of that image."""
        return Path(__file__).parents[2] / "driver" / self.image()

    def needs(self, major, minor):
        if self.capability < (major, minor):
            raise NotHere(f"needs compute capability {major}.{minor}")

    def array(self, values, device=0):
        array = Array(self.driver, values, device)
        self.made.callback(array.free)
        return array

    def stream(self):
        return self.made.enter_context(Stream(self.driver))

    @contextmanager
    def on_device(self, device):
        """Makes the device's primary context current."""
        self.driver("cuCtxPushCurrent_v2", self.driver.primary(device))
        try:
            yield
        finally:
            self.driver.pointer("cuCtxPopCurrent_v2")

    def launched(self, *expected):
        """Compares the launches since the last call, if launches are recorded."""
        if not self.is_stand_in:
            return
        log = self.driver.library.fake_cuda_log
        text = ctypes.create_string_buffer(log(None, ctypes.c_size_t(0)) + 1)
        log(text, ctypes.c_size_t(len(text)))
        self.driver.library.fake_cuda_reset()
        found = [RECORDED.match(line) for line in text.value.decode().splitlines()]
        found = [" ".join(part.strip() for part in line.groups() if part) for line in found if line]
        if found != list(expected):
            raise Wrong(f"expected the launches {list(expected)} but recorded {found}")

    def holds(self, array, expected, what):
        """Compares numbers, if kernels run."""
        if self.is_stand_in:
            return
        self.driver("cuCtxSynchronize")
        found = array.read()
        differ = np.flatnonzero(found.ravel() != np.asarray(expected).ravel())
        if len(differ):
            first = differ[0]
            values = f"{np.asarray(expected).ravel()[first]} but got {found.ravel()[first]}"
            raise Wrong(f"{len(differ)} elements of {what} differ: [{first}], expected {values}")


def on(stream, device=0):
    """Sets the stream for the launches in a `with`."""
    return tvm_ffi.use_raw_stream(tvm_ffi.device("cuda", device), stream.handle)


def refused(call, *parts):
    """Checks that a call fails with all of these texts in its message."""
    try:
        call()
    except Exception as error:
        text = f"{type(error).__name__}: {error}"
        missing = [part for part in parts if part not in text]
        if missing:
            raise Wrong(f"{text!r} does not say {missing}") from None
        return
    raise Wrong(f"nothing was raised, expected {parts[0]}")
