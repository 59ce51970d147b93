"""Compares calls by the native caller with calls by `tvm_ffi`, and its keywords with those of a `def`.

    python calls.py 1000000

makes that many random calls, and prints how often each row of the tables was an argument. Both ways get the same object,
one after the other; a difference in the result, in the error, in what the kernel saw of a tensor, or in the number of
references to the object ends the run.
"""

from __future__ import annotations

import collections
import ctypes
import enum
import gc
import random
import sys
from collections.abc import Callable
from typing import Any

import numpy as np
import tvm_ffi
import tvm_ffi_codegen as codegen
from tvm_ffi_codegen import C
from tvm_ffi_codegen._calls import function_of

# Element types that a tensor of these functions may have; `float32` alone is declared by `pair`.
DTYPES = "float16|float32|float64|bfloat16|int8|int16|int32|int64|uint8|uint16|uint32|uint64|bool|complex64|complex128"

DECLARATIONS = f"""
scalars(a: int64, b: float64, c: bool) -> float64 = {{ if c {{ return float64(a) + b; }} return b; }};
narrow(a: int8, b: uint64, c: float32) -> float32 = {{ return c + float32(a); }};
texts(s: str, b: bytes) -> Any = {{ return [s, b]; }};
given(x: Any) -> Any = {{ return x; }};
look(x: Tensor([...], {DTYPES}, strides=any), out: Tensor([40], int64)) -> None = look(x, out.data);
maybe(x: Optional[Tensor([...], {DTYPES}, strides=any)], n: int64) -> int64 = {{ return n; }};
kept(x: Tensor([...], {DTYPES}, strides=any)) -> Any = {{ return x; }};
pair(x: Tensor([n], float32), y: Tensor([n], float32)) -> z: Tensor([n], float32) = add(x.data, y.data, z.data, n);
several(n: int64) -> (a: Tensor([n], int32), b: Tensor([], float32)) = fill(a.data, b.data, n);
fails(x: Any, n: int64) -> None = {{ if n > 0 {{ raise IndexError "n is ", n; }} }};
"""

KERNELS = C(
    """
#include <stdint.h>
typedef struct { void* data; int32_t device[2]; int32_t ndim; uint8_t code, bits; uint16_t lanes;
                 int64_t *shape, *strides; uint64_t byte_offset; } Tensor;
void look(const Tensor* x, int64_t* out) {
    *out++ = (int64_t)x->data + (int64_t)x->byte_offset;
    *out++ = x->device[0]; *out++ = x->device[1]; *out++ = x->ndim;
    *out++ = x->code; *out++ = x->bits; *out++ = x->lanes;
    for (int i = 0; i < x->ndim && i < 16; ++i) { *out++ = x->shape[i]; *out++ = x->strides ? x->strides[i] : -99; }
}
void add(const float* x, const float* y, float* z, int64_t n) { for (int64_t i = 0; i < n; ++i) z[i] = x[i] + y[i]; }
void fill(int32_t* a, float* b, int64_t n) { for (int64_t i = 0; i < n; ++i) a[i] = (int32_t)i; *b = 0.5f; }
"""
)


class Word(str):
    """A text of another class."""


class Number(enum.IntEnum):
    """An integer of another class."""

    SEVEN = 7


class Half(float):
    """A float of another class."""


class Ducked:
    """A tensor that only has `__dlpack__`."""

    def __init__(self) -> None:
        self.array = np.arange(3, dtype="float32")

    def __dlpack__(self, **options: Any) -> Any:
        return self.array.__dlpack__()

    def __dlpack_device__(self) -> tuple[int, int]:
        return (1, 0)


class Refusing(Ducked):
    """A tensor that raises an exception while it is converted."""

    def __dlpack__(self, **options: Any) -> Any:
        raise KeyError("refused")


def read_only() -> Any:
    array = np.zeros(3, "float32")
    array.flags.writeable = False
    return array


def scalars() -> dict[str, Callable[[], Any]]:
    """Rows of arguments that are no tensors: what they are, and how they are made."""
    native = MODULE.given
    return {
        "int 0": lambda: 0,
        "int 7": lambda: 7,
        "int -129": lambda: -129,
        "greatest int64": lambda: 2**63 - 1,
        "least int64": lambda: -(2**63),
        "int beyond int64": lambda: 2**63,
        "int beyond uint64": lambda: 2**64,
        "huge int": lambda: -(2**200),
        "True": lambda: True,
        "False": lambda: False,
        "IntEnum": lambda: Number.SEVEN,
        "float": lambda: 2.5,
        "nan": lambda: float("nan"),
        "infinity": lambda: float("-inf"),
        "subclass of float": lambda: Half(0.5),
        "None": lambda: None,
        "np.bool": lambda: np.bool_(True),
        "np.int8": lambda: np.int8(-3),
        "np.uint64": lambda: np.uint64(2**63),
        "np.float32": lambda: np.float32(1.5),
        "np.float64": lambda: np.float64(1.5),
        "empty str": lambda: "",
        "str of 7 bytes": lambda: "seven77",
        "str of 8 bytes": lambda: "eight888",
        "str of two bytes a sign": lambda: "µ" * 4,
        "str with NUL": lambda: "a\0b" * 4,
        "str that is no UTF-8": lambda: "\ud800",
        "subclass of str": lambda: Word("a word"),
        "empty bytes": lambda: b"",
        "bytes of 7": lambda: b"seven77",
        "bytes of 300": lambda: bytes(300),
        "bytearray": lambda: bytearray(b"abc"),
        "memoryview": lambda: memoryview(b"abc"),
        "tuple": lambda: (1, "two", 3.0),
        "list": lambda: [1, [2, None]],
        "tuple of arrays": lambda: (np.zeros(3, "float32"),),
        "dict": lambda: {"a": 1},
        "address": lambda: ctypes.c_void_p(4096),
        "ffi.Array": lambda: tvm_ffi.Array([1, 2]),
        "ffi.Map": lambda: tvm_ffi.Map({"a": 1}),
        "ffi.Shape": lambda: tvm_ffi.Shape((1, 2)),
        "ffi.Function": lambda: function_of(native),
        "native function": lambda: native,
        "other builtin": lambda: len,
        "lambda": lambda: lambda: 3,
        "moved object": lambda: moved(),
        "dtype": lambda: tvm_ffi.dtype("float32"),
        "device": lambda: tvm_ffi.device("cpu", 0),
        "np.dtype": lambda: np.dtype("int8"),
        "exception": lambda: ValueError("a value"),
        "object": lambda: object(),
        "class": lambda: int,
        "array that refuses": Refusing,
    }


def moved() -> Any:
    """Makes a reference that the callee may take the object out of."""
    return tvm_ffi.Array([1, 2])._move()


def arrays() -> dict[str, Callable[[], Any]]:
    """Rows of arrays of NumPy, and of the runtime."""
    zeros = {f"array of {name}": lambda name=name: np.zeros(3, name) for name in ARRAYS}
    packed = np.dtype([("a", "i1"), ("b", "f4")])
    return zeros | {
        "float32, the usual": lambda: np.arange(3, dtype="float32"),
        "two dims": lambda: np.zeros((4, 3), "float32"),
        "columns first": lambda: np.zeros((4, 3), "float32", order="F"),
        "every second": lambda: np.zeros(6, "float32")[::2],
        "negative strides": lambda: np.arange(3, dtype="float32")[::-1],
        "a stride of 0": lambda: np.lib.stride_tricks.as_strided(np.zeros(1, "float32"), (3,), (0,)),
        "broadcast": lambda: np.broadcast_to(np.zeros(1, "float32"), 3),
        "read-only": read_only,
        "0-dim": lambda: np.zeros((), "float32"),
        "empty": lambda: np.zeros(0, "float32"),
        "empty of three dims": lambda: np.zeros((3, 0, 2), "float32"),
        "empty, columns first": lambda: np.zeros((3, 0, 2), "float32", order="F")[:, :, ::2],
        "extents of 1": lambda: np.zeros((1, 4, 1), "float32")[:, ::4],
        "extents of 1, strided": lambda: np.zeros((2, 3), "float32")[:1, ::2],
        "another byte order": lambda: np.zeros(3, ">f4"),
        "its own byte order": lambda: np.zeros(3, "<f4"),
        "structured": lambda: np.zeros(3, packed),
        "field of structures": lambda: np.zeros(3, packed)["b"],
        "unaligned": lambda: np.frombuffer(bytearray(13), "float32", 3, 1),
        "8 dims": lambda: np.zeros((1,) * 8, "float32"),
        "9 dims": lambda: np.zeros((2,) * 9, "int8"),
        "32 dims": lambda: np.zeros((1,) * 32, "float32"),
        "matrix": lambda: np.zeros(3, "float32").view(np.matrix),
        "masked array": lambda: np.ma.zeros(3, "float32"),
        "recarray": lambda: np.zeros(3, packed).view(np.recarray),
        "ffi.Tensor": lambda: tvm_ffi.from_dlpack(np.arange(3, dtype="float32")),
        "__dlpack__": Ducked,
        **of_ml_dtypes(),
        **of_torch(),
    }


ARRAYS = (
    "float16 float64 longdouble int8 int16 int32 int64 uint8 uint16 uint32 uint64 bool complex64 complex128 "
    "clongdouble longlong ulonglong intc uintc datetime64[s] timedelta64[s] object S4 U4"
).split()

# What is not installed is left out, and said at the end.
LEFT_OUT: list[str] = []


def of_ml_dtypes() -> dict[str, Callable[[], Any]]:
    try:
        import ml_dtypes
    except ImportError:
        LEFT_OUT.append("ml_dtypes")
        return {}
    return {f"ml_dtypes.{name}": lambda name=name: np.zeros(3, getattr(ml_dtypes, name)) for name in ("bfloat16", "int4")}


def of_torch() -> dict[str, Callable[[], Any]]:
    try:
        import torch
    except ImportError:
        LEFT_OUT.append("torch")
        return {}
    from torch._subclasses.fake_tensor import FakeTensorMode

    fake = FakeTensorMode()

    class Subclass(torch.Tensor):
        pass

    def inferred() -> Any:
        with torch.inference_mode():
            return torch.zeros(3)

    def emptied() -> Any:
        tensor = torch.zeros(3)
        tensor.untyped_storage().resize_(0)
        return tensor

    def swapped() -> Any:
        tensor, other = torch.zeros(4, 5), torch.arange(3, dtype=torch.float32)
        torch.utils.swap_tensors(tensor, other)
        return tensor

    plain = {f"torch.{name}": lambda name=name: torch.zeros(3, dtype=getattr(torch, name)) for name in TORCH}
    return plain | {
        "torch, the usual": lambda: torch.arange(3, dtype=torch.float32),
        "torch, the usual, negated": lambda: torch._neg_view(torch.zeros(3)),
        "torch, conjugate": lambda: torch.zeros(3, dtype=torch.complex64).conj(),
        "torch, two dims": lambda: torch.zeros(4, 3),
        "torch, transposed": lambda: torch.zeros(4, 3).t(),
        "torch, every second": lambda: torch.zeros(6)[::2],
        "torch, an offset": lambda: torch.zeros(6)[3:],
        "torch, expanded": lambda: torch.zeros(1).expand(3),
        "torch, extents of 1": lambda: torch.zeros(2, 3)[:1, ::2],
        "torch, 0-dim": lambda: torch.zeros(()),
        "torch, empty": lambda: torch.zeros(3, 0, 2),
        "torch, 9 dims": lambda: torch.zeros((2,) * 9),
        "torch, Parameter": lambda: torch.nn.Parameter(torch.zeros(3)),
        "torch, needs a gradient": lambda: torch.zeros(3, requires_grad=True) * 2,
        "torch, subclass": lambda: torch.zeros(3).as_subclass(Subclass),
        "torch, sparse": lambda: torch.zeros(3).to_sparse(),
        "torch, meta": lambda: torch.zeros(3, device="meta"),
        "torch, fake": lambda: fake.from_tensor(torch.zeros(3)),
        "torch, functional": lambda: torch._to_functional_tensor(torch.zeros(3)),
        "torch, 6 dims": lambda: torch.zeros((2,) * 6).transpose(1, 4),
        "torch, 3 of 8 dims": lambda: torch.zeros((2,) * 8)[0, 1, :, 0, :, 1, 1, :],
        "torch, imaginary part of a conjugate": lambda: torch.zeros(3, dtype=torch.complex64).conj().imag,
        "torch, Buffer": lambda: torch.nn.Buffer(torch.zeros(3)),
        "torch, Parameter of a subclass": lambda: torch.nn.Parameter(torch.zeros(3).as_subclass(Subclass)),
        "torch, needs a gradient, a leaf": lambda: torch.zeros(3, requires_grad=True),
        "torch, made for inference": inferred,
        "torch, copied on the first write": lambda: torch._lazy_clone(torch.arange(3, dtype=torch.float32)),
        "torch, without memory": lambda: torch._efficientzerotensor(3),
        "torch, memory taken away": emptied,
        "torch, another's data": swapped,
        "torch, of MKL-DNN": lambda: torch.zeros(3).to_mkldnn(),
        "torch, nested": lambda: torch.nested.nested_tensor([torch.zeros(2), torch.zeros(3)]),
        "torch, quantized": lambda: torch.quantize_per_tensor(torch.zeros(3), 0.1, 0, torch.qint8),
        "torch.dtype": lambda: torch.float32,
    }


TORCH = "float16 bfloat16 float64 int8 int64 uint8 uint16 bool complex64 float8_e4m3fn".split()

MODULE = codegen.jit(DECLARATIONS, {name: KERNELS for name in ("look", "add", "fill")})
ROWS: dict[str, Callable[[], Any]] = scalars() | arrays()

# Number of parameters of each function.
FUNCTIONS = {
    "scalars": 3,
    "narrow": 3,
    "texts": 2,
    "given": 1,
    "look": 2,
    "maybe": 2,
    "kept": 1,
    "pair": 2,
    "several": 1,
    "fails": 2,
}


def outcome(function: Callable[..., Any], args: list[Any], named: dict[str, Any] | None = None) -> Any:
    """Calls, and describes the result or the exception so that it can be compared."""
    try:
        return described(function(*args, **(named or {})))
    except BaseException as error:
        # PyTorch appends the frames of its caller.
        text = str(error).partition("\nException raised from")[0]
        # Our caller says which argument is read-only, `tvm_ffi` what NumPy says.
        is_read_only = isinstance(error, BufferError) and ("read-only" in text or "readonly" in text)
        return type(error), "read-only" if is_read_only else text


def described(value: Any) -> Any:
    if isinstance(value, (tvm_ffi.Array, list)):
        return type(value), [described(entry) for entry in value]
    if hasattr(value, "__dlpack__") and not isinstance(value, (np.ndarray, np.generic)):
        return type(value), str(value.dtype), tuple(value.shape), contents(value)
    return type(value), repr(value) if isinstance(value, (int, float, str, bytes)) or value is None else None


def contents(tensor: Any) -> Any:
    try:
        return np.from_dlpack(tensor).tolist()
    except (BufferError, RuntimeError, TypeError):
        return None


def compare(name: str, args: list[Any], shown: str) -> None:
    """Calls a function both ways; raises an `AssertionError` that shows the arguments if there is a difference."""
    native = getattr(MODULE, name)
    buffers = [np.zeros(40, "int64") for _ in range(2)]
    results, kept = [], []
    for function, buffer in zip((native, function_of(native)), buffers, strict=True):
        given = [args[0], buffer] if name == "look" and isinstance(args[1], np.ndarray) else args
        before = counted(args)
        results.append(outcome(function, given))
        kept.append(references(args, before))
    if results[1] == (BufferError, "read-only") != results[0]:
        # Where no tensor can be, our caller says of an array that is read-only what `tvm_ffi` says of any other.
        writable = [one.copy() if isinstance(one, np.ndarray) and not one.flags.writeable else one for one in args]
        results[1] = outcome(function_of(native), writable)
        assert issubclass(results[1][0], Exception), f"{name}({shown}): {results}"
    assert results[0] == results[1], f"{name}({shown}): {results[0]}, tvm_ffi: {results[1]}"
    seen = [buffer.tolist() for buffer in buffers]
    assert seen[0] == seen[1], f"{name}({shown}): saw {seen[0]}, tvm_ffi: {seen[1]}"
    assert not any(kept[0]), f"{name}({shown}): references {kept[0]}, tvm_ffi: {kept[1]}"


def references(args: list[Any], before: list[int]) -> list[int]:
    """Returns by how much the numbers of references to arguments have grown. Exceptions of `tvm_ffi` are in cycles."""
    for collect in (False, True):
        if collect:
            gc.collect()
        found = [now - count for now, count in zip(counted(args), before, strict=True)]
        if not any(found):
            break
    return found


def positional(rounds: int, seed: int = 0) -> collections.Counter[str]:
    """Compares random calls with as many arguments as there are parameters; returns how often each row was one."""
    draw, hits = random.Random(seed), collections.Counter[str](dict.fromkeys(ROWS, 0))
    names, rows = list(FUNCTIONS), list(ROWS)
    # Arguments that fit, so that calls get past the first one.
    fitting = {"scalars": "int 7", "texts": "str of 8 bytes", "look": "float32, the usual", "pair": "float32, the usual"}
    for index in range(rounds):
        name = names[index % len(names)]
        chosen = [draw.choice(rows) for _ in range(FUNCTIONS[name])]
        if draw.random() < 0.5:
            chosen[1:] = [fitting.get(name, "int 7")] * (len(chosen) - 1)
        # Every row is the first argument of every function once.
        if index < len(names) * len(rows):
            chosen[0] = rows[index // len(names)]
        hits.update(chosen)
        compare(name, [ROWS[row]() for row in chosen], ", ".join(chosen))
    return hits


def counted(args: list[Any]) -> list[int]:
    """Returns the numbers of references; 0 for types, which the first conversion keeps, and for what is everywhere."""
    everywhere = (None, True, False, "", b"")
    shared = [arg in everywhere if isinstance(arg, (str, bytes)) else arg is None or isinstance(arg, (int, type)) for arg in args]
    return [0 if is_shared else sys.getrefcount(arg) for arg, is_shared in zip(args, shared, strict=True)]


SIGNATURES = {
    "f0": "",
    "f1": "a",
    "f3": "a, b, c",
    "d2": "a, b=2",
    "d4": 'a, s="x\\"y\\\\µ", f=-0.5, n=None',
    "all_defaults": "a=1, b=True",
    "rest": "a, *others",
}

NAMED = codegen.jit(
    """
    f0() -> Array = { return []; };
    f1(a: Any) -> Array = { return [a]; };
    f3(a: Any, b: Any, c: Any) -> Array = { return [a, b, c]; };
    d2(a: Any, b: Any = 2) -> Array = { return [a, b]; };
    d4(a: Any, s: str = "x\\"y\\\\µ", f: float64 = -0.5, n: Optional[int64] = None) -> Array = { return [a, s, f, n]; };
    all_defaults(a: int64 = 1, b: bool = True) -> Array = { return [a, b]; };
    rest(a: Any, *others: Any) -> int64 = { return 7; };
    """
)


def keywords(rounds: int, seed: int = 0) -> collections.Counter[str]:
    """Compares random counts and keywords with functions of Python of the same signatures."""
    draw, hits = random.Random(seed), collections.Counter[str]()
    defined: dict[str, Any] = {}
    for name, signature in SIGNATURES.items():
        listed = "a, *others" if name == "rest" else ", ".join(part.split("=")[0] for part in signature.split(", ") if part)
        exec(f"def {name}({signature}): return [{listed}]", defined)
    for _ in range(rounds):
        name = draw.choice(list(SIGNATURES))
        words = draw.sample(["a", "b", "c", "s", "f", "n", "others", "z"], draw.choice([0, 0, 1, 1, 2, 3, 4]))
        args, named = [1] * draw.choice([0, 0, 1, 1, 2, 3, 5]), {word: VALUES.get(word, 1) for word in words}
        native, python = getattr(NAMED, name), defined[name]
        wanted = outcome(python, args, named)
        found = outcome(native, args, named)
        if isinstance(wanted[1], list):
            wanted = outcome(function_of(native), python(*args, **named))
        hits["fits" if wanted == found and wanted[0] is not TypeError else "does not fit"] += 1
        assert found == wanted, f"{name}(*{args}, **{named}): {found}, expected {wanted}"
    return hits


VALUES = {"s": "text", "f": 1.5, "n": None}


def main() -> None:
    rounds = int(sys.argv[1]) if len(sys.argv) > 1 else 10_000
    hits = positional(rounds)
    for row, count in hits.items():
        print(f"{count:9} {row}")
    print(f"keywords: {dict(keywords(rounds))}; not installed: {', '.join(LEFT_OUT) or 'nothing'}")


if __name__ == "__main__":
    main()
