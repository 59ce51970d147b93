"""Checks that cannot fire: what they want follows from what has been checked before them. The translator has its own
reasons for leaving checks out (bounds.py), which these are to judge.

`Known` gathers conditions that hold and decides others by the intervals of terms, divisibility, and conditions that are
the same. It knows little, and what it says follows if no arithmetic overflows. Tensors have no negative rank or extent.
"""

from __future__ import annotations

import math
from collections.abc import Callable, Sequence
from dataclasses import dataclass, field, replace

from evaluation import binary, convert
from facts import INTEGERS, Binary, Cast, Const, Expr, Foldable, Item, Number, Ref, Select, Unary
from solver import NEGATED

Interval = tuple[float, float]
ALL: Interval = (-math.inf, math.inf)


def simple(expr: Expr, rank: Callable[[Ref], int | None] = lambda _: None) -> Expr:
    """Returns a term without conversions to wider types, factors of 1 and terms of 0, with the ranks that are known,
    and with indices from the front where they are."""
    match expr:
        case Cast(value, type_) if type_ in INTEGERS and type_ != "bool":
            inner = simple(value, rank)
            if isinstance(inner, Const):
                return Const(convert(inner.value, type_), type_)
            return inner if keeps(inner, type_) else Cast(inner, type_)
        case Binary(op, left, right, type_):
            return simple_binary(op, simple(left, rank), simple(right, rank), type_)
        case Unary("!", Binary(op, left, right, type_)) if op in NEGATED:
            return simple(Binary(NEGATED[op], left, right, type_), rank)
        case Unary(op, value, type_):
            return Unary(op, simple(value, rank), type_)
        case Number("ndim", of) if rank(of) is not None:
            return Const(rank(of) or 0, "i32")
        case Item(what, of, index):
            index, known = simple(index, rank), rank(of)
            if isinstance(index, Const) and known and -known <= index.value < 0:
                index = Const(index.value + known, "i64")
            return Item(what, of, Const(index.value, "i64") if isinstance(index, Const) else index)
        case Select(condition, then, otherwise, type_):
            return Select(simple(condition, rank), simple(then, rank), simple(otherwise, rank), type_)
        case _:
            return expr


def keeps(expr: Expr, type_: str) -> bool:
    """Whether a type holds what an expression yields, or is as wide, so that equal values stay equal."""
    own = getattr(expr, "type", "")
    if own not in INTEGERS:
        return False
    return INTEGERS[type_][0] >= INTEGERS[own][0]


def simple_binary(op: str, left: Expr, right: Expr, type_: str) -> Expr:
    match op, left, right:
        case "+" | "-" | "*", Const(), Const():
            return Const(binary(op, left.value, right.value, type_), type_)
        case "*", other, Const(1) if not isinstance(other, Const):
            return other
        case "*", Const(1), other:
            return other
        case "+", other, Const(0):
            return other
        case "+", Const(0), other:
            return other
    return Binary(op, left, right, type_)


@dataclass(frozen=True)
class Known:
    """Conditions that hold: the intervals of terms, numbers that divide them and terms that they equal, by their text,
    and the conditions themselves."""

    intervals: dict[str, Interval] = field(default_factory=dict)
    divisors: dict[str, int] = field(default_factory=dict)
    equals: dict[str, tuple[str, ...]] = field(default_factory=dict)
    conditions: frozenset[str] = frozenset()

    def learn(self, condition: Expr, truth: bool = True) -> Known:
        """Returns what is known if a condition holds too."""
        condition = self.normal(condition)
        match condition:
            case Unary("!", value):
                return self.learn(value, not truth)
            case Cast(value, "bool"):
                return self.learn(value, truth)
            case Binary(op, left, right) if op == ("&&" if truth else "||"):
                return self.learn(left, truth).learn(right, truth)
            case Binary("&&" | "||", left, right):
                return self.learn_one(left, right, truth).adding(repr((condition, truth)))
            case Binary(op, left, right, type_) if op in NEGATED:
                op = op if truth else NEGATED[op]
                known = self.divided(op, left, right).equal(op, left, right)
                known = known.adding(repr(Binary(op, left, right, type_)))
                return known.bound(left, op, self.interval(right)).bound(right, FLIPPED[op], self.interval(left))
        return self.adding(repr((condition, truth)))

    def learn_one(self, left: Expr, right: Expr, truth: bool) -> Known:
        """Learns that one of two conditions has this truth: which, if the other one cannot."""
        for one, other in ((left, right), (right, left)):
            if self.implies(Unary("!", other, "bool") if truth else other):
                return self.learn(one, truth)
        return self

    def normal(self, expr: Expr) -> Expr:
        """Returns a simple term, whose indices count from the front where the rank is known."""

        return simple(expr, self.rank)

    def rank(self, of: Ref) -> int | None:
        """Returns the rank of a tensor, if it is known."""
        low, high = self.intervals.get(repr(Number("ndim", of)), ALL)
        return int(low) if low == high else None

    def adding(self, text: str) -> Known:
        return replace(self, conditions=self.conditions | {text})

    def divided(self, op: str, left: Expr, right: Expr) -> Known:
        """Learns from a remainder of 0 what divides a term."""
        match op, left, right:
            case "==", Binary("%", term, Const(divisor)), Const(0) if divisor:
                divisors = {**self.divisors, repr(term): math.lcm(self.factor(term), int(divisor))}
                return replace(self, divisors=divisors)
        return self

    def equal(self, op: str, left: Expr, right: Expr) -> Known:
        """Learns that two terms are the same number."""
        if op != "==" or isinstance(left, Const) or isinstance(right, Const):
            return self
        one, other = repr(left), repr(right)
        more = {one: (*self.equals.get(one, ()), other), other: (*self.equals.get(other, ()), one)}
        return replace(self, equals={**self.equals, **more})

    def bound(self, term: Expr, op: str, other: Interval) -> Known:
        """Narrows the interval of a term that compares so with a value in another one."""
        low, high = self.interval(term)
        match op:
            case "==":
                low, high = max(low, other[0]), min(high, other[1])
            case "<":
                high = min(high, other[1] - 1)
            case "<=":
                high = min(high, other[1])
            case ">":
                low = max(low, other[0] + 1)
            case ">=":
                low = max(low, other[0])
            case "!=" if other[0] == other[1]:
                low, high = low + (low == other[0]), high - (high == other[0])
        return replace(self, intervals={**self.intervals, repr(term): (low, high)})

    def interval(self, term: Expr) -> Interval:
        """Returns an interval that holds the value of a term."""
        text = repr(term)
        found = [self.intervals.get(each, ALL) for each in (text, *self.equals.get(text, ()))]
        found.append(self.computed(term))
        low, high, unit = max(each[0] for each in found), min(each[1] for each in found), self.factor(term)
        if unit > 1 and math.isfinite(low):
            low = -(-low // unit) * unit
        return low, high

    def computed(self, term: Expr) -> Interval:
        match term:
            case Const(value):
                return value, value
            case Number("numel", of) if (rank := self.rank(of)) is not None:
                return self.product([Item("size", of, Const(i, "i64")) for i in range(rank)])
            case Number() | Item(what="size"):
                return 0, math.inf
            case Item(what="stride", of=of, index=Const(value)):
                return self.stride(of, int(value))
            case Binary("*", left, right):
                return product(self.interval(left), self.interval(right))
            case Binary("+", left, right):
                one, other = self.interval(left), self.interval(right)
                return one[0] + other[0], one[1] + other[1]
            case Binary("-", left, right, type_) if INTEGERS.get(type_, (0, False))[1]:
                one, other = self.interval(left), self.interval(right)
                return one[0] - other[1], one[1] - other[0]
            case Binary("/", left, right):
                return quotient(self.interval(left), self.interval(right))
            case Binary("%", left, Const(value)) if value > 0 and self.interval(left)[0] >= 0:
                return 0, value - 1
            case Cast(value, type_) if type_ in INTEGERS:
                return self.converted(self.interval(value), type_)
            case Select(_, then, otherwise):
                one, other = self.interval(then), self.interval(otherwise)
                return min(one[0], other[0]), max(one[1], other[1])
        return ALL

    def stride(self, of: Ref, index: int) -> Interval:
        """Returns an interval of a stride: that of a contiguous tensor is the product of the extents inside of it,
        where none is 0 and its own is above 1."""
        rank = self.rank(of)
        if rank is None or repr((Number("contiguous", of), True)) not in self.conditions or not 0 <= index < rank:
            return ALL
        sizes = [self.interval(Item("size", of, Const(i, "i64"))) for i in range(rank)]
        if sizes[index][0] < 2 or any(size[0] < 1 for size in sizes):
            return ALL
        return self.product([Item("size", of, Const(i, "i64")) for i in range(index + 1, rank)])

    def product(self, factors: Sequence[Expr]) -> Interval:
        found: Interval = (1, 1)
        for factor in factors:
            found = product(found, self.interval(factor))
        return found

    def converted(self, inner: Interval, type_: str) -> Interval:
        bits, signed = INTEGERS[type_]
        low, high = (-(2 ** (bits - 1)), 2 ** (bits - 1) - 1) if signed else (0, 2**bits - 1)
        return inner if low <= inner[0] and inner[1] <= high else (low, high)

    def implies(self, condition: Expr) -> bool:
        """Whether a condition follows."""
        condition = self.normal(condition)
        match condition:
            case Const(value):
                return bool(value)
            case Cast(value, "bool"):
                return self.implies(value)
            case Foldable(of, trailing) if (rank := self.rank(of)) is not None:
                return rank <= trailing + 1 or self.stride(of, rank - trailing - 1) != ALL
            case Binary("&&", left, right):
                return self.implies(left) and self.learn(left).implies(right)
            case Binary("||", left, right):
                return self.implies(left) or self.learn(left, False).implies(right)
            case Unary("!", Binary("&&", left, right)):
                return self.implies(Unary("!", left, "bool")) or self.learn(left).implies(Unary("!", right, "bool"))
            case Unary("!", Binary("||", left, right)):
                return self.implies(Unary("!", left, "bool")) and self.implies(Unary("!", right, "bool"))
            case Binary(op, left, right) if op in NEGATED:
                return repr(condition) in self.conditions or self.compares(op, left, right)
        return repr((condition, True)) in self.conditions

    def compares(self, op: str, left: Expr, right: Expr) -> bool:
        one, other = self.interval(left), self.interval(right)
        match op:
            case "<":
                return one[1] < other[0]
            case "<=":
                return one[1] <= other[0] or repr(left) == repr(right)
            case ">":
                return one[0] > other[1]
            case ">=":
                return one[0] >= other[1] or repr(left) == repr(right)
            case "!=":
                return one[1] < other[0] or one[0] > other[1]
        return one == other and one[0] == one[1] or repr(left) == repr(right) or self.divides(left, right)

    def divides(self, left: Expr, right: Expr) -> bool:
        """Whether a remainder is 0, since a factor is a multiple of the divisor or was found to be."""
        match left, right:
            case Binary("%", of, Const(divisor)), Const(0) if divisor:
                return self.factor(of) % int(divisor) == 0
        return False

    def factor(self, term: Expr) -> int:
        """Returns a number that divides a term."""
        known = self.divisors.get(repr(term), 1)
        low, high = self.intervals.get(repr(term), ALL)
        if low == high and low > 0:
            known = math.lcm(known, int(low))
        match term:
            case Const(value):
                return abs(int(value))
            case Binary("*", left, right):
                return max(known, self.factor(left) * self.factor(right))
            case Binary("+" | "-", left, right):
                return max(known, math.gcd(self.factor(left), self.factor(right)))
            case Cast(value, type_) if type_ in INTEGERS:
                return max(known, self.factor(value))
        return known


FLIPPED = {"==": "==", "!=": "!=", "<": ">", ">=": "<=", ">": "<", "<=": ">="}


def quotient(one: Interval, other: Interval) -> Interval:
    """Returns an interval of a quotient, of numbers that are not negative."""
    if one[0] < 0 or other[0] <= 0:
        return ALL
    low = one[0] // other[1] if math.isfinite(other[1]) else 0
    return low, one[1] // other[0] if math.isfinite(one[1]) else math.inf


def product(one: Interval, other: Interval) -> Interval:
    corners = [0 if not a or not b else a * b for a in one for b in other]
    return min(corners), max(corners)

