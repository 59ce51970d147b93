"""PyTorch on the CPU: tensors as they are, results that PyTorch's allocator makes, operators under torch.compile.

With --times a call of an operator is measured beside one in C++ by PyTorch's stable ABI and one in Python, and nothing else
is done.
"""

import gc
import os
import sys
import time
from concurrent.futures import ThreadPoolExecutor
from pathlib import Path
from unittest import mock

import torch

import system
import tvm_ffi
import tvm_ffi_codegen as codegen
from tvm_ffi_codegen import _calls
from tvm_ffi_codegen.frameworks import register_fakes, torch_op

TORCH = Path(torch.__path__[0])


def check(library):
    module = system.load(library)
    system.check_add_one(module.add_one, lambda values: torch.tensor(values, dtype=torch.float32))
    x = torch.arange(5, dtype=torch.float32)
    assert torch.is_tensor(module.added(x)), "the result is no tensor of the caller's kind"
    system.refused(ValueError, "expected 1 (contiguous) but got 2", module.add_one, x[::2], x[:3].clone())
    added = torch_op(module, "added", namespace=library.stem)
    torch.library.opcheck(added, (x,))
    compiled = torch.compile(lambda x: added(x * 2) + 1, fullgraph=True)
    assert torch.equal(compiled(x), x * 2 + 2)


def check_operators():
    """Operators that write a tensor, and take one that may be None."""
    scale = codegen.C(
        "void scale(const float* x, const float* b, _Bool has, float* y, long n)"
        "{ for (long i = 0; i < n; ++i) y[i] = 2 * x[i] + (has ? b[i] : 0); }"
    )
    vector, read = "Tensor([n], float32)", "Tensor([n], float32, access=read)"
    m = codegen.jit(
        f"scaled(x: {read}, b: Optional[{read}], y: {vector}) -> None = scale(x.data, b.data, b.is_some, y.data, n);"
        f"fresh(x: {read}, b: Optional[{read}]) -> y: {vector} = scale(x.data, b.data, b.is_some, y.data, n);",
        {"scale": scale},
    )
    scaled, fresh = torch_op(m, "scaled"), torch_op(m, "fresh")
    schemas = [str(operator._schema).partition("(")[2] for operator in (scaled, fresh)]
    assert schemas == ["Tensor x, Tensor? b, Tensor(a2!) y) -> ()", "Tensor x, Tensor? b) -> Tensor"], schemas
    x, y = torch.arange(5, dtype=torch.float32), torch.zeros(5)
    for b in (None, x + 1):
        expected = 2 * x + (0 if b is None else b)
        torch.library.opcheck(scaled, (x, b, y.clone()))
        torch.library.opcheck(fresh, (x, b))
        scaled(x, b, y)
        assert torch.equal(y, expected) and torch.equal(fresh(x, b), expected)
        compiled = torch.compile(lambda x, b, y: (scaled(x, b, y), y + fresh(x, b))[1], fullgraph=True)
        assert torch.equal(compiled(x, b, y), 2 * expected)


def check_filled():
    """An operator that takes no tensor."""
    fill = codegen.C("void fill(float* y, double v, long n) { for (long i = 0; i < n; ++i) y[i] = v; }")
    m = codegen.jit("filled(v: float64, n: int64) -> y: Tensor([n], float32) = fill(y.data, v, n);", {"fill": fill})
    filled = torch_op(m, "filled")
    torch.library.opcheck(filled, (2.5, 4))
    compiled = torch.compile(lambda n: filled(2.0, n) + 1, fullgraph=True)
    assert torch.equal(compiled(3), torch.full([3], 3.0))


VALUES = (
    "joined(x: Array[Tensor([_], float32, access=read)], n: int64) -> y: Tensor([n], float32) = fill(y.data, n);"
    "columns(x: Tensor([n, m], float32, access=read)) -> y: Tensor([m], float32) = fill(y.data, m);"
    "below(x: Tensor([n], float32, access=read)) -> int64 = { return -n; };"
    "typed(x: Tensor([n], T: float32|int32, access=read)) -> Tuple[Tensor([n], T), int64]"
    " = { let y = alloc Tensor([n], T) on x; fill(y.data, n); return [y, -n]; };"
    "filled(y: Tensor([n], float32), z: Optional[Tensor([n], float32)] = None) -> int64"
    " = { fill(y.data, n); if z.is_some { fill(z.data, n); } return n; };"
    "half(k: int64) -> float64 = { return float64(k) / 2.0; };"
    'mixed(k: int64, t: str = "a", o: Optional[Array[str]] = None)'
    " -> Tuple[int64, bool, str, Array[int64], Optional[Array[str]]] = { return [k, k > 2, t, [k, 1], o]; };"
)


def check_values():
    """Results that are no tensors, and what fake implementations make of them and of wrong arguments."""
    fill = codegen.C("void fill(int* y, long n) { while (n--) y[n] = 0; }")
    m = codegen.jit(VALUES, {"fill": fill}, register="torch=values")
    fakes = register_fakes(m)
    names = ("columns", "below", "filled", "half", "mixed")
    made = {name: torch_op(m, name, namespace="made_values") for name in names}
    schemas = [[str(one[name]._schema).partition("::")[2] for name in made] for one in (made, fakes)]
    assert schemas[0] == schemas[1], schemas
    x = torch.ones(3)
    for of in (made, fakes):
        assert of["below"](x) == -3 and of["half"](3) == 1.5
        assert of["mixed"](3, o=["b"]) == (3, True, "a", [3, 1], ["b"])
        torch.library.opcheck(of["below"], (x,))
        assert torch.compile(lambda x: x * of["below"](x), fullgraph=True)(x).tolist() == [-3.0] * 3
        # It is called as it is, outside of what is compiled.
        y = x.clone()
        assert torch.compile(lambda x: (of["filled"](x), x * 2)[1])(y).tolist() == [0.0] * 3
        refused = [
            (ValueError, "Mismatched x.ndim on argument #0, expected 2 but got 1", lambda: of["columns"](x.to("meta"))),
            (NotImplementedError, "yields int64: compilers have", lambda: of["filled"](x.to("meta"))),
        ]
        for kind, text, call in refused:
            system.refused(kind, text, call)
        assert of["columns"](x.to("meta").reshape(3, 1)).device.type == "meta"
    assert fakes["joined"]([x.to("meta")], 2).device.type == "meta"
    torch.library.opcheck(fakes["typed"], (x.int(),))
    named = codegen.jit("name() -> None = {};", register="torch=named")
    system.refused(ValueError, "torch.ops.named.name is no operator but 'named'", register_fakes, named)
    system.refused(ValueError, "torch.ops.o.name is no operator", lambda: torch_op(named, "name", namespace="o"))
    system.refused(ValueError, "an operator values::half already", lambda: torch_op(m, "half", namespace="values"))


def check_versions():
    """Autograd learns which tensors an operator of `torch_op` has changed."""
    m = codegen.jit(
        "zero(x: Tensor([n], float32, access=read), y: Tensor([n], float32), z: Optional[Tensor([n], float32)] = None)"
        " -> None = { zero(y.data, n); if z.is_some { zero(z.data, n); } };",
        {"zero": codegen.C("void zero(float* y, long n) { while (n--) y[n] = 0; }")},
    )
    zero = torch_op(m, "zero")
    x, y, z = (torch.ones(3) for _ in range(3))
    zero(x, y)
    zero(x, y, z)
    assert (x._version, y._version, z._version) == (0, 2, 1)
    with torch.inference_mode():
        zero(x, torch.ones(3))
    saved = (x * torch.ones(3, requires_grad=True)).sum()
    zero(y, x)
    system.refused(RuntimeError, "modified by an inplace operation", saved.backward)


def check_reading():
    """Tensors that the package reads by PyTorch's C API, and what leaves them to the exchange API."""
    look = codegen.C(
        "#include <stdint.h>\n"
        "typedef struct { char* data; int32_t device[2]; int32_t ndim; uint8_t code, bits; uint16_t lanes;"
        " int64_t *shape, *strides; uint64_t byte_offset; } Tensor;"
        "void look(const Tensor* x, int64_t* out) {"
        " *out++ = (int64_t)(x->data + x->byte_offset); *out++ = x->device[0]; *out++ = x->device[1];"
        " *out++ = x->code; *out++ = x->bits; *out++ = x->lanes;"
        " for (int i = 0; i < x->ndim; ++i) { *out++ = x->shape[i]; *out++ = x->strides[i]; } }"
    )
    m = codegen.jit(
        "look(x: Tensor([_, _], float32, strides=any), out: Tensor([10], int64)) -> None = look(x, out.data);",
        {"look": look},
    )

    class Subclass(torch.Tensor):
        pass

    def is_read(cls=torch.Tensor):
        return _calls._kind(cls) < 0

    assert is_read() and is_read(torch.nn.Parameter) and not is_read(Subclass)
    x, seen = torch.zeros(4, 3), torch.zeros(10, dtype=torch.int64)
    before = sys.getrefcount(x)
    for tensor in (x, torch.nn.Parameter(x), x.t(), x[1:, ::2]):
        extents = [number for pair in zip(tensor.shape, tensor.stride()) for number in pair]
        # The first call learns what the codes of PyTorch mean.
        for _ in range(3):
            m.look(tensor, seen)
            assert seen.tolist() == [tensor.data_ptr(), 1, 0, 2, 32, 1, *extents]
    del tensor
    assert sys.getrefcount(x) == before
    samples = _calls._samples(torch)
    for name, value in (
        ("_GETTERS", (*_calls._GETTERS[1:], "no_such_function")),
        ("_samples", lambda _: [*samples, x.as_subclass(Subclass)]),
        ("_samples", lambda _: [*samples, torch.zeros(3, device="meta")]),
    ):
        with mock.patch.object(_calls, name, value):
            _calls._reads_tensors.cache_clear()
            assert not is_read(), name
    _calls._reads_tensors.cache_clear()
    assert is_read()


def check_copies():
    """Copies that PyTorch has put off: they stay so where a function only reads, also in the first call with tensors of an
    element type, and are made where it may write or may keep the tensor."""
    m = codegen.jit(
        "".join(
            f"read_{name}(x: Tensor([n], {name}, access=read)) -> int64 = first(x.data);"
            f"update_{name}(x: Tensor([n], {name})) -> int64 = first(x.data);"
            f"keep_{name}(x: Tensor([n], {name}, access=read)) -> Any = {{ return x; }};"
            for name in ("int64", "int32")
        ),
        {"first": codegen.C("int first(const void* x) { return *(const int*)x; }")},
    )
    for name in ("int64", "int32"):
        x = torch.arange(3, 7, dtype=getattr(torch, name))
        copy = torch._lazy_clone(x)
        for call in (getattr(m, f"read_{name}"),) * 3:
            before = torch._C._is_cow_tensor(copy)
            assert before and call(copy) == 3 and torch._C._is_cow_tensor(copy) and torch._C._is_cow_tensor(x)
        getattr(m, f"update_{name}")(copy)
        assert not torch._C._is_cow_tensor(copy)
        copy = torch._lazy_clone(x)
        assert torch.from_dlpack(getattr(m, f"keep_{name}")(copy))[0] == 3 and not torch._C._is_cow_tensor(copy)


def check_views():
    """Tensors that are conjugated without a copy: functions see what is in memory, and operators what is meant."""
    m = codegen.jit(
        "imaginary(x: Tensor([1], complex64, access=read)) -> float64 = second(x.data);",
        {"second": codegen.C("double second(const float* x) { return x[1]; }")},
    )
    x = torch.tensor([1 + 2j]).conj()
    assert (m.imaginary(x), m.imaginary(x.resolve_conj()), torch_op(m, "imaginary")(x)) == (2, -2, -2)


def check_symbols():
    """Extents of any number of compilations are symbols: other extents compile nothing anew."""
    extents = "n + 2 * m - 1, n / 2, n % 3, ceildiv(n, 4), min(n, m), max(n, 7), k"
    m = codegen.jit(
        f"f(x: Tensor([n, m], T: float32|int8, access=read), o: Optional[Tensor([..., m], int8, access=read)] = None,"
        f" k: int64 = 3)"
        f" -> (a: Tensor([{extents}], float64), b: Tensor([n], T)) = fill(a.data, b.data);",
        {"fill": codegen.C("void fill(void* a, void* b) {}")},
    )
    sized, compiled = torch_op(m, "f", namespace="sized"), []

    def backend(graph, inputs):
        compiled.append(graph)
        return graph.forward

    def call(x, o):
        a, b = sized(x, o)
        return a.new_zeros(a.shape), b.new_zeros(b.shape)

    for of_one in (lambda x: call(x, None), lambda x: call(x, x.to(torch.int8)), lambda x: (*sized(x, None, 5), x)):
        compiled.clear()
        optimized = torch.compile(of_one, fullgraph=True, dynamic=True, backend=backend)
        for shape in [(11, 5), (6, 13), (20, 9)]:
            x = torch.zeros(shape, dtype=torch.float32)
            torch._dynamo.mark_dynamic(x, [0, 1])
            found, expected = optimized(x), of_one(x)
            for one, other in zip(found, expected):
                assert one.shape == other.shape and one.dtype == other.dtype, (one.shape, other.shape)
        assert len(compiled) == 1, f"{len(compiled)} compilations"


def emitted(name, text, kernel, **options):
    """Returns the path of a library with operators in the namespace of its name."""
    path = system.MADE / f"{name}.so"
    options = {"link": [codegen.C(kernel)], "register": f"torch={name}", **options}
    path.write_bytes(codegen.emit(text, "shared", rpath=[system.config("--libdir")], **options))
    return path


OWN = (
    "add_one(x: Tensor([n], float32, access=read), y: Tensor([n], float32)) -> None = add_one(x.data, y.data, n);"
    "scale(x: Tensor([n, m], float32, access=read), b: Optional[Tensor([m], float32, access=read)] = None, k: int64 = 3,"
    ' a: float64 = 0.5, mode: str = "fast", up: bool = False) -> (y: Tensor([m, n], float32), z: Tensor([k], float32))'
    " = { scale(x.data, b.data, a, y.data, n * m); fill(z.data, k); };"
    "sums(s: Shape, a: Array[int64], f: Array[float64], t: Array[str], x: Array[Tensor([_], float32, access=read)]) -> int64"
    " = { return s.size * 10000 + a.size * 1000 + f.size * 100 + t.size * 10 + x.size; };"
    "echo(s: str) -> str = { return s; };"
    "named(d: dtype, v: Device) -> int64 = named(d, v);"
    "several(n: Optional[int64], t: str, s: Shape, x: Array[Tensor([_], float32, access=read)])"
    " -> Tuple[Optional[int64], Array[float64], Array[bool], Array[str], Array[Tensor([_], float32)], Shape, Optional[str]]"
    " = { let same: Array[Tensor([_], float32)] = @\"check.same\"(x);"
    " return [n, [0.5, s.size], [s.size > 1, n.is_some], [t, t], same, s, None]; };"
    "grown(x: Tensor([n], float32, access=read), k: int64) -> Tuple[Tensor([_], float32), int64]"
    " = { let y = alloc Tensor([n * k], float32) on x; fill(y.data, n * k); return [y, n * k]; };"
    "positive(x: Tensor([n], float32, access=read)) -> Tuple[Tensor([m], float32), Tensor([m, n], int32)]"
    " = { let k: int64 = positive(x.data, n); let y = alloc Tensor([k], float32) on x; fill(y.data, k);"
    " let z = alloc Tensor([k, n], int32) on x; count(z.data, k * n); return [y, z]; };"
)
NAMES = ["add_one", "scale", "sums", "echo", "named", "several", "grown", "positive"]
KERNELS = (
    "void add_one(const float* x, float* y, long n) { while (n--) y[n] = x[n] + 1; }"
    "void scale(const float* x, const float* b, double a, float* y, long n) { while (n--) y[n] = a * x[n] + (b ? *b : 0); }"
    "void fill(float* z, long k) { for (long i = 0; i < k; ++i) z[i] = k; }"
    "long named(unsigned dtype, int type, int index) { return dtype * 1000l + type * 10 + index; }"
    "void count(int* z, long n) { while (n--) z[n] = n; }"
    "long positive(const float* x, long n) { long m = 0; while (n--) m += x[n] > 0; return m; }"
)


def check_library(backend):
    """Operators that a library registers itself: PyTorch loads it, without the package. Those of functions that were
    compiled into this process, for the backend `jit`, are registered by a call."""
    name = f"own_{backend}"
    if backend == "jit":
        module = system.in_process(name, OWN, KERNELS, f"torch={name}")
        assert not hasattr(getattr(torch.ops, name), "echo")
        assert module.module()["_torch"]() == f"{name}:{','.join(NAMES)}"
    else:
        path = emitted(name, OWN, KERNELS, backend=backend)
        torch.ops.load_library(path)
        module = codegen.load(path)
    own = getattr(torch.ops, name)
    schemas = [str(getattr(own, one).default._schema).partition("::")[2] for one in NAMES]
    assert schemas == [
        "add_one(Tensor x, Tensor(a1!) y) -> ()",
        'scale(Tensor x, Tensor? b=None, SymInt k=3, float a=0.5, str mode="fast", bool up=False) -> (Tensor, Tensor)',
        "sums(SymInt[] s, SymInt[] a, float[] f, str[] t, Tensor[] x) -> SymInt",
        "echo(str s) -> str",
        "named(ScalarType d, Device v) -> SymInt",
        "several(SymInt? n, str t, SymInt[] s, Tensor[] x) -> (SymInt?, float[], bool[], str[], Tensor[], SymInt[], str?)",
        "grown(Tensor x, SymInt k) -> (Tensor, SymInt)",
        "positive(Tensor x) -> (Tensor, Tensor)",
    ], schemas
    x, y = torch.arange(5, dtype=torch.float32), torch.zeros(5)
    own.add_one(x, y)
    assert y.tolist() == [1, 2, 3, 4, 5]
    matrix = torch.arange(6, dtype=torch.float32).reshape(2, 3)
    one, other = own.scale(matrix)
    assert one.shape == (3, 2) and one.flatten().tolist() == [0, 0.5, 1, 1.5, 2, 2.5] and other.tolist() == [3, 3, 3]
    one, other = own.scale(matrix, torch.ones(3), k=0, a=2.0, mode="slow", up=True)
    assert one.flatten().tolist() == [1, 3, 5, 7, 9, 11] and other.shape == (0,)
    assert own.sums([1, 2], [3], [0.5, 1.5, 2.5], ["a", "b" * 40], [x, y, x[1:]]) == 21323
    assert own.echo("größer" * 9) == "größer" * 9
    assert own.named(torch.bfloat16, torch.device("cuda:3")) == 0x11004 * 1000 + 23
    check_results(own, x)
    refused = [
        (system.WRONG_SHAPE, lambda: own.add_one(x, y[:4])),
        ("TypeError: Mismatched x.dtype on argument #0", lambda: own.add_one(x.double(), y)),
        ("expected 1 (contiguous) but got 2", lambda: own.add_one(x[::2], x[:3].clone())),
        ("compilers need `frameworks.register_fakes`", lambda: own.add_one(x.to("meta"), y)),
        ("a tensor with strides and memory", lambda: own.add_one(x.to_sparse(), y)),
        ("expected a non-negative extent but got -1", lambda: own.scale(matrix, k=-1)),
        ("Mismatched x[1].dtype", lambda: own.sums([], [], [], ["kept"], [x, x.int()])),
    ]
    for text, call in refused:
        system.refused(RuntimeError, text, call)
    copy = torch._lazy_clone(x)
    own.add_one(copy, y)
    assert torch._C._is_cow_tensor(copy), "what is only read is not copied"
    before = sys.getrefcount(x)
    with ThreadPoolExecutor(8) as threads:
        assert all(threads.map(lambda a: float(own.scale(matrix, a=float(a))[0][0, 1]) == a, range(400)))
    assert sys.getrefcount(x) == before
    torch.library.register_fake(f"{name}::sums", lambda *_: 7)
    check_compiled(module, x, matrix)
    if backend == "jit":
        del module
        gc.collect()
        assert own.echo("a") == "a"


def check_objects():
    """Functions that an operator hands its tensors to, or the one that it allocates, get objects, in Python too."""
    seen = []
    for name in ("look", "change"):
        tvm_ffi.register_global_func(f"check.{name}", lambda one: seen.append(torch.from_dlpack(one)), override=True)
    register_fakes(
        codegen.jit(
            'handed(x: Tensor([n], any, access=read)) -> y: Tensor([n], float32) = { @"check.look"(x); @"check.change"(y); };',
            register="torch=check_objects",
        )
    )
    handed = torch.ops.check_objects.handed
    for dtype in (torch.float32, torch.complex64, torch.complex32):
        x = torch.arange(4, dtype=torch.float32).to(dtype)
        y = handed(x)
        kept, made = seen
        assert kept.data_ptr() == x.data_ptr() and kept.dtype == dtype and made.data_ptr() == y.data_ptr()
        made.fill_(7)
        # What was handed on outlives the call, and the tensors.
        del x, y
        assert made.tolist() == [7] * 4 and kept[1] == 1
        seen.clear()


def check_results(own, x):
    """Results that the function does not allocate by its signature."""
    tvm_ffi.register_global_func("check.same", lambda tensors: tensors, override=True)
    before = sys.getrefcount(x)
    for _ in range(3):
        *others, tensors, shape, none = own.several(None, "größer" * 9, [7, 8, 9], [x, x[1:], x[:0]])
        assert others == [None, [0.5, 3.0], [True, False], ["größer" * 9] * 2] and shape == [7, 8, 9] and none is None
        assert [one.tolist() for one in tensors] == [x.tolist(), x[1:].tolist(), []] and tensors[0].data_ptr() == x.data_ptr()
    assert own.several(-5, "", [], []) == (-5, [0.5, 0.0], [False, True], ["", ""], [], [], None)
    del tensors
    assert sys.getrefcount(x) == before
    grown, size = own.grown(x, 3)
    assert size == 15 and grown.add_(1).tolist() == [16] * 15
    assert own.grown(x[:0], 3)[0].shape == (0,)
    system.refused(RuntimeError, "can't allocate memory", own.grown, x, 1 << 50)


def check_compiled(module, x, matrix):
    """Compilers see through operators of a library with the package's fake implementations."""
    fakes = register_fakes(module)
    assert list(fakes) == NAMES and fakes == register_fakes(module)
    assert torch_op(module, "scale") is fakes["scale"]
    torch.library.opcheck(fakes["add_one"], (x, torch.zeros(5)))
    torch.library.opcheck(fakes["scale"], (matrix, torch.ones(3)), {"k": 4})
    scale = fakes["scale"]
    compiled = torch.compile(lambda x, k: scale(x * 2, k=k)[1] + 1, fullgraph=True, dynamic=True)
    for k in (3, 5, 7):
        assert compiled(matrix, k).tolist() == [k + 1.0] * k
    # The one that was there before stays, and another takes its place.
    for value in (7, 8):
        assert fakes["sums"]([], [], [], [], [x.to("meta")]) == value
        torch.library.register_fake(fakes["sums"], lambda *_: 8)
    system.refused(NotImplementedError, "yields Tuple[", fakes["several"], None, "", [], [x.to("meta")])
    grown = fakes["grown"]
    torch._dynamo.config.capture_dynamic_output_shape_ops = True
    compiled = torch.compile(lambda x, k: grown(x * 2, k)[0] + 1, fullgraph=True, dynamic=True)
    assert compiled(x, 2).tolist() == [11.0] * 10
    positive = fakes["positive"]
    torch.library.opcheck(positive, (x,), test_utils=("test_schema", "test_faketensor"))
    compiled = torch.compile(lambda x: [one + 1 for one in positive(x * 2)], fullgraph=True, dynamic=True)
    one, other = compiled(x)
    assert one.tolist() == [5.0] * 4 and torch.equal(other, torch.arange(1, 21).reshape(4, 5)), (one, other)
    made = torch_op(module, "scale", namespace=f"made_{id(module)}")
    schemas = [str(one._schema).partition("::")[2] for one in (made, scale)]
    assert schemas[0] == schemas[1], schemas
    for one, other in zip(made(matrix, None, 2), scale(matrix, None, 2)):
        assert torch.equal(one, other)


def built(source, *options):
    """Compiles a file of C++ with libtorch."""
    program = system.MADE / source.partition(".")[0]
    includes = [word for part in ("include", "include/torch/csrc/api/include") for word in ("-isystem", TORCH / part)]
    # Packaged models ask for libtorch.so.
    libraries = ["-L", TORCH / "lib", "-Wl,--no-as-needed", "-ltorch", "-ltorch_cpu", "-lc10", f"-Wl,-rpath,{TORCH / 'lib'}"]
    system.run("g++", "-std=c++20", "-O2", "-w", *includes, system.HERE / source, *options, *libraries, "-o", program)
    return program


def check_packaged():
    """A model that AOTInductor has packaged calls an operator in a process with libtorch and without Python."""
    path = emitted("packaged", OWN, KERNELS)
    torch.ops.load_library(path)
    scale = register_fakes(codegen.load(path))["scale"]

    class Model(torch.nn.Module):
        def forward(self, x):
            return scale((x * 2).reshape(1, -1))[0] + 1

    exported = torch.export.export(Model(), (torch.arange(5, dtype=torch.float32),))
    package = torch._inductor.aoti_compile_and_package(exported, package_path=str(system.MADE / "model.pt2"))
    run = torch._inductor.aoti_load_package(package)
    assert run(torch.arange(5, dtype=torch.float32)).flatten().tolist() == [1, 2, 3, 4, 5]
    assert float(system.run(built("runner.cc"), path, package)) == 15


def check_without():
    """The library is of use without PyTorch, registers its operators once PyTorch is there, and stays loaded."""
    path = emitted("late", OWN, KERNELS)
    system.run(
        sys.executable,
        "-c",
        f"""
import ctypes, gc, sys
ctypes.CDLL({str(path)!r})
assert "torch" not in sys.modules
import tvm_ffi, torch
assert not hasattr(torch.ops.late, "echo")
module = tvm_ffi.load_module({str(path)!r})
assert module["_torch"]() == "late:{','.join(NAMES)}" == module["_torch"]()
del module
gc.collect()
assert torch.ops.late.echo("a") == "a"
again = tvm_ffi.load_module({str(emitted("late_again", OWN, KERNELS, register="torch=late:echo,scale"))!r})
assert again["_torch"]() == 0, again["_torch"]()
from tvm_ffi_codegen.frameworks import register_fakes, torch_op
assert torch_op(again, "scale", namespace="elsewhere").name() == "elsewhere::scale"
try:
    register_fakes(again)
except RuntimeError as error:
    assert "PyTorch has refused operator number 0" in str(error) and "Tried to register" in str(error), error
else:
    raise AssertionError("an operator of a name that is taken")
""",
    )


def check_prototypes():
    """The facts about PyTorch are those of its headers."""
    source = system.MADE / "torch.cc"
    source.write_text(system.run(Path(os.environ["SYSTEMS_TARGET"]) / "debug" / "examples" / "torch"))
    system.run("g++", "-std=c++17", "-fsyntax-only", "-DUSE_CUDA", "-isystem", TORCH / "include", source)


def measure():
    """Says what calls of an operator of three vectors take: by a library, in C++ by hand, by `torch_op`."""
    source = system.MADE / "add.c"
    source.write_text("void add(const float* x, const float* y, float* z, long n) { while (n--) z[n] = x[n] + y[n]; }")
    kernel = system.compile_c(source)
    start = time.perf_counter()
    hand = built("reference.cc", "-fPIC", "-shared", kernel)
    seconds = time.perf_counter() - start
    runner = built("runner.cc")
    x, y, z = (torch.zeros(4) for _ in range(3))
    text = ", ".join(f"{name}: Tensor([n], float32, access={access})" for name, access in [("x", "read"), ("y", "read"), ("z", "update")])
    text = f"add({text}) -> None = add(x.data, y.data, z.data, n);"
    # A program says it, which takes longer than what is measured.
    rpath = [system.config("--libdir")]
    for backend in system.BACKENDS:
        made = float("inf")
        for _ in range(9):
            start = time.perf_counter()
            contents = codegen.emit(text, "shared", link=[kernel], backend=backend, register=f"torch=timed_{backend}", rpath=rpath)
            made = min(made, time.perf_counter() - start)
        path = system.MADE / f"timed_{backend}.so"
        path.write_bytes(contents)
        ours, other = map(float, system.run(runner, path, hand, f"timed_{backend}::add", "by_hand::add").split())
        module = codegen.load(path)
        operators = [torch_op(module, "add"), torch_op(module, "add", namespace=f"python_{backend}")]
        best = [min(timed(one, x, y, z) for _ in range(5)) for one in operators]
        said = (
            f"{backend}: {ours} ns, C++ {other} ns, {ours / other:.2f}; from Python {best[0]:.0f} ns, torch_op {best[1]:.0f} ns,"
            f" {best[0] / best[1]:.2f}; library made in {1000 * made:.1f} ms, by g++ in {1000 * seconds:.0f} ms, {made / seconds:.5f}"
        )
        print(said)
        system.say(said)


def timed(operator, *args, calls=20000):
    """Returns the nanoseconds of a call."""
    start = time.perf_counter()
    for _ in range(calls):
        operator(*args)
    return (time.perf_counter() - start) / calls * 1e9


if "--times" in sys.argv:
    measure()
    sys.exit()
check_prototypes()
for backend in (*system.BACKENDS, "jit"):
    check_library(backend)
check_objects()
check_packaged()
check_without()
system.check_guide_and_example("torch")
check_operators()
check_filled()
check_values()
check_versions()
check_reading()
check_copies()
check_views()
check_symbols()
system.on_each(check, "add_one.ffi", system.compile_c("../shared/add_one.c"))
