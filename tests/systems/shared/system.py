"""Shared parts of the systems' scripts: commands, libraries of each backend, comparisons.

table.py says in the environment which command line and backends there are and where files are made. A script says what
it has compared with `say`, exits with 0 if all was as expected, and through `not_here` if its system cannot run here.
What it prints, and what its system prints, is shown only where it fails.
"""

import ctypes
import os
import subprocess
import sys
from pathlib import Path

# Extensions of files by form.
FORMS = {"shared": "so", "object": "o"}
BACKENDS = os.environ["SYSTEMS_BACKENDS"].split()
MADE = Path(os.environ["SYSTEMS_MADE"])
# Folder of the script, with its sources and declarations.
HERE = Path(sys.argv[0]).resolve().parent
ROOT = HERE.parents[2]
DRIVER = ROOT / "tests" / "driver"
# Part of the error of `add_one` for five elements and room for four.
WRONG_SHAPE = "expected 5 (= x.shape[0]) but got 4"


def say(text):
    """Adds text to the system's row of the table."""
    with open(os.environ["SYSTEMS_SAID"], "a") as said:
        print(text, file=said)


def not_here(why):
    """Ends the script: the system cannot run here."""
    print(why, file=sys.stderr)
    sys.exit(3)


def run(*command, **environment):
    """Runs a command and returns its output."""
    words = list(map(str, command))
    done = subprocess.run(words, env=os.environ | environment, capture_output=True, text=True)
    if done.returncode != 0:
        sys.exit(f"{words[0]} has failed: {done.returncode}\n{done.stdout}{done.stderr}")
    return done.stdout


def config(option):
    """Returns a folder of the runtime, which its `tvm-ffi-config` prints for an option such as `--libdir`."""
    return run(sys.executable, "-m", "tvm_ffi.config", option).strip()


def includes():
    """Returns the options of a compiler for the headers of the runtime."""
    return [f"-I{config(option)}" for option in ("--includedir", "--dlpack-includedir")]


def compile_c(source, *options, compiler="gcc"):
    """Compiles a file in C or C++ to an object."""
    kernel = MADE / f"{Path(source).stem}.o"
    run(compiler, "-O2", "-fPIC", *options, "-c", HERE / source, "-o", kernel)
    return kernel


def build_stand_in(*sources):
    """Builds a `libcuda.so.1` that records its calls, from tests/driver and further sources; returns its folder."""
    return compile_stand_in("libcuda.so.1", "driver", [*sorted(DRIVER.glob("*.c")), *sources])


def build_hip_stand_in(*sources, headers):
    """Builds a `libamdhip64.so.6` in the same way. gcc compares its functions and numbers with HIP's header, which
    lies in a folder."""
    shared = [DRIVER / f"{name}.c" for name in ("cuda", "entry", "event", "memory", "stream")]
    options = ["-DHIP", "-D__HIP_PLATFORM_AMD__", "-isystem", headers, "-include", "hip/hip_runtime_api.h"]
    sources = [*sorted((DRIVER / "hip").glob("*.c")), *shared, *sources]
    return compile_stand_in("libamdhip64.so.6", "hip", sources, *options)


def compile_stand_in(name, folder, sources, *options):
    # Some libraries search the folder of the script for other libraries, so the stand-in lies elsewhere.
    made = MADE / folder
    made.mkdir()
    options = ["-std=gnu11", "-O2", "-fPIC", "-fvisibility=hidden", "-shared", f"-Wl,-soname,{name}", *options]
    run("gcc", *options, *sources, "-lpthread", "-o", made / name)
    return made


def emit(backend, declarations, *kernels, form="shared", options=()):
    """Compiles declarations, which stand beside the script, with the command line and links kernels."""
    made = MADE / f"{Path(declarations).stem}_{backend}.{FORMS[form]}"
    links = [word for kernel in kernels for word in ("--link", kernel)]
    command = [os.environ["SYSTEMS_COMMAND_LINE"], "emit", HERE / declarations, "--backend", backend]
    run(*command, "--emit", form, *links, *options, "-o", made)
    return made


def on_each(check, declarations, *kernels, form="shared", options=(), backends=BACKENDS, note=""):
    """Calls `check` with the library of each backend and adds the backends, with a note, to the row."""
    for backend in backends:
        check(emit(backend, declarations, *kernels, form=form, options=options))
    say(f"{note}: {', '.join(backends)}" if note else ", ".join(backends))


def load(library):
    import tvm_ffi

    return tvm_ffi.load_module(str(library))


def in_process(name, text, kernels, register):
    """Compiles declarations into this process, for the hosts that `register` names. The kernels, in C, are in a shared
    library and given by their addresses, so that nothing is linked."""
    import tvm_ffi_codegen as codegen

    source, library = MADE / f"{name}.c", MADE / f"{name}_kernels.so"
    source.write_text(kernels)
    run("gcc", "-shared", "-fPIC", "-O2", source, "-o", library)
    loaded = ctypes.CDLL(str(library))
    called = [one["name"] for one in codegen.describe(text)["kernels"]]
    addresses = {kernel: ctypes.cast(loaded[kernel], ctypes.c_void_p).value for kernel in called}
    return codegen.jit(text, addresses, register=register)


def refused(kind, said, function, *arguments):
    """Checks that a call fails with an error of this class and with this text in its message."""
    try:
        function(*arguments)
    except kind as error:
        assert said in str(error), f"{said!r} is not in {error}"
    else:
        raise AssertionError(f"accepted what is to be refused: {said}")


def check_guide_and_example(host):
    """Runs the examples of the guide's chapter on frameworks that import a host, and the one of all hosts."""
    chapter = ROOT / "codegen" / "src" / "guide" / "frameworks.md"
    blocks = [part.split("```")[0] for part in chapter.read_text().split("```python\n")[1:]]
    blocks = [block for block in blocks if f"import {host}\n" in block]
    assert blocks, host
    for block in blocks:
        exec(compile(block, str(chapter), "exec"), {})
    said = run(sys.executable, ROOT / "python" / "examples" / "doors.py")
    assert f"{host}: [1.0, 3.0, 5.0, 7.0]" in said, said


def check_add_one(function, array, numbers=list):
    """Checks `add_one` on arrays of a host; `array` makes them of lists and `numbers` makes them iterable."""
    x, y = array([0.0, 1.0, 2.0, 3.0, 4.0]), array([0.0] * 5)
    function(x, y)
    assert [float(value) for value in numbers(y)] == [1.0, 2.0, 3.0, 4.0, 5.0], y
    refused(ValueError, WRONG_SHAPE, function, x, array([0.0] * 4))
