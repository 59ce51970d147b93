"""The device of a launch."""

from __future__ import annotations

import ctypes
import functools
import sys
from typing import Any

import tvm_ffi

from .._dlpack import Managed, Tensor, capsule

# Numbers of types of devices in DLPack, by Triton's names of platforms, and our names of the types.
DEVICES = {"cuda": (2, "cuda"), "hip": (10, "rocm")}

# `kDLUInt`, and the bits of an element.
_UINT8 = (1, 8)


class _Empty:
    """A tensor of the shape `[0]` with the protocol of DLPack. It owns the memory of its description."""

    def __init__(self, device: tuple[int, int]) -> None:
        self.device = device
        self.shape = (ctypes.c_int64 * 1)(0)
        described = Tensor(None, *device, 1, *_UINT8, 1, self.shape, None, 0)
        self.managed = Managed(described, None, None)

    def __dlpack_device__(self) -> tuple[int, int]:
        return self.device

    def __dlpack__(self, **_: Any) -> Any:
        return capsule(ctypes.addressof(self.managed), b"dltensor")


# Descriptions, which the runtime's tensors point at.
_kept: list[_Empty] = []


@functools.cache
def tensor_on(platform: str, index: int) -> tvm_ffi.Tensor:
    """Returns a tensor without elements on a device of a platform of Triton."""
    empty = _Empty((DEVICES[platform][0], index))
    _kept.append(empty)
    return tvm_ffi.from_dlpack(empty)


def device_getters() -> tuple[Any, Any]:
    """Returns PyTorch's function that tells the current device, by which Triton's driver asks for it, and the function in C
    that gives the same answer as long as CUDA is initialised. Returns None twice if PyTorch is not here, or CUDA not
    initialised."""
    torch = sys.modules.get("torch")
    if torch is None or not torch.cuda.is_initialized() or not hasattr(torch._C, "_cuda_getDevice"):
        return None, None
    return torch.cuda.current_device, torch._C._cuda_getDevice
