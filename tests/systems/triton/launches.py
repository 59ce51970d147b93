"""Launches kernels by Triton and by their imports, and compares the records of the stand-in: launches.py cuda|hip."""

import ctypes
import os
import subprocess
import sys
import tempfile

import memory
import records
import triton
from gpus import GPUS

GPU = GPUS[sys.argv[1]]
RECORDER = records.Recorder(GPU)
RUNTIME = ctypes.CDLL("libtvm_ffi.so", mode=ctypes.RTLD_GLOBAL)
BACKENDS = os.environ["SYSTEMS_BACKENDS"].split()


class Any(ctypes.Structure):
    class Value(ctypes.Union):
        _fields_ = [("integer", ctypes.c_int64), ("number", ctypes.c_double), ("tensor", ctypes.c_void_p)]

    _fields_ = [("type", ctypes.c_int32), ("size", ctypes.c_uint32), ("value", Value)]

    @staticmethod
    def of(value, kept):
        if isinstance(value, memory.Tensor):
            kept.append(memory.DLTensor.of(value, GPU.device))
            return Any(7, 0, Any.Value(tensor=ctypes.addressof(kept[-1])))
        if isinstance(value, bool):
            return Any(2, 0, Any.Value(integer=value))
        if isinstance(value, int):
            return Any(1, 0, Any.Value(integer=value))
        return Any(3, 0, Any.Value(number=value))


def by_triton(case):
    """Returns the record, and the files that Triton leaves in its cache."""
    if case.capability:
        RECORDER.call("set", b"capability:0", ctypes.c_int64(case.capability))
    RECORDER.take()
    compiled = case.kernel[case.grid](*case.given, **case.options)
    files = compiled.metadata_group
    name = compiled.metadata.name
    return RECORDER.take(), [files[name + end] for end in (".json", GPU.code)]


def ours(case, files, folder, backend):
    """Imports the kernel, compiles the host, calls it, and returns the record."""
    command = os.environ["SYSTEMS_COMMAND_LINE"]
    declaration, library = f"{folder}/k.ffi", f"{folder}/k.so"
    names = ["--signature", f"k({case.signature})", "--grid", case.our_grid]
    subprocess.run([command, "import-triton", *files, *names, "-o", declaration], check=True)
    image = f"k={files[1]}"
    emitting = [command, "emit", declaration, "--emit", "shared", "--backend", backend, "--image", image, "-o", library]
    subprocess.run(emitting, check=True)
    RECORDER.take()
    kept = []
    values = (Any * len(case.our_given))(*[Any.of(argument, kept) for argument in case.our_given])
    function = ctypes.CDLL(library)["__tvm_ffi_k"]
    status = function(None, values, len(values), ctypes.byref(Any()))
    assert status == 0, f"the call has failed: {os.path.basename(files[0])}"
    return RECORDER.take()


def main():
    GPU.choose()
    triton.set_allocator(memory.allocate_for_triton)
    RUNTIME.TVMFFIEnvSetDLPackManagedTensorAllocator(memory.allocate, 0, None)
    differences = 0
    for case in GPU.cases():
        expected, files = by_triton(case)
        found = {}
        for backend in BACKENDS:
            with tempfile.TemporaryDirectory() as folder:
                found[backend] = ours(case, files, folder, backend)
        same = bool(expected) and all(lines == expected for lines in found.values())
        differences += not same
        print(f"| {case.name} | {len(expected)} | {'yes' if same else 'NO'} |")
        if not same:
            for whose, lines in ("Triton", expected), *found.items():
                print(*[f"  {whose}: {line}" for line in lines], sep="\n", file=sys.stderr)
    sys.exit(differences > 0)


if __name__ == "__main__":
    main()
