"""tvm-ffi-orcjit: loads objects into a process, here those that gcc makes of the functions in C.

There are no libraries: what it loads is the code of the C peers.
"""

from pathlib import Path

import peer
from cases import CASES, arguments

try:
    from tvm_ffi import libinfo
    from tvm_ffi_orcjit import ExecutionSession
except (ImportError, OSError, RuntimeError) as error:
    peer.absent(f"no orcjit: {error}")

# The code object of the functions that launch through HIP.
HSACO = peer.HERE.parents[1] / "driver" / "hip" / "kernels.hsaco"
GCC, LOAD = "gcc -O2, to object", "object to callable"


def compile_object(name, output):
    includes = [libinfo.find_include_path(), libinfo.find_dlpack_include_path()]
    source = peer.HERE / "c" / f"{name}.c"
    options = [f"-DHSACO=\"{HSACO}\"", *(f"-I{path}" for path in includes)]
    peer.run("gcc", "-O2", "-fPIC", "-c", source, *options, "-o", output)


def load(session, name, objects):
    return getattr(session.load_module([str(path) for path in objects]), name)


def to_callable(session, name, code, kernels):
    stages = peer.Stages()
    stages.take(GCC, lambda: compile_object(name, code))
    stages.take(LOAD, lambda: load(session, name, [code, kernels]))
    stages.sum(peer.WHOLE, GCC, LOAD)
    return stages


def build(folder):
    linked, opened = peer.build_kernels(folder)
    session, times, unchecked = ExecutionSession(), {}, {}
    for source in sorted((peer.HERE / "c").glob("*.c")):
        name, code = source.stem, folder / f"{source.stem}.o"
        times[name] = peer.repeat(lambda: to_callable(session, name, code, linked))
        if name in CASES:
            peer.check(load(session, name, [code, linked]), name)
        unchecked[name] = "compiles nothing itself: it loads what gcc makes of the functions in C"
    times["add_one"][peer.FIRST] = peer.cold(__file__, "add_one", opened)
    peer.write(folder, times, unchecked)


def first(name, kernels):
    """Loads objects that exist already."""
    folder = Path(kernels).parent
    load(ExecutionSession(), name, [folder / f"{name}.o", folder / "kernels.o"])(*arguments(name))


if __name__ == "__main__":
    peer.main(build, first)
