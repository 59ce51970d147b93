"""Routes: calls of several stages, all of which are prepared before the first one is submitted.

The originals' submitter gets the addresses of their phases and all arguments in one list. Ours calls the first phase of
each stage and then, on the environment's stream, what these calls have returned. If all arguments are valid, both do
the same in the same order; if those of one stage are not, both refuse and nothing has been launched.
"""

from __future__ import annotations

from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass
from pathlib import Path

import phases
from arguments import Generator
from calls import Machine, Outcome, Refusal
from compare import Files, encodes, launches, moved, unlike, with_strides
from evaluation import Environment
from facts import Function
from original import Original
from ours import Ours
from solver import Values

# The submitter's path in the wheel; it is none of the hosts.
SUBMITTER = "flashinfer/data/csrc/fused_moe/cake_kimi_k3_situ/cake_kimi_k3_nvfp4_situ_submit.cu"
# The most stages that it takes.
MOST = 16


@dataclass(frozen=True)
class Stage:
    """The two phases of a host, the library of the original, and ours by backend."""

    function: Function
    original: Path
    ours: Mapping[str, Path]


def compare(stages: Sequence[Stage], submitter: Path, files: Files) -> tuple[int, list[str]]:
    """Compares calls of a route on the first device; returns how many, and how they differ."""
    machine = files.open()
    run = phases.at_once(Original(submitter, machine).function("run"), machine)
    entries = [phases.addresses(Original(stage.original, machine), machine) for stage in stages]
    mine = {name: [Ours(stage.ours[name]).function("prepare") for stage in stages] for name in stages[0].ours}
    found: list[str] = []
    count = 0
    for note, plan in plans(stages):
        count += 1
        machine.set_stream(0, machine.make_stream(0) if count % 2 else None)
        given = [in_order(stage, moved(values, count)) for stage, values in zip(stages, plan)]
        flat = [each for pair, values in zip(entries, given) for each in (*header(pair, values), *values)]
        machine.cudart.cake_forget()
        theirs = run(flat)
        for backend, functions in mine.items():
            difference = differs(theirs, route(functions, given, machine))
            found += [f"{note}: {backend}: {difference}"] if difference else []
    return count, found


def plans(stages: Sequence[Stage]) -> Iterator[tuple[str, list[Values]]]:
    """Yields arguments of all stages: valid ones, and for each stage some that only it refuses, of an empty grid."""
    cases = [next(Generator(stage.function, Environment(), 1, []).valid(1)) for stage in stages]
    valid = [with_strides(case.values) for case in cases]
    for turn in range(2):
        yield f"valid {turn}", valid
    for number, values in enumerate(valid):
        plan = [*valid[:number], {**values, "grid_x": 0}, *valid[number + 1 :]]
        yield f"stage {number} of {len(valid)} refuses", plan


def in_order(stage: Stage, values: Values) -> phases.Values:
    return [(values[parameter.name], parameter.kind) for parameter in stage.function.parameters]


def header(pair: tuple[int, int], values: phases.Values) -> phases.Values:
    """Returns what the submitter wants before the arguments of a stage: addresses, and how many arguments follow."""
    return [(number, "i64") for number in (*pair, len(values))]


def route(functions: Sequence[phases.Pointer], given: Sequence[phases.Values], machine: Machine) -> Outcome:
    """Prepares all stages of ours, and submits them if none has refused."""
    machine.record()
    prepared: list[int] = []
    for function, values in zip(functions, given):
        made = phases.prepare(function, values, machine)
        if isinstance(made, Refusal):
            phases.give_back(prepared, machine)
            return Outcome(made, machine.record())
        prepared.append(made)
    refusals = [phases.submit(made, machine.stream(0), machine) for made in prepared]
    phases.give_back(prepared, machine)
    return Outcome(next(filter(None, refusals), None), machine.record())


def differs(theirs: Outcome, ours: Outcome) -> str | None:
    """Returns how two calls of a route differ, None if they do not."""
    if theirs.refusal and ours.refusal:
        done = [*launches(theirs), *launches(ours)]
        return f"refused after {done[0]}" if done else None
    if theirs.refusal or ours.refusal:
        return f"the original: {theirs.refusal}, ours: {ours.refusal}"
    for part in (encodes, launches):
        if part(theirs) != part(ours):
            return unlike(part(theirs), part(ours))
    return None
