"""Steps of a host in a simpler form: without what takes no part in a comparison, without copies of checks and maps on
both sides of a branch, and with dims counted from the start where the rank is fixed."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import replace

import facts
from bounds import Known, conjuncts
from facts import Binary, Branch, Cast, Check, Const, Encode, Expr, Item, Later, Launch, Loop, Number, Ref, Step
from rewrite import changed
from words import factors


def simplified(steps: Sequence[Step]) -> tuple[Step, ...]:
    """Returns steps in their simpler form."""
    return counted_from_start(hoisted(pruned(steps), Known()))


def pruned(steps: Sequence[Step], encoders: int = 0, renumbered: dict[int, int] | None = None) -> tuple[Step, ...]:
    """Returns steps without their places, without checks of CUDA's own calls and branches that hold nothing else; maps
    are counted anew along each way."""
    renumbered = dict(renumbered or {})
    found: list[Step] = []
    for step in steps:
        match step:
            case Check():
                if step.status is None:
                    found.append(replace(step, places=()))
            case Branch():
                then, otherwise = pruned(step.then, encoders, renumbered), pruned(step.otherwise, encoders, renumbered)
                if then or otherwise:
                    found.append(Branch(step.condition, then, otherwise))
            case Loop():
                inner = pruned(step.steps, encoders, renumbered)
                if inner:
                    found.append(replace(step, steps=inner))
            case Later():
                found.append(Later(pruned(step.steps, encoders, renumbered)))
            case Encode():
                encoders += 1
                renumbered[step.number] = encoders
                found.append(replace(step, number=encoders, places=()))
            case Launch():
                arguments = tuple(replace(each, value=remapped(each.value, renumbered)) for each in step.arguments)
                found.append(replace(step, arguments=arguments, places=()))
            case facts.Upload():
                found.append(replace(step, values=tuple(remapped(each, renumbered) for each in step.values), places=()))
            case _:
                found.append(replace(step, places=()))
    return tuple(found)


def remapped(value: Expr, renumbered: dict[int, int]) -> Expr:
    return facts.Map(renumbered[value.encoder]) if isinstance(value, facts.Map) else value


def hoisted(steps: Sequence[Step], known: Known) -> tuple[Step, ...]:
    """Returns steps with the checks and maps that both sides of a branch have before the branch. The last case of a
    switch over values of which a check has said that there are no others is taken without a condition."""
    found: list[Step] = []
    for step in steps:
        if isinstance(step, Check):
            known.learn(known.simple(step.condition))
        if isinstance(step, Branch):
            found += split(cases(step, known))
        else:
            found.append(step)
    return tuple(found)


def cases(step: Branch, known: Known) -> Branch:
    conditions = [step.condition]
    last = step
    while len(last.otherwise) == 1 and isinstance(last.otherwise[0], Branch):
        last = last.otherwise[0]
        conditions.append(last.condition)
    whole = conditions[0]
    for condition in conditions[1:]:
        whole = Binary("||", whole, condition, "bool")
    if last.otherwise or known.simple(whole) not in known.conditions:
        return step
    return step if last is step else without_last(step)


def without_last(step: Branch) -> Branch:
    """Returns a switch whose last case needs no condition."""
    inner = step.otherwise[0]
    assert isinstance(inner, Branch)
    if not inner.otherwise:
        return Branch(step.condition, step.then, inner.then)
    return Branch(step.condition, step.then, (without_last(inner),))


def split(step: Branch) -> list[Step]:
    """Returns the checks and maps that are on both sides, and the branch over what is left: none of them does anything
    that others could notice."""
    otherwise: Sequence[Step] = step.otherwise
    if len(otherwise) == 1 and isinstance(otherwise[0], Branch):
        otherwise = split(otherwise[0])
    common = [each for each in step.then if isinstance(each, (Check, Encode)) and each in otherwise]
    then = tuple(each for each in step.then if each not in common)
    rest = tuple(each for each in otherwise if each not in common)
    return [*common, *([Branch(step.condition, then, rest)] if then or rest else [])]


def counted_from_start(steps: tuple[Step, ...]) -> tuple[Step, ...]:
    """Returns steps in which dims of tensors of a fixed rank are counted from the start."""
    ranks: dict[Ref, int] = {}
    for step in steps:
        for condition in conjuncts(step.condition) if isinstance(step, Check) else []:
            match condition:
                case Binary("==", Number("ndim", of), Const(value=rank)):
                    ranks[of] = int(rank)

    def count(value: Expr) -> Expr:
        match value:
            case Item("size" | "stride", of, Const(value=index)) if index < 0 and of in ranks:
                return replace(value, index=Const(int(index) + ranks[of], "i64"))
            case Binary("/", Number("numel", of), below) if of in ranks:
                return above(value, of, ranks[of], factors(below))
        return value

    return changed(steps, count) if ranks else steps


def above(value: Expr, of: Ref, rank: int, below: list[Expr]) -> Expr:
    """Returns the number of elements divided by some extents as the product of the others."""
    sizes: list[Expr] = [Item("size", of, Const(index, "i64")) for index in range(rank)]
    if any(each not in sizes for each in below) or len(set(below)) < len(below):
        return value
    product: Expr = Const(1, "i64")
    for each in sizes:
        if each not in below:
            product = each if product == Const(1, "i64") else Binary("*", product, each, "i64")
    return product


def plain(value: Expr) -> Expr:
    """Returns a number without the conversions around it."""
    while isinstance(value, Cast) and value.type in ("u64", "i64", "u32", "i32"):
        value = value.value
    return value
