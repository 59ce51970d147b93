"""Records of launches on the stand-in for a driver."""

import ctypes
import re

import memory


class Recorder:
    """The record of the stand-in for the driver of a kind of GPU."""

    def __init__(self, gpu):
        self.gpu, self.driver = gpu, ctypes.CDLL(gpu.library)

    def call(self, name, *arguments):
        """Calls the stand-in itself."""
        return getattr(self.driver, f"{self.gpu.prefix}_{name}")(*arguments)

    def take(self):
        """Takes launches and tensor maps since the last call, without the number of the library and without telling a
        kernel from its function in a context; and the requests for scratch memory."""
        size = self.call("log", None, ctypes.c_size_t(0))
        text = ctypes.create_string_buffer(size + 1)
        self.call("log", text, ctypes.c_size_t(size + 1))
        self.call("reset")
        kept = [line for line in text.value.decode().splitlines() if line.startswith(self.gpu.compared)]
        scratch = [f"scratch of {size} bytes" for size in memory.ALLOCATED]
        memory.ALLOCATED.clear()
        return [re.sub(r'\(\S*?"(\w+)"\S*', r'("\1"', line) for line in kept] + scratch
