"""Calls of functions of the ABI with made-up arguments, and what they do: the error they raise, and what the stand-in
for the driver has recorded.

Tensors are descriptions of memory that nobody reads, passed as `DLTensor*`. One process has one stand-in and one
runtime, so a `Machine` is made once.
"""

from __future__ import annotations

import ctypes
import re
from collections.abc import Callable, Sequence
from dataclasses import dataclass, field
from pathlib import Path

import records
from evaluation import TensorValue, Value

# Type indices of the ABI.
NONE, INT, BOOL, FLOAT, POINTER, DLTENSOR = 0, 1, 2, 3, 4, 7
FIRST_OBJECT = 64
# Type of devices that are CUDA.
CUDA = 2


class DLTensor(ctypes.Structure):
    _fields_ = [
        ("data", ctypes.c_void_p),
        ("device_type", ctypes.c_int32),
        ("device_id", ctypes.c_int32),
        ("ndim", ctypes.c_int32),
        ("code", ctypes.c_uint8),
        ("bits", ctypes.c_uint8),
        ("lanes", ctypes.c_uint16),
        ("shape", ctypes.POINTER(ctypes.c_int64)),
        ("strides", ctypes.POINTER(ctypes.c_int64)),
        ("byte_offset", ctypes.c_uint64),
    ]


class Payload(ctypes.Union):
    _fields_ = [("integer", ctypes.c_int64), ("number", ctypes.c_double), ("pointer", ctypes.c_void_p)]


class Any(ctypes.Structure):
    """A `TVMFFIAny`."""

    _fields_ = [("type", ctypes.c_int32), ("padding", ctypes.c_uint32), ("value", Payload)]


class Bytes(ctypes.Structure):
    _fields_ = [("data", ctypes.c_void_p), ("size", ctypes.c_size_t)]

    def text(self) -> str:
        return ctypes.string_at(self.data, self.size).decode(errors="replace") if self.data else ""


class ErrorObject(ctypes.Structure):
    """An object of the runtime that is an error, up to the fields of release 0.1.0."""

    _fields_ = [("header", ctypes.c_uint64 * 3), ("kind", Bytes), ("message", Bytes), ("backtrace", Bytes)]


@dataclass(frozen=True)
class Refusal:
    """An error: its kind, its message, and the file and line of each frame, outermost first."""

    kind: str
    message: str
    frames: tuple[tuple[str, int], ...]


@dataclass(frozen=True)
class Outcome:
    """What a call has done: its error, or None, and the driver's calls that count."""

    refusal: Refusal | None
    record: tuple[str, ...]


@dataclass
class Kept:
    """What arguments point to."""

    parts: list[object] = field(default_factory=list)
    objects: list[int] = field(default_factory=list)

    def numbers(self, values: Sequence[int]) -> ctypes.Array[ctypes.c_int64]:
        made = (ctypes.c_int64 * max(len(values), 1))(*values)
        self.parts.append(made)
        return made

    def tensor(self, value: TensorValue) -> DLTensor:
        shape = self.numbers(value.shape)
        strides = None if value.strides is None else self.numbers(value.strides)
        made = DLTensor(value.data, *value.device, len(value.shape), *value.dtype, shape, strides, value.byte_offset)
        self.parts.append(made)
        return made


FRAME = re.compile(r'^\s*File "([^"]*)", line (\d+)', re.MULTILINE)


class Machine:
    """The stand-in for the driver, the one for CUDA's runtime, and the runtime of TVM FFI, in this process."""

    def __init__(self, driver: Path, cudart: Path, runtime: Path) -> None:
        # The order is that in which originals find functions: first those that hand on what they get.
        self.cudart = ctypes.CDLL(str(cudart), ctypes.RTLD_GLOBAL)
        self.driver = ctypes.CDLL(str(driver), ctypes.RTLD_GLOBAL)
        self.runtime = ctypes.CDLL(str(runtime), ctypes.RTLD_GLOBAL)
        self.driver.fake_cuda_log.restype = ctypes.c_size_t
        self.runtime.TVMFFIEnvGetStream.restype = ctypes.c_void_p
        self.streams: dict[int, int] = {}
        self.pieces: dict[int, int] = {}

    def record(self) -> tuple[str, ...]:
        """Returns what has been recorded since the last call, and forgets it."""
        size = self.driver.fake_cuda_log(None, ctypes.c_size_t(0))
        text = ctypes.create_string_buffer(size + 1)
        self.driver.fake_cuda_log(text, ctypes.c_size_t(size + 1))
        self.driver.fake_cuda_reset()
        return records.record(text.value.decode(), self.pieces)

    def make_stream(self, device: int) -> int:
        """Returns a stream of a device, the same each time."""
        if device not in self.streams:
            stream = ctypes.c_void_p()
            status = self.within(device, lambda: self.driver.cuStreamCreate(ctypes.byref(stream), 1))
            assert status == 0 and stream.value, f"no stream of device {device}: {status}"
            self.streams[device] = stream.value
        return self.streams[device]

    def allocate(self, size: int) -> int:
        """Returns the address of memory that the stand-in knows."""
        address = ctypes.c_uint64()
        status = self.within(0, lambda: self.driver.cuMemAlloc_v2(ctypes.byref(address), ctypes.c_size_t(size)))
        assert status == 0, f"no memory: {status}"
        self.pieces[address.value] = size
        return address.value

    def within(self, device: int, call: Callable[[], int]) -> int:
        """Makes a call of the driver in the primary context of a device."""
        context = ctypes.c_void_p()
        self.driver.cuInit(0)
        self.driver.cuDevicePrimaryCtxRetain(ctypes.byref(context), device)
        self.driver.cuCtxPushCurrent_v2(context)
        status = call()
        self.driver.cuCtxPopCurrent_v2(ctypes.byref(context))
        return status

    def set_stream(self, device: int, stream: int | None) -> None:
        """Sets the environment's stream of a device; None is the default."""
        self.runtime.TVMFFIEnvSetStream(CUDA, device, ctypes.c_void_p(stream), None)

    def stream(self, device: int) -> int | None:
        """Returns the environment's stream of a device."""
        found: int | None = self.runtime.TVMFFIEnvGetStream(CUDA, device)
        return found

    def global_function(self, name: str) -> int:
        found = ctypes.c_void_p()
        word = ctypes.create_string_buffer(name.encode())
        text = Bytes(ctypes.addressof(word), len(name))
        status = self.runtime.TVMFFIFunctionGetGlobal(ctypes.byref(text), ctypes.byref(found))
        assert status == 0 and found.value, f"no function {name}"
        return found.value

    def make(self, name: str, values: Sequence[Any]) -> int:
        """Returns the object that a function of the runtime makes of values."""
        result = Any()
        given = (Any * max(len(values), 1))(*values)
        function = ctypes.c_void_p(self.global_function(name))
        status = self.runtime.TVMFFIFunctionCall(function, given, len(values), ctypes.byref(result))
        self.runtime.TVMFFIObjectDecRef(function)
        assert status == 0 and result.value.pointer, name
        return int(result.value.pointer)

    def pack(self, value: Value, kind: str, kept: Kept) -> Any:
        """Returns a value as an argument for a parameter of this kind."""
        if value is None:
            return Any(NONE, 0, Payload(0))
        if isinstance(value, TensorValue):
            return Any(DLTENSOR, 0, Payload(pointer=ctypes.addressof(kept.tensor(value))))
        if isinstance(value, bool):
            return Any(BOOL, 0, Payload(int(value)))
        if isinstance(value, int):
            return Any(INT, 0, Payload(value))
        if isinstance(value, float):
            return Any(FLOAT, 0, Payload(number=value))
        elements = [self.element(element, kind, kept) for element in value]
        made = self.make("ffi.Shape" if kind == "shape" else "ffi.Array", elements)
        kept.objects.append(made)
        return self.object_value(made)

    def element(self, value: Value, kind: str, kept: Kept) -> Any:
        """Returns the element of an array, where a tensor must be an object, which always has strides."""
        if not isinstance(value, TensorValue):
            return self.pack(value, kind, kept)
        made, whole = ctypes.c_void_p(), kept.tensor(value.strided())
        status = self.runtime.TVMFFITensorCreateUnsafeView(None, ctypes.byref(whole), ctypes.byref(made))
        assert status == 0 and made.value, "no view"
        kept.objects.append(made.value)
        return self.object_value(made.value)

    def object_value(self, address: int) -> Any:
        index = ctypes.c_int32.from_address(address + 8).value
        return Any(index, 0, Payload(pointer=address))

    def refusal(self) -> Refusal:
        """Takes the error that the thread has set."""
        error = ctypes.c_void_p()
        self.runtime.TVMFFIErrorMoveFromRaised(ctypes.byref(error))
        if not error.value:
            return Refusal("none", "a failure without an error", ())
        found = ErrorObject.from_address(error.value)
        frames = tuple((file, int(line)) for file, line in FRAME.findall(found.backtrace.text()))
        refusal = Refusal(found.kind.text(), found.message.text(), frames)
        self.runtime.TVMFFIObjectDecRef(error)
        return refusal

    def release(self, kept: Kept) -> None:
        """Gives the references to objects back."""
        while kept.objects:
            self.runtime.TVMFFIObjectDecRef(ctypes.c_void_p(kept.objects.pop()))

    def number(self, function: ctypes._NamedFuncPointer) -> int:
        """Returns the number that a function of no parameters returns."""
        result = Any()
        status = function(None, None, 0, ctypes.byref(result))
        assert status == 0 and result.type == INT, "no number"
        return int(result.value.integer)

    def call(self, function: ctypes._NamedFuncPointer, values: Sequence[tuple[Value, str]]) -> Outcome:
        """Calls a function with values, each with the kind of its parameter."""
        kept = Kept()
        given = (Any * max(len(values), 1))(*[self.pack(value, kind, kept) for value, kind in values])
        self.record()
        result = Any()
        status = function(None, given, len(values), ctypes.byref(result))
        refusal = self.refusal() if status else None
        self.release(kept)
        if result.type >= FIRST_OBJECT:
            self.runtime.TVMFFIObjectDecRef(ctypes.c_void_p(result.value.pointer))
        return Outcome(refusal, self.record())

