"""Releases of the runtime: what the suite calls, and the tests of the Python package, on each of them.

A release has an environment of its own. The suite takes the runtime and Python that it finds on the PATH, so it runs
there as it is: rows of calls in process, by shared libraries of every backend and from Python, results, programs,
closures, launches on the stand-in for a driver, metadata. Prints a table of the tests that pass, and below it those that
do not, with the first line of the reason. Fails if a test fails on the newest release.
"""

import json
import os
import re
import subprocess
import sys
import venv
from concurrent.futures import ThreadPoolExecutor
from pathlib import Path

import system

RELEASES = ["0.1.0", "0.1.5", "0.1.11", "0.1.12", "0.1.13.post3", "0.1.15.post2"]
OTHERS = ["numpy==2.4.6", "pytest==9.2.0"]

# The complaint of the table of calls about rows that a runtime has no values for, where all others are as expected.
LACKING = "the runtime does not make such values"

# Tests of the suite by column: parts of their names.
COLUMNS = {
    "JIT": ["table::jit_with_the_installed"],
    "libraries": ["table::shared_libraries"],
    "results": ["allocated::", "results::", "outliving::", "big_int::"],
    "programs": ["programs::", "closures::", "external::", "imports::", "messages::"],
    # Those that make every call of a driver fail take minutes.
    "launches": [f"launches::{part}::" for part in ("arguments", "linked", "maps", "prepared", "scratch", "streams")],
    "metadata": ["metadata::"],
}
PACKAGE = {"package": ["tests", "--ignore=tests/test_calls.py"], "native caller": ["tests/test_calls.py"]}


def environment(release):
    """Makes an environment for a release; returns its folder, or None if the release has no package for this Python."""
    folder = system.MADE.parent / release
    if (folder / "made").exists():
        return folder
    venv.create(folder, with_pip=True, clear=True)
    install = [folder / "bin" / "pip", "install", "--quiet", f"apache-tvm-ffi=={release}", *OTHERS]
    if subprocess.run(install, capture_output=True).returncode != 0:
        return None
    (folder / "made").touch()
    return folder


def suite():
    """Builds the suite and returns the path of its program."""
    command = ["cargo", "test", "--locked", *os.environ["SYSTEMS_WORKSPACE"].split(), "--test", "suite"]
    command += ["--no-run", "--message-format", "json-render-diagnostics"]
    built = subprocess.run(command, cwd=system.ROOT, check=True, stdout=subprocess.PIPE, text=True).stdout
    messages = [json.loads(line) for line in built.splitlines() if line.startswith("{")]
    return next(one["executable"] for one in messages if one.get("target", {}).get("name") == "suite" and one["executable"])


def run(folder, command, where):
    """Runs a command with the release first on the PATH; returns its output, and whether a signal ended it."""
    path = f"{folder / 'bin'}{os.pathsep}{os.environ['PATH']}"
    library = Path(os.environ["SYSTEMS_TARGET"], "debug", "libtvm_ffi_codegen_python.so")
    variables = {"PATH": path, "RUST_BACKTRACE": "0", "TVM_FFI_CODEGEN_LIBRARY": str(library)}
    done = subprocess.run(command, cwd=system.ROOT / where, env=os.environ | variables, capture_output=True, text=True)
    return done.stdout + done.stderr, done.returncode < 0


def of_suite(folder, program, names):
    """Runs tests of the suite; returns the cell of the table, and the failed tests with their reasons."""
    said, crashed = run(folder, [program, *names], "tests")
    # Programs that tests start may write into these lines.
    ended = dict(re.findall(r"^test (\S+) \.\.\. (ok|FAILED)$", said, re.M))
    failed = [name for name, end in ended.items() if end == "FAILED"]
    reasons = {name: re.search(rf"'{name}' .*panicked at .*:\n(.*)", said) for name in failed}
    rows = [int(count) for count in re.findall(r": (\d+) rows$", said, re.M)]
    if rows and not crashed:
        text = f"all but {max(rows)} rows"
    elif names == COLUMNS["JIT"] and LACKING in said and not crashed:
        text = "all values it has"
    else:
        text = cell(len(ended) - len(failed), len(ended), crashed)
    return text, {name: reason and reason[1][:200] for name, reason in reasons.items()}


def of_package(folder, names):
    """Runs tests of the Python package, likewise."""
    said, crashed = run(folder, [folder / "bin" / "python", "-m", "pytest", *names], "python")
    count = {word: int(number) for number, word in re.findall(r"(\d+) (passed|failed|error)", said)}
    failed = dict(re.findall(r"^(?:FAILED|ERROR) (\S+) - (.*)$", said, re.M))
    return cell(count.get("passed", 0), sum(count.values()), crashed), failed


def cell(passed, count, crashed):
    if crashed:
        return "crashes"
    return "all" if passed == count > 0 else f"{passed} of {count}"


def row(release, program):
    """Returns the cells of a release, and what has failed."""
    folder = environment(release)
    if folder is None:
        return ["not for this Python"] + [""] * (len(COLUMNS) + len(PACKAGE) - 1), {}
    outcomes = [of_suite(folder, program, names) for names in COLUMNS.values()]
    outcomes += [of_package(folder, names) for names in PACKAGE.values()]
    failed = {name: reason for _, reasons in outcomes for name, reason in reasons.items()}
    return [said for said, _ in outcomes], failed


def rows(program):
    """Yields releases with their cells and what has failed, two releases at a time."""
    with ThreadPoolExecutor(2) as pool:
        yield from zip(RELEASES, pool.map(lambda release: row(release, program), RELEASES))


program = suite()
print("| runtime |", " | ".join([*COLUMNS, *PACKAGE]), "|")
print("|---" * (1 + len(COLUMNS) + len(PACKAGE)) + "|")
notes = []
for release, (cells, failed) in rows(program):
    print(f"| {release} |", " | ".join(cells), "|", flush=True)
    notes += [f"{release}: {name}: {reason}" for name, reason in failed.items()]
    system.say(f"{release} {'all' if set(cells) == {'all'} else 'in parts'}")
print("", *notes, sep="\n")
sys.exit(set(cells) != {"all"})
