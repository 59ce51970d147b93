"""Measures calls from Python by the package itself, beside other callers of the same functions: `native.py WORD... CASE` prints
{"WORD": {"ROW": [ns, ...]}} for the words native, tvm_ffi, ctypes and nanobind. Arguments are not used.

The first two call functions that the package has compiled, which check their arguments and call nothing. The other two call
empty functions of C: nanobind checks its arguments too, ctypes takes addresses. All take turns. PyTorch, and with it
`torch-c-dlpack-ext`, and nanobind are measured where they are installed.
"""

import ctypes
import gc
import json
import os
import subprocess
import sys
import sysconfig
import tempfile
import time
from pathlib import Path

sys.path.insert(0, str(Path(__file__).resolve().parents[3] / "python"))

import numpy as np
import tvm_ffi_codegen as codegen
from tvm_ffi_codegen._calls import function_of

ROUNDS, SECONDS = 25, 2e-3

NAMES = [f"x{i}" for i in range(9)]
TENSORS = {3: "three", 9: "nine"}

C = "".join(
    [
        "#include <stdint.h>\nvoid none(void) {}\nvoid numbers(int64_t a, int64_t b, double f) {}\n",
        *(f"void {word}({', '.join(f'float* {name}' for name in NAMES[:n])}) {{}}\n" for n, word in TENSORS.items()),
    ]
)


def declarations():
    def tensors(count):
        return ", ".join(f"{name}: Tensor([n, m], float32)" for name in NAMES[:count])

    many = "".join(f"{word}({tensors(count)}) -> None = {{}};" for count, word in TENSORS.items())
    plain = "none() -> None = {}; numbers(a: int64, b: int64, f: float64) -> None = {};"
    reads = f"reads({tensors(3).replace('float32', 'float32, access=read')}) -> None = {{}};"
    return f'{plain} {many} {reads} fails(a: int64) -> None = {{ raise ValueError "no"; }};'


def of_c(folder):
    """Compiles the functions of C; returns them with types for ctypes."""
    source, library = folder / "empty.c", folder / "empty.so"
    source.write_text(C)
    subprocess.run(["gcc", "-O2", "-fPIC", "-shared", source, "-o", library], check=True)
    functions = ctypes.CDLL(str(library))
    functions.numbers.argtypes = [ctypes.c_int64, ctypes.c_int64, ctypes.c_double]
    for count, word in TENSORS.items():
        getattr(functions, word).argtypes = [ctypes.c_void_p] * count
    return functions


def of_nanobind(folder):
    """Compiles the functions of C with nanobind; returns a module, or None where nanobind is not installed."""
    try:
        import nanobind
    except ImportError:
        return None
    array = "nb::ndarray<float, nb::ndim<2>, nb::c_contig, nb::device::cpu>"
    rows = ['m.def("none", none); m.def("numbers", numbers);']
    for count, word in TENSORS.items():
        listed = ", ".join(f"{array} {name}" for name in NAMES[:count])
        passed = ", ".join(f"{name}.data()" for name in NAMES[:count])
        names = ", ".join(f'"{name}"_a' for name in NAMES[:count])
        rows.append(f'm.def("{word}", []({listed}) {{ {word}({passed}); }}, {names});')
    head = f'#include <nanobind/nanobind.h>\n#include <nanobind/ndarray.h>\nextern "C" {{ {C.split(chr(10), 1)[1]} }}\n'
    using = "namespace nb = nanobind; using namespace nb::literals;\n"
    source = folder / "bound.cc"
    source.write_text(f"#include <stdint.h>\n{head}{using}NB_MODULE(bound, m) {{ {' '.join(rows)} }}\n")
    package = Path(nanobind.__file__).parent
    folders = [package / "include", package / "ext/robin_map/include", sysconfig.get_path("include")]
    command = ["g++", "-O2", "-std=c++17", "-fPIC", "-shared", "-fvisibility=hidden", "-fno-strict-aliasing", "-DNDEBUG"]
    command += [*(f"-I{one}" for one in folders), str(package / "src/nb_combined.cpp"), str(source)]
    subprocess.run([*command, "-o", str(folder / "bound.so")], check=True, stderr=subprocess.DEVNULL)
    sys.path.insert(0, str(folder))
    import bound

    return bound


def tensors_of_torch():
    try:
        import torch
    except ImportError:
        return {}
    return {"PyTorch tensors": torch.zeros(4, 3)}


def calls(folder):
    """Lists the calls: row, caller, function, source of the call."""
    module, c, bound = codegen.jit(declarations()), of_c(folder), of_nanobind(folder)
    kept = codegen.jit(declarations())
    tensors = {"NumPy arrays": np.zeros((4, 3), "float32")} | tensors_of_torch()
    scalars = {"no arguments": ("none", "f()"), "two integers and a float": ("numbers", "f(1, 2, 0.5)")}
    found = []
    for row, (name, source) in scalars.items():
        native, locked = getattr(module, name), getattr(kept, name)
        locked.__self__.release_gil = function_of(locked).release_gil = False
        found += [(row, "native", native, source, None), (row, "tvm_ffi", function_of(native), source, None)]
        found += [(f"{row}, the lock kept", "native", locked, source, None)]
        found += [(f"{row}, the lock kept", "tvm_ffi", function_of(locked), source, None)]
        found += [(row, "ctypes", getattr(c, name), source, None)]
        found += [(f"{row}, the lock kept", "nanobind", getattr(bound, name), source, None)] if bound else []
    for kind, tensor in tensors.items():
        for count, word in TENSORS.items():
            native, row, source = getattr(module, word), f"{word} {kind}", f"f({', '.join(['x'] * count)})"
            named = f"f({', '.join(f'{name}=x' for name in NAMES[:count])})"
            found += [(row, "native", native, source, tensor), (row, "tvm_ffi", function_of(native), source, tensor)]
            found += [(f"{row}, by keyword", "native", native, named, tensor)]
            address = "x.ctypes.data" if kind == "NumPy arrays" else "x.data_ptr()"
            found += [(row, "ctypes", getattr(c, word), f"f({', '.join([address] * count)})", tensor)]
            found += [(row, "nanobind", getattr(bound, word), source, tensor)] if bound else []
    fixed = np.zeros((4, 3), "float32")
    fixed.setflags(write=False)
    # What is only read, once writable and once not, which `tvm_ffi` does not take.
    for row, array in (("three NumPy arrays that are read", np.zeros((4, 3), "float32")), ("three read-only NumPy arrays", fixed)):
        found.append((row, "native", module.reads, "f(x, x, x)", array))
    caught = "\n   try: f(1)\n   except ValueError: pass"
    fails = module.fails
    found += [("a failing call", "native", fails, caught, None), ("a failing call", "tvm_ffi", function_of(fails), caught, None)]
    return found


def batch(function, source, x):
    """Returns a function that measures a number of calls, in nanoseconds a call."""
    text = f"def batch(count):\n  start = clock()\n  for _ in range(count):\n   {source.strip()}\n  return (clock() - start) / count\n"
    names = {"f": function, "x": x, "clock": time.perf_counter_ns}
    exec(f"def make(f, x, clock):\n {text.replace(chr(10), chr(10) + ' ')}\n return batch", names)
    return names["make"](function, x, time.perf_counter_ns)


def measure(found):
    batches = [(row, caller, batch(function, source, x)) for row, caller, function, source, x in found]
    # The first call with an argument of a type looks at the type.
    for _, _, run in batches:
        run(10)
    counts = [max(1, int(SECONDS * 1e9 / run(100))) for _, _, run in batches]
    # A collection belongs to no call; errors leave cycles, which later rows are not to find.
    gc.disable()
    times = {}
    # What comes later finds other caches and other memory, so that every second round goes backwards.
    turns = list(zip(batches, counts))
    for _ in range(ROUNDS):
        gc.collect()
        turns.reverse()
        for (row, caller, run), count in turns:
            times.setdefault(caller, {}).setdefault(row, []).append(run(count))
    return times


def main():
    with tempfile.TemporaryDirectory() as folder:
        print(json.dumps(measure(calls(Path(folder)))), flush=True)
    # Exits without unloading the libraries of the folder.
    os._exit(0)


if __name__ == "__main__":
    main()
