"""Expressions of a host's facts as text of our language: one function for each place in which they stand."""

from __future__ import annotations

import re
from dataclasses import dataclass, field

import facts
from facts import SUBMITTED, Binary, BitLength, Cast, Const, Expr, Foldable, Item, Map, Number, Ref, Scalar, Select
from facts import Struct, Unary, Variable
from bounds import MIRRORED, NEGATED, Known


class Untranslatable(Exception):
    """Why a host is no declaration: one line."""


RESERVED = set(
    "where try null stream current_device min max ceildiv else and or not _ None True False Tensor Optional Array List"
    " Map Dict Tuple Union Literal Any Stream Object Module Function Shape Device dtype str bytes ptr bool float16 bfloat16 float32"
    " float64 int8 int16 int32 int64 uint8 uint16 uint32 uint64".split()
)

# How tightly operators bind, loosest first; a factor of a product is 6, an operand of a member 7.
LEVELS = {"||": 1, "&&": 2, "!": 3, "==": 4, "!=": 4, "<": 4, "<=": 4, ">": 4, ">=": 4}
LEVELS |= {"+": 5, "-": 5, "*": 6, "/": 6, "%": 6}
SPELLED = {"||": "or", "&&": "and"}
NARROW = {"i8": "int8", "i16": "int16", "i32": "int32", "u8": "uint8", "u16": "uint16", "u32": "uint32"}
NARROW |= {"f32": "float32", "f64": "float64"}
MEMBERS = {name: name for name in ("ndim", "numel", "data", "device_id")}
MEMBERS |= {"contiguous": "is_contiguous", "length": "size"}


@dataclass
class Form:
    """How a tensor is declared: the number of its dims if it is fixed, else that of its last ones and whether the ones
    above are folded; names of dims from the end; whether it is compact."""

    name: str
    rank: int | None = None
    trailing: int = 0
    folded: bool = False
    compact: bool = False
    dims: dict[int, str] = field(default_factory=dict)

    @property
    def fold(self) -> str:
        return f"{self.plain}_outer"

    @property
    def fold_stride(self) -> str:
        return f"{self.plain}_step"

    @property
    def plain(self) -> str:
        return self.name.strip("`")

    def dim(self, index: int) -> str | None:
        """Returns the declared text of an extent, by its index from the start or the end; None if it has none."""
        if self.rank is not None:
            return self.dims.get(index - self.rank if index >= 0 else index)
        return self.dims.get(index) if -self.trailing <= index < 0 else None


@dataclass
class Words:
    """What names of a function's parameters and tensors are, and what is known of its numbers."""

    names: dict[str, str]
    forms: dict[str, Form]
    known: Known
    lets: dict[Expr, str] = field(default_factory=dict)
    maps: dict[int, str] = field(default_factory=dict)

    # Numbers and conditions.

    def text(self, value: Expr, level: int = 0) -> str:
        """Returns a number or condition, in parentheses if it binds less tightly than its place demands."""
        value = self.known.simple(value)
        if value in self.lets:
            return self.lets[value]
        text, own = self.parts(value)
        return f"({text})" if own < level else text

    def parts(self, value: Expr) -> tuple[str, int]:
        """Returns the text of a simple number or condition, and how tightly it binds."""
        match value:
            case Const():
                return self.constant(value)
            case facts.Unset():
                return "0", 7
            case Scalar() | Number() | Item() | Variable():
                return self.atom(value), 7
            case Foldable():
                return self.foldable(value)
            case Unary("!", inner):
                return self.denial(inner)
            case Unary("-", inner):
                return f"-{self.text(inner, 7)}", 6
            case Select():
                return self.select(value)
            case BitLength(inner):
                return " + ".join(f"int64({self.text(inner, 5)} >= {1 << bit})" for bit in range(31)), 5
            case Cast(inner, type_) if type_ in NARROW:
                return f"{NARROW[type_]}({self.text(inner)})", 7
            case Cast(inner, "ptr" | "u64" | "i64"):
                return self.parts(inner)
            case Binary():
                return self.infix(value)
            case facts.Current():
                return "current_device()", 7
        raise Untranslatable(f"{type(value).__name__} in an expression")

    def constant(self, value: Const) -> tuple[str, int]:
        if value.type == "bool":
            return ("True" if value.value else "False"), 7
        if value.type == "ptr":
            return "null", 7
        if isinstance(value.value, float):
            return repr(value.value), 7
        return str(value.value), 7 if value.value >= 0 else 5

    def atom(self, value: Scalar | Number | Item | Variable) -> str:
        match value:
            case Scalar():
                return self.names[value.name]
            case Variable():
                return value.name
            case Number(what, of) if what in MEMBERS:
                return f"{self.ref(of)}.{MEMBERS[what]}"
            case Number(what, _):
                raise Untranslatable(f"the {what} of a tensor's element type in an expression")
            case Item(what, of, Const(value=index)):
                if what == "size":
                    named = self.forms[of.name].dim(int(index)) if of.index is None else None
                    return named if named not in (None, "_") else f"{self.ref(of)}.shape[{index}]"
                return f"{self.ref(of)}.strides[{index}]" if what == "stride" else f"{self.ref(of)}[{index}]"
            case Item():
                raise Untranslatable("an index that is no constant")

    def ref(self, ref: Ref) -> str:
        return self.names[ref.name] if ref.index is None else f"{self.names[ref.name]}[{ref.index}]"

    def foldable(self, value: Foldable) -> tuple[str, int]:
        """Returns the condition that the dims above the last ones are one in memory with the stride of the innermost of
        them. That they are one the declaration says; the host takes this stride also where the extent is 1."""
        form = self.forms[value.of.name]
        stride = f"{self.ref(value.of)}.strides[{-value.trailing - 1}]"
        if form.rank is not None:
            return self.fixed_fold(form, value)
        if not form.folded or form.trailing != value.trailing:
            raise Untranslatable("two folds of one tensor")
        below = " * ".join(form.dims[-back] for back in range(form.trailing, 0, -1))
        step = below if form.compact else form.fold_stride
        return f"{form.fold} <= 1 or {stride} == {step}", 1

    def fixed_fold(self, form: Form, value: Foldable) -> tuple[str, int]:
        last = (form.rank or 0) - value.trailing - 1
        terms, step = [], f"{self.ref(value.of)}.strides[{last}]"
        for axis in range(last - 1, -1, -1):
            step += f" * {self.extent(form, value.of, axis + 1)}"
            extent = self.extent(form, value.of, axis)
            term = f"{self.ref(value.of)}.strides[{axis}] == {step}"
            terms.append(term if extent.isdigit() and int(extent) > 1 else f"({extent} <= 1 or {term})")
        return (" and ".join(terms), 2) if terms else ("True", 7)

    def extent(self, form: Form, ref: Ref, index: int) -> str:
        return self.text(Item("size", ref, Const(index, "i64")), 7)

    def denial(self, inner: Expr) -> tuple[str, int]:
        if isinstance(inner, Binary) and inner.op in NEGATED:
            return self.parts(Binary(NEGATED[inner.op], inner.left, inner.right, "bool"))
        return f"not {self.text(inner, 3)}", 3

    def select(self, value: Select) -> tuple[str, int]:
        """Returns a choice between integers: the lesser or greater, or one of both by multiplication."""
        condition = value.condition
        if isinstance(condition, Binary) and (condition.left, condition.right) == (value.then, value.otherwise):
            if condition.op in ("<", "<=", ">", ">="):
                word = "min" if condition.op[0] == "<" else "max"
                return f"{word}({self.text(value.then)}, {self.text(value.otherwise)})", 7
        if value.type in (*facts.FLOATS, "ptr"):
            raise Untranslatable("a choice between values that are no integers")
        if value.then == Const(0, value.type):
            return f"int64({self.text(Unary('!', condition, 'bool'))}) * {self.text(value.otherwise, 7)}", 6
        then = f"int64({self.text(condition)}) * {self.text(value.then, 7)}"
        otherwise = f"int64({self.text(Unary('!', condition, 'bool'))}) * {self.text(value.otherwise, 7)}"
        return f"{then} + {otherwise}", 5

    def infix(self, value: Binary) -> tuple[str, int]:
        folded = self.outer(value)
        if folded is not None:
            return folded, 7
        op, left, right = value.op, value.left, value.right
        if op in MIRRORED and (is_handle(left) or is_handle(right)):
            return f"{self.handle(left)} {op} {self.handle(right)}", 4
        if op in MIRRORED and isinstance(left, Const):
            op, left, right = MIRRORED[op], right, left
        if op == "/":
            rounded = self.rounded_up(left, right)
            if rounded is not None:
                return rounded, 7
        if op in ("/", "%") and self.known.of(left)[0] < 0 and not isinstance(right, Const):
            raise Untranslatable("a division of a number that may be negative")
        if op == "<<" and isinstance(left, Const):
            return self.power(left, right)
        if op not in LEVELS:
            raise Untranslatable(f"the operator {op}")
        own = LEVELS[op]
        word = SPELLED.get(op, op)
        strict = own + (op in MIRRORED)
        return f"{self.text(left, strict)} {word} {self.text(right, own + (op not in ('&&', '||')))}", own

    def outer(self, value: Binary) -> str | None:
        """Returns the name of a folded extent for the number of elements divided by the extents below it."""
        if value.op != "/" or not isinstance(value.left, Number) or value.left.what != "numel":
            return None
        form = self.forms[value.left.of.name]
        below = sorted(factors(value.right), key=str)
        wanted = sorted((Item("size", value.left.of, Const(-k, "i64")) for k in range(1, form.trailing + 1)), key=str)
        return form.fold if form.folded and below == wanted else None

    def rounded_up(self, left: Expr, right: Expr) -> str | None:
        match left:
            case Binary("-", Binary("+", value, divisor), Const(value=1)) if divisor == right:
                return f"ceildiv({self.text(value)}, {self.text(right)})"
        return None

    def power(self, base: Const, exponent: Expr) -> tuple[str, int]:
        """Returns 2 to a constant plus the bit length of a number below 2^31: a factor for each bit."""
        match exponent:
            case Binary("+", Const(value=constant), BitLength(inner)):
                value = self.text(inner, 5)
                doubled = " * ".join(f"(1 + int64({value} >= {1 << bit}))" for bit in range(31))
                return f"{int(base.value) << int(constant)} * {doubled}", 6
        raise Untranslatable("a shift")

    # Streams and addresses.

    def handle(self, value: Expr) -> str:
        """Returns the number of a stream's handle."""
        match value:
            case Cast(inner, "ptr"):
                return self.text(inner, 5)
            case Const(value=0):
                return "0"
        raise Untranslatable("a stream of another form")

    def stream(self, value: Expr) -> str:
        """Returns a stream: that of a second phase, or one that the host has as a number."""
        if value == SUBMITTED:
            return self.names[SUBMITTED.name]
        return f"ptr({self.handle(value)})"

    def address(self, value: Expr, level: int = 0) -> str:
        """Returns an address in the memory of a device, also one that came as a number."""
        value = self.known.simple(value)
        while isinstance(value, Cast) and value.type in ("ptr", "u64", "i64"):
            value = value.value
        if value in self.lets:
            return self.lets[value]
        if isinstance(value, Binary) and value.op in ("+", "*"):
            own = LEVELS[value.op]
            text = f"{self.address(value.left, own)} {value.op} {self.address(value.right, own + 1)}"
            return f"({text})" if own < level else text
        return self.text(value, level)

    def device_address(self, value: Expr) -> str:
        """Returns an address, by a conversion if the host has it as a number."""
        return self.address(value) if has_data(value) else f"ptr({self.address(value)})"

    # Arguments of kernels.

    def argument(self, value: Expr, type_: str) -> str:
        """Returns an argument of a kernel in its type in C."""
        if isinstance(value, Map):
            return self.maps[value.encoder]
        if isinstance(value, Struct):
            return f"struct({', '.join(self.argument(each, each.type) for each in flat(value))})"
        if isinstance(value, facts.Bytes):
            return f"bytes({self.forms[value.of.name].name}, {value.count})"
        if type_ in ("ptr", "i64", "u64"):
            return self.address(value)
        if type_ not in NARROW:
            return self.text(value)
        inner = value.value if isinstance(value, Cast) and value.type == type_ else value
        if isinstance(value, Cast) and value is not inner and not self.fits(inner, type_):
            return self.wrapped(inner, type_)
        return f"{NARROW[type_]}({self.text(inner)})"

    def fits(self, value: Expr, type_: str) -> bool:
        """Whether a conversion is known to change nothing but the type."""
        return type_ in facts.FLOATS or not isinstance(self.known.simple(Cast(value, type_)), Cast)

    def wrapped(self, value: Expr, type_: str) -> str:
        """Returns an integer of which the host keeps the low bits only, in 32 bits."""
        bits, signed = facts.INTEGERS[type_]
        half = 1 << bits - 1
        if signed:
            return f"{NARROW[type_]}(({self.text(value, 5)} + {half}) % {1 << bits} - {half})"
        return f"{NARROW[type_]}({self.text(value, 6)} % {1 << bits})"


def flat(value: Struct) -> list[Expr]:
    """Returns the fields of a struct, with the items of arrays among them."""
    found: list[Expr] = []
    for each in value.fields:
        found += flat(each) if isinstance(each, Struct) and not each.name else [each]
    return found


def has_data(value: Expr) -> bool:
    """Whether an address is that of a tensor's memory, with numbers that are added to it or none."""
    if isinstance(value, Cast):
        return has_data(value.value)
    if isinstance(value, Binary):
        return has_data(value.left) or has_data(value.right)
    return isinstance(value, Number) and value.what == "data"


def is_handle(value: Expr) -> bool:
    """Returns whether a value is a stream that came as a number."""
    return isinstance(value, Cast) and value.type == "ptr" and isinstance(value.value, Scalar)


def factors(value: Expr) -> list[Expr]:
    """Returns the factors of a product."""
    if isinstance(value, Binary) and value.op == "*":
        return [*factors(value.left), *factors(value.right)]
    return [value]


def spelled(name: str, taken: set[str]) -> str:
    """Returns a name for a parameter, without the prefix of the hosts, in backticks if it is reserved."""
    short = re.sub(r"^arg_", "", name)
    short = name if short in taken else short
    taken.add(short)
    return f"`{short}`" if short in RESERVED else short


def fresh(taken: set[str], name: str) -> str:
    """Returns a name that nothing else in the function has, and takes it."""
    whole, number = name, 1
    while whole in taken:
        number += 1
        whole = f"{name}{number}"
    taken.add(whole)
    return whole
