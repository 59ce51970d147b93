"""A decode loop: launches that are prepared once and submitted a thousand times, beside the call that checks the tensors
and encodes their maps anew each time. It needs a CUDA driver, or the tests' stand-in for one."""

import ctypes
from collections.abc import Callable
from pathlib import Path
from time import perf_counter

import tvm_ffi
import tvm_ffi_codegen

# Code of tma(const CUtensorMap, float*) from a GPU compiler.
CODE = Path(__file__).parents[2] / "tests" / "driver" / "kernels.cubin"

DECLARATIONS = """
image code;

/// Checks the tensors and encodes the maps once. The result launches.
prepare(x: Tensor([n, 64], float32, device=cuda), y: Tensor([n, 64], float32, device=cuda)) -> Function
    = {
        let of_x = tensormap(x, box=[1, 64]);
        let of_y = tensormap(y, box=[1, 32]);
        return function(step: int64) -> None where step >= 0 {
            launch code."tma"(of_x, y.data) grid(n) block(128);
            launch code."tma"(of_y, x.data) grid(n) block(128);
        };
    };

/// Does both in every call.
at_once(x: Tensor([n, 64], float32, device=cuda), y: Tensor([n, 64], float32, device=cuda), step: int64) -> None
    where step >= 0
    = {
        launch code."tma"(tensormap(x, box=[1, 64]), y.data) grid(n) block(128);
        launch code."tma"(tensormap(y, box=[1, 32]), x.data) grid(n) block(128);
    };
"""

STEPS = 1000


class Memory(ctypes.Structure):
    """A compact tensor [16, 64] of float32 on the first GPU, as DLPack describes it. A framework would bring its own."""

    _fields_ = (
        ("data", ctypes.c_void_p),
        ("device", ctypes.c_int32 * 2),
        ("ndim", ctypes.c_int32),
        ("dtype", ctypes.c_uint8 * 4),
        ("shape", ctypes.POINTER(ctypes.c_int64)),
        ("strides", ctypes.c_void_p),
        ("byte_offset", ctypes.c_uint64),
        ("manager_ctx", ctypes.c_void_p),
        ("deleter", ctypes.c_void_p),
    )

    def __init__(self, address: int) -> None:
        """Describes memory at an address."""
        self.extents = (ctypes.c_int64 * 2)(16, 64)
        super().__init__(address, (2, 0), 2, (2, 32, 1, 0), self.extents)

    def __dlpack_device__(self) -> tuple[int, int]:
        """Returns type and index of the device."""
        return (2, 0)

    def __dlpack__(self, **_: object) -> object:
        """Lends the memory, which must outlive the tensor."""
        capsule = ctypes.pythonapi.PyCapsule_New
        capsule.restype, capsule.argtypes = ctypes.py_object, [ctypes.c_void_p, ctypes.c_char_p, ctypes.c_void_p]
        return capsule(ctypes.addressof(self), b"dltensor", None)


def microseconds(step: Callable[[int], object]) -> float:
    """Returns the mean time of the steps."""
    start = perf_counter()
    for number in range(STEPS):
        step(number)
    return (perf_counter() - start) / STEPS * 1e6


def quieten() -> None:
    """Tells the tests' stand-in for the driver to keep no record. Real drivers have no such function."""
    quiet = getattr(ctypes.CDLL("libcuda.so.1"), "fake_cuda_quiet", None)
    if quiet is not None:
        quiet(1)


module = tvm_ffi_codegen.jit(DECLARATIONS, images={"code": CODE}, prepare="load")
module.load(0)
quieten()
memory = Memory(0x10000), Memory(0x20000)
x, y = (tvm_ffi.from_dlpack(one) for one in memory)
unprepared = microseconds(lambda step: module.at_once(x, y, step))
submit = module.prepare(x, y)
# The function holds the code and the tensors; nothing else needs to.
del module, x, y
prepared = microseconds(submit)

print(f"launched {STEPS} steps of two kernels, twice")
print(f"checked and encoded in each: {unprepared:.2f} us a step")
print(f"prepared once:               {prepared:.2f} us a step")
try:
    submit(-1)
except ValueError as error:
    print(error)
