"""Walks over the steps and expressions of a host's facts, whatever their form."""

from __future__ import annotations

import dataclasses
from collections.abc import Callable, Iterator, Sequence
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
            case _:
                yield step
