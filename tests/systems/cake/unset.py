"""Bytes of kernels' arguments to which an original gives no value: those of variables that it declares without one and
writes in part. They are what the stack happens to hold, so records are compared without them."""

from __future__ import annotations

import re
from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass

from facts import INTEGERS, Expr, Launch, Map, Struct, Unset
from rewrite import Guarded

LAUNCH = re.compile(r'(cuLaunchKernelEx\("([^"]*)".*parameters=\[)([^]]*)')

# The ranges of bytes of each argument of a kernel, by the kernel's name and the number of the argument.
Ranges = Mapping[tuple[str, int], Sequence[range]]


@dataclass(frozen=True)
class Layout:
    """The size and alignment in bytes of a value in C, and its bytes without a value."""

    size: int
    align: int
    unset: tuple[range, ...] = ()


def layout(value: Expr) -> Layout:
    if isinstance(value, Map):
        return Layout(128, 64)
    if not isinstance(value, Struct):
        size = INTEGERS[value.type][0] // 8 if value.type in INTEGERS else 4 if value.type == "f32" else 8
        return Layout(size, size, (range(size),) if isinstance(value, Unset) else ())
    at, align, unset = 0, 1, []
    for field in map(layout, value.fields):
        at += -at % field.align
        unset += [range(at + part.start, at + part.stop) for part in field.unset]
        at, align = at + field.size, max(align, field.align)
    return Layout(at + -at % align, align, tuple(unset))


def of_launches(steps: Sequence[Guarded]) -> Ranges:
    """Returns the bytes without a value of all launches."""

    def found() -> Iterator[tuple[tuple[str, int], Sequence[range]]]:
        for guarded in steps:
            if isinstance(guarded.step, Launch):
                for index, argument in enumerate(guarded.step.arguments):
                    unset = layout(argument.value).unset
                    if unset:
                        yield (guarded.step.kernel, index), unset

    return dict(found())


def without(line: str, unset: Ranges) -> str:
    """Returns a line of a record without the bytes that have no value."""
    launch = LAUNCH.match(line) if unset else None
    if launch is None:
        return line
    values = launch[3].split(", ")
    for index, value in enumerate(values):
        for part in unset.get((launch[2], index), ()):
            value = value[: 2 * part.start] + "--" * len(part) + value[2 * part.stop :]
        values[index] = value
    return launch[1] + ", ".join(values) + line[launch.end(3) :]
