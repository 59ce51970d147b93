"""Launches kernels by Triton and by their imports, and compares the records of the stand-in for the driver."""

import ctypes
import os
import re
import subprocess
import sys
import tempfile

import triton
import triton.language as tl
from triton.tools.tensor_descriptor import TensorDescriptor

sys.path.append(os.path.join(os.path.dirname(__file__), "../../../driver/tests/triton"))
from kernels import _scale, add, tiles

DRIVER = ctypes.CDLL("libcuda.so.1")
RUNTIME = ctypes.CDLL("libtvm_ffi.so", mode=ctypes.RTLD_GLOBAL)
SCRATCH = 0x7000
BACKENDS = os.environ["SYSTEMS_BACKENDS"].split()


@triton.jit
def scalars(out, yes, large, factor, BLOCK: tl.constexpr):
    at = tl.arange(0, BLOCK)
    tl.store(out + at, tl.where(yes, large.to(tl.float32) * factor, 0.0))


class Tensor:
    """Compact memory of a GPU, never read: with the interface that Triton wants of a tensor, and the ABI's DLTensor."""

    # For each type of Triton: name in DLPack, type code, bits.
    TYPES = {"fp32": ("float32", 2, 32), "fp16": ("float16", 2, 16), "bf16": ("bfloat16", 4, 16)}

    def __init__(self, address, kind, *shape):
        self.address, self.shape, self.kind = address, list(shape), kind
        self.strides = [1] * len(shape)
        for dim in reversed(range(len(shape) - 1)):
            self.strides[dim] = self.strides[dim + 1] * shape[dim + 1]

    def data_ptr(self):
        return self.address

    @property
    def dtype(self):
        return getattr(tl, self.TYPES[self.kind][0])

    def described(self, *block):
        base = type("Base", (), {"data_ptr": self.data_ptr, "dtype": DescribedType(self.dtype)})
        return TensorDescriptor(base(), self.shape, self.strides, list(block))


class DescribedType:
    """A type of Triton that also has a size, as types of frameworks have."""

    def __init__(self, dtype):
        self.name, self.itemsize = str(dtype), dtype.primitive_bitwidth // 8
        self.is_floating_point = True

    def __str__(self):
        return self.name


class DLTensor(ctypes.Structure):
    _fields_ = [
        ("data", ctypes.c_void_p), ("device_type", ctypes.c_int32), ("device_id", ctypes.c_int32),
        ("ndim", ctypes.c_int32), ("code", ctypes.c_uint8), ("bits", ctypes.c_uint8),
        ("lanes", ctypes.c_uint16), ("shape", ctypes.POINTER(ctypes.c_int64)),
        ("strides", ctypes.POINTER(ctypes.c_int64)), ("byte_offset", ctypes.c_uint64),
    ]  # fmt: skip

    @staticmethod
    def of(tensor):
        _, code, bits = Tensor.TYPES[tensor.kind]
        numbers = [(ctypes.c_int64 * len(list_))(*list_) for list_ in (tensor.shape, tensor.strides)]
        return DLTensor(tensor.address, 2, 0, len(tensor.shape), code, bits, 1, *numbers, 0)


class Any(ctypes.Structure):
    class Value(ctypes.Union):
        _fields_ = [("integer", ctypes.c_int64), ("number", ctypes.c_double), ("tensor", ctypes.c_void_p)]

    _fields_ = [("type", ctypes.c_int32), ("size", ctypes.c_uint32), ("value", Value)]

    @staticmethod
    def of(value, kept):
        if isinstance(value, Tensor):
            kept.append(DLTensor.of(value))
            return Any(7, 0, Any.Value(tensor=ctypes.addressof(kept[-1])))
        if isinstance(value, bool):
            return Any(2, 0, Any.Value(integer=value))
        if isinstance(value, int):
            return Any(1, 0, Any.Value(integer=value))
        return Any(3, 0, Any.Value(number=value))


class Managed(ctypes.Structure):
    """DLManagedTensorVersioned."""


DELETER = ctypes.CFUNCTYPE(None, ctypes.POINTER(Managed))
Managed._fields_ = [
    ("version", ctypes.c_uint32 * 2), ("context", ctypes.c_void_p), ("deleter", DELETER),
    ("flags", ctypes.c_uint64), ("tensor", DLTensor),
]  # fmt: skip
# Bytes requested from both allocators since the last call, and the tensors of ours.
ALLOCATED, KEPT = [], []


@DELETER
def keep(_):
    """Keeps the memory, which lives as long as the short process."""


@ctypes.CFUNCTYPE(
    ctypes.c_int, ctypes.POINTER(DLTensor), ctypes.POINTER(ctypes.POINTER(Managed)), ctypes.c_void_p, ctypes.c_void_p
)
def allocate(prototype, out, _context, _set_error):
    memory = Tensor(SCRATCH, "fp32", prototype[0].shape[0])
    managed = Managed((1, 1), None, keep, 0, DLTensor.of(memory))
    managed.tensor.code, managed.tensor.bits = prototype[0].code, prototype[0].bits
    ALLOCATED.append(memory.shape[0])
    KEPT.append(managed)
    out[0] = ctypes.pointer(managed)
    return 0


def record():
    """Takes launches and tensor maps since the last call, without the number of the library and without telling a
    kernel from its function in a context; and the requests for scratch memory."""
    size = DRIVER.fake_cuda_log(None, ctypes.c_size_t(0))
    text = ctypes.create_string_buffer(size + 1)
    DRIVER.fake_cuda_log(text, ctypes.c_size_t(size + 1))
    DRIVER.fake_cuda_reset()
    lines = text.value.decode().splitlines()
    kept = [line for line in lines if line.startswith(("cuLaunchKernelEx(", "cuTensorMapEncodeTiled("))]
    return [re.sub(r'\(\S*?"(\w+)"\S*', r'("\1"', line) for line in kept] + [f"scratch of {n} bytes" for n in ALLOCATED]


def by_triton(kernel, grid, arguments, options):
    """Returns the record, and the files that Triton leaves in its cache."""
    ALLOCATED.clear()
    record()
    compiled = kernel[grid](*arguments, **options)
    files = compiled.metadata_group
    name = compiled.metadata.name
    return record(), [files[name + end] for end in (".json", ".cubin")]


def ours(files, signature, grid, arguments, folder, backend):
    command, (declaration, library) = os.environ["SYSTEMS_COMMAND_LINE"], [f"{folder}/k{end}" for end in (".ffi", ".so")]
    importing = [command, "import-triton", *files, "--signature", f"k({signature})", "--grid", grid, "-o", declaration]
    subprocess.run(importing, check=True)
    image = f"k={files[1]}"
    emitting = [command, "emit", declaration, "--emit", "shared", "--backend", backend, "--image", image, "-o", library]
    subprocess.run(emitting, check=True)
    ALLOCATED.clear()
    record()
    kept = []
    values = (Any * len(arguments))(*[Any.of(argument, kept) for argument in arguments])
    function = ctypes.CDLL(library)["__tvm_ffi_k"]
    status = function(None, values, len(arguments), ctypes.byref(Any()))
    assert status == 0, f"the call has failed: {os.path.basename(files[0])}"
    return record()


def cases():
    """A row: name, kernel, grid and arguments for Triton; our signature, grid and arguments; options."""
    x, y, out = [Tensor(at, "fp32", 4112) for at in (0x1000, 0x2000, 0x3000)]
    signature = "x: *fp32[n]:16, y: *fp32[n]:16, out: *fp32[n]:16, n: i32:16, stride: i32:1, BLOCK: 1024"
    block = {"BLOCK": 1024}
    numbers = (x, y, out, 4112, 1)
    yield "add", add, (5,), numbers, signature, "cdiv(n, BLOCK)", numbers, block
    odd = (*[Tensor(at, "fp32", 1000) for at in (0x1004, 0x2000, 0x3000)], 1001, 3)
    free = "x: *fp32, y: *fp32:16, out: *fp32:16, n: i32, stride: i32, BLOCK: 1024"
    options = block | {"num_warps": 8, "launch_pdl": True, "launch_cooperative_grid": True, "num_ctas": 2}
    yield "add, two blocks, PDL, cooperative", add, (1, 2), odd, free, "cdiv(n, BLOCK), 2", odd, options
    a, b = [Tensor(at, "fp16", 40, 96) for at in (0x1000, 0x2000)]
    signature = "x: *fp16[rows, columns]:16, out: *fp16[rows, columns]:16, rows: i32, columns: i32:16, BLOCK: 32"
    grid = "cdiv(rows, BLOCK), cdiv(columns, BLOCK)"
    for ctas in (1, 2):
        options = {"BLOCK": 32, "num_ctas": ctas}
        name = f"tiles, scratch memory, clusters of {ctas}"
        yield name, tiles, (2, 3), (a, b, 40, 96), signature, grid, (a, b, 40, 96), options
    c, d = [Tensor(at, "bf16", 40, 32) for at in (0x1000, 0x2000)]
    signature = "x: tensordesc<bf16[32, 32]>[m, n], out: tensordesc<bf16[32, 32]>[m, n], factor: fp32"
    described = (c.described(32, 32), d.described(32, 32), 2.5)
    given, options = (c, d, 2.5), {"BLOCK": 32}
    yield "scale, descriptors of the host", _scale, (2,), described, signature, "cdiv(m, 32)", given, options
    given = (x, True, 1 << 40, 0.5)
    signature = "out: *fp32:16, yes: u1, large: i64:16, factor: fp32, BLOCK: 128"
    yield "scalars", scalars, (1,), given, signature, "1", given, {"BLOCK": 128}
    # A device without tensor maps, for which Triton takes descriptors apart.
    DRIVER.fake_cuda_set(b"capability:0", ctypes.c_int64(80))
    older = triton.jit(_scale.fn)
    signature = "x: tensordesc<bf16[32, 32]>[m, n], out: tensordesc<bf16[32, 32]>[m, n], factor: fp32"
    given, options = (c, d, 2.5), {"BLOCK": 32}
    yield "scale, for sm_80", older, (2,), described, signature, "cdiv(m, 32)", given, options


def allocate_for_triton(size, align, stream):
    ALLOCATED.append(size)
    return SCRATCH


def main():
    triton.set_allocator(allocate_for_triton)
    RUNTIME.TVMFFIEnvSetDLPackManagedTensorAllocator(allocate, 0, None)
    differences = 0
    print("| kernel | calls | as Triton |\n|---|---|---|")
    for name, kernel, grid, arguments, signature, our_grid, our_arguments, options in cases():
        expected, files = by_triton(kernel, grid, arguments, options)
        found = {}
        for backend in BACKENDS:
            with tempfile.TemporaryDirectory() as folder:
                found[backend] = ours(files, signature, our_grid, our_arguments, folder, backend)
        same = bool(expected) and all(lines == expected for lines in found.values())
        differences += not same
        print(f"| {name} | {len(expected)} | {'yes' if same else 'NO'} |")
        if not same:
            for whose, lines in ("Triton", expected), *found.items():
                print(*[f"  {whose}: {line}" for line in lines], sep="\n", file=sys.stderr)
    sys.exit(differences > 0)


if __name__ == "__main__":
    main()
