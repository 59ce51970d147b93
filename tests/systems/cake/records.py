"""The record of the stand-in for the driver as both an original and ours write it: without what may differ.

An original uploads values by a small kernel that takes them as a parameter, ours by operations on memory: both become a
line `upload STREAM memory+OFFSET BYTES`.
"""

from __future__ import annotations

import re
from collections.abc import Iterator, Mapping, Sequence

# The driver's calls that do something on a device, or that say what a launch is given.
KEPT = re.compile(r"cu(LaunchKernelEx|TensorMapEncodeTiled|Memcpy\w*|Memset\w*|StreamBatchMemOp\w*|StreamWaitEvent)\b")
# The number of a library, and whether a kernel is taken in a context.
NAMED = re.compile(r'\(\S*?"([^"]+)"\S*')
ATTRIBUTES = re.compile(r"attributes=\[([^]]*)\]")
OPERATIONS = re.compile(r"cuStreamBatchMemOp\w*\((\S+)((?: memory\+\d+:[0-9a-f]+)+)\)")
OPERATION = re.compile(r"memory\+(\d+):([0-9a-f]+)")
UPLOADER = re.compile(
    r'cuLaunchKernelEx\("UploadCallerTmaDescriptors<\d+>".* stream=(\S+) .*parameters=\[([0-9a-f]{16}), ([0-9a-f]+)\]'
)

# Sizes of the pieces of memory that the stand-in knows, by their addresses.
Pieces = Mapping[int, int]


def record(text: str, pieces: Pieces) -> tuple[str, ...]:
    """Returns the lines that count of a record."""
    lines = [line for line in text.splitlines() if KEPT.match(line)]
    return tuple(joined([uploaded(plain(line), pieces) for line in lines]))


def plain(line: str) -> str:
    """Returns a line without what may differ, and with the attributes of a launch in order."""
    line = NAMED.sub(r'("\1"', line)
    return ATTRIBUTES.sub(lambda found: f"attributes=[{', '.join(sorted(found[1].split(', ')))}]", line)


def uploaded(line: str, pieces: Pieces) -> str:
    """Returns the line of an upload for what uploads, another line as it is."""
    if found := UPLOADER.match(line):
        address = int.from_bytes(bytes.fromhex(found[2]), "little")
        return f"upload {found[1]} {place(address, pieces)} {found[3]}"
    if found := OPERATIONS.match(line):
        first, text = -1, ""
        for offset, bytes_ in OPERATION.findall(found[2]):
            first = int(offset) if first < 0 else first
            if int(offset) != first + len(text) // 2:
                return line
            text += bytes_
        return f"upload {found[1]} memory+{first} {text}"
    return line


def place(address: int, pieces: Pieces) -> str:
    """Returns an address as the stand-in writes it."""
    for base, size in pieces.items():
        if base <= address < base + size:
            return f"memory+{address - base}"
    return "no-memory"


UPLOAD = re.compile(r"upload (\S+) memory\+(\d+) ([0-9a-f]+)$")


def joined(lines: Sequence[str]) -> Iterator[str]:
    """Yields lines, uploads that follow each other in memory as one."""
    held: tuple[str, int, str] | None = None
    for line in lines:
        found = UPLOAD.match(line)
        if found and held and held[0] == found[1] and held[1] + len(held[2]) // 2 == int(found[2]):
            held = held[0], held[1], held[2] + found[3]
            continue
        if held:
            yield f"upload {held[0]} memory+{held[1]} {held[2]}"
        held = (found[1], int(found[2]), found[3]) if found else None
        if not found:
            yield line
    if held:
        yield f"upload {held[0]} memory+{held[1]} {held[2]}"
