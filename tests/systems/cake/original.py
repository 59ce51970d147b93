"""Originals: hosts of the wheel, compiled with g++ against NVIDIA's headers, whose CUDA is a stand-in that records.

A library of an original has beside its functions a table of the kernels that it launches, of which there is no code:
their names, the addresses that stand for them, and the sizes of their parameters, as the compiler sees them.
"""

from __future__ import annotations

import ctypes
import hashlib
import os
import re
import subprocess
import tempfile
import time
from collections.abc import Callable, Iterable
from concurrent.futures import ThreadPoolExecutor
from dataclasses import dataclass
from pathlib import Path

from calls import Machine

HERE = Path(__file__).resolve().parent
# Lines of the traces of errors, inlined functions included, and no code that two lines share.
TRACES = ("-g1", "-fno-crossjumping", "-fno-ipa-icf", "-fno-optimize-sibling-calls")
OPTIONS = ("-std=c++17", "-O2", "-fPIC", "-w", *TRACES)
# The file whose name a launch is given by its includer, as in the wheel, and what stands for that name here.
NAME_GIVEN_OUTSIDE = "CAKE_KERNEL_SYMBOL"
GIVEN_NAME = "cake_kernel"
COMMENT = re.compile(r"/\*.*?\*/|//[^\n]*", re.DOTALL)
# A kernel that is no template: the name before its parameters.
KERNEL = re.compile(r"(template\s*<[^>]*>\s*)?(?:extern\s+\"C\"\s+)?__global__\s+void\s+(\w+)\s*\(")


class Failed(Exception):
    """The reason why a file does not compile."""


@dataclass(frozen=True)
class Headers:
    """Folders of headers, and what their contents are called, which decides whether a library is made anew."""

    folders: tuple[Path, ...]
    versions: str


@dataclass(frozen=True)
class Built:
    """The library of an original and the seconds that compiling it took, whenever that was."""

    library: Path
    seconds: float


@dataclass(frozen=True)
class Parameter:
    size: int
    align: int


@dataclass(frozen=True)
class Kernel:
    name: str
    address: int
    parameters: tuple[Parameter, ...]


def kernels_of(text: str) -> list[str]:
    """Returns the kernels that a file declares: the functions themselves, no templates of them."""
    found = [match[2] for match in KERNEL.finditer(COMMENT.sub("", text)) if not match[1]]
    return list(dict.fromkeys(found))


def wrapped(source: Path) -> str:
    """Returns the file that is compiled: the original, the table of its kernels, and something at their addresses."""
    kernels = kernels_of(source.read_text())
    rows = "".join(f"    cake::describe(CAKE_WORDS({name}), &{name}),\n" for name in kernels)
    places = "".join(f"CAKE_PLACE({name})\n" for name in kernels)
    return f"""#define {NAME_GIVEN_OUTSIDE} {GIVEN_NAME}
#include "{HERE / "before.h"}"
#include "{source}"
#include "{HERE / "kernels.h"}"
{places}extern "C" const cake::Kernel cake_kernels[] = {{
{rows}    {{}},
}};
"""


def run(*command: str | Path) -> None:
    done = subprocess.run(list(map(str, command)), capture_output=True, text=True)
    if done.returncode != 0:
        errors = [line for line in done.stderr.splitlines() if "error" in line or "undefined" in line]
        raise Failed((errors or done.stderr.splitlines() or ["g++ has failed"])[0])


def compile_one(source: Path, root: Path, headers: Headers, cache: Path) -> Built:
    """Compiles the file of an original, unless the cache has it."""
    text = wrapped(source)
    key = hashlib.sha256(repr((source.read_bytes(), text, OPTIONS, headers.versions)).encode())
    for own in ("before.h", "kernels.h"):
        key.update((HERE / own).read_bytes())
    made = cache / key.hexdigest()[:24]
    library, took = made.with_suffix(".so"), made.with_suffix(".seconds")
    if not took.exists():
        includes = [word for folder in headers.folders for word in ("-I", folder)]
        with tempfile.TemporaryDirectory(dir=cache) as folder:
            written, linked = Path(folder, "host.cc"), Path(folder, "host.so")
            written.write_text(text)
            start = time.perf_counter()
            run("g++", *OPTIONS, "-shared", "-I", source.parent, *includes, written, "-o", linked)
            seconds = time.perf_counter() - start
            linked.replace(library)
            took.write_text(str(seconds))
    return Built(library, float(took.read_text()))


def compile_all(
    sources: Iterable[Path], root: Path, headers: Headers, cache: Path, say: Callable[[str], None]
) -> dict[Path, Built | Failed]:
    """Compiles files, as many at a time as there are cores."""
    cache.mkdir(parents=True, exist_ok=True)

    def one(source: Path) -> tuple[Path, Built | Failed]:
        try:
            return source, compile_one(source, root, headers, cache)
        except Failed as why:
            return source, why

    made: dict[Path, Built | Failed] = {}
    with ThreadPoolExecutor(len(os.sched_getaffinity(0))) as pool:
        for source, built in pool.map(one, sources):
            made[source] = built
            if len(made) % 50 == 0:
                say(f"g++: {len(made)} files")
    return made


class ParameterRow(ctypes.Structure):
    _fields_ = [("size", ctypes.c_uint), ("align", ctypes.c_uint)]


class KernelRow(ctypes.Structure):
    _fields_ = [
        ("name", ctypes.c_char_p),
        ("address", ctypes.c_void_p),
        ("parameters", ctypes.POINTER(ParameterRow)),
        ("count", ctypes.c_uint),
    ]


def image(name: str, parameters: Iterable[Parameter]) -> str:
    """Returns PTX of a kernel that does nothing, with these parameters."""
    list_ = ", ".join(f".param .align {each.align} .b8 p{i}[{each.size}]" for i, each in enumerate(parameters))
    return f".version 8.8\n.target sm_90\n.address_size 64\n.visible .entry {name}({list_})\n{{\n    ret;\n}}\n"


class Original:
    """A loaded original, whose kernels the stand-in knows."""

    def __init__(self, library: Path, machine: Machine) -> None:
        self.library = ctypes.CDLL(str(library))
        rows = ctypes.cast(self.library.cake_kernels, ctypes.POINTER(KernelRow))
        self.kernels: list[Kernel] = []
        while rows[len(self.kernels)].name:
            row = rows[len(self.kernels)]
            parameters = tuple(Parameter(row.parameters[i].size, row.parameters[i].align) for i in range(row.count))
            self.kernels.append(Kernel(row.name.decode(), row.address, parameters))
        for kernel in self.kernels:
            code = image(kernel.name, kernel.parameters).encode()
            status = machine.cudart.cake_register(ctypes.c_void_p(kernel.address), code, kernel.name.encode())
            assert status == 0, f"the stand-in refuses {kernel.name}: {status}"

    def function(self, name: str) -> ctypes._NamedFuncPointer:
        return self.library[f"__tvm_ffi_{name}"]
