"""Prints what functions of the runtime that give all entries of a map at once would save; see map_entries.cc."""

import subprocess
import sys
import tempfile
from pathlib import Path

from tvm_ffi import libinfo

SOURCE = Path(__file__).with_suffix(".cc")


def main() -> None:
    library = Path(libinfo.find_libtvm_ffi()).parent
    includes = [word for folder in libinfo.include_paths() for word in ("-I", folder)]
    with tempfile.TemporaryDirectory() as folder:
        program = Path(folder, "map_entries")
        linked = ["-L", library, "-ltvm_ffi", f"-Wl,-rpath,{library}"]
        command = ["g++", "-std=c++17", "-O2", *includes, SOURCE, *linked, "-o", program]
        subprocess.run([str(word) for word in command], check=True)
        sys.exit(subprocess.run([program]).returncode)


if __name__ == "__main__":
    main()
