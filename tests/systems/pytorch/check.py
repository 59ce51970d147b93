"""PyTorch on the CPU: tensors as they are, results that PyTorch's allocator makes, an operator under torch.compile."""

import sys
from unittest import mock

import torch

import system
import tvm_ffi_codegen as codegen
from tvm_ffi_codegen import _calls
from tvm_ffi_codegen.frameworks import torch_op


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


check_operators()
check_filled()
check_reading()
check_copies()
check_symbols()
system.on_each(check, "add_one.ffi", system.compile_c("../shared/add_one.c"))
