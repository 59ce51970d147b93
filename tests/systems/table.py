"""Runs systems and prints a table: what works, what fails and why, what is not here.

Usage: table.py [NAME ...] [--OPTION ...], where NAME is that of a system, `light` (the default) or `all`; tests/systems/run
calls it. Options, which begin with the first word in `--`, are handed to the scripts, whose output is then shown.
A system is a folder with a `check.py` and, if it needs more than the tests' own environment, a `requirements.txt`;
those on PyTorch have one environment together, of `shared/torch.txt`.
"""

import os
import shutil
import signal
import subprocess
import sys
from collections import Counter
from dataclasses import dataclass
from pathlib import Path

HERE = Path(__file__).resolve().parent
TARGET = Path(os.environ["SYSTEMS_TARGET"])
MADE = TARGET / "systems"
NOT_HERE = 3


# Environments that are removed because of their size: PyTorch comes with all of CUDA.
LARGE = {"torch"}


@dataclass(frozen=True)
class System:
    """A system: its kernels and their form, the host that calls them, the environment that it shares with others,
    whether tests/run includes it, the time limits in seconds of installing and of running, its folder if that has
    another name, the words that its script is given, and whether what it prints is shown."""

    kernel: str
    host: str
    environment: str = ""
    light: bool = False
    seconds: int = 600
    folder: str = ""
    words: tuple[str, ...] = ()
    shown: bool = False


# Names the shared object of the Python package.
VARIABLE = "TVM_FFI_CODEGEN_LIBRARY"

RECORD = "a CUDA driver, or its stand-in"
RECORDS = "stand-ins for the CUDA driver and for HIP"

SYSTEMS = {
    "numpy": System("gcc, object", "Python, NumPy", light=True),
    "c": System("gcc, object", "C", light=True),
    "cxx": System("g++, object", "C++, `tvm::ffi`", light=True),
    "rust": System("rustc, object", "Rust, `tvm-ffi`", light=True),
    "numba": System("Numba, object and LLVM IR", "Python, NumPy", light=True),
    "jax": System("gcc, object", "JAX, `jax-tvm-ffi`; handlers of XLA", light=True),
    "cake_few": System("names only", f"FlashInfer's hosts, C++; {RECORD}", light=True, folder="cake", words=("--few",)),
    "custom_module": System("gcc, in a module that Python loads", "Python, NumPy"),
    "runtime_state": System("gcc, object", "a language's own runtime"),
    "orcjit": System("gcc, object", "`apache-tvm-ffi-orcjit`"),
    "runtimes": System("the suite's", "releases of the runtime", seconds=3600, shown=True),
    "cake": System("names only", f"FlashInfer's 808 hosts, C++; {RECORD}", seconds=4 * 3600, shown=True),
    "relax": System("Apache TVM, object", "Relax's virtual machine", "tvm"),
    "tvm": System("Apache TVM, LLVM and C", "its modules, with our hosts", "tvm", seconds=3 * 3600),
    "mojo": System("Mojo, object", "Python, NumPy"),
    "triton": System("Triton, cubin and hsaco", RECORDS, seconds=3600, shown=True),
    "triton_older": System("Triton 3.6, cubin", RECORD, "triton-3.6", seconds=3600, folder="triton", words=("--older",), shown=True),
    "triton_times": System("Triton, cubin", "PyTorch on the CPU", "torch", folder="triton", words=("--times",), shown=True),
    "cutedsl": System("CuTe DSL, object and cubin", f"Python, NumPy; {RECORD}"),
    "cutile": System("cuTile, cubin", RECORD),
    "cupy": System("CuPy's NVRTC, cubin", RECORD),
    "pytorch": System("gcc, object", "PyTorch on the CPU, eager and compiled; its operators, also without Python", "torch", seconds=1200),
    "tilelang": System("TileLang, C++", "PyTorch", "torch"),
    "helion": System("Helion by Triton, cubin", RECORD, "torch"),
    "hidet": System("Hidet, C++", "PyTorch", "torch"),
    "flashinfer": System("gcc, object", "FlashInfer's cache, PyTorch", "torch"),
}


class NotHere(Exception):
    """The reason why a system cannot run here."""


def last_line(text):
    return (text.strip().splitlines() or ["it says nothing"])[-1].strip()


def run(command, seconds, **options):
    """Runs a command, whose processes all end at the time limit; returns its status and output."""
    piped = {"stdout": subprocess.PIPE, "stderr": subprocess.PIPE, "text": True, "start_new_session": True}
    with subprocess.Popen(list(map(str, command)), **piped, **options) as process:
        try:
            out, err = process.communicate(timeout=seconds)
        except subprocess.TimeoutExpired:
            os.killpg(process.pid, signal.SIGKILL)
            process.communicate()
            return None, "", f"not done within {seconds} s"
    return process.returncode, out, err


def python(name, system):
    """Returns the interpreter of a system: that of its environment, made from its requirements, or ours."""
    wanted = HERE / "shared" / f"{system.environment}.txt" if system.environment else HERE / name / "requirements.txt"
    if not wanted.exists():
        return sys.executable
    folder = MADE / (system.environment or name) / "environment"
    mark, interpreter = folder / "made-with", folder / "bin" / "python"
    if mark.exists() and mark.read_text() == wanted.read_text():
        return interpreter
    print(f"making {folder}", file=sys.stderr)
    shutil.rmtree(folder, ignore_errors=True)
    subprocess.run([sys.executable, "-m", "venv", folder], check=True)
    install = ["-m", "pip", "install", "--quiet", "--disable-pip-version-check", "--requirement", wanted]
    cached = ["--no-cache-dir"] if system.environment in LARGE else []
    status, _, err = run([interpreter, *install, *cached], system.seconds)
    if status != 0:
        shutil.rmtree(folder, ignore_errors=True)
        raise NotHere(f"could not be installed: {last_line(err)}")
    mark.write_text(wanted.read_text())
    return interpreter


def check(name, system, options):
    """Runs the script of a system with options; returns what it reports, and raises if it fails."""
    home = system.folder or name
    made = MADE / name / "made"
    shutil.rmtree(made, ignore_errors=True)
    made.mkdir(parents=True)
    said = MADE / name / "said"
    said.write_text("")
    environment = os.environ | {
        "SYSTEMS_COMMAND_LINE": str(TARGET / "debug" / "tvm-ffi-codegen"),
        VARIABLE: os.environ.get(VARIABLE) or str(TARGET / "debug" / "libtvm_ffi_codegen_python.so"),
        "SYSTEMS_MADE": str(made),
        "SYSTEMS_SAID": str(said),
        "PYTHONPATH": os.pathsep.join([str(HERE / "shared"), str(HERE.parents[1] / "python")]),
        "PYTHONDONTWRITEBYTECODE": "1",
    }
    command = [python(home, system), HERE / home / "check.py", *system.words, *options]
    status, out, err = run(command, system.seconds, cwd=made, env=environment)
    if status == NOT_HERE:
        raise NotHere(last_line(err))
    if status != 0:
        print(out, err, sep="\n", file=sys.stderr)
        raise RuntimeError(f"{status}: {last_line(err)}")
    if system.shown or options:
        print(out, file=sys.stderr)
    return "; ".join(line.strip() for line in said.read_text().splitlines())


def outcome(name, system, options):
    """Returns `works`, `not here` or `fails`, and the reason or what the system said."""
    try:
        return "works", check(name, system, options)
    except NotHere as why:
        return "not here", why
    except RuntimeError as why:
        return "fails", why


def chosen(words):
    groups = {"all": list(SYSTEMS), "light": [name for name, system in SYSTEMS.items() if system.light]}
    names = [name for word in words or ["light"] for name in groups.get(word, [word])]
    unknown = [name for name in names if name not in SYSTEMS]
    if unknown:
        sys.exit(f"no system {', '.join(unknown)}: there are {', '.join(SYSTEMS)}, light and all")
    return names


def table(names, options=()):
    """Prints the table and counts its outcomes; returns whether the run has failed.

    A light system can be had wherever the tests run: in CI it is a failure if it is not here.
    """
    print("| system | kernel | host | result |\n|---|---|---|---|", flush=True)
    outcomes, missing = Counter(), []
    for name in names:
        system = SYSTEMS[name]
        result, said = outcome(name, system, options)
        outcomes[result] += 1
        if result == "not here" and system.light:
            missing.append(name)
        print(f"| {name} | {system.kernel} | {system.host} | {result}: {said} |", flush=True)
    counts = ", ".join(f"{outcomes[result]} {result}" for result in ("works", "fails", "not here"))
    print(f"systems: {counts}", *missing, file=sys.stderr)
    return outcomes["fails"] > 0 or bool(missing) and os.environ.get("CI") == "true"


def main():
    words = sys.argv[1:]
    first = next((index for index, word in enumerate(words) if word.startswith("--")), len(words))
    names = chosen(words[:first])
    try:
        return int(table(names, words[first:]))
    finally:
        for environment in LARGE:
            shutil.rmtree(MADE / environment, ignore_errors=True)


if __name__ == "__main__":
    sys.exit(main())
