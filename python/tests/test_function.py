"""The decorator `function`."""

import gc

import numpy as np
import pytest
import tvm_ffi_codegen as codegen
from support import ADD_ONE, C_KERNEL, callback, raises
from tvm_ffi_codegen import C, _api


def test_one_kernel_needs_no_name() -> None:
    for kernel in (callback(), C(C_KERNEL)):

        @codegen.function(ADD_ONE)
        def add_one(kernel: object = kernel) -> object:
            return kernel

        x, y = np.arange(3, dtype="float32"), np.zeros(3, "float32")
        add_one(x, y)
        assert (y == x + 1).all()
        raises(ValueError, "expected 3 (= x.shape[0]) but got 2", lambda: add_one(x, y[:2]))


def test_several_kernels_have_names() -> None:
    two = "f(n: int64) -> int64 = { let a: int64 = g(n); let b: int64 = h(a); return b; };"
    source = "long long g(long long n) { return n + 1; } long long h(long long n) { return n * 10; }"

    @codegen.function(two)
    def f() -> object:
        both = C(source)
        return {"g": both, "h": both}

    assert f(4) == 50
    raises(TypeError, "f_of_one returns one kernel, but the declaration calls", lambda: codegen.function(two)(f_of_one))


def test_declarations_that_allocate_or_launch() -> None:
    allocates = "twice(n: int64) -> y: Tensor([n], float32) = k(y.data, n);"

    @codegen.function(allocates)
    def twice() -> object:
        return C("void k(float* y, long long n) { for (long long i = 0; i < n; ++i) y[i] = i; }")

    assert (np.from_dlpack(twice(3)) == [0, 1, 2]).all()

    launches = 'image i; f(x: Tensor([n], float32, device=cuda)) -> None = { launch i."k"(x.data) grid(n) block(1); };'
    ptx = b".version 8.0\n.target sm_80\n.address_size 64\n"
    x = np.zeros(3, "float32")
    for given in [codegen.function(launches)(lambda: ptx), codegen.function(launches)(lambda: {"i": ptx})]:
        raises(ValueError, "expected cuda but got cpu", lambda: given(x))
    raises(ValueError, "its bytes are not given", lambda: codegen.function(launches)(dict))

    @codegen.function(launches, images={"i": ptx}, metadata=False)
    def f() -> None:
        pass

    raises(ValueError, "expected cuda but got cpu", lambda: f(x))
    both = 'image i; f(n: int64) -> y: Tensor([n], float32) = { if n > 4 { launch i."k"(y.data) grid(n) block(1) on y; } k(y.data); };'
    both = both.replace("float32)", "float32, device=cuda)", 1)
    raises(TypeError, "<lambda> returns one kernel, but the declaration calls k, i", lambda: codegen.function(both)(lambda: ptx))


def test_closures_that_launch() -> None:
    makes = (
        "image i; make(scale: float32) -> Function = { return function(x: Tensor([n], float32, device=cuda)) -> None {"
        ' launch i."k"(x.data, scale) grid(n) block(1); }; };'
    )
    x = np.zeros(3, "float32")
    for options in ({"images": {"i": b".version 8.0\n.target sm_80\n.address_size 64\n"}}, {}):

        @codegen.function(makes, **options)
        def make(given: object = options) -> object:
            return None if given else b".version 8.0\n.target sm_80\n.address_size 64\n"

        closures = [make(0.5), make(2.0)]
        del make
        gc.collect()
        for closure in closures:
            raises(ValueError, "expected cuda but got cpu", lambda closure=closure: closure(x))
            raises(TypeError, "x", lambda closure=closure: closure(1))


def test_a_function_is_compiled_once(monkeypatch: pytest.MonkeyPatch) -> None:
    calls: list[str] = []
    call = _api._call
    monkeypatch.setattr(_api, "_call", lambda name, *given: (calls.append(name), call(name, *given))[1])
    for kernel, made in [(callback(), "functions"), (C(C_KERNEL), "jit")]:
        _api._described.cache_clear()
        calls.clear()
        codegen.function(ADD_ONE)(lambda kernel=kernel: kernel)
        assert calls == ["describe", made]


def test_names_and_options() -> None:
    @codegen.function("kind(n: int64) -> int64 = { return n + 1; };", entry="kind")
    def anything() -> None:
        pass

    assert anything(1) == 2
    two = "f() -> None = {}; g() -> None = {};"
    raises(ValueError, "the declaration has 2 functions, expected one", lambda: codegen.function(two)(dict))
    raises(ValueError, "has 0 functions", lambda: codegen.function("")(dict))
    raises(TypeError, "f_of_none returns nothing, but the declaration calls k", lambda: codegen.function(ADD_ONE)(f_of_none))
    raises(ValueError, "expected `Tensor` or", lambda: codegen.function("f(n: int7) -> None = k();")(f_of_none))


def f_of_none() -> None:
    pass


def f_of_one() -> object:
    return callback()
