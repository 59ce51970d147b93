"""Follows an exported function of a generated host and notes what it does, as steps of `facts.py`.

Constants are computed, functions of the host are entered, and a condition on an argument becomes a branch.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass

import cpp
import facts
from cpp import Statement, Unreadable
from evaluate import Evaluator
from facts import Branch, Const, Expr, Loop, Variable
from values import Cell, Unknown, Value, convert, copied, expr, infix, is_expr, merge, simple, stripped

TURNS = 64


@dataclass(frozen=True)
class Returned:
    value: Value


class Executor(Evaluator):
    """Follows one function."""

    # Functions.

    def call(
        self, function: cpp.Function, arguments: Sequence[Cell], line: int, template: Sequence[Value] = ()
    ) -> Value:
        """Enters a function of the host; returns its value."""
        if function.body is None:
            raise Unreadable(f"{function.name} has no body")
        if len(self.places) > 20:
            raise Unreadable(f"{function.name} calls itself")
        outer = self.names, self.places, self.path
        places = self.place(line) if line else self.places
        self.names = {name: Cell(value) for name, value in zip(function.template, template)}
        for parameter, cell in zip(function.parameters, arguments):
            self.names[parameter.name] = passed(parameter, cell)
        self.places, self.path = places, self.program.paths[id(function)]
        try:
            returned = self.run(list(function.body))
        finally:
            self.names, self.places, self.path = outer
        return returned.value if returned else None

    # Statements.

    def run(self, statements: list[Statement]) -> Returned | None:
        """Follows statements up to a return."""
        for index, statement in enumerate(statements):
            rest = statements[index + 1 :]
            match statement:
                case cpp.Block():
                    return self.run([*statement.body, *rest])
                case cpp.Return():
                    return Returned(self.value(statement.value) if statement.value else None)
                case cpp.If():
                    condition = self.condition(statement.condition)
                    if isinstance(condition, Const):
                        return self.run([*(statement.then if condition.value else statement.otherwise), *rest])
                    if returns(statement.then) or returns(statement.otherwise):
                        return self.part(condition, [*statement.then, *rest], [*statement.otherwise, *rest])
                    self.part(condition, list(statement.then), list(statement.otherwise))
                case cpp.Switch():
                    return self.run([self.chain(statement), *rest])
                case cpp.For():
                    self.loop(statement)
                case cpp.Declare():
                    self.declare(statement)
                case cpp.Evaluate():
                    self.evaluate(statement.expr, statement.line)
                case cpp.Break():
                    raise Unreadable(f"line {statement.line}: a break")
        return None

    def part(self, condition: Expr, then: list[Statement], otherwise: list[Statement]) -> Returned | None:
        """Follows both sides of a condition."""
        names = dict(self.names)
        with self.aside() as (then_steps, then_written):
            first = self.run(then)
        self.names = dict(names)
        with self.aside() as (otherwise_steps, otherwise_written):
            second = self.run(otherwise)
        self.names = names
        for key in then_written.keys() | otherwise_written.keys():
            cell = (then_written.get(key) or otherwise_written[key])[0]
            sides = (then_written, otherwise_written)
            values = [written[key][1] if key in written else cell.value for written in sides]
            self.write(cell, merged(condition, *values))
        if then_steps or otherwise_steps:
            self.note(Branch(condition, tuple(then_steps), tuple(otherwise_steps)))
        if first is None and second is None:
            return None
        values = [returned.value if returned else None for returned in (first, second)]
        return Returned(None if None in values else merge(condition, *values))

    def chain(self, switch: cpp.Switch) -> Statement:
        """Returns a switch as conditions, one after the other."""
        result: tuple[Statement, ...] = ()
        for label, body in reversed(switch.cases):
            statements = tuple(each for each in body if not isinstance(each, cpp.Break))
            if label is None:
                result = statements
            else:
                condition = cpp.Infix("==", switch.value, label, switch.line)
                result = (cpp.If(condition, statements, result, switch.line),)
        return cpp.Block(result, switch.line)

    def loop(self, statement: cpp.For) -> None:
        """Unrolls a loop whose number of turns is known, and notes any other."""
        if statement.start is None or statement.condition is None or statement.step is None:
            raise Unreadable(f"line {statement.line}: a loop of another form")
        self.run([statement.start])
        for _ in range(TURNS + 1):
            condition = self.known(self.condition(statement.condition))
            if not isinstance(condition, Const):
                return self.symbolic(statement)
            if not condition.value:
                return None
            self.run(list(statement.body))
            self.value(statement.step)
        raise Unreadable(f"line {statement.line}: a loop of more than {TURNS} turns")

    def symbolic(self, statement: cpp.For) -> None:
        """Notes a loop that counts from its start, with the steps of a turn."""
        condition = self.condition(statement.condition)  # type: ignore[arg-type]
        if not isinstance(statement.start, cpp.Declare):
            raise Unreadable(f"line {statement.line}: a loop of another form")
        counter = self.names[statement.start.name]
        start = expr(counter.value)
        counts = isinstance(statement.step, cpp.Prefix) and statement.step.op == "++"
        if not (counts and isinstance(condition, facts.Binary) and condition.op == "<" and condition.left == start):
            raise Unreadable(f"line {statement.line}: a loop of another form")
        self.loops += 1
        variable = Variable(f"i{self.loops}", start.type)
        with self.aside() as (_, written):
            self.write(counter, variable)
            self.run(list(statement.body))
        for cell, _ in written.values():  # what a turn finds before it writes it is not known
            self.write(cell, Unknown("what an earlier turn has written"))
        with self.aside() as (steps, _):
            self.write(counter, variable)
            self.run(list(statement.body))
        self.note(Loop(variable, start, condition.right, tuple(steps)))

    def known(self, condition: Expr) -> Expr:
        """Returns a comparison with what a check has said about its right side."""
        if isinstance(condition, facts.Binary):
            value = self.equal.get(stripped(condition.right))
            if value is not None:
                return infix(condition.op, condition.left, value)
        return condition

    def enter(self, function: cpp.Function, arguments: Sequence[Cell], fields: dict[str, Cell], line: int) -> None:
        """Follows a constructor, which sees the fields."""
        outer = self.names, self.places, self.path
        self.places, self.path = self.place(line), self.program.paths[id(function)]
        self.names = dict(fields)
        for parameter, cell in zip(function.parameters, arguments):
            self.names[parameter.name] = passed(parameter, cell)
        self.run(list(function.body or ()))
        self.names, self.places, self.path = outer


def merged(condition: Expr, then: Value, otherwise: Value) -> Value:
    """Returns what a variable holds after a branch; nothing that can be used if its values have no common form."""
    try:
        return merge(condition, then, otherwise)
    except Unreadable:
        return Unknown("what depends on a condition")


def passed(parameter: cpp.Parameter, cell: Cell) -> Cell:
    """Returns what a parameter holds: the variable itself for a reference, else a copy."""
    number = simple(parameter.type)
    if parameter.type.reference and not number:
        return cell
    if number and is_expr(cell.value):
        return Cell(convert(expr(cell.value), number), number)
    return Cell(copied(cell.value), number)


def returns(statements: Sequence[Statement]) -> bool:
    """Whether a return stands in statements."""
    for statement in statements:
        match statement:
            case cpp.Return():
                return True
            case cpp.Block() | cpp.For():
                if returns(statement.body):
                    return True
            case cpp.If():
                if returns(statement.then) or returns(statement.otherwise):
                    return True
            case cpp.Switch():
                if any(returns(body) for _, body in statement.cases):
                    return True
            case cpp.Declare() | cpp.Evaluate() | cpp.Break():
                pass
    return False
