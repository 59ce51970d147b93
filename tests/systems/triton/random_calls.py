"""Random calls of twenty signatures for the comparison of launchers."""

import random

import triton
import triton.language as tl
from launcher_cases import Call, Case
from memory import Tensor

CALLS = 10_000
SIGNATURES = 20


def free(out, a, b, c, d, FIRST: tl.constexpr, SECOND: tl.constexpr = 3):
    tl.store(out, 1)


def typed(out, a: tl.int32, b: tl.int64, c, d: tl.float32, FIRST: tl.constexpr, SECOND: tl.constexpr = 3):
    tl.store(out, 1)


def named(out, a, *, b, c=1, d=2.5, FIRST: tl.constexpr, SECOND: tl.constexpr = 3):
    tl.store(out, 1)


SPECIALIZED = ({}, {"do_not_specialize": ["a"]}, {"do_not_specialize_on_alignment": ["out", "b"]})
NARROW = (0, 1, 15, 16, 2**31 - 1, -(2**31), -1, -16)
KINDS = {
    "tensor": lambda made: Tensor(made.choice((0x1000, 0x1004)), "fp32", 64),
    "integer": lambda made: made.choice((*NARROW, 2**31, 2**63 - 1, -(2**31) - 1)),
    "narrow": lambda made: made.choice(NARROW),
    "number": lambda made: made.choice((made.random(), 1.0, -0.0, 1e300)),
    "maybe": lambda made: made.choice((None, True)),
}
"""Kinds of arguments; the classes of all arguments of a signature together are a few dozen."""


def cases(seed=7):
    """Yields a case for each signature."""
    for index in range(SIGNATURES):
        made = random.Random(seed * 1000 + index)
        kernel, options = (free, typed, named)[index % 3], SPECIALIZED[made.randrange(3)]
        kinds = _kinds(kernel, made)
        calls = [_call(kernel, kinds, made) for _ in range(CALLS // SIGNATURES)]
        name = f"random: {kernel.__name__}({', '.join(kinds)}) {' '.join(options)}"
        yield Case(name.strip(), lambda kernel=kernel, options=options: triton.jit(**options)(kernel), calls)


def _kinds(kernel, made):
    if kernel is typed:
        return ["narrow", "narrow", made.choice(("number", "maybe")), "number"]
    varied = [made.choice(("tensor", "integer")), made.choice(("tensor", "number")), "number", made.choice(("maybe", "number"))]
    made.shuffle(varied)
    return varied


def _call(kernel, kinds, made):
    given = [Tensor(made.choice((0x3000, 0x3008)), "fp32", 64), *[KINDS[kind](made) for kind in kinds]]
    grid = tuple(made.randrange(4) for _ in range(made.randrange(1, 4)))
    if kernel is named:
        split = dict(zip("bcd", given[2:]))
        return Call(grid, tuple(given[:2]), {**split, "FIRST": 1, "num_warps": made.choice((4, 8))})
    constants = made.choice(((1,), (1, 3), (1.0,)))
    return Call(grid, (*given, *constants))
