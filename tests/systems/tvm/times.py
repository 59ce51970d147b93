"""Measures TVM alone and our hosts in one run, in turn: builds, first look-ups, calls from C, failing calls from Python.

Times of builds are those of the processor, which other processes disturb less.
"""

import ctypes
import statistics
import time

import numpy as np
import tvm
from functions import Functions, tensor
from tvm_ffi_codegen.tvm import Plugin

import system

ROUNDS = 15
CALLS = 200_000

CALLED = {
    "vectors": [np.ones(4, "float32"), np.ones(4, "float32")],
    "picked": [True, np.ones(4, "int32")],
    "matrices": [np.ones((1, 1), "float32")] * 4,
}
"""Functions of which calls are timed, with arguments: two symbolic vectors; a truth and a tensor, with a result; four
matrices, one of which has a stride."""


class Argument(ctypes.Structure):
    _fields_ = [("type_index", ctypes.c_int32), ("padding", ctypes.c_int32), ("value", ctypes.c_int64)]


def in_turn(first, second, rounds=ROUNDS):
    """Returns the medians of two measurements that are made in turn, and that of their ratios."""
    pairs = [(first(), second()) for _ in range(rounds)]
    ratio = statistics.median(b / a for a, b in pairs)
    return *map(statistics.median, zip(*pairs)), ratio


def seconds(action, *given):
    """Returns seconds of the processor."""
    start = time.process_time()
    action(*given)
    return time.process_time() - start


def alone(name):
    """Returns a module with one function, for which a build of all would hide its time."""
    var = Functions.get_global_var(name)
    return tvm.IRModule({var: Functions[name]})


def build(module):
    return tvm.compile(module, target="llvm").mod


def build_with_ours(module):
    with Plugin():
        return build(module)


def call(timer, function, arguments):
    """Returns nanoseconds of a call from C."""
    types = {bool: 2, int: 1, float: 3}
    values = [tensor(one) if isinstance(one, np.ndarray) else one for one in arguments]
    made = [Argument(types[type(one)], 0, one) if type(one) in types else Argument(70, 0, one.__chandle__()) for one in values]
    array = (Argument * len(made))(*made)
    return min(timer(ctypes.c_void_p(function.__chandle__()), array, len(made), CALLS) for _ in range(3))


def fail(function, arguments):
    for _ in range(1000):
        try:
            function(*arguments)
        except ValueError:
            pass


def timer():
    """Returns the function of `calls.c`."""
    shared = system.MADE / "calls.so"
    system.run("gcc", "-O2", "-shared", "-fPIC", *system.includes(), system.HERE / "calls.c", "-o", shared)
    function = ctypes.CDLL(str(shared)).nanoseconds
    function.restype = ctypes.c_double
    function.argtypes = [ctypes.c_void_p, ctypes.c_void_p, ctypes.c_int32, ctypes.c_int64]
    return function


def main():
    names = [var.name_hint for var in Functions.functions if var.name_hint != "calls"]
    rows = [in_turn(lambda: seconds(build, module), lambda: seconds(build_with_ours, module), 5) for module in map(alone, names)]
    stock, ours, _ = map(statistics.median, zip(*rows))
    ratio = statistics.median(ratio for *_, ratio in rows)
    print(f"build, median of {len(rows)} functions: {stock * 1e3:.1f} ms by TVM alone, {ours * 1e3:.1f} with our hosts, {ratio:.2f}")
    measured = timer()
    for name, arguments in CALLED.items():
        module = alone(name)
        first = in_turn(lambda: seconds(build(module).get_function, name), lambda: seconds(build_with_ours(module).get_function, name))
        print("{}: first look-up {:.1f} ms, {:.1f}, {:.2f}".format(name, first[0] * 1e3, first[1] * 1e3, first[2]))
        functions = [made(module)[name] for made in (build, build_with_ours)]
        calls = in_turn(*[lambda function=function: call(measured, function, arguments) for function in functions])
        print("{}: call {:.2f} ns, {:.2f}, {:.2f}".format(name, *calls))
    given = [tensor(np.ones(4, "float32")), tensor(np.ones(5, "float32"))]
    functions = [made(alone("vectors"))["vectors"] for made in (build, build_with_ours)]
    failing = in_turn(*[lambda function=function: seconds(fail, function, given) for function in functions])
    print("failing call from Python: {:.2f} µs, {:.2f}, {:.2f}".format(failing[0] * 1e3, failing[1] * 1e3, failing[2]))
