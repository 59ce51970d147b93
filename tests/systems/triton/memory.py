"""Memory of a GPU that is never read: as tensors of Triton, as tensors of the ABI, and an allocator of both."""

import ctypes

import triton.language as tl
from triton.experimental.gluon.language import NVMMASharedLayout
from triton.experimental.gluon.nvidia import hopper
from triton.tools.tensor_descriptor import TensorDescriptor

# Address of all scratch memory.
SCRATCH = 0x7000
# Bytes requested from the allocators since the last record, and the tensors that ours has given out.
ALLOCATED, KEPT = [], []


class Tensor:
    """Compact memory of a GPU, with the interface that Triton wants of a tensor."""

    # For each type of Triton: name in `triton.language`, type code and bits in DLPack.
    TYPES = {
        "fp32": ("float32", 2, 32), "fp16": ("float16", 2, 16), "bf16": ("bfloat16", 4, 16), "fp64": ("float64", 2, 64),
        "fp8e5": ("float8e5", 12, 8), "i1": ("int1", 6, 8),
        **{f"i{bits}": (f"int{bits}", 0, bits) for bits in (8, 16, 32, 64)},
        **{f"u{bits}": (f"uint{bits}", 1, bits) for bits in (8, 16, 32, 64)},
    }  # fmt: skip
    # Type of the device in DLPack, and its index.
    DEVICE, INDEX = 2, 0

    def __init__(self, address, kind, *shape):
        self.address, self.shape, self.kind = address, list(shape), kind
        self.strides = [1] * len(shape)
        for dim in reversed(range(len(shape) - 1)):
            self.strides[dim] = self.strides[dim + 1] * shape[dim + 1]

    def data_ptr(self):
        return self.address

    def ptr_range(self):
        """Returns the size in bytes, by which Triton specializes for AMD."""
        return self.shape[0] * self.strides[0] * self.TYPES[self.kind][2] // 8

    @property
    def dtype(self):
        return getattr(tl, self.TYPES[self.kind][0])

    def __dlpack_device__(self):
        return self.DEVICE, self.INDEX

    def __dlpack__(self, **_):
        """Returns the capsule of a tensor that nobody has to delete."""
        KEPT.append(Unversioned(DLTensor.of(self, self.DEVICE), None, None))
        new = ctypes.pythonapi.PyCapsule_New
        new.restype, new.argtypes = ctypes.py_object, [ctypes.c_void_p, ctypes.c_char_p, ctypes.c_void_p]
        return new(ctypes.addressof(KEPT[-1]), b"dltensor", None)

    def described(self, *block):
        base = Described(self.address, self.kind, *self.shape)
        return TensorDescriptor(base, self.shape, self.strides, list(block))


class DescribedType:
    """A type of Triton that also has a size, as types of frameworks have."""

    def __init__(self, dtype):
        self.name, self.itemsize = str(dtype), dtype.primitive_bitwidth // 8
        self.is_floating_point = True

    def __str__(self):
        return self.name


class Described(Tensor):
    """A tensor for a descriptor."""

    @property
    def dtype(self):
        return DescribedType(getattr(tl, self.TYPES[self.kind][0]))


def _for_gluon(tensor):
    """Returns a tensor of 16-bit elements for a descriptor of Gluon, and how shared memory holds its blocks."""
    layout = NVMMASharedLayout(swizzle_byte_width=128, element_bitwidth=16, rank=2)
    return Described(tensor.address, tensor.kind, *tensor.shape), layout


def described_by_gluon(tensor, *block):
    base, layout = _for_gluon(tensor)
    return hopper.TensorDescriptor(base, tensor.shape, tensor.strides, list(block), layout)


def has_columns():
    """Returns true if Gluon has descriptors of columns, which Triton 3.6 has not."""
    return hasattr(hopper, "TensorDescriptorIm2Col")


def columns_of(tensor, block, lower, upper, steps):
    """Returns Gluon's descriptor of columns of pixels; a block is pixels and channels."""
    base, layout = _for_gluon(tensor)
    shape, strides = tensor.shape, tensor.strides
    return hopper.TensorDescriptorIm2Col(
        base, shape, strides, list(block), layout, element_strides=steps, pixel_box_lower_corner=lower,
        pixel_box_upper_corner=upper,
    )  # fmt: skip


class DLTensor(ctypes.Structure):
    _fields_ = [
        ("data", ctypes.c_void_p), ("device_type", ctypes.c_int32), ("device_id", ctypes.c_int32),
        ("ndim", ctypes.c_int32), ("code", ctypes.c_uint8), ("bits", ctypes.c_uint8),
        ("lanes", ctypes.c_uint16), ("shape", ctypes.POINTER(ctypes.c_int64)),
        ("strides", ctypes.POINTER(ctypes.c_int64)), ("byte_offset", ctypes.c_uint64),
    ]  # fmt: skip

    @staticmethod
    def of(tensor, device):
        """Returns a tensor's fields; its memory is of a device of this type."""
        _, code, bits = Tensor.TYPES[tensor.kind]
        numbers = [(ctypes.c_int64 * len(list_))(*list_) for list_ in (tensor.shape, tensor.strides)]
        return DLTensor(tensor.address, device, tensor.INDEX, len(tensor.shape), code, bits, 1, *numbers, 0)


class Unversioned(ctypes.Structure):
    """DLManagedTensor."""

    _fields_ = [("tensor", DLTensor), ("context", ctypes.c_void_p), ("deleter", ctypes.c_void_p)]


class Managed(ctypes.Structure):
    """DLManagedTensorVersioned."""


DELETER = ctypes.CFUNCTYPE(None, ctypes.POINTER(Managed))
Managed._fields_ = [
    ("version", ctypes.c_uint32 * 2), ("context", ctypes.c_void_p), ("deleter", DELETER),
    ("flags", ctypes.c_uint64), ("tensor", DLTensor),
]  # fmt: skip


@DELETER
def keep(_):
    """Keeps the memory, which lives as long as the short process."""


@ctypes.CFUNCTYPE(
    ctypes.c_int, ctypes.POINTER(DLTensor), ctypes.POINTER(ctypes.POINTER(Managed)), ctypes.c_void_p, ctypes.c_void_p
)
def allocate(prototype, out, _context, _set_error):
    """Allocates for the environment of TVM FFI."""
    wanted = prototype[0]
    memory = Tensor(SCRATCH, "fp32", wanted.shape[0])
    managed = Managed((1, 1), None, keep, 0, DLTensor.of(memory, wanted.device_type))
    managed.tensor.code, managed.tensor.bits = wanted.code, wanted.bits
    ALLOCATED.append(memory.shape[0])
    KEPT.append(managed)
    out[0] = ctypes.pointer(managed)
    return 0


def allocate_for_triton(size, align, stream):
    ALLOCATED.append(size)
    return SCRATCH
