"""What following a host finds: its steps so far, the places that lead to the next one, and what variables are given."""

from __future__ import annotations

from collections.abc import Iterator
from contextlib import contextmanager

import facts
from facts import Check, Const, Expr, Place, Step
from values import Cell, Value, statuses, stripped


class Notes:
    """The steps of a function that is followed, and what its checks have said of numbers."""

    def __init__(self, path: str):
        self.steps: list[Step] = []
        self.places: tuple[Place, ...] = ()
        self.path = path
        self.written: list[dict[int, tuple[Cell, Value]]] = []
        self.equal: dict[Expr, Const] = {}

    def place(self, line: int) -> tuple[Place, ...]:
        return (*self.places, Place(self.path, line))

    def note(self, step: Step) -> None:
        self.steps.append(step)

    def check(self, condition: Expr, kind: str, line: int, about: str | None = None) -> None:
        """Notes a check. What it demands of an extent or length is known afterwards."""
        about = about or next(statuses(condition), None)
        self.note(Check(condition, kind, self.place(line), about))
        self.learn(condition)

    def learn(self, condition: Expr) -> None:
        match condition:
            case facts.Binary("&&", left, right):
                self.learn(left)
                self.learn(right)
            case facts.Binary("==", left, Const() as right):
                self.equal[stripped(left)] = right

    # Variables.

    def write(self, cell: Cell, value: Value) -> None:
        for noted in self.written:
            noted.setdefault(id(cell), (cell, cell.value))
        cell.value = value

    @contextmanager
    def aside(self) -> Iterator[tuple[list[Step], dict[int, tuple[Cell, Value]]]]:
        """Follows statements of a branch: their steps and what they write are kept apart, and undone afterwards."""
        outer, self.steps = self.steps, []
        equal = dict(self.equal)
        noted: dict[int, tuple[Cell, Value]] = {}
        self.written.append(noted)
        try:
            yield self.steps, noted
        finally:
            self.written.pop()
            self.steps, self.equal = outer, equal
            for key, (cell, before) in list(noted.items()):
                noted[key] = (cell, cell.value)
                cell.value = before
