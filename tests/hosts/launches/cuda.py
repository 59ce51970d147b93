"""The CUDA driver as far as the checks need it: devices, memory, streams, graphs.

As a program it says why there is nothing to launch on, and fails then. It needs nothing but Python.
"""

import ctypes
import sys

NAME = "libcuda.so.1"
# Attributes of cuDeviceGetAttribute.
MULTIPROCESSORS, MAJOR, MINOR = 16, 75, 76
NON_BLOCKING = 1
# A capture during which no thread of the process may make unsafe calls.
CAPTURE_GLOBAL = 0


class Failed(Exception):
    """A call of the driver that failed."""


class Driver:
    """The driver, with a device. `driver("cuCtxSynchronize", …)` makes a call and raises if it fails."""

    def __init__(self):
        try:
            self.library = ctypes.CDLL(NAME)
        except OSError:
            raise Failed(f"there is no {NAME}") from None
        self("cuInit", 0)
        self.devices = self.number("cuDeviceGetCount")
        if not self.devices:
            raise Failed("the driver has no device")
        self.streams = 0

    def __call__(self, name, *arguments):
        status = self.library[name](*arguments)
        if status:
            text = ctypes.c_char_p()
            self.library.cuGetErrorName(status, ctypes.byref(text))
            raise Failed(f"{name}: {(text.value or b'no such result').decode()} ({status})")

    def number(self, name, *arguments):
        """Returns the `int` that a call writes to its first argument."""
        value = ctypes.c_int()
        self(name, ctypes.byref(value), *arguments)
        return value.value

    def pointer(self, name, *arguments, before=()):
        """Returns the handle or address that a call writes to its first argument, or after others; 0 for NULL."""
        value = ctypes.c_void_p()
        self(name, *before, ctypes.byref(value), *arguments)
        return value.value or 0

    def capability(self, device):
        major, minor = (self.number("cuDeviceGetAttribute", which, device) for which in (MAJOR, MINOR))
        return major, minor

    def multiprocessors(self, device):
        return self.number("cuDeviceGetAttribute", MULTIPROCESSORS, device)

    def name(self, device):
        text = ctypes.create_string_buffer(256)
        self("cuDeviceGetName", text, len(text), device)
        return text.value.decode()

    def primary(self, device):
        """Returns the primary context of a device, which stays retained."""
        return ctypes.c_void_p(self.pointer("cuDevicePrimaryCtxRetain", device))

    def current(self):
        return self.pointer("cuCtxGetCurrent")

    def has(self, name):
        return hasattr(self.library, name)


class Stream:
    """A non-blocking stream, destroyed at the end of a `with`."""

    def __init__(self, driver):
        self.driver = driver
        self.handle = driver.pointer("cuStreamCreate", NON_BLOCKING)
        # Streams are numbered in the order of their creation.
        self.name = f"stream{driver.streams}"
        driver.streams += 1

    def __enter__(self):
        return self

    def __exit__(self, *_):
        self.driver("cuStreamDestroy_v2", ctypes.c_void_p(self.handle))

    def wait(self):
        self.driver("cuStreamSynchronize", ctypes.c_void_p(self.handle))

    def capture(self, work):
        """Captures a graph of the work, which is not executed."""
        self.driver("cuStreamBeginCapture_v2", ctypes.c_void_p(self.handle), CAPTURE_GLOBAL)
        try:
            work()
        finally:
            graph = self.driver.pointer("cuStreamEndCapture", before=[ctypes.c_void_p(self.handle)])
        return Graph(self.driver, graph)


class Graph:
    """A graph, destroyed at the end of a `with`."""

    def __init__(self, driver, handle):
        self.driver, self.handle = driver, ctypes.c_void_p(handle)

    def __enter__(self):
        return self

    def __exit__(self, *_):
        self.driver("cuGraphDestroy", self.handle)

    def launch(self, stream, times):
        executable = ctypes.c_void_p(
            self.driver.pointer("cuGraphInstantiateWithFlags", self.handle, ctypes.c_uint64(0))
        )
        for _ in range(times):
            self.driver("cuGraphLaunch", executable, ctypes.c_void_p(stream.handle))
        stream.wait()
        self.driver("cuGraphExecDestroy", executable)


def main():
    try:
        Driver()
    except Failed as why:
        sys.exit(str(why))


if __name__ == "__main__":
    main()
