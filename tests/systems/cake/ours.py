"""Ours: declarations emitted as shared libraries, all of them by one process.

As a program it reads a list of `Job` from a file in JSON and emits each with one backend; it prints the seconds that
compiling took, without those of the start, of finding the names of images and of writing files, and the reasons of what
failed, as JSON.
"""

from __future__ import annotations

import ctypes
import json
import os
import subprocess
import sys
import time
from collections.abc import Sequence
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


def emit_here(jobs: Sequence[Job], backend: str) -> Emitted:
    import tvm_ffi_codegen

    seconds, failed = 0.0, {}
    # What is done once for all, such as loading the library, belongs to the start.
    tvm_ffi_codegen.emit("start() -> None = start();", backend=backend)
    for job in jobs:
        try:
            # A compiler knows its images.
            images = {name: job.code.encode() for name in tvm_ffi_codegen.describe(job.text)["images"]}
            start = time.perf_counter()
            made = tvm_ffi_codegen.emit(job.text, "shared", backend=backend, images=images, routines="linked")
        except (ValueError, TypeError, RuntimeError) as why:
            failed[job.library] = str(why)
            continue
        seconds += time.perf_counter() - start
        Path(job.library).write_bytes(made)
    return Emitted(seconds, failed)


def library(target: Path) -> dict[str, str]:
    """Returns the variable that names the package's shared object, which cargo has built, unless it is set."""
    variable, name = "TVM_FFI_CODEGEN_LIBRARY", "libtvm_ffi_codegen_python.so"
    built = [target / "debug" / name, target / "debug" / "deps" / name]
    return {variable: os.environ.get(variable) or str(next(filter(Path.exists, built), built[0]))}


def emit(jobs: Sequence[Job], backend: str, folder: Path) -> Emitted:
    """Emits in a process of its own."""
    environment = os.environ | library(Path(os.environ["SYSTEMS_TARGET"]))
    given = folder / f"{backend}.json"
    given.write_text(json.dumps([asdict(job) for job in jobs]))
    command = [sys.executable, __file__, str(given), backend]
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
    given, backend = sys.argv[1:]
    jobs = [Job(**job) for job in json.loads(Path(given).read_text())]
    print(json.dumps(asdict(emit_here(jobs, backend))))


if __name__ == "__main__":
    main()
