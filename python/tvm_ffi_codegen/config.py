"""What a program in C or C++ needs to use the library: the headers and the shared object of this package.

    g++ compiler.cc -o compiler $(tvm-ffi-config --cxxflags --ldflags --libs) \\
        $(python3 -m tvm_ffi_codegen.config --cxxflags --ldflags --libs)

`tvm_ffi_codegen.h` declares the functions for C, `tvm_ffi_codegen.hpp` typed ones on the C++ API of TVM FFI.
"""

from __future__ import annotations

import argparse
from collections.abc import Callable

from ._library import include_dir, library_path

# In the order in which they are printed.
_OPTIONS: dict[str, tuple[str, Callable[[], object]]] = {
    "includedir": ("the folder of the headers", include_dir),
    "libdir": ("the folder of the shared object", lambda: library_path().parent),
    "cxxflags": ("options of a compiler", lambda: f"-I{include_dir()}"),
    "ldflags": ("options of a linker", lambda: f"-L{library_path().parent}"),
    "libs": ("libraries to link", lambda: f"-l{library_path().stem.removeprefix('lib')}"),
}


def main() -> None:
    """Prints what is asked for, a line each."""
    parser = argparse.ArgumentParser(description="What programs in C and C++ need to use tvm_ffi_codegen")
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
