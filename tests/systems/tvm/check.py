"""Apache TVM with our hosts: every kind of signature, for LLVM and C, in process, exported, imported, in a system library
and in Relax's virtual machine, gives what TVM alone gives.

    check.py --suite DIR   runs upstream's tests of a checkout, by TVM alone and with our hosts: see shared/hosts.py
    check.py --suite DIR --times   builds every module of them by both, too, and compares how long that takes
    check.py --times       measures builds and calls of the functions here: see times.py
"""

import ctypes
import sys

import numpy as np
import tvm
from functions import CALLS, Functions, tensor
from tvm import relax
from tvm.script import ir as I
from tvm.script import relax as R
from tvm.script import tirx as T
from tvm_ffi_codegen.tvm import Plugin

import system


@I.ir_module
class Caller:
    """Calls a function of a module that this one imports."""

    @T.prim_func
    def caller(X: T.Buffer((4,), "float32"), Y: T.Buffer((4,), "float32")):
        T.evaluate(T.call_packed("vectors", X, Y))


@I.ir_module
class Program:
    """A program of Relax, which allocates the result."""

    @T.prim_func
    def add_one(x: T.handle, y: T.handle):
        n = T.int64()
        X = T.match_buffer(x, (n,), "float32")
        Y = T.match_buffer(y, (n,), "float32")
        for i in range(n):
            Y[i] = X[i] + T.float32(1)

    @R.function
    def main(x: R.Tensor(("n",), "float32")) -> R.Tensor(("n",), "float32"):
        n = T.int64()
        return R.call_tir(Program.add_one, (x,), out_ty=R.Tensor((n,), "float32"))

@I.ir_module
class Reading:
    """Functions whose first buffer is only loaded, has its address taken, and is handed on, and whose second is stored to."""

    @T.prim_func
    def loaded(X: T.Buffer((4,), "float32"), Y: T.Buffer((4,), "float32")):
        for i in range(4):
            Y[i] = T.exp(X[i]) + X[3 - i]

    @T.prim_func
    def addressed(X: T.Buffer((4,), "float32"), Y: T.Buffer((4,), "float32")):
        Y[0] = X[0]
        T.evaluate(T.call_extern("int32", "puts", T.address_of(X[1])))

    @T.prim_func
    def handed_on(X: T.Buffer((4,), "float32"), Y: T.Buffer((4,), "float32")):
        Y[0] = X[0]
        T.evaluate(T.call_extern("int32", "puts", X.data))


OURS_ONLY = {"vectors": {9: "an empty tensor is contiguous"}}
"""Calls, by function and number, in which we are to do otherwise than TVM, and why."""

NOT_IN_C = {"halves", "small", "numbers", "calls_by_name", "workspace"}
"""Functions of which TVM writes C that no compiler takes, or that needs its thread pool's header."""


def functions(target):
    """Returns the functions that TVM can compile for a target."""
    kept = {var: func for var, func in Functions.functions.items() if target == "llvm" or var.name_hint not in NOT_IN_C}
    return tvm.IRModule(kept)


def outcome(function, arguments):
    """Makes a call; returns its result and the arrays after it, or the class of its error."""
    given = [tensor(one) if isinstance(one, np.ndarray) and one.flags.c_contiguous else one for one in arguments]
    given = [np.array(one, order="K") if isinstance(one, np.ndarray) else one for one in given]
    try:
        result = function(*given)
    except Exception as error:
        return type(error).__name__
    return result, [one.numpy().tobytes() if hasattr(one, "numpy") else str(one) for one in given]


def compare(stock, ours, way):
    """Compares all calls; returns how many."""
    compared, differing = 0, []
    for name in (name for name in CALLS if stock.implements_function(name)):
        for number, arguments in enumerate(CALLS[name]):
            expected, got = outcome(stock[name], arguments), outcome(ours[name], arguments)
            compared += 1
            if expected != got and number not in OURS_ONLY.get(name, {}):
                differing.append(f"{way}: {name}, call {number}: {got}, by TVM {expected}")
    if differing:
        raise AssertionError("\n".join(differing))
    return compared


def built(target, plugin=None):
    """Compiles the functions, with our hosts if there is a plug-in."""
    if plugin is None:
        return tvm.compile(functions(target), target=target).mod
    with plugin:
        return tvm.compile(functions(target), target=target).mod


def exported(module, name):
    """Exports a module as a shared library, and loads it."""
    path = str(system.MADE / name)
    module.export_library(path)
    return tvm.runtime.load_module(path)


def call_imported(ours):
    """Calls a function that is found in an import, and `main`, which is that of the caller."""
    with Plugin():
        caller = tvm.compile(Caller, target="llvm").mod
    caller.import_module(ours)
    for name in ("caller", "main"):
        x, y = tensor(np.ones(4, "float32")), tensor(np.zeros(4, "float32"))
        caller[name](x, y)
        assert np.array_equal(y.numpy(), x.numpy() + 1)


def call_system_library():
    """Calls a function of a system library, which is linked into the process."""
    functions = tvm.IRModule({"one": Functions["vectors"].with_attr("global_symbol", "systems_vectors")})
    with Plugin() as plugin:
        built = tvm.compile(functions.with_attr("system_lib_prefix", "systems_"), target="llvm").mod
    assert plugin.declared and not plugin.left, plugin.left
    built.write_to_file(str(system.MADE / "system.o"), "o")
    shared = system.MADE / "system.so"
    system.run("gcc", "-shared", system.MADE / "system.o", "-o", shared)
    ctypes.CDLL(str(shared), ctypes.RTLD_GLOBAL)
    x, y = tensor(np.ones(4, "float32")), tensor(np.zeros(4, "float32"))
    tvm.runtime.system_lib("systems_")["vectors"](x, y)
    assert np.array_equal(y.numpy(), x.numpy() + 1)


def run_program():
    """Runs a program of Relax."""
    with Plugin() as plugin:
        machine = relax.VirtualMachine(tvm.compile(Program, target="llvm"), tvm.cpu())
    assert plugin.declared and not plugin.left, plugin.left
    x = np.arange(5, dtype="float32")
    assert np.array_equal(machine["main"](tensor(x)).numpy(), x + 1)


def say_what_is_read():
    """Declares buffers as only read where the body does nothing else, and says nothing where it might."""
    with Plugin() as plugin:
        reads = tvm.compile(Reading, target="llvm").mod
    access = {one.name: [param.type.access for param in one.signature.params] for one in plugin.declared}
    assert access == {
        "loaded": ["read", "update"],
        "addressed": ["update", "update"],
        "handed_on": ["update", "update"],
    }, access
    x, y = tensor(np.zeros(4, "float32")), tensor(np.zeros(4, "float32"))
    reads["loaded"](x, y)
    assert np.array_equal(y.numpy(), np.ones(4))


def main():
    plugin = Plugin()
    calls = 0
    for target in ("llvm", "c"):
        stock, ours = built(target), built(target, plugin)
        if {name for name, _ in plugin.left} != {"called"}:
            raise AssertionError(f"not declared: {plugin.left}")
        loaded = exported(stock, f"{target}_stock.so"), exported(ours, f"{target}_ours.so")
        calls += compare(*loaded, f"{target}, exported")
        if target == "llvm":
            calls += compare(stock, ours, "llvm, in process")
            call_imported(ours)
    call_system_library()
    say_what_is_read()
    run_program()
    system.say(f"{len(plugin.declared)} functions, {calls} calls as by TVM alone, LLVM and C")


FILES = (
    *("tests/python/codegen/test_*.py", "tests/python/runtime/test_runtime_module_*.py"),
    *("tests/python/runtime/test_executable.py", "tests/python/runtime/test_runtime_error.py"),
    *("tests/python/runtime/test_runtime_trace.py", "tests/python/runtime/test_runtime_dlpack.py"),
    *("tests/python/relax/test_vm_*.py", "tests/python/relax/test_e2e_op_dynamic.py"),
    *("tests/python/all-platform-minimal-test/test_*.py", "tests/python/tirx-base/test_tir_*.py"),
    "tests/python/tirx-transform/test_tir_transform_make_packed_api.py",
)
"""Patterns of upstream's files that build for LLVM or C, or run what was built."""

if __name__ == "__main__":
    words = sys.argv[1:]
    if words[:1] == ["--suite"]:
        import hosts

        hosts.main("tvm", system.ROOT / words[1], FILES, timed="--times" in words)
    elif words == ["--times"]:
        import times

        times.main()
    else:
        main()
