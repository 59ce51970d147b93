"""Measures a process of Python from its start to its first call, in milliseconds.

`cold.py LIB.so... CASE...` prints {"LIB.so": {"CASE": [ms, ...]}}: imports of the runtime, loading, one call. A
word in place of a library is a peer, whose script compiles the function first, in the environment beside this
one: `cold.py tvm cutedsl add_one`.
"""

import json
import sys
import tempfile
from pathlib import Path

import peer

ROUNDS = 7
FIRST = ["--first-call"]


def first_call(library, case):
    """Runs the measured process."""
    from loading import load
    from python import ffi_object, python_arguments

    load(Path(library), case)(*[ffi_object(value) for value in python_arguments(case)])
    print("called", flush=True)


def command(word, case, kernels):
    if word.endswith(".so"):
        return [sys.executable, __file__, *FIRST, word, case]
    # target/bench/venv-NAME/bin/python
    python = Path(sys.executable).parents[2] / f"venv-{word}" / "bin" / "python"
    return [str(python), str(peer.HERE / f"{word}.py"), "--first", case, str(kernels)]


def measure(words, cases, kernels):
    times = {word: {case: [] for case in cases} for word in words}
    for _ in range(ROUNDS):
        for word in words:
            for case in cases:
                times[word][case].append(peer.until_called(command(word, case, kernels)))
    return times


def main():
    if sys.argv[1:2] == FIRST:
        return first_call(*sys.argv[2:])
    words = [word for word in sys.argv[1:] if word.endswith(".so") or (peer.HERE / f"{word}.py").exists()]
    cases = [word for word in sys.argv[1:] if word not in words]
    with tempfile.TemporaryDirectory() as folder:
        kernels = peer.build_kernels(Path(folder))[1]
        print(json.dumps(measure(words, cases, kernels)))


if __name__ == "__main__":
    main()
