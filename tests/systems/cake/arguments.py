"""Arguments for the functions of a host: valid ones of every class that it distinguishes, and for each of its checks
some that violate it and, where that is possible, nothing else.

What a host wants beyond its checks is what the driver wants: of encoders and launches, as the stand-in checks it.
"""

from __future__ import annotations

import random
from collections.abc import Iterator, Sequence
from dataclasses import dataclass, fields, is_dataclass, replace
from itertools import takewhile
from typing import TypeVar, cast

from evaluation import Environment, TensorValue, Value
from facts import (
    Binary,
    Branch,
    Bytes,
    Check,
    Const,
    Copy,
    Count,
    Encode,
    Expr,
    Foldable,
    Function,
    Item,
    Later,
    Launch,
    Loop,
    Map,
    Number,
    Parameter,
    Place,
    Ref,
    Scalar,
    Signal,
    Status,
    Step,
    Upload,
    Variable,
    Wait,
)
from implied import Known
from rewrite import Guarded, flatten, mentions, names, walk
from solver import EXTENTS, Solver, Values, Wish

# Attributes of launches: whether it is cooperative, and the dims of a cluster.
COOPERATIVE, CLUSTER = 2, 4
# The blocks of a cooperative launch that any device of the stand-in runs at a time.
TOGETHER = 132
# Limits of the driver's maps: extents and strides in bytes.
MAX_EXTENT, MAX_STRIDE = 1 << 32, 1 << 40
# Largest grid.
GRID = ((1 << 31) - 1, 65535, 65535)
# Turns of loops whose checks are kept.
TURNS = 8
# Ways of violating a condition: at its limit, and somewhere.
WAYS = 2
# Ways of violating that dims fold into one: which dims, and whether by one that does not count.
FOLDS = 6
# Attempts at solving before giving up.
TRIES = 6
# Attempts at the first valid arguments, without which there is nothing to compare.
FIRST_TRIES = 1000


@dataclass(frozen=True)
class Case:
    """Arguments of a call; `violated` is the number of the check that they violate, None if they are valid."""

    values: Values
    note: str
    violated: int | None = None


@dataclass(frozen=True)
class Rule:
    """What must hold, where its guards hold; `check` is its number, None if it is the driver's."""

    wish: Wish
    check: int | None


def number(value: int) -> Const:
    return Const(value, "i64")


def compare(op: str, left: Expr, right: int) -> Binary:
    return Binary(op, left, number(right), "bool")


def remainder(left: Expr, right: int) -> Binary:
    return compare("==", Binary("%", left, number(right), "i64"), 0)


def of_encoder(step: Encode) -> Iterator[Expr]:
    """Yields what the driver wants of a tensor map."""
    packed = step.dtype.endswith("ALIGN16B")
    unit = 32 if step.interleave == "32B" or packed else 16
    if packed or step.dtype.endswith("ALIGN8B"):
        yield remainder(step.dims[0], 128 if packed else 2)
    yield remainder(step.address, unit)
    for extent in step.dims:
        yield compare(">=", extent, 1)
        yield compare("<=", extent, MAX_EXTENT)
    for stride in step.strides:
        yield remainder(stride, unit)
        yield compare(">=", stride, 0)
        yield compare("<", stride, MAX_STRIDE)
    for extent in step.box:
        yield compare(">=", extent, 1)
        yield compare("<=", extent, 256)


def of_launch(step: Launch) -> Iterator[Expr]:
    """Yields what the driver wants of a launch."""
    for extent, most in zip(step.grid, GRID):
        yield compare(">=", extent, 1)
        yield compare("<=", extent, most)
    for extent in step.block:
        yield compare(">=", extent, 1)
        yield compare("<=", extent, 1024)
    for id_, values in step.attributes:
        if id_ == COOPERATIVE:
            first = Binary("*", step.grid[0], step.grid[1], "i64")
            yield compare("<=", Binary("*", first, step.grid[2], "i64"), TOGETHER)
        if id_ == CLUSTER:
            for extent, divisor in zip(step.grid, values):
                yield Binary("==", Binary("%", extent, divisor, "i64"), number(0), "bool")


def rules(steps: Sequence[Guarded]) -> list[Rule]:
    """Returns what must hold, in order."""
    found: list[Rule] = []
    checks = 0
    for guarded in steps:
        wanted: list[Expr] = []
        check = None
        match guarded.step:
            case Check() as step:
                wanted, check = [step.condition], checks
                checks += 1
            case Encode() as step:
                wanted = list(of_encoder(step))
            case Launch() as step:
                wanted = list(of_launch(step))
            case _:
                pass
        for condition in wanted:
            if not mentions(condition, (Variable, Status, Map)) and names(condition):
                found.append(Rule(Wish(condition, True, guarded.guards), check))
    return found


def unrolled(steps: Sequence[Step], turns: int) -> tuple[Step, ...]:
    """Returns steps with the first turns of each loop, where there are so many, in its place."""
    found: list[Step] = []
    for step in steps:
        if isinstance(step, Branch):
            found.append(replace(step, then=unrolled(step.then, turns), otherwise=unrolled(step.otherwise, turns)))
        elif isinstance(step, Later):
            found.append(Later(unrolled(step.steps, turns)))
        elif isinstance(step, Loop):
            for turn in range(turns):
                at = Binary("+", step.start, number(turn), "i64")
                inner = tuple(substituted(each, step.variable, at) for each in unrolled(step.steps, turns))
                found.append(Branch(Binary("<", at, step.end, "bool"), inner, ()))
        else:
            found.append(step)
    return tuple(found)


Part = TypeVar("Part")


def substituted(part: Part, variable: Variable, value: Expr) -> Part:
    """Returns a step or an expression with a value for a variable."""
    if part == variable:
        return cast(Part, value)
    if isinstance(part, tuple):
        return cast(Part, tuple(substituted(each, variable, value) for each in part))
    if not is_dataclass(part) or isinstance(part, (type, Place)):
        return part
    changed = {each.name: substituted(getattr(part, each.name), variable, value) for each in fields(part)}
    return cast(Part, type(part)(**changed))


def leaves(condition: Expr) -> Iterator[Expr]:
    """Yields the conditions that a condition joins by `&&`."""
    if isinstance(condition, Binary) and condition.op == "&&":
        yield from leaves(condition.left)
        yield from leaves(condition.right)
    else:
        yield condition


def choices(conditions: Sequence[Expr]) -> Iterator[Expr]:
    """Yields the sides of each `||`: a condition may hold for either."""
    for condition in conditions:
        for inner in walk(condition):
            if isinstance(inner, Binary) and inner.op == "||":
                yield inner.left
                yield inner.right


def streams_of(step: Step) -> tuple[Expr, ...]:
    """Returns the streams that a step names."""
    match step:
        case Launch() | Upload() | Copy() | Signal():
            return (step.stream,)
        case Wait():
            return step.stream, step.other
    return ()


def implied(checks: Sequence[Guarded]) -> frozenset[int]:
    """Returns the numbers of the checks that cannot fire, since what they want follows from those before them."""
    found = set()
    # What is known in each branch that leads to a check, the outermost first.
    known: list[tuple[tuple[Expr, ...], Known]] = [((), Known())]
    for index, guarded in enumerate(checks):
        assert isinstance(guarded.step, Check)
        while known[-1][0] != guarded.guards[: len(known[-1][0])]:
            known.pop()
        for guard in guarded.guards[len(known[-1][0]) :]:
            guards, outer = known[-1]
            known.append(((*guards, guard), outer.learn(guard)))
        if guarded.step.status or mentions(guarded.step.condition, (Variable, Status, Map)):
            continue
        guards, here = known[-1]
        if here.implies(guarded.step.condition):
            found.add(index)
        known[-1] = guards, here.learn(guarded.step.condition)
    return frozenset(found)


class Generator:
    """Makes arguments for one function. The same seed makes the same."""

    def __init__(self, function: Function, environment: Environment, seed: int, streams: Sequence[int]) -> None:
        self.function = function
        self.random = random.Random(seed)
        self.kinds = {parameter.name: parameter.kind for parameter in function.parameters}
        self.steps = list(flatten(unrolled(function.steps, 1)))
        self.checks = [guarded for guarded in self.steps if isinstance(guarded.step, Check)]
        # What later turns of loops want comes after all of this, as if the driver did.
        later = [guarded for guarded in flatten(unrolled(function.steps, TURNS)) if guarded not in self.steps]
        self.rules = rules(self.steps) + [replace(rule, check=None) for rule in rules(later)]
        self.implied = implied(self.checks)
        handles = {
            inner.name
            for guarded in self.steps
            for stream in streams_of(guarded.step)
            for inner in walk(stream)
            if isinstance(inner, Scalar) and inner.name in self.kinds
        }
        self.streams = dict.fromkeys(handles, streams)
        self.solver = Solver(self.kinds, environment, self.random, self.streams)

    def readable(self) -> dict[str, int]:
        """Returns the tensors whose memory the host itself reads, and how many bytes."""
        found: dict[str, int] = {}
        for guarded in self.steps:
            if isinstance(guarded.step, Launch):
                for argument in guarded.step.arguments:
                    for inner in walk(argument.value):
                        if isinstance(inner, Bytes):
                            found[inner.of.name] = max(inner.count, found.get(inner.of.name, 0))
        return found

    def written(self) -> list[Ref]:
        """Returns the tensors whose memory the driver writes or copies by a call of its own."""
        found: dict[Ref, None] = {}
        for guarded in self.steps:
            match guarded.step:
                case Upload(to=to) | Signal(to=to):
                    addresses: tuple[Expr, ...] = (to,)
                case Copy(to=to, source=source):
                    addresses = to, source
                case _:
                    continue
            for address in addresses:
                found.update({inner.of: None for inner in walk(address) if isinstance(inner, Number)})
        return list(found)

    def addresses(self) -> list[str]:
        """Returns the lists of numbers that are addresses of memory which the driver writes or copies."""
        found: dict[str, None] = {}
        for guarded in self.steps:
            step = guarded.step
            places = [step.to] if isinstance(step, (Copy, Signal)) else []
            places += [step.source] if isinstance(step, Copy) else []
            for inner in (inner for place in places for inner in walk(place)):
                if isinstance(inner, Item) and inner.what == "at":
                    found[inner.of.name] = None
        return list(found)

    # Beginnings.

    def begin(self) -> Values:
        return {parameter.name: self.first(parameter) for parameter in self.function.parameters}

    def first(self, parameter: Parameter) -> Value:
        """Returns some value for a parameter."""
        if parameter.name in self.streams:
            return self.random.choice(self.streams[parameter.name])
        match parameter.kind:
            case "tensor":
                return self.solver.tensor(self.random.choice((1, 2, 3)))
            case "optional tensor":
                return self.random.choice((None, self.solver.tensor(2)))
            case "array of tensors":
                return tuple(self.solver.tensor(2) for _ in range(self.random.choice((1, 2, 4))))
            case "shape":
                return tuple(self.random.choice(EXTENTS) for _ in range(2))
            case "f32" | "f64":
                return self.random.choice((0.5, 1.0, -2.25))
            case "bool":
                return self.random.choice((False, True))
            case _:
                return self.random.choice(EXTENTS)

    # Valid arguments.

    def solve(self, goals: Sequence[Wish], start: Values | None = None, tries: int = TRIES) -> Values | None:
        """Returns arguments that keep all rules and these goals, or None."""
        wishes = [*goals, *(rule.wish for rule in self.rules)]
        for _ in range(tries):
            found = self.solver.solve(self.begin() if start is None else start, wishes)
            if found is not None:
                return found
        return None

    def goals(self) -> Iterator[tuple[str, Wish]]:
        """Yields what distinguishes classes of arguments, with a name."""
        for condition in dict.fromkeys(guard for guarded in self.steps for guard in guarded.guards):
            yield "a branch", Wish(condition, True)
        conditions = [guarded.step.condition for guarded in self.checks if isinstance(guarded.step, Check)]
        for side in dict.fromkeys(choices(conditions)):
            yield "a choice", Wish(side, True)
        for parameter in self.function.parameters:
            ref = Ref(parameter.name)
            if parameter.kind == "optional tensor":
                yield f"{ref} given", Wish(Number("is_some", ref))
                yield f"{ref} left out", Wish(Number("is_some", ref), False)
            if parameter.kind == "array of tensors":
                for length in (1, 2, 3, 8):
                    yield f"{length} in {ref}", Wish(compare("==", Number("length", ref), length))
            if parameter.kind == "tensor":
                for rank in (0, 1, 2, 3, 4, 5):
                    yield f"{ref} of rank {rank}", Wish(compare("==", Number("ndim", ref), rank))
                yield f"{ref} empty", Wish(compare("==", Number("numel", ref), 0))
                yield f"{ref} of one element", Wish(compare("==", Number("numel", ref), 1))
                for index in (-1, -2, -3):
                    thin = compare("==", Item("size", ref, number(index)), 1)
                    yield f"{ref} of extent 1", Wish(thin)
                yield f"{ref} scattered", Wish(Number("contiguous", ref), False)

    def valid(self, few: int = 4) -> Iterator[Case]:
        """Yields valid arguments: some at random, then one for each class that has any."""
        base = None
        for turn in range(few):
            found = self.solve([], tries=TRIES if turn else FIRST_TRIES)
            if found is not None:
                base = base or found
                yield Case(self.dressed(found, turn), f"valid {turn}")
        if base is None:
            return
        seen = {repr(base)}
        for turn, (note, goal) in enumerate(self.goals()):
            found = self.solver.solve(base, [goal, *(rule.wish for rule in self.rules)], 60, granted=1)
            if found is not None and repr(found) not in seen:
                seen.add(repr(found))
                yield Case(self.dressed(found, turn), note)

    def dressed(self, values: Values, turn: int) -> Values:
        """Says the same in another way: strides that are not NULL, odd strides where they do not count, the other
        device; as much of it as the rules allow."""
        # A stream is one of the first device's.
        turns = [0] if self.streams else [turn, turn - turn % 2, 0]
        ways = [self.dressed_by(values, way) for way in turns]
        kept = (way for way in ways if all(self.solver.granted(rule.wish, way) for rule in self.rules))
        return next(kept, values)

    def dressed_by(self, values: Values, turn: int) -> Values:
        made = dict(values)
        for name, value in values.items():
            if isinstance(value, TensorValue):
                made[name] = dressed(value, turn)
            elif isinstance(value, tuple):
                made[name] = tuple(dressed(each, turn) if isinstance(each, TensorValue) else each for each in value)
        return made

    # Violations.

    def violations(self, base: Values) -> Iterator[Case]:
        """Yields arguments that violate a check, for each check and each condition that it joins."""
        for index, guarded in enumerate(self.checks):
            assert isinstance(guarded.step, Check)
            if index in self.implied or mentions(guarded.step.condition, (Variable, Status, Map)):
                continue
            if mentions(guarded.step.condition, (Count,)):
                yield from (Case(values, note, index) for values, note in miscounted(base))
                continue
            for leaf in leaves(guarded.step.condition):
                seen: set[str] = set()
                for turn in range(FOLDS if mentions(leaf, (Foldable,)) else WAYS):
                    start = self.solver.break_(leaf, base) if turn == 0 else None
                    found = self.violate(start or base, index, leaf, guarded)
                    if found is not None and repr(found) not in seen:
                        seen.add(repr(found))
                        yield Case(found, f"check {index}", index)

    def violate(self, base: Values, index: int, leaf: Expr, guarded: Guarded) -> Values | None:
        """Returns arguments that violate a part of one check: alone if that can be, else as the first."""
        assert isinstance(guarded.step, Check)
        goals = [Wish(leaf, False, guarded.guards, True)]
        goals += [Wish(other) for other in leaves(guarded.step.condition) if other is not leaf]
        others = [rule.wish for rule in self.rules if rule.check != index]
        before = list(takewhile(lambda rule: rule.check is None or rule.check < index, self.rules))
        passed = [rule.wish for rule in before]
        checked = [rule.wish for rule in before if rule.check is not None]
        for wishes, tries in ((goals + others, 2), (goals[:1] + passed, TRIES), (goals[:1] + checked, TRIES)):
            for turn in range(tries):
                found = self.solver.solve(base if turn == 0 else self.begin(), wishes, 80)
                if found is not None:
                    return found
        return None


def miscounted(base: Values) -> Iterator[tuple[Values, str]]:
    """Yields too few arguments, and too many."""
    yield dict(list(base.items())[:-1]), "the last argument left out"
    yield {**base, "one more": 0}, "one more argument"


def dressed(tensor: TensorValue, turn: int) -> TensorValue:
    strides = tensor.compact() if turn % 3 == 1 and tensor.strides is None else tensor.strides
    if turn % 2 == 1 and 1 in tensor.shape:
        whole = tensor.compact() if strides is None else strides
        strides = tuple(3 * stride if extent == 1 else stride for extent, stride in zip(tensor.shape, whole))
    device = (tensor.device[0], 1) if turn % 5 == 3 else tensor.device
    return replace(tensor, strides=strides, device=device)
