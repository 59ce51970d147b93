"""Expressions of facts.py as functions of Python, which are some times faster than `evaluate` and mean the same: the
search for arguments evaluates each condition thousands of times."""

from __future__ import annotations

import operator
from collections.abc import Callable

from evaluation import (
    Arguments,
    Environment,
    TensorValue,
    binary,
    convert,
    evaluate,
    lookup,
    number,
    plain,
    unary,
)
from facts import FLOATS, Binary, Cast, Const, Expr, Number, Scalar, Select, Unary

Closure = Callable[[Arguments], "int | float"]

COMPARISONS = {
    "==": operator.eq,
    "!=": operator.ne,
    "<": operator.lt,
    "<=": operator.le,
    ">": operator.gt,
    ">=": operator.ge,
}
ARITHMETIC = {"+": operator.add, "-": operator.sub, "*": operator.mul}


class Closures:
    """Functions of expressions in one environment, made once each."""

    def __init__(self, environment: Environment) -> None:
        self.environment = environment
        # Expressions are kept, so that their identities stay theirs.
        self.made: dict[int, tuple[Expr, Closure]] = {}

    def of(self, expr: Expr) -> Closure:
        found = self.made.get(id(expr))
        if found is None:
            found = self.made[id(expr)] = (expr, self.make(expr))
        return found[1]

    def make(self, expr: Expr) -> Closure:
        match expr:
            case Const():
                constant = expr.value
                return lambda _: constant
            case Scalar():
                name, type_ = expr.name, expr.type
                return lambda values: convert(plain(values[name]), type_)
            case Number():
                return self.make_number(expr)
            case Binary():
                return self.make_binary(expr)
            case Unary("!"):
                negated = self.of(expr.value)
                return lambda values: int(not negated(values))
            case Unary():
                operand, op, type_ = self.of(expr.value), expr.op, expr.type
                return lambda values: unary(op, operand(values), type_)
            case Cast():
                cast, type_ = self.of(expr.value), expr.type
                return lambda values: convert(cast(values), type_)
            case Select():
                condition, then, otherwise = map(self.of, (expr.condition, expr.then, expr.otherwise))
                return lambda values: then(values) if condition(values) else otherwise(values)
            case _:
                return lambda values: evaluate(expr, values, self.environment)

    def make_number(self, expr: Number) -> Closure:
        of = expr.of

        def ndim(values: Arguments) -> int:
            found = lookup(of, values)
            return len(found.shape) if isinstance(found, TensorValue) else number(expr, values)

        return ndim if expr.what == "ndim" else lambda values: number(expr, values)

    def make_binary(self, expr: Binary) -> Closure:
        left, right, op, type_ = self.of(expr.left), self.of(expr.right), expr.op, expr.type
        if op == "&&":
            return lambda values: int(bool(left(values)) and bool(right(values)))
        if op == "||":
            return lambda values: int(bool(left(values)) or bool(right(values)))
        if op in COMPARISONS:
            compares = COMPARISONS[op]
            return lambda values: int(compares(left(values), right(values)))
        if op in ARITHMETIC and type_ == "i64":
            apply = ARITHMETIC[op]

            def computed(values: Arguments) -> int | float:
                result = apply(left(values), right(values))
                return result if -(2**63) <= result < 2**63 else convert(result, type_)

            return computed
        assert type_ in FLOATS or op not in COMPARISONS
        return lambda values: binary(op, left(values), right(values), type_)
