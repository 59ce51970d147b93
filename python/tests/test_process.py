"""Declarations compiled into the process: kinds of kernels, their lifetimes, threads, forks."""

import ctypes
import gc
import os
import signal
import subprocess
import sys
import tempfile
import threading
from pathlib import Path
from typing import Any, cast

import numpy as np
import tvm_ffi
import tvm_ffi_codegen as codegen
from support import ADD_ONE, C_KERNEL, adds_one, callback, raises
from tvm_ffi_codegen import C, _kernels


def test_kernels_are_addresses() -> None:
    kernel = callback()
    pointer = ctypes.cast(kernel, ctypes.c_void_p)

    class Compiled:
        """A function with an address, like numba's `cfunc`."""

        address = pointer.value

    for one in [kernel, pointer, pointer.value, Compiled()]:
        assert adds_one(codegen.jit(ADD_ONE, {"k": one}))


def test_kernels_are_files() -> None:
    contents = _kernels.compile_c(C(C_KERNEL))
    with tempfile.TemporaryDirectory() as folder:
        paths = Path(folder, "kernel.o"), Path(folder, "kernel.c")
        paths[0].write_bytes(contents)
        paths[1].write_text(C_KERNEL)
        for kernel in [contents, bytearray(contents), C(C_KERNEL), *paths, str(paths[0])]:
            assert adds_one(codegen.jit(ADD_ONE, {"k": kernel}))
        # Two kernels in one file.
        both, one = "f(n: int64) -> int64 = l(n);", Path(folder, "both.c")
        one.write_text(C_KERNEL + "int64_t l(int64_t n) { return n + 1; }")
        module = codegen.jit(ADD_ONE + both, {"k": one, "l": str(one)})
        assert adds_one(module) and module.f(1) == 2


def test_profilers_and_debuggers_know_what_is_asked_for() -> None:
    """What the JIT's own tests try with GDB and `perf`; here it is that the option reaches it."""
    script = """if True:
        import os, tvm_ffi_codegen
        from pathlib import Path
        path = Path(f"/tmp/perf-{os.getpid()}.map")
        made = [
            tvm_ffi_codegen.jit(f"f_{name}(n: int64) -> int64 = {{ return n; }};", observers=observers)
            for name, observers in [("none", ()), ("debugger", ["debugger"]), ("both", ["debugger", "profiler"])]
        ]
        module = tvm_ffi_codegen.jit("f_module(n: int64) -> int64 = { return n; };", observers=["profiler"]).module()
        print([name for name in ("none", "debugger", "both", "module") if f"_f_{name}\\n" in path.read_text()])
        path.unlink()
    """
    command = [sys.executable, "-c", script]
    assert subprocess.run(command, check=True, capture_output=True, text=True).stdout == "['both', 'module']\n"


def test_kernels_of_every_sort_in_one_module() -> None:
    text = "f(n: int64) -> int64 = { let a: int64 = g(n); let b: int64 = h(a); let c: int64 = i(b); return c; };"
    source = "long long {}(long long n) {{ return n * {}; }}"
    object_file = _kernels.compile_c(C(source.format("i", 7)))
    kernels = {"g": adder, "h": C(source.format("h", 10)), "i": object_file}
    for given in [kernels, {**kernels, "g": ctypes.cast(adder, ctypes.c_void_p).value}]:
        assert codegen.jit(text, given).f(4) == (4 + 1) * 10 * 7
    # A file calls an address, and another file that is no kernel.
    calling = C("long long g(long long), i(long long); long long h(long long n) { return i(g(n)); }")
    module = codegen.jit("f(n: int64) -> int64 = h(n);", {"g": adder, "h": calling}, link=[object_file])
    assert module.f(4) == (4 + 1) * 7
    # What is linked alone defines kernels, too.
    module = codegen.jit("f(n: int64) -> int64 = i(n);", link=[object_file], entry="f")
    assert module(2) == module.f(2) == 14


def test_shared_libraries_are_found_again() -> None:
    with tempfile.TemporaryDirectory(prefix="a folder ") as folder:
        library = Path(folder, "libten.so")
        shared = ["cc", "-shared", "-fPIC", "-x", "c", "-", "-o", str(library)]
        subprocess.run(shared, input="long long ten(long long n) { return n * 10; }", text=True, check=True)
        kernel = C("long long ten(long long); long long h(long long n) { return ten(n); }")
        module = codegen.jit("f(n: int64) -> int64 = h(n);", {"h": kernel}, link=[library])
        assert module.f(4) == 40
        for_nobody = "f(n: int64) -> int64 = { let a: int64 = ten(n); let b: int64 = g(a); return b; };"
        assert codegen.jit(for_nobody, {"g": adder}, link=[library]).f(4) == 41


def test_what_is_linked_needs_no_folder_with_programs() -> None:
    kernel = C("int thrice(int n) { return 3 * n; }")
    assert codegen.jit("f(n: int32) -> int32 = thrice(n);", {"thrice": kernel}).f(5) == 15
    # Also where the folder of temporary files is mounted without the right to execute.
    assert "/memfd:tvm-ffi-codegen (deleted)" in Path("/proc/self/maps").read_text()


def test_a_kernel_that_nobody_else_holds() -> None:
    function = codegen.jit(ADD_ONE, {"k": callback()}).add_one
    gc.collect()
    x, y = np.arange(5, dtype="float32"), np.zeros(5, "float32")
    function(x, y)
    assert (y == x + 1).all()


def test_a_library_without_kernels() -> None:
    module = codegen.jit("f(n: int64) -> int64 = { return n * 2; };", entry="f")
    assert module(4) == module.f(4) == module["f"](4) == 8
    assert module.module().get_function_metadata("f")["declaration"]["signature"] == "f(n: int64) -> int64"
    assert codegen.jit("f() -> None = {};", metadata=False).module().get_function_metadata("f") is None


def test_imports_are_loaded() -> None:
    child = codegen.jit("g() -> int64 = { return 7; };")
    # A loader may make modules itself.
    tvm_ffi.register_global_func(
        "ffi.Module.load_from_bytes.codegen_test",
        lambda contents: codegen.jit(bytes(contents).decode()),
        override=True,
    )
    text = 'f() -> int64 = { let r: int64 = @"g"(); return r; };'
    module = codegen.jit(text, imports={"codegen_test": b"g() -> int64 = { return 8; };"})
    assert (child.g(), module.f(), len(module.module().imports)) == (7, 8, 1)


def test_nothing_leaks() -> None:
    def work() -> None:
        assert codegen.check("f(") and not codegen.check(ADD_ONE)
        assert len(codegen.emit(ADD_ONE)) > 0
        raises(ValueError, "undefined", lambda: codegen.jit(ADD_ONE))
        raises(ValueError, "no form", lambda: codegen.emit(ADD_ONE, cast(Any, "x")))

    def resident() -> int:
        return int(Path("/proc/self/statm").read_text().split()[1]) * os.sysconf("SC_PAGE_SIZE")

    for _ in range(50):
        work()
    before = resident()
    for _ in range(200):
        work()
    assert resident() - before < 1 << 20


def test_threads() -> None:
    kernel, done = callback(), []

    def work() -> None:
        for i in range(25):
            name = f"f{threading.get_ident()}_{i}"
            module = codegen.jit(
                f"{name}(n: int64) -> int64 = {{ k(null, null, 0); return n + {i}; }};", {"k": kernel}
            )
            assert module[name](1) == 1 + i
            assert codegen.check(ADD_ONE) == []
        codegen.emit(ADD_ONE, "shared", link=[OBJECT])
        done.append(True)

    threads = [threading.Thread(target=work) for _ in range(8)]
    for thread in threads:
        thread.start()
    for thread in threads:
        thread.join()
    assert len(done) == len(threads)


def test_copies_of_the_process() -> None:
    module = codegen.jit(ADD_ONE, {"k": callback()})
    stop = threading.Event()

    def busy() -> None:
        while not stop.is_set():
            codegen.jit("f() -> None = {};")

    thread = threading.Thread(target=busy)
    thread.start()
    try:
        for _ in range(10):
            assert os.waitstatus_to_exitcode(os.waitpid(in_a_copy(module), 0)[1]) == 0
    finally:
        stop.set()
        thread.join()


def test_copies_while_others_emit_and_link() -> None:
    stop = threading.Event()

    def busy(index: int) -> None:
        while not stop.is_set():
            codegen.emit(ADD_ONE, "shared", link=[OBJECT])
            codegen.link([OBJECT])
            codegen.jit(f"f{index}() -> None = {{}};")

    threads = [threading.Thread(target=busy, args=(index,)) for index in range(3)]
    for thread in threads:
        thread.start()
    try:
        for _ in range(20):
            pid = os.fork()
            if pid == 0:
                signal.alarm(30)
                try:
                    linked = codegen.emit(ADD_ONE, "shared", link=[OBJECT])
                    os._exit(0 if linked and adds_one(codegen.jit(ADD_ONE, {"k": callback()})) else 1)
                finally:
                    os._exit(2)
            assert os.waitstatus_to_exitcode(os.waitpid(pid, 0)[1]) == 0
    finally:
        stop.set()
        for thread in threads:
            thread.join()


def in_a_copy(module: tvm_ffi.Module) -> int:
    """Forks; the child uses a module of the parent and makes a new one."""
    pid = os.fork()
    if pid == 0:
        status = 1
        try:
            old, new = adds_one(module), adds_one(codegen.jit(ADD_ONE, {"k": callback()}))
            linked = codegen.emit(ADD_ONE, "shared", link=[OBJECT])
            status = 0 if old and new and linked else 1
        finally:
            os._exit(status)
    return pid


@ctypes.CFUNCTYPE(ctypes.c_int64, ctypes.c_int64)
def adder(n: int) -> int:
    return n + 1


OBJECT = _kernels.compile_c(C(C_KERNEL))


def test_importing_brings_what_is_used_later_when_it_is_used() -> None:
    code = """
import sys, tvm_ffi_codegen as codegen
late = lambda: {name for name in sys.modules if name.startswith("tvm_ffi_codegen.triton")}
assert not late(), late()
assert "triton" in dir(codegen) and "launcher" in dir(codegen.triton) and late()
try:
    codegen.trito
except AttributeError as error:
    assert str(error) == "module 'tvm_ffi_codegen' has no attribute 'trito'", error
else:
    raise AssertionError("there is no trito")
"""
    subprocess.run([sys.executable, "-c", code], check=True)


def test_a_shared_library_without_a_path_needs_a_name(tmp_path: Path) -> None:
    source, library = tmp_path / "k.c", tmp_path / "libk.so"
    source.write_text("long k(long n) { return 7 * n; }")
    declaration = "f(n: int64) -> int64 = k(n);"
    for name in ([], ["-Wl,-soname,libk.so"]):
        subprocess.run(["cc", "-shared", "-fPIC", source, "-o", library, *name], check=True)
        contents = library.read_bytes()
        for linked in (lambda: codegen.emit(declaration, "shared", link=[contents]), lambda: codegen.link([contents])):
            if name:
                assert isinstance(linked(), bytes)
            else:
                raises(ValueError, "a shared library without a soname", linked)


def in_process(code: str) -> str:
    """Runs code in another process and returns what it prints."""
    ran = subprocess.run([sys.executable, "-c", code], capture_output=True, text=True, timeout=60)
    assert ran.returncode == 0, ran.stderr
    return ran.stdout


def test_interrupts_leave_no_thread_at_work() -> None:
    in_process("""
import os, random, signal, threading, time
import tvm_ffi_codegen as codegen

def interrupt(*_):
    raise KeyboardInterrupt

signal.signal(signal.SIGALRM, interrupt)
modules = [codegen.jit("f() -> int64 = { return 1; };").module()]
kept, seed = [], random.Random(0)
end = time.monotonic() + 3
while time.monotonic() < end or len(kept) < 1000:
    try:
        signal.setitimer(signal.ITIMER_REAL, seed.uniform(1e-5, 4e-4))
        for _ in range(50):
            codegen.check("")
            modules[0].get_function("f")
        signal.setitimer(signal.ITIMER_REAL, 0)
    except KeyboardInterrupt as error:
        # Tracebacks keep the variables of functions.
        kept.append(error)
    except RuntimeError:
        # The shared object reports an interrupt while it converts its result.
        pass
signal.setitimer(signal.ITIMER_REAL, 0)

def fork():
    pid = os.fork()
    if pid == 0:
        os._exit(0 if codegen.check("f") and modules[0].get_function("f")() == 1 else 1)
    statuses.append(os.waitstatus_to_exitcode(os.waitpid(pid, 0)[1]))

statuses = []
thread = threading.Thread(target=fork, daemon=True)
thread.start()
thread.join(10)
# Others can look functions up, too.
os._exit(0 if statuses == [0] else 1)
""")


def test_an_interrupt_waits_for_the_fork() -> None:
    code = """
import os, signal, threading, time
import tvm_ffi_codegen as codegen
from tvm_ffi_codegen import _process

# Jobs in the background of a shell ignore the signal, and so would Python.
signal.signal(signal.SIGINT, signal.default_int_handler)
enter, go = threading.Event(), threading.Event()
thread = threading.Thread(target=_process.working, args=(lambda: (enter.set(), go.wait()),))
thread.start()
enter.wait()

# Before the fork waits, Python itself would drop the interrupt.
def interrupt():
    while not _process._threads(_process._WAITING):
        time.sleep(0.001)
    os.kill(os.getpid(), signal.SIGINT)
    time.sleep(0.2)
    go.set()

threading.Thread(target=interrupt).start()
try:
    pid = os.fork()
    if pid == 0:
        os._exit(0)
    time.sleep(1)
    print("not interrupted")
except KeyboardInterrupt:
    print("interrupted", go.is_set())
thread.join()
for _ in range(2):
    found = []
    threads = [threading.Thread(target=lambda: found.append(codegen.check("f")), daemon=True) for _ in range(2)]
    for one in threads:
        one.start()
    for one in threads:
        one.join(10)
    assert len(found) == 2
    if os.fork() == 0:
        os._exit(0)
print(os.wait()[1], os.wait()[1], os.wait()[1])
os._exit(0)
"""
    assert in_process(code) == "interrupted True\n0 0 0\n"


def test_interrupts_at_forks() -> None:
    in_process("""
import os, random, signal, sys, threading, time
import tvm_ffi_codegen as codegen
from tvm_ffi_codegen import _process

def interrupt(*_):
    raise KeyboardInterrupt

# Python prints the exceptions of functions that it calls at a fork.
sys.unraisablehook = lambda ignored: None
signal.signal(signal.SIGALRM, interrupt)
# Jobs in the background of a shell ignore this one, by which an interrupt is raised again after the fork.
signal.signal(signal.SIGINT, signal.default_int_handler)
stop, seed, count, statuses = threading.Event(), random.Random(0), [0, 0], set()

def busy():
    while not stop.is_set():
        codegen.check("f")
        count[1] += 1

threads = [threading.Thread(target=busy, daemon=True) for _ in range(2)]
for thread in threads:
    thread.start()
end = time.monotonic() + 3
while time.monotonic() < end:
    try:
        signal.setitimer(signal.ITIMER_REAL, seed.uniform(1e-5, 2e-3))
        if os.fork() == 0:
            # The references of threads that worked when the process was copied are here, too.
            os._exit(len(_process._threads(_process._WORKING)))
        signal.setitimer(signal.ITIMER_REAL, 0)
    except KeyboardInterrupt:
        count[0] += 1
    signal.setitimer(signal.ITIMER_REAL, 0)
    try:
        while True:
            statuses.add(os.wait()[1])
    except ChildProcessError:
        pass
assert statuses == {0}, statuses
before = count[1]
time.sleep(0.2)
assert count[0] and count[1] > before, count
pid = os.fork()
if pid == 0:
    signal.alarm(20)
    os._exit(0 if codegen.check("f") else 1)
assert os.waitstatus_to_exitcode(os.waitpid(pid, 0)[1]) == 0
stop.set()
for thread in threads:
    thread.join(10)
os._exit(any(thread.is_alive() for thread in threads))
""")
