"""Walks over the steps and expressions of a host's facts, whatever their form."""

from __future__ import annotations

import dataclasses
from collections.abc import Callable, Iterator, Sequence
from dataclasses import dataclass
from typing import TypeVar

import facts
from facts import Expr, Step

T = TypeVar("T")


def changed(value: T, change: Callable[[Expr], Expr]) -> T:
    """Returns a step, an expression or a tuple of them in which every expression is changed, the inner ones first."""
    if isinstance(value, tuple):
        return tuple(changed(each, change) for each in value)  # type: ignore[return-value]
    if not dataclasses.is_dataclass(value) or isinstance(value, (facts.Ref, facts.Place)):
        return value
    parts = {field.name: getattr(value, field.name) for field in dataclasses.fields(value)}
    new = {name: changed(part, change) for name, part in parts.items()}
    different = {name: part for name, part in new.items() if part is not parts[name] and part != parts[name]}
    result = dataclasses.replace(value, **different) if different else value  # type: ignore[type-var]
    return change(result) if isinstance(result, EXPRESSIONS) else result  # type: ignore[return-value]


EXPRESSIONS = (
    facts.Const,
    facts.Unset,
    facts.Scalar,
    facts.Number,
    facts.Item,
    facts.Foldable,
    facts.Attribute,
    facts.Current,
    facts.Count,
    facts.Stream,
    facts.Map,
    facts.Struct,
    facts.Bytes,
    facts.BitLength,
    facts.Variable,
    facts.Status,
    facts.Unary,
    facts.Binary,
    facts.Cast,
    facts.Select,
)


def children(expr: Expr) -> tuple[Expr, ...]:
    match expr:
        case facts.Item():
            return (expr.index,)
        case facts.Attribute() | facts.Stream():
            return (expr.device,)
        case facts.Struct():
            return expr.fields
        case facts.Unary() | facts.Cast() | facts.BitLength():
            return (expr.value,)
        case facts.Binary():
            return (expr.left, expr.right)
        case facts.Select():
            return (expr.condition, expr.then, expr.otherwise)
        case facts.Const() | facts.Unset() | facts.Scalar() | facts.Number() | facts.Foldable() | facts.Map():
            return ()
        case facts.Variable() | facts.Status() | facts.Current() | facts.Bytes() | facts.Count():
            return ()


def walk(expr: Expr) -> Iterator[Expr]:
    yield expr
    for child in children(expr):
        yield from walk(child)


def names(expr: Expr) -> frozenset[str]:
    """Returns the parameters that an expression reads."""
    found = set()
    for inner in walk(expr):
        if isinstance(inner, facts.Scalar):
            found.add(inner.name)
        elif isinstance(inner, (facts.Number, facts.Item, facts.Foldable, facts.Bytes)):
            found.add(inner.of.name)
    return frozenset(found)


def mentions(expr: Expr, kinds: tuple[type, ...]) -> bool:
    return any(isinstance(inner, kinds) for inner in walk(expr))


def expressions(value: object) -> Iterator[Expr]:
    """Yields every expression in a step, an expression or a tuple of them, the outer ones first."""
    if isinstance(value, tuple):
        for each in value:
            yield from expressions(each)
    elif dataclasses.is_dataclass(value) and not isinstance(value, (facts.Ref, facts.Place)):
        if isinstance(value, EXPRESSIONS):
            yield value
        for field in dataclasses.fields(value):
            yield from expressions(getattr(value, field.name))


def effects(steps: Sequence[Step]) -> Iterator[Step]:
    """Yields the steps that are no checks, those of branches and loops too."""
    for step in steps:
        match step:
            case facts.Check():
                pass
            case facts.Branch():
                yield from effects([*step.then, *step.otherwise])
            case facts.Loop():
                yield step
                yield from effects(step.steps)
            case facts.Later():
                yield from effects(step.steps)
            case _:
                yield step


@dataclass(frozen=True)
class Guarded:
    """A step and the conditions of the branches that lead to it."""

    guards: tuple[Expr, ...]
    step: Step


def flatten(steps: Sequence[Step], guards: tuple[Expr, ...] = ()) -> Iterator[Guarded]:
    """Yields each step that is no branch in order, with the conditions under which it is reached. A loop's steps have
    the loop before them, those of a later phase stand at its place."""
    for step in steps:
        if isinstance(step, facts.Branch):
            yield from flatten(step.then, (*guards, step.condition))
            yield from flatten(step.otherwise, (*guards, facts.Unary("!", step.condition, "bool")))
        elif isinstance(step, facts.Loop):
            yield Guarded(guards, step)
            yield from flatten(step.steps, guards)
        elif isinstance(step, facts.Later):
            yield from flatten(step.steps, guards)
        else:
            yield Guarded(guards, step)
