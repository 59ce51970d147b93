"""Facts about each kind of GPU for the comparison of launches."""

import sys
from collections.abc import Callable, Iterator
from typing import NamedTuple

import cases
import system

# The driver as the checks of tests/gpu call it.
sys.path.append(str(system.ROOT / "tests" / "hosts" / "launches"))


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


def use_cuda():
    """Makes Triton 3.6 ask the driver for device and stream, as later releases do where there is no PyTorch."""
    import triton
    from triton.backends.nvidia.driver import CudaDriver, CudaLauncher, CudaUtils

    if hasattr(CudaDriver, "_get_current_device"):
        return
    from cuda import Driver

    driver = Driver()

    class OnDriver(CudaDriver):
        def __init__(self):
            self.utils, self.launcher_cls = CudaUtils(), CudaLauncher
            self.get_device_capability, self.get_current_stream = driver.capability, self._get_current_stream

        def _get_current_stream(self, device):
            return 0

        def get_current_device(self):
            if not driver.current():
                self.set_current_device(0)
            return driver.number("cuCtxGetDevice")

        def set_current_device(self, device):
            driver("cuCtxSetCurrent", driver.primary(device))

    triton.runtime.driver.set_active(OnDriver())


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
    "cuda": Gpu(CUDA, "fake_cuda", COMPARED, 2, ".cubin", use_cuda, cases.cuda),
    "hip": Gpu("libamdhip64.so.6", "fake_hip", ("hipModuleLaunch",), 10, ".hsaco", use_hip, cases.hip),
}
