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
from collections.abc import Callable, Iterable, Iterator, Mapping
from concurrent.futures import ThreadPoolExecutor
from dataclasses import dataclass
from pathlib import Path
from types import MappingProxyType

import facts
from calls import Machine

HERE = Path(__file__).resolve().parent
# Not optimised, which takes a quarter of the time of -O2, with lines for the traces of errors.
OPTIONS = ("-std=c++17", "-O0", "-fPIC", "-w", "-g1")
# What stands for the folder of the wheel in traces, wherever it lies.
WHEEL = "/wheel"
# A name that the includer of a file defines, if it is one of these; here it stands for itself.
GIVEN_NAME = "CAKE_KERNEL_SYMBOL"
COMMENT = re.compile(r"/\*.*?\*/|//[^\n]*", re.DOTALL)
# A kernel: the parameters of its template, its name, its own parameters, and whether it has a body.
KERNEL = re.compile(
    r"(?:template\s*<([^>]*)>\s*)?(?:extern\s+\"C\"\s+)?__global__\s+void\s+(\w+)\s*\(([^;{]*)\)\s*([;{])"
)
INCLUDED = re.compile(r'#include\s+"([^"]+)"')
NAMESPACE = re.compile(r"^namespace (\w+) \{", re.MULTILINE)
INSTANCE = re.compile(r"\w+<(\d+)>")
# Bytes of arguments by their types.
SIZES = {"ptr": 8, "f32": 4, "f64": 8, **{name: bits // 8 for name, (bits, _) in facts.INTEGERS.items()}}
# Instances of templates whose argument is deduced: the number of elements of an array.
DEDUCED = range(1, 17)


class Failed(Exception):
    """The reason why a file does not compile."""


@dataclass(frozen=True)
class Headers:
    """The folder of the wheel, folders of headers, and what all contents are called, which decides whether a library is
    made anew."""

    wheel: Path
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


@dataclass(frozen=True)
class Declared:
    """A kernel in a file: its name in C++, that of the kernel, and what declares a template that has no body."""

    expression: str
    name: str
    template: str | None = None

    @property
    def is_instance(self) -> bool:
        return "<" in self.name


def declared(text: str) -> Iterator[Declared]:
    """Yields the kernels of a file, of templates the instances."""
    text = COMMENT.sub("", text)
    instances = sorted({int(number) for number in INSTANCE.findall(text)})
    for match in KERNEL.finditer(text):
        template, name, parameters, end = match.groups()
        spaces = NAMESPACE.findall(text[: match.start()]) if end == "{" else []
        qualified = "::".join([*spaces[-1:], name])
        if template is None:
            yield Declared(qualified, name)
            continue
        whole = f"template <{template}>\n__global__ void {name}({parameters}) {{}}" if end == ";" else None
        for number in instances if end == ";" else DEDUCED:
            yield Declared(f"{qualified}<{number}>", f"{name}<{number}>", whole)


def kernels_of(source: Path, headers: Headers) -> list[Declared]:
    """Returns the kernels of a file and of the headers of the wheel that it includes, each once."""
    text = source.read_text()
    texts = [text]
    for name in INCLUDED.findall(text):
        found = next((path for folder in (source.parent, *headers.folders) if (path := folder / name).is_file()), None)
        if found is not None and found.suffix == ".cuh":
            texts.append(found.read_text())
    return list({kernel.name: kernel for each in texts for kernel in declared(each)}.values())


def wrapped(source: Path, headers: Headers) -> str:
    """Returns the file that is compiled: the original, the table of its kernels, and something at their addresses."""
    kernels = kernels_of(source, headers)
    rows = "".join(f'    cake::describe("{kernel.name}", &{kernel.expression}),\n' for kernel in kernels)
    bodies = "\n".join(dict.fromkeys(kernel.template for kernel in kernels if kernel.template))
    places = "".join(f"CAKE_PLACE({kernel.name})\n" for kernel in kernels if not kernel.is_instance)
    return f"""#define {GIVEN_NAME} {GIVEN_NAME}
#include "before.h"
#include "{source.relative_to(headers.wheel)}"
#include "kernels.h"
{bodies}
{places}extern "C" const cake::Kernel cake_kernels[] = {{
{rows}    {{}},
}};
"""


def run(*command: str | Path) -> None:
    done = subprocess.run(list(map(str, command)), capture_output=True, text=True)
    if done.returncode != 0:
        errors = [line for line in done.stderr.splitlines() if "error" in line or "undefined" in line]
        raise Failed((errors or done.stderr.splitlines() or ["g++ has failed"])[0])


def compile_one(source: Path, headers: Headers, cache: Path) -> Built:
    """Compiles the file of an original, unless the cache has it."""
    text = wrapped(source, headers)
    key = hashlib.sha256(repr((source.read_bytes(), text, OPTIONS, headers.versions)).encode())
    for own in ("before.h", "kernels.h"):
        key.update((HERE / own).read_bytes())
    made = cache / key.hexdigest()[:24]
    library, took = made.with_suffix(".so"), made.with_suffix(".seconds")
    if not took.exists():
        includes = [word for folder in (HERE, headers.wheel, *headers.folders) for word in ("-I", folder)]
        names = f"-ffile-prefix-map={headers.wheel}={WHEEL}"
        with tempfile.TemporaryDirectory(dir=cache) as folder:
            written, linked = Path(folder, "host.cc"), Path(folder, "host.so")
            written.write_text(text)
            start = time.perf_counter()
            run("g++", *OPTIONS, names, "-shared", "-I", source.parent, *includes, written, "-o", linked)
            seconds = time.perf_counter() - start
            linked.replace(library)
            took.write_text(str(seconds))
    return Built(library, float(took.read_text()))


def compile_all(
    sources: Iterable[Path], headers: Headers, cache: Path, say: Callable[[str], None]
) -> dict[Path, Built | Failed]:
    """Compiles files, as many at a time as there are cores."""
    cache.mkdir(parents=True, exist_ok=True)

    def one(source: Path) -> tuple[Path, Built | Failed]:
        try:
            return source, compile_one(source, headers, cache)
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


def image(kernels: Iterable[Kernel]) -> str:
    """Returns PTX of kernels that do nothing, with their parameters."""
    entries = [".version 8.8\n.target sm_90\n.address_size 64\n"]
    for kernel in kernels:
        declared_ = [f".param .align {each.align} .b8 p{i}[{each.size}]" for i, each in enumerate(kernel.parameters)]
        entries.append(f".visible .entry {kernel.name}({', '.join(declared_)})\n{{\n    ret;\n}}\n")
    return "".join(entries)


def called(host: facts.Host) -> dict[str, tuple[Parameter, ...]]:
    """Returns parameters of kernels as a host gives them arguments: some hosts declare a kernel without parameters."""
    found = {}
    for function in host.functions:
        for launch in (step for step in function.steps if isinstance(step, facts.Launch)):
            sizes = [SIZES.get(argument.ctype, 0) for argument in launch.arguments]
            if all(sizes):
                found[launch.kernel] = tuple(Parameter(size, size) for size in sizes)
    return found


class Original:
    """A loaded original, whose kernels the stand-in knows, with the parameters that they are called with where they are
    declared with none."""

    def __init__(
        self, library: Path, machine: Machine, given: Mapping[str, tuple[Parameter, ...]] = MappingProxyType({})
    ) -> None:
        self.library = ctypes.CDLL(str(library))
        rows = ctypes.cast(self.library.cake_kernels, ctypes.POINTER(KernelRow))
        self.kernels: list[Kernel] = []
        while rows[len(self.kernels)].name:
            row = rows[len(self.kernels)]
            parameters = tuple(Parameter(row.parameters[i].size, row.parameters[i].align) for i in range(row.count))
            name = row.name.decode()
            self.kernels.append(Kernel(name, row.address, parameters or given.get(name, ())))
        self.code = image(self.kernels)
        for kernel in self.kernels:
            code = image([kernel]).encode()
            status = machine.cudart.cake_register(ctypes.c_void_p(kernel.address), code, kernel.name.encode())
            assert status == 0, f"the stand-in refuses {kernel.name}: {status}"

    def function(self, name: str) -> ctypes._NamedFuncPointer:
        return self.library[f"__tvm_ffi_{name}"]
