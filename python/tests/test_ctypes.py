"""Functions of ctypes as kernels: their prototypes, and their exceptions."""

import ctypes
import gc
import threading
import weakref
from collections.abc import Callable
from typing import Any

import numpy as np
import tvm_ffi
import tvm_ffi_codegen as codegen
from ctypes import CFUNCTYPE, POINTER, c_bool, c_char_p, c_double, c_float, c_int, c_int8, c_int64, c_size_t, c_uint8
from ctypes import c_uint64, c_void_p
from support import ADD_ONE, C_KERNEL, KernelType, raises
from tvm_ffi_codegen import C, _dlpack, _kernels

HALF = "half(x: float64) -> float64 = k(x);"
OBJECTS = [
    "Any", "str", "bytes", "Optional[str]", "Tensor([2], float32)", "Array[int64]", "Tuple[int64, str]", "Function",
    "dtype", "Device", "Shape([2, _])", "Map[str, int64]", "Union[int64, str]",
]


def test_prototypes_are_compared() -> None:
    floats = POINTER(c_float)
    passes = "but add_one calls it as `void k(void*, void*, int64_t)`"
    rows: list[tuple[str, Any, str]] = [
        (ADD_ONE, CFUNCTYPE(None, floats, floats, c_int), f"kernels['k'] takes c_int as argument 2, {passes}"),
        (ADD_ONE, CFUNCTYPE(None, floats, c_double, c_int64), f"takes c_double as argument 1, {passes}"),
        (ADD_ONE, CFUNCTYPE(None, floats, c_int, c_int64), f"takes c_int as argument 1, {passes}"),
        (ADD_ONE, CFUNCTYPE(None, floats, floats), f"kernels['k'] takes 2 arguments, {passes}"),
        (ADD_ONE, CFUNCTYPE(None, floats, floats, c_void_p), "takes c_void_p as argument 2"),
        (HALF, CFUNCTYPE(c_double, c_int), "takes c_int as argument 0, but half calls it as `double k(double)`"),
        (HALF, CFUNCTYPE(c_double, c_float), "takes c_float as argument 0"),
        (HALF, CFUNCTYPE(c_float, c_double), "returns c_float, but half calls it as `double k(double)`"),
        (HALF, CFUNCTYPE(None, c_double), "returns None, but half calls"),
        ("f(n: int64) -> None = try k(n);", CFUNCTYPE(c_int64, c_int64), "returns c_long"),
        ("f(n: int8) -> None = k(n);", CFUNCTYPE(None, c_bool), "takes c_bool as argument 0"),
        ("f(n: int8) -> None = k(n);", CFUNCTYPE(None, c_int64), "takes c_long as argument 0"),
        ("f(s: str) -> None = k(s);", CFUNCTYPE(None, c_char_p), "takes 1 argument, but f calls it as `void k(const char*, int64_t)`"),
    ]
    for text, prototype, said in rows:
        raises(TypeError, said, lambda: codegen.jit(text, {"k": prototype(print)}))


def test_prototypes_that_are_right() -> None:
    rows: list[tuple[str, Any]] = [
        (ADD_ONE, CFUNCTYPE(None, c_void_p, POINTER(c_float), c_size_t)),
        (ADD_ONE, CFUNCTYPE(None, c_size_t, c_uint64, c_int64)),
        # What is returned and not asked for is dropped.
        (ADD_ONE, CFUNCTYPE(c_int, c_void_p, c_void_p, c_int64)),
        ("f(n: int8, b: bool, c: bool) -> None = k(n, b, c);", CFUNCTYPE(None, c_int8, c_bool, c_uint8)),
        ("f(s: str) -> None = k(s);", CFUNCTYPE(None, c_char_p, c_int64)),
        ("f(x: Tensor([n], float32)) -> None = k(x);", CFUNCTYPE(None, c_void_p)),
        ("f(p: ptr) -> ptr = k(p);", CFUNCTYPE(c_void_p, c_void_p)),
        ("f(n: int32) -> None = try k(n);", CFUNCTYPE(c_int, c_int)),
    ]
    for text, prototype in rows:
        codegen.jit(text, {"k": prototype(print)})


def test_functions_of_libraries() -> None:
    library = ctypes.CDLL(None)
    labs = library["labs"]
    # Nothing is said of it: an `int`, as for all of them, is not believed.
    assert codegen.jit("f(n: int64) -> int64 = k(n);", {"k": labs}).f(-3) == 3
    labs.argtypes = [c_int64]
    assert codegen.jit("f(n: int64) -> int64 = k(n);", {"k": labs}).f(-3) == 3
    labs.argtypes = [c_double]
    raises(TypeError, "takes c_double", lambda: codegen.jit("f(n: int64) -> int64 = k(n);", {"k": labs}))
    labs.argtypes, labs.restype = [np.ctypeslib.ndpointer("float32")], c_double
    raises(TypeError, "takes ndpointer", lambda: codegen.jit("f(n: int64) -> int64 = k(n);", {"k": labs}))
    raises(TypeError, "returns c_double", lambda: codegen.jit("f(n: ptr) -> ptr = k(n);", {"k": labs}))


class Lost(Exception):
    """An exception class that the runtime does not know."""


def test_what_kernels_raise_is_raised() -> None:
    def kernel(error: BaseException) -> Callable[..., Any]:
        def k(*_: Any) -> int:
            raise error

        return k

    fine = codegen.jit("f(n: int64) -> int64 = k(n);", {"k": CFUNCTYPE(c_int64, c_int64)(lambda n: n)}).f
    pairs = [(ValueError("no"), ValueError), (Lost("no"), RuntimeError), (SystemExit("no"), RuntimeError)]
    integer = CFUNCTYPE(c_int64, c_int64)
    bodies: list[tuple[str, Any]] = [
        ("-> None = k(n)", CFUNCTYPE(None, c_int64)),
        ("-> None = try k(n)", CFUNCTYPE(c_int, c_int64)),
        ("-> int64 = k(n)", integer),
        ("-> float64 = k(n)", CFUNCTYPE(c_double, c_int64)),
        ("-> bool = k(n)", CFUNCTYPE(c_bool, c_int64)),
        ("-> ptr = k(n)", CFUNCTYPE(c_void_p, c_int64)),
        *[(f"-> {result} = k(n)", CFUNCTYPE(None, c_int64, c_void_p)) for result in OBJECTS],
        ("-> None = { let s: str = k(n); }", CFUNCTYPE(None, c_int64, c_void_p)),
        ("-> Any = { let f = function(i: int64) -> str { let s: str = k(i); return s; }; let r: Any = @(f)(n); return r; }",
         CFUNCTYPE(None, c_int64, c_void_p)),
        ("-> Tuple[q: int64, r: float64] = try k(n)", CFUNCTYPE(c_int, c_int64, c_void_p, c_void_p)),
        ("-> y: Tensor([4], float32) = k(n, y.data)", CFUNCTYPE(None, c_int64, c_void_p)),
        ("-> None = { if n > 0 { for i in 0..n { k(n); } } else { raise TypeError \"other\"; } }", integer),
        ("-> int64 = { let result: int64 = k(n); return 1 / result; }", integer),
        ("-> int64 = { let result: int64 = k(n); raise TypeError \"other\"; }", integer),
    ]
    for body, prototype in bodies:
        for error, kind in pairs:
            module = codegen.jit(f"f(n: int64) {body};", {"k": prototype(kernel(error))})
            raises(kind, "no", lambda: module.f(3))
            assert fine(2) == 2


def test_exceptions_pass_through_linked_code() -> None:
    def fails(n: int) -> int:
        if n == 7:
            raise ValueError("seven")
        return n

    linked = codegen.C("""
        long k(long n);
        long by_c(long n) { return k(n); }
        int status_of(long n) { k(n); return 3; }
    """)
    declarations = """
        f(n: int64) -> int64 = by_c(n);
        g(n: int64) -> None = try status_of(n);
        h(n: int64) -> int64 = k(n);
    """
    kernels = {"k": CFUNCTYPE(c_int64, c_int64)(fails), "by_c": linked, "status_of": linked}
    module = codegen.jit(declarations, kernels)
    raises(ValueError, "seven", lambda: module.f(7))
    raises(ValueError, "seven", lambda: module.g(7))
    raises(RuntimeError, "Failed status_of", lambda: module.g(1))
    assert (module.f(1), module.h(2)) == (1, 2)


def test_elements_outlive_kernels_in_python() -> None:
    array = np.ones(4, "float32")
    alive, xs = weakref.ref(array), tvm_ffi.List([tvm_ffi.from_dlpack(array)])
    del array
    seen = []

    def changes(data: int) -> None:
        xs.clear()
        gc.collect()
        seen.append(alive() is not None and ctypes.cast(data, POINTER(c_float))[3] == 1.0)

    module = codegen.jit(
        "f(xs: List[Tensor([4], float32)]) -> None = { let x = xs[0]; k(x.data); };",
        {"k": CFUNCTYPE(None, c_void_p)(changes)},
    )
    module.f(xs)
    gc.collect()
    assert seen == [True] and alive() is None


def test_what_is_no_result_is_an_error() -> None:
    integer = CFUNCTYPE(c_int64, c_int64)
    for result in ("x", None, 1.5):
        module = codegen.jit("f(n: int64) -> int64 = k(n);", {"k": integer(lambda n: result)})
        raises(TypeError, "", lambda: module.f(1))
    nothing = codegen.jit("f(n: int64) -> None = k(n);", {"k": CFUNCTYPE(None, c_int64)(lambda n: "x")})
    nothing.f(1)


def test_every_callable_is_guarded() -> None:
    class Kernel:
        def __call__(self, n: int) -> int:
            return [7].index(n)

        def method(self, n: int) -> int:
            return self(n)

    integer = CFUNCTYPE(c_int64, c_int64)
    for kernel in (Kernel(), Kernel().method, [7].index, integer(Kernel())):
        module = codegen.jit("f(n: int64) -> int64 = k(n);", {"k": integer(kernel)})
        assert module.f(7) == 0
        raises(ValueError, "is not in list", lambda: module.f(8))


def test_what_is_raised_is_raised_once() -> None:
    def k(n: int) -> int:
        if n < 0:
            raise IndexError("below")
        # A call inside of a call has an error of its own.
        if n > 10:
            raises(IndexError, "below", lambda: module.f(-n))
        return n + 1

    integer = CFUNCTYPE(c_int64, c_int64)
    module = codegen.jit("f(n: int64) -> int64 = k(n);", {"k": integer(k)})
    linked = codegen.jit("f(n: int64) -> int64 = k(n);", {"k": integer(k)}, link=[C("int other;")])
    for one in (module, linked):
        for n in (1, 100):
            raises(IndexError, "below", lambda: one.f(-1))
            assert one.f(n) == n + 1
    text = "".join(f"f{i}(n: int64) -> int64 = {{ k(n); return n; }};" for i in range(3))
    several = codegen.jit(text, {"k": integer(k)})
    failed: list[object] = []

    def work(i: int) -> None:
        try:
            for n in range(200):
                assert several[f"f{i}"](n) == n
                raises(IndexError, "below", lambda: several[f"f{i}"](-1 - n))
        except BaseException as error:
            failed.append(error)

    threads = [threading.Thread(target=work, args=(i,)) for i in range(3)]
    for thread in threads:
        thread.start()
    for thread in threads:
        thread.join()
    assert failed == []


def test_kernels_that_are_not_python_are_called_as_they_are() -> None:
    folder = codegen.link([C(C_KERNEL.replace("k(", "__tvm_ffi_k("))])
    assert folder[:4] == b"\x7fELF"
    assert _kernels.address(KernelType(0), "") == 0
    raises(ValueError, "is NULL", lambda: codegen.jit(ADD_ONE, {"k": KernelType(0)}))


def test_structs_of_dlpack_are_those_of_its_header() -> None:
    managed = {"tensor": "dl_tensor", "context": "manager_ctx"}
    tensor = {"device_type": "device.device_type", "device_id": "device.device_id"}
    tensor |= {part: f"dtype.{part}" for part in ("code", "bits", "lanes")}
    rows = [("DLTensor", _dlpack.Tensor, tensor), ("DLManagedTensor", _dlpack.Managed, managed)]
    rows.append(("DLManagedTensorVersioned", _dlpack.Versioned, managed))
    terms, expected = ["DLPACK_FLAG_BITMASK_READ_ONLY"], [_dlpack.READ_ONLY]
    for name, struct, names in rows:
        fields = [field for field, *_ in struct._fields_]
        terms += [f"sizeof({name})", *(f"offsetof({name}, {names.get(field, field)})" for field in fields)]
        expected += [ctypes.sizeof(struct), *(getattr(struct, field).offset for field in fields)]
    table = ", ".join(terms)
    source = f"#include <stddef.h>\n#include <dlpack/dlpack.h>\nlong at(long n) {{ long all[] = {{ {table} }}; return all[n]; }}"
    includes = f"-I{tvm_ffi.libinfo.find_dlpack_include_path()}"
    at = codegen.jit("at(n: int64) -> int64 = at(n);", {"at": C(source, flags=["-O2", includes])}).at
    assert [at(index) for index in range(len(terms))] == expected
