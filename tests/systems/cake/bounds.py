"""What follows from checks that have passed: bounds of numbers, divisors, and conditions that can no longer fail, so
that a translation need not say them.

Extents are not negative and products of extents fit 64 bits: our own functions refuse other tensors before anything
else, and maps of them.
"""

from __future__ import annotations

import math
from dataclasses import dataclass, field

import facts
from evaluation import binary
from facts import Binary, BitLength, Cast, Const, Expr, Item, Number, Select, Unary, Variable

LEAST, MOST = -math.inf, math.inf

Bounds = tuple[float, float]

MIRRORED = {"<": ">", "<=": ">=", ">": "<", ">=": "<=", "==": "==", "!=": "!="}
NEGATED = {"<": ">=", "<=": ">", ">": "<=", ">=": "<", "==": "!=", "!=": "=="}


def range_of(type_: str) -> Bounds:
    """Returns the least and greatest value of a type."""
    if type_ not in facts.INTEGERS:
        return LEAST, MOST
    bits, signed = facts.INTEGERS[type_]
    if type_ == "bool":
        return 0, 1
    return (-(1 << bits - 1), (1 << bits - 1) - 1) if signed else (0, (1 << bits) - 1)


@dataclass
class Known:
    """What is known at some point of a function, of numbers without needless conversions."""

    bounds: dict[Expr, Bounds] = field(default_factory=dict)
    divisors: dict[Expr, frozenset[int]] = field(default_factory=dict)
    conditions: set[Expr] = field(default_factory=set)

    def copy(self) -> Known:
        return Known(dict(self.bounds), dict(self.divisors), set(self.conditions))

    # Numbers.

    def simple(self, value: Expr) -> Expr:
        """Returns a number without the conversions that do not change it."""
        value = denied(value)
        match value:
            case Cast(inner, type_):
                return self.converted(self.simple(inner), type_)
            case Binary(op, left, right, type_):
                return computed(op, self.simple(left), self.simple(right), type_)
            case Unary(op, inner, type_):
                return Unary(op, self.simple(inner), type_)
            case Select(condition, then, otherwise, type_):
                return Select(self.simple(condition), self.simple(then), self.simple(otherwise), type_)
            case BitLength(inner):
                return BitLength(self.simple(inner))
            case Number() | Item() if value in self.bounds and len(set(self.bounds[value])) == 1:
                return Const(int(self.bounds[value][0]), value.type)
        return value

    def converted(self, value: Expr, type_: str) -> Expr:
        if "ptr" in (value.type, type_) or type_ in facts.FLOATS or value.type in facts.FLOATS:
            return Cast(value, type_)
        least, most = self.of(value)
        first, last = range_of(type_)
        return value if first <= least and most <= last else Cast(value, type_)

    def of(self, value: Expr) -> Bounds:
        """Returns the bounds of a simple number."""
        least, most = self.structural(value)
        first, last = self.bounds.get(value, (LEAST, MOST))
        return max(least, first), min(most, last)

    def structural(self, value: Expr) -> Bounds:
        """Returns the bounds that the form of a number gives."""
        match value:
            case Const():
                return value.value, value.value
            case Number("ndim" | "length"):
                return 0, (1 << 31) - 1
            case Number("numel") | Item("size") | Variable():
                return 0, (1 << 63) - 1
            case Binary(op, left, right) if op in "+-*/":
                return self.arithmetic(value, self.of(left), self.of(right))
            case Binary("%", _, Const(value=divisor)) if divisor > 0:
                return 1 - divisor, divisor - 1
            case Select(_, then, otherwise):
                one, other = self.of(then), self.of(otherwise)
                return min(one[0], other[0]), max(one[1], other[1])
            case BitLength():
                return 0, 64
        return range_of(value.type)

    def arithmetic(self, value: Binary, left: Bounds, right: Bounds) -> Bounds:
        if value.op == "+":
            return left[0] + right[0], left[1] + right[1]
        if value.op == "-":
            return left[0] - right[1], left[1] - right[0]
        if left[0] < 0 or right[0] < 0:
            return LEAST, MOST
        if value.op == "*":
            return times(left[0], right[0]), min(times(left[1], right[1]), (1 << 63) - 1)
        if right[0] == 0:
            return 0, left[1]
        least = left[0] // right[1]
        if isinstance(value.right, Const) and self.divides(int(value.right.value), value.left) and left[0] > 0:
            least = max(1, least)
        return least, left[1] // right[0]

    def divides(self, divisor: int, value: Expr) -> bool:
        """Whether a number is known to be a multiple."""
        if isinstance(value, Const):
            return value.value % divisor == 0
        if any(known % divisor == 0 for known in self.divisors.get(value, ())):
            return True
        match value:
            case Binary("*", left, right):
                return self.divides(divisor, left) or self.divides(divisor, right)
            case Binary("+" | "-", left, right):
                return self.divides(divisor, left) and self.divides(divisor, right)
            case Cast(inner):
                return self.divides(divisor, inner)
        return False

    # Conditions.

    def holds(self, condition: Expr) -> bool:
        """Whether a simple condition cannot fail."""
        if condition in self.conditions:
            return True
        match condition:
            case Const():
                return bool(condition.value)
            case Binary("&&", left, right):
                return self.holds(left) and self.holds(right)
            case Binary("||", left, right):
                return self.holds(left) or self.holds(right)
            case Binary("==", Binary("%", left, Const(value=divisor)), Const(value=0)):
                return self.divides(int(divisor), left)
            case Unary("!", Binary(op, left, right)) if op in NEGATED:
                return self.compares(NEGATED[op], left, right)
            case Binary(op, left, right) if op in MIRRORED:
                return self.compares(op, left, right)
        return False

    def compares(self, op: str, left: Expr, right: Expr) -> bool:
        if left.type in facts.FLOATS:
            return False
        first, second = self.of(left), self.of(right)
        match op:
            case "<":
                return first[1] < second[0]
            case "<=":
                return first[1] <= second[0]
            case ">":
                return first[0] > second[1]
            case ">=":
                return first[0] >= second[1]
            case "!=":
                return first[1] < second[0] or first[0] > second[1]
        return first[0] == first[1] == second[0] == second[1]

    def learn(self, condition: Expr) -> None:
        """Notes that a simple condition holds."""
        self.conditions.add(condition)
        match condition:
            case Binary("&&", left, right):
                self.learn(left)
                self.learn(right)
            case Binary("==", Binary("%", left, Const(value=divisor)), Const(value=0)):
                self.divisors[left] = self.divisors.get(left, frozenset()) | {int(divisor)}
            case Unary("!", Binary(op, left, right)) if op in NEGATED:
                self.learn(Binary(NEGATED[op], left, right, "bool"))
            case Binary(op, left, Const(value=value)) if op in MIRRORED:
                self.bound(op, left, value)
            case Binary(op, Const(value=value), right) if op in MIRRORED:
                self.bound(MIRRORED[op], right, value)

    def bound(self, op: str, value: Expr, limit: float) -> None:
        least, most = self.of(value)
        if op in (">", ">=", "=="):
            least = max(least, limit + (op == ">"))
        if op in ("<", "<=", "=="):
            most = min(most, limit - (op == "<"))
        if op == "!=" and limit == least:
            least += 1
        self.bounds[value] = least, most


def denied(value: Expr) -> Expr:
    """Returns a condition without a denial that its comparison can express."""
    match value:
        case Unary("!", Unary("!", inner)):
            return denied(inner)
        case Unary("!", Binary(op, left, right, type_)) if op in NEGATED:
            return Binary(NEGATED[op], left, right, type_)
    return value


def computed(op: str, left: Expr, right: Expr, type_: str) -> Expr:
    """Returns `left op right`, computed where both are constants."""
    if isinstance(left, Const) and isinstance(right, Const) and op in "+-*/%" and right.value != 0:
        return Const(binary(op, left.value, right.value, type_), type_)
    return Binary(op, left, right, type_)


def times(left: float, right: float) -> float:
    return 0 if 0 in (left, right) else left * right


def conjuncts(condition: Expr) -> list[Expr]:
    """Returns the conditions that `&&` joins."""
    if isinstance(condition, Binary) and condition.op == "&&":
        return [*conjuncts(condition.left), *conjuncts(condition.right)]
    return [condition]
