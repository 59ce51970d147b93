"""Ours: declarations emitted as shared libraries, all of them by one process.

As a program it reads a list of `Job` from a file in JSON and emits each with one backend, by a number of threads; it prints
the seconds that compiling took, without those of the start, of finding the names of images and of writing files, and the
reasons of what failed, as JSON.
"""

from __future__ import annotations

import ctypes
import json
import os
import subprocess
import sys
import time
from collections.abc import Sequence
from concurrent.futures import ThreadPoolExecutor
from dataclasses import asdict, dataclass
from pathlib import Path


@dataclass(frozen=True)
class Job:
    """A host to emit: its declarations, the code of its kernels, which all its images hold, and the library to make."""

    text: str
    code: str
    library: str


@dataclass(frozen=True)
class Emitted:
    """The seconds that compiling took, and why libraries are missing."""

    seconds: float
    failed: dict[str, str]


def emit_here(jobs: Sequence[Job], backend: str, threads: int) -> Emitted:
    import tvm_ffi_codegen

    def images(job: Job) -> dict[str, bytes] | str:
        try:
            return {name: job.code.encode() for name in tvm_ffi_codegen.describe(job.text)["images"]}
        except (ValueError, TypeError) as why:
            return str(why)

    def made(job: Job, images: dict[str, bytes] | str) -> bytes | str:
        if isinstance(images, str):
            return images
        try:
            return tvm_ffi_codegen.emit(job.text, "shared", backend=backend, images=images, routines="linked")
        except (ValueError, TypeError, RuntimeError) as why:
            return str(why)

    # What is done once for all, such as loading the library, belongs to the start, and a compiler knows its images.
    tvm_ffi_codegen.emit("start() -> None = start();", backend=backend)
    known = [images(job) for job in jobs]
    with ThreadPoolExecutor(threads) as pool:
        start = time.perf_counter()
        libraries = list(pool.map(made, jobs, known))
        seconds = time.perf_counter() - start
    failed = {}
    for job, library in zip(jobs, libraries, strict=True):
        if isinstance(library, str):
            failed[job.library] = library
        else:
            Path(job.library).write_bytes(library)
    return Emitted(seconds, failed)


def library(target: Path) -> dict[str, str]:
    """Returns the variable that names the package's shared object, which cargo has built, unless it is set."""
    variable, name = "TVM_FFI_CODEGEN_LIBRARY", "libtvm_ffi_codegen_python.so"
    built = [target / "debug" / name, target / "debug" / "deps" / name]
    return {variable: os.environ.get(variable) or str(next(filter(Path.exists, built), built[0]))}


def emit(jobs: Sequence[Job], backend: str, folder: Path, threads: int) -> Emitted:
    """Emits in a process of its own."""
    environment = os.environ | library(Path(os.environ["SYSTEMS_TARGET"]))
    given = folder / f"{backend}.json"
    given.write_text(json.dumps([asdict(job) for job in jobs]))
    command = [sys.executable, __file__, str(given), backend, str(threads)]
    done = subprocess.run(command, env=environment, capture_output=True, text=True)
    if done.returncode != 0:
        raise RuntimeError(f"{backend}: {done.stderr.strip()}")
    return Emitted(**json.loads(done.stdout))


class Ours:
    """A loaded library of ours."""

    def __init__(self, library: Path) -> None:
        self.library = ctypes.CDLL(str(library))

    def function(self, name: str) -> ctypes._NamedFuncPointer:
        return self.library[f"__tvm_ffi_{name}"]


def main() -> None:
    given, backend, threads = sys.argv[1:]
    jobs = [Job(**job) for job in json.loads(Path(given).read_text())]
    print(json.dumps(asdict(emit_here(jobs, backend, int(threads)))))


if __name__ == "__main__":
    main()
