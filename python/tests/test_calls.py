"""The native caller: the same as `tvm_ffi`, and as a `def`; threads, lifetimes, signatures."""

import gc
import inspect
import subprocess
import sys
import sysconfig
import threading
import weakref
from pathlib import Path
from types import SimpleNamespace
from typing import Any

import calls
import numpy as np
import pytest
import tvm_ffi
import tvm_ffi_codegen as codegen
from support import ADD_ONE, C_KERNEL, raises
from tvm_ffi_codegen import C, _calls

native = pytest.mark.skipif(_calls._caller() is None, reason="there is no native caller")


@pytest.mark.skipif(bool(sysconfig.get_config_var("Py_GIL_DISABLED")), reason="the caller needs a lock")
def test_the_native_caller_is_there() -> None:
    assert type(calls.MODULE.given) is type(len)


def test_calls_are_those_of_tvm_ffi() -> None:
    hits = calls.positional(4 * len(calls.FUNCTIONS) * len(calls.ROWS))
    print("\n".join(f"{count:6} {row}" for row, count in hits.items()), "\nleft out:", calls.LEFT_OUT)
    assert min(hits.values()) >= len(calls.FUNCTIONS)


def test_functions_are_the_same_without_the_native_caller(monkeypatch: pytest.MonkeyPatch) -> None:
    text = "/// Adds.\nf(n: int64, function: int64 = 1) -> int64 = { return n + function; }; g(*rest: Any) -> None = {};"
    builtin = codegen.jit(text)
    monkeypatch.setattr(_calls, "_caller", lambda: None)
    written = codegen.jit(text)
    for made in (written.f, written.module().f):
        assert made(41) == 42 and made(function=2, n=1) == 3 and made.__name__ == "f"
        assert made.__doc__ == written.f.__doc__ and "Adds." in made.__doc__
        assert str(inspect.signature(made)) == "(n, function=1)"
        assert isinstance(_calls.function_of(made), tvm_ffi.Function)
        made.__self__.release_gil = False
        assert made.__self__.release_gil is made.__self__.function.release_gil is False
    for arguments, named in [((), {}), ((1, 2, 3), {}), ((1,), {"n": 1}), ((1,), {"k": 1})]:
        raises(TypeError, "f() ", lambda: written.f(*arguments, **named))
    assert written.g(1, "2", None) is None
    raises(TypeError, "on argument #0", lambda: written.f("1"))
    if type(builtin.f) is type(len):
        assert inspect.getdoc(builtin.f) == inspect.getdoc(written.f)
        assert inspect.signature(builtin.f) == inspect.signature(written.f)


def test_defaults_are_any_text(monkeypatch: pytest.MonkeyPatch) -> None:
    text = 'f(s: str = "a\rb", t: str = "\0", u: str = "\\\\\\"") -> Any = { return [s, t, u]; };'
    for caller in (_calls._caller(), None):
        monkeypatch.setattr(_calls, "_caller", lambda: caller)
        m = codegen.jit(text)
        for function in (m.f, m.module().f):
            assert list(function()) == ["a\rb", "\0", '\\"'] and list(function(u="u", s="s")) == ["s", "\0", "u"]
            assert [param.default for param in inspect.signature(function).parameters.values()] == ["a\rb", "\0", '\\"']


def test_keywords_are_those_of_a_def() -> None:
    hits = calls.keywords(3000)
    assert min(hits["fits"], hits["does not fit"]) > 300, hits


def test_tensors_are_borrowed_where_they_are_not_kept() -> None:
    kept = codegen.jit(
        "f(x: Tensor([n], float32)) -> Any = { return x; };"
        'g(x: Tensor([n], float32)) -> None = { @"codegen_test.hold"(x); };'
    )
    held: list[Any] = []
    tvm_ffi.register_global_func("codegen_test.hold", held.append, override=True)
    x = np.arange(3, dtype="float32")
    held.append(kept.f(x))
    kept.g(x)
    before = sys.getrefcount(x)
    del x
    assert before >= 4 and [np.from_dlpack(one).tolist() for one in held] == [[0, 1, 2]] * 2


def test_functions_of_the_library_borrow_what_they_do_not_keep() -> None:
    """A tensor that passes through functions of the library is as it came: nothing is made of it, and it may be read-only."""
    vector = "Tensor([n], float32, access=read)"
    first = codegen.C("float first(const float* x) { return x[0]; }")
    m = codegen.jit(
        f"outer(x: {vector}) -> float32 = {{ let r: float32 = @inner(x); return r; }};"
        f"inner(x: {vector}) -> float32 = first(x.data);"
        f'held(x: {vector}) -> Any = {{ let r: Any = @handed(x); return r; }};'
        f"handed(x: {vector}) -> Any = {{ return x; }};",
        {"first": first},
    )
    x = np.arange(3, 6, dtype="float32")
    x.flags.writeable = False
    assert m.outer(x) == 3
    with pytest.raises(BufferError, match="the function keeps x"):
        m.held(x)
    x = x.copy()
    before = sys.getrefcount(x)
    assert m.outer(x) == 3 and sys.getrefcount(x) == before
    held = m.held(x)
    del x
    assert np.from_dlpack(held).tolist() == [3, 4, 5]


def test_read_only_arrays_are_taken_where_they_are_only_read(monkeypatch: pytest.MonkeyPatch) -> None:
    """By the native caller, by `tvm_ffi` where another argument is its own, and without the native caller."""
    read, update = "Tensor([...], float32, strides=any, access=read)", "Tensor([...], float32, strides=any)"
    text = (
        f"read(x: {read}) -> int64 = {{ return int64(x.data) + x.numel; }};"
        f"beside(x: {read}, d: dtype, o: Optional[{read}] = None) -> int64 = {{ return int64(x.data) + x.numel; }};"
        f"kept(x: {read}) -> Any = {{ return x; }};"
        f"update(x: {update}) -> int64 = {{ return int64(x.data); }};"
    )
    array = np.arange(12, dtype="float32").reshape(3, 4)
    rows = [array, array[1:, ::2], array[::-1], array[2, 1], array[:0], array.T, np.broadcast_to(array[0], (5, 4))]
    rows = [np.asarray(row) for row in rows] + [np.frombuffer(bytes(8), "float32")]
    refused = [np.zeros(3, ">f4"), np.zeros(3, "float64"), np.zeros(3, "S4")]
    for one in rows + refused:
        one.setflags(write=False)
    for caller in (_calls._caller(), None):
        monkeypatch.setattr(_calls, "_caller", lambda: caller)
        made = codegen.jit(text)
        for row in rows:
            place = row.__array_interface__["data"][0] if row.size else 0
            before = sys.getrefcount(row)
            found = {made.read(row), made.beside(row, np.dtype("int8")), made.beside(row, "int8", o=row)}
            assert len(found) == 1 and (not row.size or found == {place + row.size}), row
            assert sys.getrefcount(row) == before and not row.flags.writeable
            for function in (made.kept, made.update):
                raises(BufferError, "got a read-only numpy.ndarray", lambda: function(row))
        for row in refused:
            with pytest.raises((BufferError, TypeError)):
                made.read(row)


class Exported:
    """An array by DLPack only."""

    def __init__(self, array: Any) -> None:
        self._array = array

    def __dlpack__(self, **words: Any) -> Any:
        return self._array.__dlpack__(**words)

    def __dlpack_device__(self) -> Any:
        return self._array.__dlpack_device__()


class Fixed(Exported):
    """An array that never changes, as `jax.Array`, which does not say so."""

    def __dlpack__(self, **words: Any) -> Any:
        return np.array(self._array).__dlpack__()


PASSES = "`access=read` of x in the declaration lets it pass"
KEPT = "the function keeps x, and nobody could tell that it is only read"
OTHER = "only a parameter that is a tensor with `access=read` takes it"
OVER = "an array of NumPy over the same memory passes"

# A parameter and the body of a function, and what its error says of a read-only array of NumPy, of one of another exporter,
# and of one that never changes; an empty text if it is taken.
REFUSED: list[tuple[str, str, str, str, str]] = [
    ("x: Tensor([n], float32)", "", PASSES, f"with `access=read` of x in the declaration, {OVER}", PASSES),
    ("x: Optional[Tensor([n], float32)]", "", PASSES, f"with `access=read` of x in the declaration, {OVER}", PASSES),
    ("x: Tensor([n], float32, access=write)", "", PASSES, f"with `access=read` of x in the declaration, {OVER}", PASSES),
    ("x: Tensor([n], float32, access=read)", "", "", OVER, ""),
    ("x: Tensor([n], float32)", "return x;", KEPT, KEPT, PASSES),
    ("x: Tensor([n], float32, access=read)", "return x;", KEPT, KEPT, ""),
    ("x: Union[int64, Tensor([n], float32, access=read)]", "", OTHER, OTHER, ""),
    ("*x: Any", "", OTHER, OTHER, ""),
]


@pytest.mark.parametrize("row", range(len(REFUSED)))
def test_read_only_memory_is_refused_with_what_to_do(row: int, monkeypatch: pytest.MonkeyPatch) -> None:
    param, body, *said = REFUSED[row]
    monkeypatch.setitem(sys.modules, "jax", SimpleNamespace(Array=Fixed))
    array = np.arange(3, dtype="float32")
    array.setflags(write=False)
    arrays = [(array, "numpy.ndarray"), (Exported(array), "test_calls.Exported"), (Fixed(array), "jax.Array")]
    text = f"f({param}) -> {'Any' if body else 'None'} = {{ {body} }};"
    for caller in (_calls._caller(), None):
        monkeypatch.setattr(_calls, "_caller", lambda: caller)
        function = codegen.jit(text).f
        for (argument, name), hint in zip(arrays, said, strict=True):
            if not hint:
                function(argument)
                continue
            message = (
                f"Mismatched x.data on argument #0 when calling: `f({param})`, expected memory that may be written to "
                f"but got a read-only {name}: {hint}"
            )
            with pytest.raises(BufferError) as error:
                function(argument)
            assert str(error.value) == message
            # Again, now that the type is known, and beside a subclass of NumPy's.
            raises(BufferError, message, lambda: function(argument))
    nested = codegen.jit(f"g(m: int64, xs: Array[Any], {param}) -> None = {{}};").g
    raises(BufferError, "Mismatched xs[1].data on argument #1", lambda: nested(1, [2, array], np.zeros(3, "float32")))


# A parameter that takes no tensor, and what its error says of an array of NumPy, of a list with one, and of a masked value.
NO_TENSORS: list[tuple[str, str, str]] = [
    ("x: int64", "x on argument #1", "expected int64 but got"),
    ("x: bool", "x on argument #1", "expected bool but got"),
    ("x: Union[int64, str]", "x on argument #1", "expected Union[int64, str] but got"),
    ("x: Optional[float64]", "x on argument #1", "expected Optional[float64] but got"),
    ("x: Map[str, int64]", "x on argument #1", "expected Map but got"),
    ("x: ptr", "x on argument #1", "expected ptr but got"),
]


@pytest.mark.parametrize(("param", "where", "expected"), NO_TENSORS)
def test_a_read_only_array_is_an_array_where_no_tensor_can_be(
    param: str, where: str, expected: str, monkeypatch: pytest.MonkeyPatch
) -> None:
    array = np.arange(3, dtype="float32")
    fixed = array.copy()
    fixed.setflags(write=False)
    for caller in (_calls._caller(), None):
        monkeypatch.setattr(_calls, "_caller", lambda: caller)
        function = codegen.jit(f"f(y: Any, {param}) -> None = {{}};").f
        for argument, kind in [(array, "Tensor"), (fixed, "Tensor"), (np.ma.masked, "Tensor"), ([1, fixed], "Array")]:
            with pytest.raises(TypeError) as error:
                function(None, argument)
            said = str(error.value)
            assert f"Mismatched type of {where} " in said and said.endswith(f", {expected} {kind}")
        # An array that a parameter before it could take, as one that may be written to, is refused first.
        raises(BufferError, "Mismatched y.data on argument #0", lambda: function(fixed, fixed))
    listed = codegen.jit("f(x: Array[int64]) -> None = {};").f
    with pytest.raises(TypeError, match=r"x\[1\] on argument #0 .* expected int64 but got Tensor"):
        listed((1, fixed))


def test_other_errors_of_buffers_stay_what_they_are() -> None:
    calls: list[int] = []

    def fail(n: int) -> None:
        calls.append(n)
        raise BufferError("of the function")

    tvm_ffi.register_global_func("codegen_test.fail", fail, override=True)
    read = "x: Tensor([n], float32, access=read)"
    f = codegen.jit(f'f({read}, d: dtype) -> None = {{ @"codegen_test.fail"(n); }};').f
    x = np.arange(3, dtype="float32")
    x.setflags(write=False)
    for argument in (x, Exported(np.zeros(3, "float32"))):
        raises(RuntimeError, "of the function", lambda: f(argument, np.dtype("int8")))
    assert calls == [3, 3]
    raises(BufferError, "DLPack only supports", lambda: f(np.zeros(3, "S4"), "int8"))


def test_an_array_is_held_while_another_thread_resizes_it() -> None:
    """Without a reference of the call's own, nobody but the caller's frame has one, and NumPy resizes the array."""
    entered, resized = threading.Event(), threading.Event()
    arrays = [np.zeros(4, "float32")]
    seen: list[str] = []

    def resize() -> None:
        assert entered.wait(10)
        try:
            arrays.pop().resize(1 << 20)
            seen.append("resized")
        except ValueError as error:
            seen.append(str(error))
        resized.set()

    def wait(n: int) -> int:
        entered.set()
        assert resized.wait(10)
        return n

    tvm_ffi.register_global_func("codegen_test.wait", wait, override=True)
    text = 'f(x: Tensor([n], float32)) -> int64 = { let r: int64 = @"codegen_test.wait"(n); return r + x.shape[0]; };'
    function = codegen.jit(text).f
    thread = threading.Thread(target=resize)
    thread.start()
    # An `assert` would hold the array, too.
    result = function(arrays[0])
    thread.join()
    assert result == 8 and len(seen) == 1 and "cannot resize an array that" in seen[0]


def test_containers_change_while_a_body_is_in_a_call() -> None:
    """Python's own are copied when the call begins; a list of the runtime is read again."""
    now: list[Any] = []
    tvm_ffi.register_global_func("codegen_test.now", lambda: [change() for change in now] and None, override=True)

    def in_another_thread(change: Any) -> Any:
        def run() -> None:
            thread = threading.Thread(target=change)
            thread.start()
            thread.join()

        return run

    function = codegen.jit("""
        f(xs: List[Tensor([n], float32)], m: Map[str, int64]) -> int64
            = { let before = xs[0].shape[0]; @"codegen_test.now"(); let x = xs[1]; return before * 10 + x.shape[0]; };
    """).f

    def tensors() -> list[Any]:
        return [np.zeros(3, "float32") for _ in range(2)]

    xs, m = tensors(), {"a": 1, "b": 2}
    now[:] = [in_another_thread(xs.clear), in_another_thread(m.clear)]
    assert function(xs, m) == 33 and not xs and not m
    xs = tvm_ffi.List(tensors())
    now[:] = [in_another_thread(xs.pop)]
    with pytest.raises(ValueError, match=r"Out of range xs\[1\] .* expected an index below 1 but got 1"):
        function(xs, {})
    xs = tvm_ffi.List(tensors())
    wrong = tvm_ffi.convert(np.zeros(4, "float32"))
    now[:] = [in_another_thread(lambda: xs.__setitem__(1, wrong))]
    with pytest.raises(ValueError, match=r"Mismatched .*shape\[0\] .* expected 3 .* but got 4"):
        function(xs, {})
    now[:] = [in_another_thread(lambda: xs.extend(tensors() * 1000))]
    xs[1] = xs[0]
    assert function(xs, {}) == 33 and len(xs) == 2002


def test_other_threads_run_during_a_call() -> None:
    entered, left = threading.Event(), threading.Event()

    def wait() -> None:
        entered.set()
        assert left.wait(10)

    tvm_ffi.register_global_func("codegen_test.enter", wait, override=True)
    function = codegen.jit('f(x: Tensor([n], float32)) -> None = { @"codegen_test.enter"(); };').f
    thread = threading.Thread(target=function, args=(np.zeros(3, "float32"),))
    thread.start()
    assert entered.wait(10)
    left.set()
    thread.join()


@native
def test_functions_are_freed_and_their_objects_with_them() -> None:
    def made() -> weakref.ref[Any]:
        function = tvm_ffi.convert(lambda n: n + 1)
        metadata = {"declaration": {"signature": "f(n: int64)", "params": [{"name": "n", "type": "int64"}]}}
        builtin = _calls.native("f", function, metadata, "Adds one.")
        assert builtin(2) == builtin(n=2) == 3 and type(builtin) is type(len)
        return weakref.ref(builtin)

    one = made()
    gc.collect()
    assert one() is None
    before = resident()
    for _ in range(20_000):
        made()
    assert resident() - before < 4 << 20


def resident() -> int:
    return int(Path("/proc/self/statm").read_text().split()[1]) * 4096


def test_exceptions_leave_nothing_behind() -> None:
    function = calls.MODULE.pair
    x, refusing = np.arange(3, dtype="float32"), calls.Refusing()
    for _ in range(3):
        raises(KeyError, "refused", lambda: function(x, refusing))
        raises(ValueError, "expected 3 (= x.shape[0]) but got 2", lambda: function(x, x[:2]))
        raises(TypeError, "missing 1 required positional argument: 'y'", lambda: function(x))
        assert (np.from_dlpack(function(x, x)) == 2 * x).all()
    gc.collect()
    assert sys.getrefcount(x) == sys.getrefcount(refusing) == 2


@native
def test_errors_have_the_frames_of_tvm_ffi() -> None:
    frames = []
    for function in (calls.MODULE.fails, calls.function_of(calls.MODULE.fails)):
        with pytest.raises(IndexError, match="n is 1") as error:
            function(None, 1)
        frames.append([(entry.name, entry.lineno) for entry in error.traceback[1:]])
    assert frames[0] == frames[1] and frames[0]


@native
def test_signatures_are_shown() -> None:
    module = codegen.jit(
        "/// Adds.\nadd(a: int64, /// The second.\nb: float64 = 0.5, *rest: Any) -> float64"
        "= { return float64(a) + b; };"
        "word(lambda: int64) -> int64 = { return lambda; };"
    )
    assert str(inspect.signature(module.add)) == "(a, b=0.5, *rest)"
    assert module.add.__name__ == "add" and module.add.__self__.release_gil is True
    documented = "add(a: int64, b: float64 = 0.5, *rest: Any) -> float64\n\nAdds.\n\nArgs:\n    b: The second."
    assert module.add.__doc__ == documented
    assert module.word(**{"lambda": 4}) == 4 and module.word.__doc__ == "word(lambda: int64) -> int64"
    raises(ValueError, "no signature found", lambda: inspect.signature(module.word))
    raises(TypeError, "word() missing 1 required positional argument: 'lambda'", module.word)


@native
def test_the_lock_is_kept_if_that_is_asked_for() -> None:
    function = calls.MODULE.scalars
    function.__self__.release_gil = False
    try:
        assert function(1, 2.0, True) == 3.0
    finally:
        function.__self__.release_gil = True
    raises(AttributeError, "readonly", lambda: setattr(function.__self__, "function", None))
    raises(TypeError, "cannot create", type(function.__self__))


@native
def test_many_arguments() -> None:
    names = [f"x{index}" for index in range(40)]
    params = ", ".join(f"{name}: Tensor([n], float32)" for name in names)
    function = codegen.jit(f"f({params}) -> int64 = {{ return n; }}; g(*rest: Any) -> int64 = {{ return rest.size; }};")
    arrays = [np.zeros(3, "float32") for _ in names]
    assert function.f(*arrays) == function.f(**dict(zip(names, arrays, strict=True))) == 3
    assert function.g(*range(100)) == 100 and function.g() == 0
    gc.collect()
    assert {sys.getrefcount(array) for array in arrays} == {3}


@native
@pytest.mark.skipif(sys.platform != "linux", reason="address space is limited as Linux does it")
def test_a_call_without_room_is_a_memory_error() -> None:
    script = """if True:
        import resource, tvm_ffi_codegen as codegen
        m = codegen.jit("rest(*n: Any) -> None = { };")
        m.rest(1)
        many = [1] * 10_000_000
        size = int(open("/proc/self/statm").read().split()[0]) * resource.getpagesize()
        resource.setrlimit(resource.RLIMIT_AS, (size + (200 << 20), size + (200 << 20)))
        try:
            m.rest(*many)
        except MemoryError:
            print("refused")
        """
    run = subprocess.run([sys.executable, "-c", script], check=True, capture_output=True, text=True)
    assert run.stdout == "refused\n"


def test_libraries_are_loaded(tmp_path: Path) -> None:
    path = tmp_path / "library.so"
    path.write_bytes(codegen.emit(ADD_ONE, "shared", link=[C(C_KERNEL)]))
    module = codegen.load(path)
    x, y = np.arange(3, dtype="float32"), np.zeros(3, "float32")
    module.add_one(y=y, x=x)
    assert (y == x + 1).all()


@native
def test_functions_of_others_are_called_by_tvm_ffi() -> None:
    function = tvm_ffi.convert(lambda n: n + 1)
    for metadata in (None, {}, {"declaration": {"signature": "f(s: str)", "params": [{"name": "s", "default": '"\n"'}]}}):
        assert _calls.native("f", function, metadata, None) is function
    assert calls.function_of(function) is function
