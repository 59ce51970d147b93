"""Runs statements about a library of programs, and prints what each yields, one line for each.

Usage: programs.py LIBRARY < STATEMENTS, where STATEMENTS is a JSON list of texts. An expression prints its
value, an error its class and the first line of its message, anything else an empty line.
"""

import gc
import json
import sys
import threading
import weakref

import numpy
import tvm_ffi


class Owner(tvm_ffi.Object):
    """An object that tests count while it is alive."""


@tvm_ffi.register_global_func("test.programs.double")
def double(value):
    if value == 13:
        raise KeyError("thirteen")
    return 2 * value


@tvm_ffi.register_global_func("test.programs.echo")
def echo(*values):
    return list(values)


@tvm_ffi.register_global_func("test.programs.text")
def text(value):
    return "a text of the heap, number " + str(value)


def back(m):
    """Makes a function that calls the library again."""
    return lambda n, *rest: m.recursion(n - 1) + len(rest)


def alive(make):
    """Returns whether the function that `make` calls with is alive after the call."""
    function = lambda *rest: None
    watch = weakref.ref(function)
    make(tvm_ffi.convert(function))
    del function
    gc.collect()
    return watch() is not None


def parallel(count, call):
    """Returns the results of `count` threads that call at once."""
    barrier, results = threading.Barrier(count), [None] * count

    def run(index):
        barrier.wait()
        results[index] = call(index)

    threads = [threading.Thread(target=run, args=(index,)) for index in range(count)]
    for thread in threads:
        thread.start()
    for thread in threads:
        thread.join()
    return results


def outcome(statement, scope):
    try:
        try:
            code = compile(statement, "statement", "eval")
        except SyntaxError:
            exec(statement, scope)
            return ""
        return str(eval(code, scope))
    except Exception as error:
        return f"{type(error).__name__}: {str(error).splitlines()[0]}"


scope = dict(globals(), m=tvm_ffi.load_module(sys.argv[1]))
for statement in json.load(sys.stdin):
    print(outcome(statement, scope))
