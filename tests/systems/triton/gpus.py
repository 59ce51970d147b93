"""Facts about each kind of GPU for the comparison of launches."""

from collections.abc import Callable, Iterator
from typing import NamedTuple

import cases


class Gpu(NamedTuple):
    # File of the driver, and the start of the names by which tests call the stand-in.
    library: str
    prefix: str
    # Starts of the calls that are compared.
    compared: tuple[str, ...]
    # Type of the device in DLPack.
    device: int
    # End of the name of the file with the code.
    code: str
    # Makes Triton launch there, if it does not by itself.
    choose: Callable[[], None]
    cases: Callable[[], Iterator[cases.Case]]


def use_hip():
    """Makes Triton launch on AMD's GPUs. Its driver asks PyTorch for the device and the stream, which are 0 here."""
    import triton
    from triton.backends.amd.driver import HIPDriver, HIPLauncher, HIPUtils

    class Driver(HIPDriver):
        def __init__(self):
            self.utils, self.launcher_cls = HIPUtils(), HIPLauncher
            self.get_current_device, self.get_current_stream = (lambda: 0), (lambda device: 0)

    triton.runtime.driver.set_active(Driver())


CUDA, COMPARED = "libcuda.so.1", ("cuLaunchKernelEx(", "cuTensorMapEncode")
GPUS = {
    "cuda": Gpu(CUDA, "fake_cuda", COMPARED, 2, ".cubin", lambda: None, cases.cuda),
    "hip": Gpu("libamdhip64.so.6", "fake_hip", ("hipModuleLaunch",), 10, ".hsaco", use_hip, cases.hip),
}
