"""Measures launches from Python by Triton's own launcher and by ours, in turn, on the quiet stand-in for the CUDA driver.

Times are those of the processor. The tensors are PyTorch's, on the cpu, whose addresses the stand-in takes for those of a
device; device and stream are asked of the driver, not of PyTorch, which has no device here.
"""

import ctypes
import statistics
import time

import torch
import triton
import tvm_ffi_codegen
from launcher_cases import add

ROUNDS = 15
CALLS = 5000


def use_driver():
    """Makes Triton ask the stand-in for device and stream, as it does where there is no PyTorch."""
    from triton.backends.nvidia.driver import CudaDriver, CudaLauncher, CudaUtils

    class Driver(CudaDriver):
        def __init__(self):
            self.utils, self.launcher_cls = CudaUtils(), CudaLauncher
            self.get_device_capability = self._get_device_capability
            self.get_current_stream = self._get_current_stream
            self.get_current_device = self._get_current_device

    triton.runtime.driver.set_active(Driver())


def seconds(launch):
    """Returns seconds of the processor for a launch."""
    start = time.process_time()
    for _ in range(CALLS):
        launch()
    return (time.process_time() - start) / CALLS


def row(what, by_triton, by_us):
    """Prints the medians of both, and that of their ratios."""
    pairs = [(seconds(by_triton), seconds(by_us)) for _ in range(ROUNDS)]
    stock, ours = map(statistics.median, zip(*pairs))
    ratio = statistics.median(us / them for them, us in pairs)
    print(f"{what}: {stock * 1e6:.2f} µs by Triton's launcher, {ours * 1e6:.2f} by ours, {ratio:.2f}")


def main():
    driver = ctypes.CDLL("libcuda.so.1")
    driver.cuInit(0)
    driver.fake_cuda_quiet(1)
    use_driver()
    stock, fast = triton.jit(add), tvm_ffi_codegen.triton.launcher(triton.jit(add), host=True)
    x, y, out = (torch.zeros(4112) for _ in range(3))

    def rows(grid):
        for options in ({}, {"num_warps": 8}):
            given = f"{'a function as grid' if callable(grid) else 'a tuple as grid'}{', an option' if options else ''}"
            what = f"three tensors, an integer, a constant, {given}"
            row(what, lambda: stock[grid](x, y, out, 4112, BLOCK=1024, **options),
                lambda: fast[grid](x, y, out, 4112, BLOCK=1024, **options))  # fmt: skip

    rows((5,))
    rows(lambda meta: (triton.cdiv(meta["n"], meta["BLOCK"]),))
    assert fast.handed_over == 0, fast.reasons


if __name__ == "__main__":
    main()
