"""Measures calls from Python: `python.py LIB.so... CASE...` prints {"LIB.so": {"CASE": [ns, ...]}}.

A case is called with objects of the FFI, and as `CASE, from Python` with NumPy arrays and Python's own objects
where that is something else. All libraries take turns, and so does a function that does nothing, `empty`.
"""

import json
import os
import subprocess
import sys
import tempfile
import time
from pathlib import Path

import numpy as np
import tvm_ffi

from loading import load

ROUNDS, SECONDS = 25, 2e-3
EMPTY = "empty"


def python_arguments(case):
    """Makes arguments as a user of NumPy passes them."""
    five = np.zeros(5, "float32")
    strided = np.zeros((2, 3, 4, 12), "float32")
    return {
        "add_one": [five, five],
        "matmul": [np.zeros(shape, "float32") for shape in [(4, 3), (3, 5), (4, 5)]],
        "strided8": [strided[..., ::2]] * 8,
        "stride_symbols8": [strided[..., :6]] * 8,
        "ints16": list(range(16)),
        "pair": [(five, five)],
        "many32": [np.zeros((4, 3), "float32")] * 32,
        "text": ["a longer text"],
        "list8": [[five] * 8],
        "union": [five],
        "map8": [{f"k{i}": i for i in range(8)}],
        "optional": [five, 3],
    }[case]


def ffi_object(value):
    """Makes arguments that need no conversion."""
    if isinstance(value, np.ndarray):
        return tvm_ffi.from_dlpack(value)
    if isinstance(value, (list, tuple)):
        return tvm_ffi.Array([ffi_object(entry) for entry in value])
    return tvm_ffi.Map(value) if isinstance(value, dict) else value


def ways(case):
    """Makes arguments, by their names in the results."""
    python = python_arguments(case)
    ffi = [ffi_object(value) for value in python]
    if all(mine is other for mine, other in zip(ffi, python)):
        return {case: ffi}
    return {case: ffi, f"{case}, from Python": python}


def empty_library(folder, cases):
    """Loads functions that take anything and return None."""
    source, library = folder / "empty.c", folder / "empty.so"
    line = "int __tvm_ffi_%s(void *s, const void *a, int n, void *r) { return 0; }\n"
    source.write_text("".join(line % case for case in cases))
    subprocess.run(["gcc", "-O2", "-fPIC", "-shared", source, "-o", library], check=True)
    return library


def batch(function, args, count):
    start = time.perf_counter_ns()
    for _ in range(count):
        function(*args)
    return (time.perf_counter_ns() - start) / count


def measure(libraries, cases):
    calls = []
    for case in cases:
        for name, library in libraries.items():
            if function := load(library, case):
                calls += [(name, way, function, args) for way, args in ways(case).items()]
    counts = [max(1, int(SECONDS * 1e9 / batch(*call[2:], 100))) for call in calls]
    times = {name: {} for name in libraries}
    for _ in range(ROUNDS):
        for (name, way, function, args), count in zip(calls, counts):
            times[name].setdefault(way, []).append(batch(function, args, count))
    return times


def main():
    libraries = {word: Path(word) for word in sys.argv[1:] if word.endswith(".so")}
    cases = [word for word in sys.argv[1:] if not word.endswith(".so")]
    with tempfile.TemporaryDirectory() as folder:
        libraries[EMPTY] = empty_library(Path(folder), cases)
        print(json.dumps(measure(libraries, cases)), flush=True)
        # Exits without unloading modules, whose order some peers depend on.
        os._exit(0)


if __name__ == "__main__":
    main()
