"""Options of compilers for programs in C and C++: the headers and the shared object of this package.

    g++ compiler.cc -o compiler $(tvm-ffi-config --cxxflags --ldflags --libs) \\
        $(python3 -m tvm_ffi_codegen.config --cxxflags --ldflags --libs)

`tvm_ffi_codegen.h` declares the functions for C, `tvm_ffi_codegen.hpp` typed ones on the C++ API of TVM FFI, and
`tvm_ffi_codegen/build.hpp` has declarations as values. A program that is linked like this finds both libraries where they
are now. Options with spaces in their paths are quoted for a shell, which needs `eval` in place of the plain substitution.

    cmake -Dtvm_ffi_ROOT="$(tvm-ffi-config --cmakedir)" \\
        -Dtvm_ffi_codegen_ROOT="$(python3 -m tvm_ffi_codegen.config --cmakedir)" …

has `find_package(tvm_ffi_codegen 0.1 CONFIG)` find the target `tvm_ffi_codegen::tvm_ffi_codegen` of an installed package.
"""

from __future__ import annotations

import argparse
import shlex
from collections.abc import Callable
from pathlib import Path

from tvm_ffi import libinfo

from ._library import include_dir, library_path, version


def _linking() -> str:
    """Returns the options of the linker: the folder of the library, and for the loader those of the library and the runtime."""
    here, runtime = library_path().absolute().parent, Path(libinfo.find_libtvm_ffi()).parent
    options = [f"-L{here}", f"-Wl,-rpath,{here}", f"-Wl,-rpath,{runtime}"]
    return shlex.join(options)


def _cmake() -> Path:
    """Returns the folder of the files for CMake, which an installed package has."""
    folder = Path(__file__).parent / "lib/cmake/tvm_ffi_codegen"
    if not folder.is_dir():
        raise SystemExit("only an installed package has files for CMake")
    return folder


# The answers, in the order in which they are printed.
_OPTIONS: dict[str, tuple[str, Callable[[], object]]] = {
    "includedir": ("the folder of the headers", include_dir),
    "libdir": ("the folder of the shared object", lambda: library_path().parent),
    "cxxflags": ("options of a compiler", lambda: shlex.quote(f"-I{include_dir()}")),
    "ldflags": ("options of a linker, among them the rpath of both libraries", _linking),
    "libs": ("libraries to link", lambda: shlex.quote(f"-l{library_path().stem.removeprefix('lib')}")),
    "cmakedir": ("the folder of the files for CMake", _cmake),
    "version": ("the version", version),
}


def main() -> None:
    """Prints the answers that are asked for, one a line."""
    # Python tells a program that it runs as a module the path of its file.
    program = f"python3 -m {__package__}.config"
    parser = argparse.ArgumentParser(program, description="What programs in C and C++ need to use tvm_ffi_codegen")
    for name, (about, _) in _OPTIONS.items():
        parser.add_argument(f"--{name}", action="store_true", help=about)
    asked = vars(parser.parse_args())
    if not any(asked.values()):
        parser.error("nothing is asked for")
    for name, (_, answer) in _OPTIONS.items():
        if asked[name]:
            print(answer())


if __name__ == "__main__":
    main()
