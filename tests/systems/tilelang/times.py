"""Measures TileLang's own host for the CPU and ours in one run, in turn: compiling a function, calling it from PyTorch."""

import statistics
import time
import timeit

import tilelang
from on_cpu import add, floats
from tvm_ffi_codegen.tilelang import Plugin

ROUNDS = 5


def compiled():
    """Compiles a function; returns seconds, and the kernel."""
    start = time.perf_counter()
    kernel = tilelang.compile(add, target="c")
    return time.perf_counter() - start, kernel


def compiled_with_ours():
    with Plugin():
        return compiled()


def call(kernel):
    """Returns seconds of a call."""
    given = [floats(20) for _ in range(3)]
    return min(timeit.repeat(lambda: kernel(*given), number=2000, repeat=3)) / 2000


def main():
    tilelang.disable_cache()
    made = [(compiled(), compiled_with_ours()) for _ in range(ROUNDS)]
    builds = [(alone[0], ours[0]) for alone, ours in made]
    calls = [(call(made[0][0][1]), call(made[0][1][1])) for _ in range(ROUNDS)]
    for what, rows, unit in (("compile", builds, 1), ("call", calls, 1e6)):
        alone, ours = (statistics.median(column) * unit for column in zip(*rows))
        ratio = statistics.median(ours / alone for alone, ours in rows)
        print(f"{what}: {alone:.2f} {'s' if unit == 1 else 'µs'} by TileLang alone, {ours:.2f} with our hosts, {ratio:.2f}")
