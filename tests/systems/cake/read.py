"""Reads the generated hosts of the wheel: which files they are, and the facts of each.

Usage: read.py WHEEL, the folder in which the wheel is unpacked; prints families, files and why some cannot be read.
"""

from __future__ import annotations

import os
import sys
from collections import Counter, defaultdict
from collections.abc import Iterator
from functools import cache
from pathlib import Path

import cpp
import facts
import stages
import syntax
from cpp import Unreadable
from execute import Executor
from parameters import argument, kind
from program import Program
from values import Cell

EXPORTER = "by the Cake source exporter"
LAUNCHER = ("direct-source launcher", "Rendered by the Cake source exporter")
EXPORT = "TVM_FFI_DLL_EXPORT_TYPED_FUNC"


def hosts(wheel: Path) -> list[str]:
    """Returns the generated hosts of the wheel, by their paths in it: files of the exporter that launch kernels which
    are compiled with them, and export functions."""
    found = []
    for folder, _, names in os.walk(wheel):
        for name in names:
            if name.endswith((".cu", ".cuh", ".cpp", ".cc")):
                path = Path(folder, name)
                text = path.read_text(errors="replace")
                if EXPORTER in text and EXPORT in text and any(word in text for word in LAUNCHER):
                    found.append(str(path.relative_to(wheel)))
    return sorted(found)


@cache
def parsed(path: Path, relative: str) -> cpp.File:
    return syntax.parse(path.read_text(), relative)


def program(wheel: Path, path: str) -> tuple[Program, cpp.File]:
    """Returns a host with what it includes, as far as that is of the wheel's own hosts."""
    whole = Program()
    file = parsed(wheel / path, path)
    seen: set[Path] = set()
    include(whole, wheel, wheel / path, file, seen)
    return whole, file


def include(whole: Program, wheel: Path, path: Path, file: cpp.File, seen: set[Path]) -> None:
    for name in file.includes:
        other = locate(wheel, path, name)
        if other is not None and other not in seen:
            seen.add(other)
            include(whole, wheel, other, parsed(other, str(other.relative_to(wheel))), seen)
    whole.add(file)


def locate(wheel: Path, path: Path, name: str) -> Path | None:
    """Returns where an included header lies: beside the file, or the only one of its name in the wheel."""
    beside = path.parent / name
    if beside.is_file():
        return beside
    found = headers(wheel).get(name, [])
    return found[0] if len(found) == 1 else None


@cache
def headers(wheel: Path) -> dict[str, list[Path]]:
    """Returns the headers of the wheel by their names."""
    found: dict[str, list[Path]] = defaultdict(list)
    for path in [*wheel.rglob("*.cuh"), *wheel.rglob("*.h")]:
        found[path.name].append(path)
    return found


def read(wheel: Path, path: str) -> facts.Host:
    """Returns the facts of a host; raises Unreadable."""
    whole, file = program(wheel, path)
    entries = {exported: whole.functions[name] for exported, name in file.exports.items()}
    return facts.Host(path, str(Path(path).parent), tuple(functions(whole, path, entries)))


def functions(whole: Program, path: str, entries: dict[str, cpp.Function]) -> Iterator[facts.Function]:
    """Yields the exported functions, of which two that hand out the phases of a stage are one."""
    phases = [entries.pop(name, None) for name in stages.ENTRIES]
    for exported, entry in entries.items():
        yield function(whole, path, exported, entry)
    prepare, submit = phases
    if prepare is not None and submit is not None:
        yield stages.stage(Executor(whole, path), prepare, submit, parameters_of(entries["run"]))


def function(whole: Program, path: str, exported: str, entry: cpp.Function) -> facts.Function:
    parameters = parameters_of(entry)
    executor = Executor(whole, path)
    executor.call(entry, [Cell(argument(each.name, each.kind)) for each in parameters], 0)
    return facts.Function(exported, parameters, tuple(executor.steps))


def parameters_of(entry: cpp.Function) -> tuple[facts.Parameter, ...]:
    return tuple(facts.Parameter(each.name, kind(each.type)) for each in entry.parameters)


def read_all(wheel: Path) -> tuple[dict[str, facts.Host], dict[str, str]]:
    """Returns the facts of each host that can be read, and of each other why not."""
    found, reasons = {}, {}
    for path in hosts(wheel):
        try:
            found[path] = read(wheel, path)
        except Unreadable as reason:
            reasons[path] = str(reason)
    return found, reasons


def main() -> None:
    wheel = Path(sys.argv[1])
    found, reasons = read_all(wheel)
    families: dict[str, list[str]] = defaultdict(list)
    for path in sorted([*found, *reasons]):
        families[str(Path(path).parent)].append(path)
    for family, paths in families.items():
        print(f"{sum(path in found for path in paths):4} of {len(paths):4}  {family}")
    for reason, count in Counter(reasons.values()).most_common():
        print(f"{count:4}  {reason}")
    print(f"{len(families)} families, {len(found)} of {len(found) + len(reasons)} files read")


if __name__ == "__main__":
    main()
