"""The body of a declaration: tensor maps, launches and what else a host does, as statements."""

from __future__ import annotations

import re
from collections import Counter
from collections.abc import Sequence

import facts
from facts import SUBMITTED, Binary, Branch, Cast, Check, Const, Encode, Expr, Later, Launch, Loop, Step, Unary
from rewrite import effects, expressions
from simplify import plain
from words import Untranslatable, Words, fresh

IMAGE = "code"

# The bits of the element types of maps.
MAP_BITS = {
    "UINT8": 8,
    "UINT16": 16,
    "UINT32": 32,
    "INT32": 32,
    "FLOAT16": 16,
    "BFLOAT16": 16,
    "FLOAT32": 32,
    "TFLOAT32": 32,
    "16U4_ALIGN8B": 4,
    "16U4_ALIGN16B": 4,
}
# The element types of tensors whose maps have the same one without being told.
MAP_NAMES = {
    "uint8": "UINT8",
    "uint16": "UINT16",
    "uint32": "UINT32",
    "int32": "INT32",
    "float16": "FLOAT16",
    "bfloat16": "BFLOAT16",
    "float32": "FLOAT32",
}


class Body:
    """Writes the statements of a function. `dtypes` are the declared element types of its tensors."""

    def __init__(self, words: Words, dtypes: dict[str, str], taken: set[str]):
        self.words = words
        self.dtypes = dtypes
        self.taken = taken

    def text(self, steps: Sequence[Step]) -> str:
        """Returns the lines between the braces."""
        return "\n".join(f"        {line}" for line in used([*self.named(steps), *self.body(steps)]))

    def named(self, steps: Sequence[Step]) -> list[str]:
        """Returns values with names of their own: what the effects compute more than twice, the smaller ones first."""
        computed = [each for step in effects(steps) for each in expressions(step) if is_long(each)]
        counts = Counter(map(self.words.known.simple, computed))
        repeated = [each for each, count in counts.items() if is_long(each) and (count > 2 or is_spelled_out(each))]
        lines = []
        for each in sorted(repeated, key=weight):
            text = self.words.text(each)
            self.words.lets[each] = fresh(self.taken, "v")
            lines.append(f"let {self.words.lets[each]} = {text};")
        return lines

    def body(self, steps: Sequence[Step]) -> list[str]:
        """Returns the lines of a block."""
        lines: list[str] = []
        for step in steps:
            match step:
                case Check():
                    pass
                case Encode():
                    lines.append(f"let {self.map_name(step)} = {self.map(step)};")
                case Launch():
                    lines.append(self.launch(step))
                case facts.Upload():
                    values = ", ".join(self.words.argument(value, "map") for value in step.values)
                    lines.append(f"upload {self.words.device_address(step.to)} ({values}){self.clauses(step.stream)};")
                case facts.Copy():
                    to, source = self.words.device_address(step.to), self.words.device_address(step.source)
                    lines.append(f"copy {to}, {source}, {self.words.text(step.bytes)}{self.clauses(step.stream)};")
                case facts.Signal():
                    value = self.words.argument(step.value, "u32")
                    on = f" on {next(iter(self.words.forms.values())).name}"  # the address is a number
                    to = self.words.device_address(step.to)
                    lines.append(f"upload {to} ({value}){on}{self.clauses(step.stream)};")
                case facts.Wait():
                    lines.append(f"wait {self.words.stream(step.stream)}, {self.words.stream(step.other)};")
                case Branch():
                    lines += self.branch(step)
                case Loop():
                    start, end = self.words.text(step.start, 5), self.words.text(step.end, 5)
                    lines += [f"for {step.variable.name} in {start}..{end} {{", *indented(self.body(step.steps)), "}"]
                case Later():
                    self.words.names[SUBMITTED.name] = stream = fresh(self.taken, "s")
                    lines += [f"return function({stream}: Stream) -> None {{", *indented(self.body(step.steps)), "};"]
        return lines

    def branch(self, step: Branch) -> list[str]:
        then, otherwise = self.body(step.then), self.body(step.otherwise)
        if not then and not otherwise:
            return []
        if not then:
            return [f"if {self.words.text(Unary('!', step.condition, 'bool'))} {{", *indented(otherwise), "}"]
        lines = [f"if {self.words.text(step.condition)} {{", *indented(then), "}"]
        if otherwise and len(step.otherwise) == 1 and isinstance(step.otherwise[0], Branch):
            return [*lines[:-1], f"}} else {otherwise[0]}", *otherwise[1:]]
        if otherwise:
            lines[-1] = "} else {"
            lines += [*indented(otherwise), "}"]
        return lines

    def clauses(self, stream: Expr) -> str:
        """Returns the clause of a stream that is not the environment's."""
        return "" if isinstance(stream, facts.Stream) else f" stream {self.words.stream(stream)}"

    def map_name(self, step: Encode) -> str:
        """Returns the name of a map, made from that of its tensor."""
        if step.number not in self.words.maps:
            name = f"{self.words.forms[step.tensor.name].plain}_map"
            self.words.maps[step.number] = fresh(self.taken, name)
        return self.words.maps[step.number]

    def map(self, step: Encode) -> str:
        """Returns a tensor map; its dims are those of the driver, the outermost first."""
        bits = MAP_BITS[step.dtype]
        dims = ", ".join(self.words.text(plain(dim)) for dim in reversed(step.dims))
        strides = ", ".join([*(self.words.text(plain(stride)) for stride in reversed(elements(step))), "1"])
        box = ", ".join(self.words.text(extent) for extent in reversed(step.box))
        options = [self.words.names[step.tensor.name], f"dims=[{dims}]", f"strides=[{strides}]"]
        offset = self.offset(step)
        options += [f"offset={offset}"] if offset else []
        options.append(f"box=[{box}]")
        if any(value != Const(1, value.type) for value in step.steps):
            options.append(f"steps=[{', '.join(self.words.text(value) for value in reversed(step.steps))}]")
        if MAP_NAMES.get(self.dtypes[step.tensor.name]) != step.dtype:
            options.append(f'dtype="{step.dtype.lower()}"')
        named = {"interleave": step.interleave, "swizzle": step.swizzle, "l2": step.l2, "fill": step.fill}
        words = {name: value.removeprefix("L2_").lower() for name, value in named.items()}
        options += [f'{name}="{word}"' for name, word in words.items() if word != "none"]
        assert bits
        return f"tensormap({', '.join(options)})"

    def offset(self, step: Encode) -> str | None:
        address = step.address
        while isinstance(address, Cast):
            address = address.value
        if isinstance(address, Binary) and address.op == "+":
            return self.words.text(address.right)
        return None

    def launch(self, step: Launch) -> str:
        arguments = ", ".join(self.words.argument(each.value, each.ctype) for each in step.arguments)
        parts = [f'launch {IMAGE}."{step.kernel}"({arguments})']
        parts += [f"grid({self.sizes(step.grid)})", f"block({self.sizes(step.block)})"]
        if step.smem != Const(0, step.smem.type):
            parts.append(f"smem({self.words.text(plain(step.smem))})")
        for number, fields in step.attributes:
            parts += self.attribute(number, fields)
        return " ".join(parts) + self.clauses(step.stream) + ";"

    def sizes(self, extents: Sequence[Expr]) -> str:
        """Returns the extents of a grid or block, without those at the end that are 1."""
        texts = [self.words.text(plain(extent)) for extent in extents]
        while len(texts) > 1 and texts[-1] == "1":
            texts.pop()
        return ", ".join(texts)

    def attribute(self, number: int, fields: Sequence[Expr]) -> list[str]:
        """Returns an attribute of a launch by its own clause, or by its number."""
        on = fields == (Const(1, fields[0].type),)
        match number:
            case 2 if on:
                return ["cooperative"]
            case 4:
                return [f"cluster({', '.join(self.words.text(each) for each in fields)})"]
            case 6 if on:
                return ["pdl"]
            case 11:
                return [f"preferred_cluster({', '.join(self.words.text(each) for each in fields)})"]
        return [f"attribute({number}, {', '.join(f'int32({self.words.text(each)})' for each in fields)})"]


def used(lines: list[str]) -> list[str]:
    """Returns lines without names of values that no later line uses."""
    kept: list[str] = []
    for line in reversed(lines):
        name = re.match(r"let (v\d*) =", line)
        if name is None or any(re.search(rf"\b{name[1]}\b", later) for later in kept):
            kept.insert(0, line)
    return kept


def is_spelled_out(value: Expr) -> bool:
    """Whether the text of a number has a term for each of 31 bits."""
    return isinstance(value, facts.BitLength) or isinstance(value, Binary) and value.op == "<<"


def weight(value: Expr) -> int:
    """Returns the number of expressions in an expression; those that are spelled out for each bit weigh more."""
    return sum(30 if isinstance(each, facts.BitLength) else 1 for each in expressions(value))


def is_long(value: Expr) -> bool:
    """Whether a value that is computed more than once deserves a name: it must be the same throughout the function."""
    parts = list(expressions(value))
    if any(isinstance(each, facts.Variable) or each.type in ("ptr", "struct", "map", "bytes") for each in parts):
        return False
    if isinstance(value, (Cast, facts.Struct)) or value.type == "bool":
        return False
    divides = any(isinstance(each, Binary) and each.op == "/" for each in parts)
    return weight(value) > 5 and (divides or any(isinstance(each, (facts.Select, facts.BitLength)) for each in parts))


def elements(step: Encode) -> list[Expr]:
    """Returns the strides of a map in elements: the driver takes bytes, which the host computes from elements."""
    bits = MAP_BITS[step.dtype]
    found: list[Expr] = []
    for stride in step.strides:
        match plain(stride):
            case Const(value=value) if value * 8 % bits == 0:
                found.append(Const(int(value) * 8 // bits, "i64"))
            case Binary("/", Binary("*", inner, Const(value=width)), Const(value=8)) if width == bits:
                found.append(inner)
            case _:
                raise Untranslatable("a stride of a map that is not computed from elements")
    return found


def indented(lines: Sequence[str]) -> list[str]:
    return [f"    {line}" for line in lines]
