"""A search for arguments that make conditions true or false.

Conditions are those of facts.py. `Solver.solve` changes arguments until all that is wanted holds: it takes the first
condition that does not and changes what it reads so that it does, by inverting its arithmetic, at random where there
are several ways. It may fail, and what it returns has been evaluated.
"""

from __future__ import annotations

import random
from collections.abc import Callable, Iterator, Mapping, Sequence
from dataclasses import dataclass, replace

from closures import Closures
from evaluation import Environment, TensorValue, Undefined, Value
from facts import Attribute, Binary, BitLength, Bytes, Cast, Const, Count, Current, Expr, Foldable, Item, Map, Number
from facts import Ref, Scalar, Select, Status, Stream, Struct, Unary, Unset, Variable
from rewrite import names, walk
from tensors import MAX_RANK, folded, gathered, resized, scattered, with_elements, with_extent, with_stride

Values = dict[str, Value]

NEGATED = {"==": "!=", "!=": "==", "<": ">=", ">=": "<", ">": "<=", "<=": ">"}
MIRRORED = {"==": "==", "!=": "!=", "<": ">", ">=": "<=", ">": "<", "<=": ">="}
# Element types of DLPack that arguments are given where another one is expected.
DTYPES = ((2, 32, 1), (2, 16, 1), (4, 16, 1), (0, 32, 1), (0, 64, 1), (1, 8, 1), (1, 32, 1), (10, 8, 1), (17, 4, 2))
# The codes of the element types that exist, by their bits.
CODES = {4: (0, 1, 17), 8: (0, 1, 6, 10, 12, 14), 16: (0, 1, 2, 4), 32: (0, 1, 2), 64: (0, 1, 2)}
EXTENTS = (1, 2, 3, 4, 5, 7, 8, 16, 32, 64, 96, 128, 256, 512, 1024)
# Why an expression has no value: an index beyond a rank, the number of a turn of a loop, what C++ does not define.
NO_VALUE = (IndexError, KeyError, Undefined)
# Devices of the stand-in.
DEVICES = 2


@dataclass(frozen=True)
class Wish:
    """A condition and whether it is to hold, where the guards hold; a demand wants the guards to hold too."""

    condition: Expr
    truth: bool = True
    guards: tuple[Expr, ...] = ()
    demand: bool = False


class Solver:
    """Solves wishes over the parameters of one function, whose kinds are given by name; some may only have the values
    that are given for them."""

    def __init__(
        self,
        kinds: Mapping[str, str],
        environment: Environment,
        random_: random.Random,
        only: Mapping[str, Sequence[int]] | None = None,
    ) -> None:
        self.kinds = kinds
        self.only = only or {}
        self.closures = Closures(environment)
        self.random = random_
        # Whether the first way is taken: numbers at the limits of comparisons.
        self.is_tight = False
        # What wishes read, by their identity.
        self.read: dict[int, tuple[Wish, frozenset[str]]] = {}

    # Truth.

    def value(self, expr: Expr, values: Values) -> int | float:
        return self.closures.of(expr)(values)

    def number(self, expr: Expr, values: Values) -> int | float | None:
        """Returns the value of an expression, None if it has none."""
        try:
            return self.value(expr, values)
        except NO_VALUE:
            return None

    def truth(self, expr: Expr, values: Values) -> bool | None:
        """Returns whether a condition holds; None if it has no value."""
        found = self.number(expr, values)
        return None if found is None else bool(found)

    def granted(self, wish: Wish, values: Values) -> bool:
        if all(self.truth(guard, values) for guard in wish.guards):
            return self.truth(wish.condition, values) is wish.truth
        return not wish.demand

    # Search.

    def solve(
        self, values: Values, wishes: Sequence[Wish], rounds: int = 200, granted: int | None = None
    ) -> Values | None:
        """Returns arguments for which all wishes are granted, from these; None if it finds none. Those after the first
        `granted` ones are known to be granted by what it begins with."""
        reads = [self.reads(wish) for wish in wishes]
        unknown = set(range(len(wishes) if granted is None else granted))
        for _ in range(rounds):
            for first in sorted(unknown):
                if not self.granted(wishes[first], values):
                    break
                unknown.remove(first)
            else:
                return values
            changed = self.grant(wishes[first], values)
            if changed is None:
                return None
            touched = {name for name in changed if changed[name] is not values.get(name)}
            values = changed
            unknown.update(i for i, names_ in enumerate(reads) if not names_.isdisjoint(touched))
        return None

    def reads(self, wish: Wish) -> frozenset[str]:
        """Returns the parameters that decide whether a wish is granted."""
        found = self.read.get(id(wish))
        if found is None:
            found = self.read[id(wish)] = (wish, names(wish.condition).union(*map(names, wish.guards)))
        return found[1]

    def grant(self, wish: Wish, values: Values) -> Values | None:
        for guard in wish.guards:
            if not self.truth(guard, values):
                return self.choose(guard, True, values)
        return self.choose(wish.condition, wish.truth, values)

    def choose(self, expr: Expr, truth: bool, values: Values) -> Values | None:
        """Returns arguments after one change that is to make a condition true or false, or None."""
        deeper = self.deepen(expr, values)
        if deeper is not None:
            return deeper
        try:
            ways = list(self.ways(expr, truth, values))
        except NO_VALUE:
            return None
        if not self.is_tight:
            self.random.shuffle(ways)
        for way in ways:
            try:
                changed = way()
            except NO_VALUE:
                continue
            if changed is not None:
                return changed
        return None

    def deepen(self, expr: Expr, values: Values) -> Values | None:
        """Returns arguments with tensors that have all dims, and arrays all elements, that an expression names, and
        with no divisor of 0; None if nothing is missing."""
        if self.truth(expr, values) is not None:
            return None
        for inner in walk(expr):
            if isinstance(inner, Binary) and inner.op in ("/", "%") and self.number(inner.right, values) == 0:
                return self.set(inner.right, self.random.choice(EXTENTS), values)
            if not isinstance(inner, (Item, Number, Foldable)):
                continue
            of = self.lookup(inner.of, values)
            if of is None and inner.of.name in values and not (isinstance(inner, Number) and inner.what == "is_some"):
                return self.put(inner.of, self.tensor(2), values)
            if isinstance(inner, Item) and isinstance(of, TensorValue):
                index = int(self.value(inner.index, values))
                needed = index + 1 if index >= 0 else -index
                if needed > len(of.shape):
                    return self.put(inner.of, resized(of, needed, self.random), values)
        return None

    def break_(self, condition: Expr, values: Values) -> Values | None:
        """Returns arguments for which a condition only just does not hold, after one change, or None."""
        self.is_tight = True
        try:
            return self.choose(condition, False, values)
        finally:
            self.is_tight = False

    # Ways to make a condition true or false. Each is tried until one is a change.

    def ways(self, expr: Expr, truth: bool, values: Values) -> Iterator[Callable[[], Values | None]]:
        match expr:
            case Unary("!"):
                yield from self.ways(expr.value, not truth, values)
            case Cast(_, "bool"):
                yield from self.ways(expr.value, truth, values)
            case Binary("&&" | "||"):
                yield from self.ways_of_both(expr, truth, values)
            case Binary(op) if op in NEGATED:
                wanted = op if truth else NEGATED[op]
                yield from self.ways_to_compare(wanted, expr.left, expr.right, values)
                yield from self.ways_to_compare(MIRRORED[wanted], expr.right, expr.left, values)
            case Select():
                chosen = expr.then if self.value(expr.condition, values) else expr.otherwise
                yield from self.ways(chosen, truth, values)
                yield lambda: self.choose(expr.condition, not self.value(expr.condition, values), values)
            case _:
                yield lambda: self.set(expr, int(truth), values)

    def ways_of_both(self, expr: Binary, truth: bool, values: Values) -> Iterator[Callable[[], Values | None]]:
        both = truth == (expr.op == "&&")
        for side in (expr.left, expr.right):
            if not both or self.truth(side, values) is not truth:
                yield lambda side=side: self.choose(side, truth, values)  # type: ignore[misc]
                if both:
                    return

    def ways_to_compare(
        self, op: str, left: Expr, right: Expr, values: Values
    ) -> Iterator[Callable[[], Values | None]]:
        """Yields ways that change the left side."""
        other = self.value(right, values)
        for target in self.targets(op, other):
            yield lambda target=target: self.set(left, target, values)  # type: ignore[misc]

    def targets(self, op: str, other: int | float) -> list[int | float]:
        """Returns numbers that compare so with another one."""
        step = self.random.choice(EXTENTS)
        match op:
            case "==":
                return [other]
            case "!=":
                return [other + 1, other - 1, other + step, *(word for word in (0, 1, 2, 3) if word != other)]
            case "<":
                return [other - 1, other - step] + ([0] if other > 0 else [])
            case "<=":
                return [other, other - step] + ([0] if other > 0 else []) + ([1] if other > 1 else [])
            case ">":
                return [other + 1, other + step]
            case _:
                return [other, other + step]

    # Setting an expression to a value.

    def set(self, expr: Expr, target: int | float, values: Values) -> Values | None:
        """Returns arguments with which an expression has this value, or nearly, or None."""
        match expr:
            case Scalar():
                return self.set_scalar(expr, target, values)
            case Number():
                return self.set_number(expr, int(target), values)
            case Item():
                return self.set_item(expr, int(target), values)
            case Foldable():
                return self.set_foldable(expr, bool(target), values)
            case Cast():
                return self.set(expr.value, target, values)
            case Unary("-"):
                return self.set(expr.value, -target, values)
            case Unary("!"):
                return self.choose(expr.value, not target, values)
            case Binary(op) if op in NEGATED or op in ("&&", "||"):
                return self.choose(expr, bool(target), values)
            case Binary():
                return self.set_arithmetic(expr, target, values)
            case Select():
                chosen = expr.then if self.value(expr.condition, values) else expr.otherwise
                return self.set(chosen, target, values)
            case BitLength():
                return self.set(expr.value, 1 << int(target) >> 1, values)
            case Const() | Unset() | Attribute() | Current() | Stream() | Map() | Struct() | Bytes():
                return None
            case Variable() | Status() | Unary() | Count():
                return None

    def set_scalar(self, expr: Scalar, target: int | float, values: Values) -> Values | None:
        kind = self.kinds[expr.name]
        if expr.name in self.only and target not in self.only[expr.name]:
            target = self.random.choice(self.only[expr.name])
        made: Value = bool(target) if kind == "bool" else float(target) if kind in ("f32", "f64") else int(target)
        if kind not in ("bool", "f32", "f64") and not -(2**63) <= int(target) < 2**63:
            return None
        return None if made == values[expr.name] else {**values, expr.name: made}

    def set_arithmetic(self, expr: Binary, target: int | float, values: Values) -> Values | None:
        sides = [(expr.left, expr.right, True), (expr.right, expr.left, False)]
        self.random.shuffle(sides)
        for side, other, is_left in sides:
            wanted = self.invert(expr.op, target, self.value(side, values), self.value(other, values), is_left)
            changed = None if wanted is None else self.set(side, wanted, values)
            if changed is not None:
                return changed
        return self.set_product(expr, target, values) if expr.op == "*" else None

    def invert(
        self, op: str, target: int | float, side: int | float, other: int | float, is_left: bool
    ) -> int | float | None:
        """Returns what a side must be for the operation to yield the target; None if nothing will do."""
        match op:
            case "+":
                return target - other
            case "-":
                return target + other if is_left else other - target
            case "*":
                return int(target) // int(other) if other and int(target) % int(other) == 0 else None
            case "/" if is_left:
                return int(target) * int(other)
            case "%" if is_left and other:
                # The nearest number above with this remainder, sometimes a later one.
                near = int(side) - int(side) % int(other) + int(target)
                return near + self.random.choice((0, 1, 1, 2)) * int(other) if near else int(other) + int(target)
            case "<<" if is_left:
                return int(target) >> int(other)
            case ">>" if is_left:
                return int(target) << int(other)
        return None

    def set_product(self, expr: Binary, target: int | float, values: Values) -> Values | None:
        """Sets both factors, one of them to a divisor of the target."""
        divisors = [n for n in EXTENTS if target and int(target) % n == 0] or [1]
        one = self.random.choice(divisors)
        first = self.set(expr.left, one, values) or values
        left = int(self.value(expr.left, first))
        if not left or int(target) % left:
            return None
        return self.set(expr.right, int(target) // left, first)

    # Setting parts of a tensor.

    def lookup(self, ref: Ref, values: Values) -> Value:
        value = values[ref.name]
        if ref.index is None or value is None:
            return value
        assert isinstance(value, (list, tuple))
        return value[ref.index] if ref.index < len(value) else None

    def put(self, ref: Ref, value: Value, values: Values) -> Values:
        if ref.index is None:
            return {**values, ref.name: value}
        array = values[ref.name]
        elements = list(array) if isinstance(array, (list, tuple)) else []
        while len(elements) <= ref.index:
            elements.append(self.tensor(2))
        elements[ref.index] = value
        return {**values, ref.name: tuple(elements)}

    def tensor(self, rank: int) -> TensorValue:
        """Returns a tensor at an address of its own."""
        shape = tuple(self.random.choice(EXTENTS) for _ in range(rank))
        return TensorValue(shape, None, self.random.choice(DTYPES), data=self.address())

    def address(self) -> int:
        return 0x7F00_0000_0000 + self.random.randrange(1 << 20) * (1 << 16)

    def set_number(self, expr: Number, target: int, values: Values) -> Values | None:
        of = self.lookup(expr.of, values)
        if expr.what == "is_some":
            made = self.tensor(2) if target else None
            return None if (of is None) == (made is None) else self.put(expr.of, made, values)
        if expr.what == "length":
            return self.set_length(expr.of, target, values)
        if not isinstance(of, TensorValue):
            return None
        changed = self.with_number(of, expr.what, target)
        return None if changed is None or changed == of else self.put(expr.of, changed, values)

    def with_number(self, of: TensorValue, what: str, target: int) -> TensorValue | None:
        code, bits, lanes = of.dtype
        match what:
            case "ndim":
                return resized(of, target, self.random) if 0 <= target <= MAX_RANK else None
            case "numel":
                return with_elements(of, target, self.random)
            case "data":
                return replace(of, data=target - of.byte_offset) if 0 <= target - of.byte_offset < 2**63 else None
            case "device_type":
                return replace(of, device=(target, of.device[1])) if 0 < target < 20 else None
            case "device_id":
                return replace(of, device=(of.device[0], target)) if 0 <= target < DEVICES else None
            case "code":
                return replace(of, dtype=(target, bits, lanes)) if 0 <= target < 18 else None
            case "bits":
                codes = CODES.get(target, (code,))
                code = code if code in codes else self.random.choice(codes)
                return replace(of, dtype=(code, target, lanes)) if 0 < target < 256 else None
            case "lanes":
                return replace(of, dtype=(code, bits, target)) if 0 < target < 65536 else None
            case "contiguous":
                return gathered(of, self.random) if target else scattered(of, self.random)
        return None

    def set_length(self, ref: Ref, target: int, values: Values) -> Values | None:
        array = values[ref.name]
        if not isinstance(array, (list, tuple)) or not 0 <= target <= 64 or len(array) == target:
            return None
        more = [self.tensor(2) if self.kinds[ref.name] != "shape" else 1 for _ in range(target - len(array))]
        return {**values, ref.name: tuple([*array[:target], *more])}

    def set_item(self, expr: Item, target: int, values: Values) -> Values | None:
        index = int(self.value(expr.index, values))
        of = self.lookup(expr.of, values)
        if expr.what == "at":
            if not isinstance(of, (list, tuple)) or not 0 <= index < len(of):
                return None
            return self.put(expr.of, tuple([*of[:index], target, *of[index + 1 :]]), values)
        if not isinstance(of, TensorValue) or not -len(of.shape) <= index < len(of.shape):
            return None
        index %= len(of.shape)
        if expr.what == "stride":
            if not -(2**62) < target < 2**62:
                return None
            return self.put(expr.of, with_stride(of, index, target), values)
        # A negative extent is what no tensor has.
        if not 0 <= target < 2**40:
            return None
        return self.put(expr.of, with_extent(of, index, target), values)

    def set_foldable(self, expr: Foldable, truth: bool, values: Values) -> Values | None:
        of = self.lookup(expr.of, values)
        if not isinstance(of, TensorValue):
            return None
        if truth:
            return self.put(expr.of, folded(of, expr.trailing), values)
        deep = of if len(of.shape) >= expr.trailing + 2 else resized(of, expr.trailing + 2, self.random)
        if self.random.random() < 0.5:
            # A dim that does not count has a stride of its own, on which those outside of it do not build.
            last = len(deep.shape) - expr.trailing - 1
            thin = with_extent(with_extent(replace(deep, strides=None), last, 1), 0, max(deep.shape[0], 2))
            strides = list(thin.compact())
            strides[last] *= 3
            return self.put(expr.of, replace(thin, strides=tuple(strides)), values)
        wide = with_extent(deep, 0, max(deep.shape[0], 2))
        return self.put(expr.of, with_stride(wide, 0, 2 * wide.stride(0) or 16), values)
