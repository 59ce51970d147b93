"""Shared steps of the peers' scripts: build the kernels, measure, test the libraries, write files.

A script is called as `NAME.py OUT [ROUNDS]`; `NAME.py --first CASE KERNELS` compiles and calls one function and
says so, by which others measure how long a process takes until then.
"""

import ctypes
import json
import os
import subprocess
import sys
import time
from pathlib import Path

from cases import CASES, arguments, wrong_arguments

HERE = Path(__file__).resolve().parent
ROUNDS = 15
COLD_ROUNDS = 5
WHOLE, FILE = "source to callable", "source to file"
FIRST = "process start to first call"


def absent(reason):
    """Ends the script: the peer cannot be installed or run."""
    print(str(reason).splitlines()[0], file=sys.stderr)
    sys.exit(3)


def run(*command):
    subprocess.run([str(word) for word in command], check=True)


def build_kernels(folder):
    """Compiles the kernels: an object to link, and a library to open where code is made in process."""
    source, linked, opened = HERE / "kernels.c", folder / "kernels.o", folder / "kernels.so"
    run("gcc", "-O2", "-fPIC", "-c", source, "-o", linked)
    run("gcc", "-O2", "-fPIC", "-shared", "-DVISIBLE", source, "-o", opened)
    return linked, opened


def open_global(path):
    return ctypes.CDLL(str(path), ctypes.RTLD_GLOBAL)


class Stages:
    """Milliseconds of consecutive stages."""

    def __init__(self):
        self.times = {}

    def take(self, name, function):
        start = time.perf_counter()
        value = function()
        self.times[name] = (time.perf_counter() - start) * 1e3
        return value

    def sum(self, name, *parts):
        self.times[name] = sum(self.times[part] for part in parts)


def rounds():
    return int(sys.argv[2]) if sys.argv[2:] else ROUNDS


def repeat(function):
    """Measures a function that returns `Stages`, after two calls that warm up."""
    taken = [function().times for _ in range(rounds() + 2)][2:]
    return {stage: [times[stage] for times in taken] for stage in taken[0]}


def cold(script, case, kernels):
    """Measures milliseconds from the start of a process to its first call."""
    command = [sys.executable, str(script), "--first", case, str(kernels)]
    return [until_called(command) for _ in range(min(rounds(), COLD_ROUNDS))]


def until_called(command):
    start = time.perf_counter()
    with subprocess.Popen(command, stdout=subprocess.PIPE, text=True) as process:
        line = process.stdout.readline()
        elapsed = (time.perf_counter() - start) * 1e3
        process.stdout.read()
    if line != "called\n" or process.returncode != 0:
        raise RuntimeError(f"{command} ended with {process.returncode}")
    return elapsed


def check(function, case):
    """Checks that a function accepts valid arguments and refuses invalid ones."""
    function(*arguments(case))
    try:
        function(*wrong_arguments(case))
    except (TypeError, ValueError):
        return
    raise RuntimeError(f"{case} takes what it should refuse")


def check_library(path, case):
    import tvm_ffi

    check(getattr(tvm_ffi.load_module(str(path)), case), case)


def write(folder, times, unchecked, needs=()):
    (folder / "times.json").write_text(json.dumps(times, indent=1))
    (folder / "unchecked.json").write_text(json.dumps(unchecked, indent=1))
    (folder / "needs").write_text("".join(f"{path}\n" for path in needs))


def main(build, first):
    """Runs a script: `build(folder)` makes its files; `first(case, kernels)` makes one call as soon as it can."""
    match sys.argv[1:]:
        case ["--first", name, kernels] if name in CASES:
            first(name, kernels)
            print("called", flush=True)
            # Exits without the clean-up of libraries, which is not measured.
            os._exit(0)
        case [out] | [out, _] if not out.startswith("-"):
            folder = Path(out).resolve()
            folder.mkdir(parents=True, exist_ok=True)
            build(folder)
        case _:
            sys.exit(f"usage: {sys.argv[0]} OUT [ROUNDS] | --first CASE KERNELS")
