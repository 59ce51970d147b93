#!/usr/bin/env python3
"""Writes the tables beside this file: the symbols of glibc and of libgcc_s by library and version.

Usage: make.py ABILISTS FILE...

ABILISTS is the file `lib/libc/glibc/abilists` of Zig, which PyPI's package `ziglang` has. It lists which library of
which glibc has which symbol in which version. It leaves out two libraries, which are given as files: `libmvec.so.1` of
x86-64, and `libgcc_s.so.1` of each architecture. Any that are newer than the stated glibc will do. On Debian they are
parts of `libc6`, `libgcc-s1`, `libgcc-s1-arm64-cross` and `libgcc-s1-riscv64-cross`. Of x86-64 and aarch64 the archive
`libgcc.a` is given too, which on Debian is a part of `libgcc-12-dev` and `libgcc-12-dev-arm64-cross`.

A table has each name once: in the first library of `ORDER` that has it, with its newest version up to the stated one,
which is what linkers take. Under `absent` are the names that no library of that glibc has: with the later version that
is the first to have them, or with the archive in which compilers find them.
"""

import subprocess
import sys
import textwrap
from collections import defaultdict
from pathlib import Path
from typing import Iterator, NamedTuple

Version = tuple[int, ...]

STATED: Version = (2, 28)
"""The glibc that libraries are linked for: that of the platform manylinux_2_28."""

COMPILER: Version = (8,)
"""The GCC whose libgcc_s the oldest systems with that glibc have."""

ORDER = ["c", "m", "mvec", "gcc_s", "ld", "pthread", "dl", "rt", "resolv", "util"]
"""Libraries: those that most kernels need come first."""

FILES = {
    "c": "libc.so.6",
    "m": "libm.so.6",
    "pthread": "libpthread.so.0",
    "dl": "libdl.so.2",
    "resolv": "libresolv.so.2",
}
"""Names of the files of libraries, where they do not end in `.so.1`."""

LOADERS = {
    "x86_64": "ld-linux-x86-64.so.2",
    "aarch64": "ld-linux-aarch64.so.1",
    "riscv64": "ld-linux-riscv64-lp64d.so.1",
}
"""The loader of each architecture, which is the library `ld`."""

MACHINES = {"X86-64": "x86_64", "AArch64": "aarch64", "RISC-V": "riscv64"}
"""Architectures as readelf calls them."""


STATIC = {"libc_nonshared.a": ["at_quick_exit", "atexit", "pthread_atfork"]}
"""The archive that compilers link in front of libc, and its functions that are in no library of any version."""

MARKS = ("__CTOR_LIST__", "__DTOR_LIST__", "DW.ref.__gcc_personality_v0")
"""Names in `libgcc.a` of what is no part of a library."""


class Symbol(NamedTuple):
    """A symbol of a library in one version."""

    name: str
    library: str
    family: str
    version: Version

    def is_stated(self) -> bool:
        return self.version <= (COMPILER if self.family == "GCC" else STATED)


class Reader:
    """A cursor over ABILISTS: numbers are little-endian, texts end with a zero byte, lists begin with their length."""

    def __init__(self, data: bytes) -> None:
        self.data, self.at = data, 0

    def byte(self) -> int:
        self.at += 1
        return self.data[self.at - 1]

    def text(self) -> str:
        start, self.at = self.at, self.data.index(0, self.at) + 1
        return self.data[start : self.at - 1].decode()

    def leb128(self) -> int:
        byte = self.byte()
        return byte if byte < 128 else byte & 127 | self.leb128() << 7

    def until_marked(self) -> Iterator[int]:
        """Yields numbers of seven bits; the eighth marks the last one."""
        while (byte := self.byte()) < 128:
            yield byte
        yield byte & 127


def of_glibc(path: Path) -> dict[str, list[Symbol]]:
    """Returns the symbols of each architecture."""
    reader = Reader(path.read_bytes())
    libraries = [reader.text() for _ in range(reader.byte())]
    versions = [(reader.byte(), reader.byte(), reader.byte()) for _ in range(reader.byte())]
    targets = [reader.text() for _ in range(reader.byte())]
    symbols: dict[str, list[Symbol]] = defaultdict(list)
    # Functions, variables, and variables of threads. An entry without a name is about the symbol before it.
    for is_sized in (False, True, True):
        name = ""
        for _ in range(reader.byte() | reader.byte() << 8):
            name = name or reader.text()
            bits = reader.leb128()
            if is_sized:
                reader.leb128()
            library = reader.byte()
            for index in reader.until_marked():
                # 2.2.5 is written with three numbers, 2.17.0 with two.
                version = versions[index] if versions[index][2] else versions[index][:2]
                symbol = Symbol(name, libraries[library & 127], "GLIBC", version)
                for architecture in LOADERS:
                    if bits >> targets.index(f"{architecture}-linux-gnu") & 1:
                        symbols[architecture].append(symbol)
            if library >= 128:
                name = ""
    return symbols


def of_file(path: Path) -> tuple[str, list[Symbol]]:
    """Returns the architecture of a shared library, and its symbols in their default versions."""
    command = ["readelf", "--file-header", "--dyn-syms", "--wide", str(path)]
    lines = subprocess.run(command, check=True, capture_output=True, text=True).stdout.splitlines()
    machine = next(line for line in lines if line.strip().startswith("Machine:"))
    architecture = next(known for word, known in MACHINES.items() if word in machine)
    library = path.name.removeprefix("lib").split(".")[0]
    symbols = []
    for line in lines:
        name, has_version, version = line.split(" (")[0].strip().rpartition("@@")
        # The version itself is a symbol too.
        if has_version and " ABS " not in line:
            family, _, numbers = version.partition("_")
            found = tuple(int(number) for number in numbers.split("."))
            symbols.append(Symbol(name.split()[-1], library, family, found))
    return architecture, symbols


def of_archive(path: Path) -> tuple[str, list[str]]:
    """Returns the architecture of an archive of a compiler, and the names that it defines."""
    header = ["readelf", "--file-header", str(path)]
    lines = subprocess.run(header, check=True, capture_output=True, text=True).stdout.splitlines()
    machine = next(line for line in lines if line.strip().startswith("Machine:"))
    architecture = next(known for word, known in MACHINES.items() if word in machine)
    command = ["nm", "--extern-only", "--defined-only", "--format=posix", str(path)]
    text = subprocess.run(command, check=True, capture_output=True, text=True).stdout
    fields = [line.split() for line in text.splitlines()]
    names = {words[0] for words in fields if len(words) > 2}
    return architecture, sorted(names.difference(MARKS))


def wrapped(names: list[str]) -> list[str]:
    """Returns lines of names."""
    return textwrap.wrap(" ".join(sorted(names)), 119, initial_indent=" ", subsequent_indent=" ")


def table(architecture: str, symbols: list[Symbol], archives: dict[str, list[str]]) -> str:
    """Returns the text of a table."""
    chosen: dict[str, Symbol] = {}
    later: dict[str, Symbol] = {}
    for symbol in sorted(symbols, key=lambda symbol: (ORDER.index(symbol.library), symbol.version)):
        if not symbol.is_stated():
            later.setdefault(symbol.name, symbol)
        elif symbol.name not in chosen or chosen[symbol.name].library == symbol.library:
            chosen[symbol.name] = symbol
    groups: dict[tuple[int, str, Version], list[str]] = defaultdict(list)
    for name, symbol in chosen.items():
        groups[ORDER.index(symbol.library), symbol.family, symbol.version].append(name)
    for name, symbol in later.items():
        if name not in chosen:
            groups[len(ORDER), symbol.family, symbol.version].append(name)
    lines = []
    for (library, family, version), names in sorted(groups.items()):
        title = "absent"
        if library < len(ORDER):
            short = ORDER[library]
            title = LOADERS[architecture] if short == "ld" else FILES.get(short, f"lib{short}.so.1")
        lines.append(f"{title} {family}_{'.'.join(map(str, version))}")
        lines += wrapped(names)
    for archive, names in archives.items():
        lines += [f"absent {archive}", *wrapped([name for name in names if name not in chosen])]
    return "\n".join(lines) + "\n"


def main(abilists: str, *files: str) -> None:
    symbols = of_glibc(Path(abilists))
    archives = {architecture: dict(STATIC) for architecture in LOADERS}
    for path in map(Path, files):
        if path.suffix == ".a":
            architecture, names = of_archive(path)
            archives[architecture][path.name] = names
        else:
            architecture, found = of_file(path)
            symbols[architecture] += found
    for architecture, found in symbols.items():
        text = table(architecture, found, archives[architecture])
        Path(__file__).with_name(f"{architecture}.txt").write_text(text)


if __name__ == "__main__":
    main(*sys.argv[1:])
