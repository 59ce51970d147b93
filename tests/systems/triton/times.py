"""Compares launches with tensors of PyTorch by Triton's own launcher and by ours, and measures them in turn, on the stand-in
for the CUDA driver, which is then quiet.

Times are those of the processor. The tensors are PyTorch's, on the cpu, whose addresses the stand-in takes for those of a
device; device and stream are asked of the driver, not of PyTorch, which has no device here.
"""

import ctypes
import statistics
import time

import records
import torch
import triton
import tvm_ffi_codegen
from gpus import GPUS
from launcher_cases import add, copy

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


def tensors():
    """Yields tensors of PyTorch that launchers might treat differently."""
    plain = torch.zeros(4096)
    yield from (plain, plain[1:], plain[4:], plain.view(64, 64).t(), torch.nn.Parameter(plain), torch.zeros(()), torch.zeros(0))
    yield torch.zeros(4, requires_grad=True) * 2
    kinds = "bfloat16 float16 float64 float8_e4m3fn float8_e5m2 bool int8 int16 int32 int64 uint8 uint16 uint32 uint64"
    yield from (plain.to(getattr(torch, kind)) for kind in kinds.split())


def compare():
    """Checks that both launch the same for tensors of PyTorch, and that one in memory of the host is Triton's to accept."""
    recorder = records.Recorder(GPUS["cuda"])
    stock, fast = triton.jit(copy), tvm_ffi_codegen.triton.launcher(triton.jit(copy), host=True)
    asking = tvm_ffi_codegen.triton.launcher(triton.jit(copy))

    def launched(kernel, tensor):
        recorder.take()
        return kernel[(1,)](tensor, tensor, 16).kernel, recorder.take()

    for count, tensor in enumerate(tensors()):
        expected = launched(stock, tensor)
        assert launched(fast, tensor) == launched(fast, tensor) == launched(asking, tensor) == expected, tensor
        assert (fast.handed_over, asking.handed_over) == (0, count + 1), (fast.reasons, asking.reasons)
    caches = [sorted(kernel.device_caches[0][0]) for kernel in (stock, fast, asking)]
    assert caches[0] == caches[1] == caches[2]
    print(f"{count + 1} tensors of PyTorch: launched as by Triton's launcher")


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
    use_driver()
    compare()
    driver.fake_cuda_quiet(1)
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
