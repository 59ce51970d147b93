"""The command line: the program `tvm-ffi-codegen`, and `python -m tvm_ffi_codegen`."""

from __future__ import annotations

import os
import sys

from ._library import library


def main() -> int:
    """Runs the command line with the arguments of this process and returns its exit code."""
    is_module = os.path.basename(sys.argv[0]) == "__main__.py"
    program = [sys.executable, "-m", "tvm_ffi_codegen"] if is_module else [sys.argv[0]]
    words = [[os.fsencode(word) for word in part] for part in (program, sys.argv[1:])]
    return int(library().command_line(*words))


if __name__ == "__main__":
    sys.exit(main())
