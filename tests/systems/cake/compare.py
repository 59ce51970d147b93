"""Comparison of one original with ours: the same calls of both, valid and invalid, and what the stand-in for the driver
has recorded of each. Everything happens in a process of its own, which the caller forks."""

from __future__ import annotations

import ctypes
import os
import pickle
import re
from bisect import bisect_right
from collections.abc import Callable, Iterator, Mapping, Sequence
from dataclasses import dataclass, field, replace
from pathlib import Path
from typing import TypeVar

import phases
import unset
from arguments import Case, Generator
from calls import Machine, Outcome, Refusal
from evaluation import Environment, TensorValue, Value
from facts import Check, Function, Host, Ref
from original import WHEEL, Original, called
from ours import Ours
from solver import DEVICES, Values

Result = TypeVar("Result")

# Calls of the driver that differ on purpose between two equal calls: maps that are kept.
ENCODE = "cuTensorMapEncodeTiled"
LAUNCH = "cuLaunchKernelEx"
# Addresses of calls differ by this much, so that no map of an earlier call is taken for a later one.
APART = 1 << 32
CALLS = 1 << 13
# Bytes of a tensor that a host writes or copies, and the most addresses in a list.
MEMORY, PEERS = 1 << 24, 16
# Tensors in such memory begin at one of some places in it, so that no map of the calls before is taken for one.
PLACES, STEP = 64, 1 << 12
# Calls of one function of the runtime or the driver that are made to fail, one after the other.
MOST_CALLS = 24
# What our messages say of a whole function.
SIGNATURE = re.compile(r" when calling: `.*`")


@dataclass(frozen=True)
class Files:
    """Libraries of the stand-ins and the runtime."""

    driver: Path
    cudart: Path
    runtime: Path

    def open(self) -> Machine:
        return Machine(self.driver, self.cudart, self.runtime)


@dataclass
class Verdict:
    """What a comparison has found. A host is equal if there are no differences and every check has refused."""

    path: str
    checks: int = 0
    fired: int = 0
    valid: int = 0
    refused: int = 0
    differences: list[str] = field(default_factory=list)
    # Checks that cannot fire, since those before them imply what they check, and those that have not fired.
    implied: list[str] = field(default_factory=list)
    unfired: list[str] = field(default_factory=list)
    # Checks of the original that refuse with another kind than TypeError where ours is a TypeError about the dtype.
    other_kinds: list[str] = field(default_factory=list)

    @property
    def equal(self) -> bool:
        return not self.differences and not self.unfired

    def differs(self, text: str) -> None:
        if text not in self.differences:
            self.differences.append(text)


def apart(work: Callable[[], Result]) -> Result:
    """Does some work in a process of its own and returns its result; raises if it fails or dies."""
    ends = os.pipe()
    child = os.fork()
    if child == 0:
        os.close(ends[0])
        try:
            result: object = work()
        except BaseException as why:  # All that it raises is the caller's business.
            result = RuntimeError(f"{type(why).__name__}: {why}")
        with os.fdopen(ends[1], "wb") as pipe:
            pickle.dump(result, pipe)
        os._exit(0)
    os.close(ends[1])
    with os.fdopen(ends[0], "rb") as pipe:
        text = pipe.read()
    _, status = os.waitpid(child, 0)
    if status != 0 or not text:
        raise RuntimeError(f"the process has ended with status {status}")
    made: Result | RuntimeError = pickle.loads(text)
    if isinstance(made, RuntimeError):
        raise made
    return made


def of_tensors(values: Values, change: Callable[[TensorValue], TensorValue]) -> Values:
    """Returns arguments with each tensor changed."""

    def changed(value: Value) -> Value:
        if isinstance(value, TensorValue):
            return change(value)
        return tuple(map(changed, value)) if isinstance(value, (list, tuple)) else value

    return {name: changed(value) for name, value in values.items()}


def moved(values: Values, call: int) -> Values:
    """Returns arguments with all memory elsewhere, by the number of the call."""
    by = APART * (call % CALLS)
    return of_tensors(values, lambda of: replace(of, data=of.data + by) if of.data + of.byte_offset else of)


def devices(values: Values) -> set[int]:
    """Returns the indices of the devices on which tensors are."""
    return {value.device[1] for value in values.values() if isinstance(value, TensorValue)}


def with_strides(values: Values) -> Values:
    """Returns arguments for an original, which would read strides that are NULL; ours take them for compact ones."""
    return of_tensors(values, TensorValue.strided)


def with_data(values: Values, ref: Ref, address: int) -> Values:
    """Returns arguments with a tensor, if it is there, at an address, as well aligned as it was."""

    def there(value: Value) -> Value:
        return replace(value, data=address + value.data % 256) if isinstance(value, TensorValue) else value

    value = values[ref.name]
    if ref.index is None:
        return {**values, ref.name: there(value)}
    if not isinstance(value, tuple) or ref.index >= len(value):
        return values
    return {**values, ref.name: (*value[: ref.index], there(value[ref.index]), *value[ref.index + 1 :])}


class Fired:
    """Finds which check of a function has raised an error, by the lines of its trace."""

    def __init__(self, checks: Sequence[Check]) -> None:
        self.checks = checks
        lines: dict[str, set[int]] = {}
        for check in checks:
            for place in check.places:
                lines.setdefault(place.file, set()).add(place.line)
        self.lines = {file: sorted(numbers) for file, numbers in lines.items()}

    def known(self, frame: tuple[str, int]) -> tuple[str, int] | None:
        """Returns the line that begins a statement, for a line in it."""
        file = os.path.normpath(frame[0]).removeprefix(f"{WHEEL}/")
        numbers = self.lines.get(file, [])
        at = bisect_right(numbers, frame[1])
        return (file, numbers[at - 1]) if at else None

    def by(self, refusal: Refusal) -> list[int]:
        """Returns the numbers of the checks that may have raised an error: those with the longest way to it."""
        way = [self.known(frame) for frame in reversed(refusal.frames)]
        lengths = {i: len(check.places) for i, check in enumerate(self.checks) if within(check, way)}
        return [i for i, length in lengths.items() if length == max(lengths.values())]


def within(check: Check, way: Sequence[tuple[str, int] | None]) -> bool:
    """Whether the places of a check are on a way, in order."""
    rest = iter(way)
    return all((place.file, place.line) in rest for place in check.places)


class Comparison:
    """The comparison of one function."""

    def __init__(
        self, verdict: Verdict, function: Function, machine: Machine, original: Original, ours: Mapping[str, Ours]
    ) -> None:
        self.verdict = verdict
        self.function = function
        self.machine = machine
        self.kinds = {parameter.name: parameter.kind for parameter in function.parameters}
        self.original = phases.of_original(original, function, machine)
        self.ours = {backend: phases.of_ours(library, function, machine) for backend, library in ours.items()}
        streams = [machine.make_stream(device) for device in range(DEVICES)]
        self.generator = Generator(function, Environment(), 1, [0, streams[0]])
        self.checks = [guarded.step for guarded in self.generator.checks if isinstance(guarded.step, Check)]
        self.finder = Fired(self.checks)
        self.unset = unset.of_launches(self.generator.steps)
        self.fired: set[int] = set()
        self.turn = 0
        self.cases: list[Case] = []
        self.written = {ref: machine.allocate(MEMORY + PLACES * STEP) for ref in self.generator.written()}
        self.addresses = {
            name: [machine.allocate(MEMORY) for _ in range(PEERS)] for name in self.generator.addresses()
        }
        # Memory of tensors that the host itself reads.
        self.memory = {of: ctypes.create_string_buffer(size) for of, size in self.generator.readable().items()}

    def about(self, text: str) -> str:
        return f"{self.function.name}: {text}"

    def place(self, index: int) -> str:
        check = self.checks[index]
        status = f" of {check.status}" if check.status else ""
        return self.about(f"line {check.places[-1].line}{status} by {check.places[0].line}")

    def call(self, function: phases.Call, values: Values) -> Outcome:
        """Calls a function with values, of which there may be too few or too many."""
        given = [(values[name], kind) for name, kind in self.kinds.items() if name in values]
        given += [(value, "i64") for name, value in values.items() if name not in self.kinds]
        self.machine.cudart.cake_forget()
        return function(given)

    def prepare(self) -> None:
        """Finds valid arguments and makes calls of the driver fail, before anything has succeeded."""
        self.cases = list(self.generator.valid())
        # An error before them all: what finds lines is ready in every process then.
        self.original([])
        branches = [case for case in self.cases if case.note == "a branch"]
        elsewhere = [case for case in self.cases if devices(case.values) == {DEVICES - 1}]
        for case in [*self.cases[:1], *elsewhere[:1], *branches]:
            self.statuses(case.values)

    def run(self) -> None:
        cases = self.cases
        if not cases:
            self.verdict.differs(self.about("no valid arguments were found"))
            return
        base = cases[0].values
        for case in [*cases, *self.generator.violations(base), *self.wrong(base)]:
            self.turn += 1
            for device in range(DEVICES):
                stream = self.machine.make_stream(device) if self.turn % 2 else None
                self.machine.set_stream(device, stream)
            self.compare(replace(case, values=self.placed(case.values)))
        self.again(base)
        self.count()

    def placed(self, values: Values) -> Values:
        """Returns arguments at addresses of their own, with real memory where the host reads it."""
        placed = moved(values, self.turn)
        for ref, address in self.written.items():
            placed = with_data(placed, ref, address + self.turn % PLACES * STEP)
        for name, addresses in self.addresses.items():
            value = placed[name]
            if isinstance(value, tuple):
                placed[name] = tuple(address if each else 0 for each, address in zip(value, addresses))
        for name, memory in self.memory.items():
            value = placed[name]
            if isinstance(value, TensorValue) and value.data:
                placed[name] = replace(value, data=ctypes.addressof(memory))
        return placed

    def count(self) -> None:
        self.verdict.checks += len(self.checks)
        self.verdict.fired += len(self.fired)
        for index in range(len(self.checks)):
            if index in self.fired:
                continue
            listed = self.verdict.implied if index in self.generator.implied else self.verdict.unfired
            listed.append(self.place(index))

    # Kinds of calls.

    def wrong(self, base: Values) -> Iterator[Case]:
        """Yields arguments of wrong types, one at a time."""
        for parameter in self.function.parameters:
            others: tuple[Value, ...] = (None, 7) if "tensor" in parameter.kind else (None, 0.5)
            for other in others:
                if not (other is None and parameter.kind.startswith("optional")) and not (
                    isinstance(other, float) and parameter.kind in ("f32", "f64")
                ):
                    yield Case({**base, parameter.name: other}, f"{parameter.name} is {other}", -1)

    def statuses(self, base: Values) -> None:
        """Makes calls of the runtime and the driver fail, each in a process that has not called before."""
        missing = {check.status for i, check in enumerate(self.checks) if i not in self.fired}
        for status in sorted(status for status in missing if status is not None):
            for nth in range(MOST_CALLS):
                found = apart(lambda: self.failing(status, nth, base))
                if found is None and nth:
                    break
                self.fired.update(found or [])

    def failing(self, status: str, nth: int, base: Values) -> list[int] | None:
        """Returns the checks that refuse if the n-th call of a function fails, or each for 0; None if none does."""
        self.machine.cudart.cake_fail(status.encode(), nth)
        outcome = self.call(self.original, with_strides(self.placed(base)))
        return None if outcome.refusal is None else self.finder.by(outcome.refusal)

    def again(self, base: Values) -> None:
        """Calls ours twice with the same arguments: the second call encodes nothing and launches the same."""
        for backend, function in self.ours.items():
            first, second = (self.call(function, self.placed(base)) for _ in range(2))
            if launches(first) != launches(second):
                self.verdict.differs(self.about(f"{backend}: the second call differs from the first"))
            if any(map(is_encode, second.record)):
                self.verdict.differs(self.about(f"{backend}: the second call encodes again"))

    # Comparing.

    def compare(self, case: Case) -> None:
        theirs = self.call(self.original, with_strides(case.values))
        if theirs.refusal is None:
            self.verdict.valid += 1
            if case.violated is not None:
                self.verdict.differs(self.about(f"{case.note}: accepted by the original"))
        else:
            self.verdict.refused += 1
            self.note_fired(case, theirs.refusal)
        for backend, function in self.ours.items():
            difference = self.difference(theirs, self.call(function, case.values))
            if difference:
                self.verdict.differs(self.about(f"{case.note}: {backend}: {difference}"))

    def note_fired(self, case: Case, refusal: Refusal) -> None:
        found = self.finder.by(refusal)
        if case.violated in found:
            found = [case.violated] if case.violated is not None else found
        self.fired.update(found)
        if len(found) == 1 and found[0] in self.generator.implied:
            self.verdict.differs(f"{self.place(found[0])} cannot refuse, but has: {refusal.message[:160]}")
        if case.violated is None:
            self.verdict.differs(self.about(f"{case.note}: refused by the original: {refusal.message[:160]}"))
        elif case.violated >= 0 and case.violated not in found:
            self.verdict.differs(self.about(f"{case.note}: the original refuses otherwise: {refusal.message[:160]}"))

    def difference(self, theirs: Outcome, ours: Outcome) -> str | None:
        """Returns how the outcome of ours differs, None if it does not."""
        if theirs.refusal and ours.refusal:
            if (phases.SUBMIT in theirs.record) != (phases.SUBMIT in ours.record):
                return f"refused in another phase: {ours.refusal.message[:160]}"
            return self.difference_of_kinds(theirs.refusal, ours.refusal)
        if ours.refusal:
            return f"refused: {ours.refusal.kind}: {SIGNATURE.sub('', ours.refusal.message)[:240]}"
        if theirs.refusal:
            return f"accepted, the original says {theirs.refusal.message[:160]}"
        if encodes(theirs) != encodes(ours):
            return unlike(encodes(theirs), encodes(ours))
        done, expected = self.done(ours), self.done(theirs)
        return None if done == expected else unlike(expected, done)

    def done(self, outcome: Outcome) -> list[str]:
        """Returns what a call has had the driver do, without bytes that have no value."""
        return [unset.without(line, self.unset) for line in launches(outcome)]

    def difference_of_kinds(self, theirs: Refusal, ours: Refusal) -> str | None:
        if theirs.kind == ours.kind:
            return None
        if ours.kind == "TypeError" and ".dtype" in ours.message:
            self.verdict.other_kinds.append(self.about(f"{theirs.kind} for {ours.message.split(',')[0]}"))
            return None
        message = SIGNATURE.sub("", ours.message)[:160]
        return f"{ours.kind}: {message}, the original says {theirs.kind}: {theirs.message[:160]}"


def encodes(outcome: Outcome) -> list[str]:
    """Returns the encoders' calls, in an order that is the same for both; those of a second phase stand after its mark,
    where none may be."""
    last = outcome.record.index(phases.SUBMIT) if phases.SUBMIT in outcome.record else len(outcome.record)
    early, late = outcome.record[:last], outcome.record[last:]
    return [*sorted(filter(is_encode, early)), *(f"{phases.SUBMIT}: {line}" for line in late if is_encode(line))]


def is_encode(line: str) -> bool:
    return line.startswith(ENCODE)


def launches(outcome: Outcome) -> list[str]:
    return [line for line in outcome.record if not is_encode(line)]


def unlike(theirs: Sequence[str], ours: Sequence[str]) -> str:
    """Describes the first lines that differ."""
    if len(theirs) != len(ours):
        return f"{len(ours)} calls of the driver, the original makes {len(theirs)}: {list(ours)[:1]} {list(theirs)[:1]}"
    one, other = next((one, other) for one, other in zip(theirs, ours) if one != other)
    return f"{other}\n    the original: {one}"


def compare(host: Host, original: Path, ours: Mapping[str, Path], files: Files) -> Verdict:
    """Compares a host in this process."""
    verdict = Verdict(host.path)
    machine = files.open()
    theirs = Original(original, machine, called(host))
    mine = {backend: Ours(library) for backend, library in ours.items()}
    comparisons = [Comparison(verdict, function, machine, theirs, mine) for function in host.functions]
    for comparison in comparisons:
        comparison.prepare()
    for comparison in comparisons:
        comparison.run()
    return verdict
