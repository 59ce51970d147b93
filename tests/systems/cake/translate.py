"""Facts of a host to the text of a declaration that checks, encodes and launches the same.

Usage: translate.py WHEEL [WORD]; prints the declarations of hosts whose path has the word, or without one how many of
each family are translated, and why the others are not.
"""

from __future__ import annotations

import re
import sys
from collections import Counter, defaultdict
from collections.abc import Iterator, Sequence
from dataclasses import dataclass, field, replace
from pathlib import Path

import facts
import read
from facts import Binary, Branch, Cast, Check, Const, Encode, Expr, Foldable, Item, Launch, Loop, Number, Ref, Scalar, Step, Unary
from bounds import Known, conjuncts, denied, range_of
from rewrite import changed, effects, expressions
from words import Form, Untranslatable, Words, factors, spelled

IMAGE = "code"

# Element types by code, bits and lanes of DLPack.
DTYPES = {
    (0, 8, 1): "int8",
    (0, 16, 1): "int16",
    (0, 32, 1): "int32",
    (0, 64, 1): "int64",
    (1, 8, 1): "uint8",
    (1, 16, 1): "uint16",
    (1, 32, 1): "uint32",
    (1, 64, 1): "uint64",
    (2, 16, 1): "float16",
    (2, 32, 1): "float32",
    (2, 64, 1): "float64",
    (4, 16, 1): "bfloat16",
    (6, 8, 1): "bool",
    (10, 8, 1): "float8_e4m3fn",
    (12, 8, 1): "float8_e5m2",
    (14, 8, 1): "float8_e8m0fnu",
    (17, 4, 1): "float4_e2m1fn",
    (17, 4, 2): "float4_e2m1fnx2",
}
SCALARS = {"i64": "int64", "f64": "float64", "bool": "bool", "shape": "Shape"}
MAP_BITS = {"UINT8": 8, "UINT16": 16, "UINT32": 32, "INT32": 32, "FLOAT16": 16, "BFLOAT16": 16, "FLOAT32": 32, "TFLOAT32": 32}
MAP_BITS |= {"16U4_ALIGN8B": 4, "16U4_ALIGN16B": 4}
MAP_NAMES = {"uint8": "UINT8", "uint16": "UINT16", "uint32": "UINT32", "int32": "INT32", "float16": "FLOAT16", "bfloat16": "BFLOAT16", "float32": "FLOAT32"}


# Steps without what takes no part here.


def pruned(steps: Sequence[Step], encoders: int = 0, renumbered: dict[int, int] | None = None) -> tuple[Step, ...]:
    """Returns steps without their places, without checks of CUDA's own calls and branches that hold nothing else; maps
    are counted anew along each way."""
    renumbered = dict(renumbered or {})
    found: list[Step] = []
    for step in steps:
        match step:
            case Check():
                if step.status is None:
                    found.append(replace(step, places=()))
            case Branch():
                then, otherwise = pruned(step.then, encoders, renumbered), pruned(step.otherwise, encoders, renumbered)
                if then or otherwise:
                    found.append(Branch(step.condition, then, otherwise))
            case Loop():
                inner = pruned(step.steps, encoders, renumbered)
                if inner:
                    found.append(replace(step, steps=inner))
            case Encode():
                encoders += 1
                renumbered[step.number] = encoders
                found.append(replace(step, number=encoders, places=()))
            case Launch():
                arguments = tuple(replace(each, value=remapped(each.value, renumbered)) for each in step.arguments)
                found.append(replace(step, arguments=arguments, places=()))
            case facts.Upload():
                found.append(replace(step, values=tuple(remapped(each, renumbered) for each in step.values), places=()))
            case _:
                found.append(replace(step, places=()))
    return tuple(found)


def remapped(value: Expr, renumbered: dict[int, int]) -> Expr:
    return facts.Map(renumbered[value.encoder]) if isinstance(value, facts.Map) else value


def hoisted(steps: Sequence[Step], known: Known) -> tuple[Step, ...]:
    """Returns steps with what both sides of a branch begin with before the branch. The last case of a switch over values
    of which a check has said that there are no others is taken without a condition."""
    found: list[Step] = []
    for step in steps:
        if isinstance(step, Check):
            known.learn(known.simple(step.condition))
        if isinstance(step, Branch):
            found += split(cases(step, known))
        else:
            found.append(step)
    return tuple(found)


def cases(step: Branch, known: Known) -> Branch:
    conditions = [step.condition]
    last = step
    while len(last.otherwise) == 1 and isinstance(last.otherwise[0], Branch):
        last = last.otherwise[0]
        conditions.append(last.condition)
    whole = conditions[0]
    for condition in conditions[1:]:
        whole = Binary("||", whole, condition, "bool")
    if last.otherwise or known.simple(whole) not in known.conditions:
        return step
    return step if last is step else without_last(step)


def without_last(step: Branch) -> Branch:
    """Returns a switch whose last case needs no condition."""
    inner = step.otherwise[0]
    assert isinstance(inner, Branch)
    if not inner.otherwise:
        return Branch(step.condition, step.then, inner.then)
    return Branch(step.condition, step.then, (without_last(inner),))


def split(step: Branch) -> list[Step]:
    """Returns the checks and maps that are on both sides, and the branch over what is left: none of them does anything
    that others could notice."""
    otherwise: Sequence[Step] = step.otherwise
    if len(otherwise) == 1 and isinstance(otherwise[0], Branch):
        otherwise = split(otherwise[0])
    common = [each for each in step.then if isinstance(each, (Check, Encode)) and each in otherwise]
    then = tuple(each for each in step.then if each not in common)
    rest = tuple(each for each in otherwise if each not in common)
    return [*common, *([Branch(step.condition, then, rest)] if then or rest else [])]


# What the unconditional checks of a function say of its tensors.


@dataclass
class Tensor:
    """What is checked of a tensor wherever the function goes."""

    ref: Ref
    cuda: bool = False
    dtype: str | None = None
    storage: bool = False
    compact: bool = False
    rank: int | None = None
    least: int = 0
    folds: set[int] = field(default_factory=set)
    align: int = 1
    sizes: dict[int, Expr] = field(default_factory=dict)
    used: set[int] = field(default_factory=set)
    numel: bool = False


DTYPE = ("code", "bits", "lanes")


def dtype_of(condition: Expr) -> tuple[Ref, tuple[int, ...]] | None:
    """Returns the tensor and the numbers of its element type that a condition demands."""
    wanted: dict[str, int] = {}
    ref = None
    for each in conjuncts(condition):
        match each:
            case Binary("==", Number(what, of), Const(value=value)) if what in DTYPE and ref in (None, of):
                wanted[what] = int(value)
                ref = of
            case _:
                return None
    if ref is None:
        return None
    return ref, tuple(wanted[what] for what in DTYPE if what in wanted)


class Translator:
    """Translates one exported function."""

    def __init__(self, function: facts.Function):
        self.function = function
        self.known = Known()
        self.steps = counted_from_start(hoisted(pruned(function.steps), Known()))
        self.tensors = {each.name: Tensor(Ref(each.name)) for each in function.parameters if each.kind == "tensor"}
        self.taken: set[str] = set()
        self.names = {each.name: spelled(each.name, self.taken) for each in function.parameters}
        self.streams = {name for step in effects(self.steps) for name in stream_names(step)}
        self.where: dict[Expr, str] = {}

    def translated(self) -> str:
        """Returns the text of the function."""
        checks = [step for step in self.steps if isinstance(step, Check)]
        for check in checks:
            for condition in conjuncts(self.known.simple(check.condition)):
                self.notice(condition)
            whole = dtype_of(self.known.simple(check.condition))
            if whole is not None:
                self.element(*whole)
        for value in expressions(self.steps):
            self.use(value)
        forms = {name: self.form(each) for name, each in self.tensors.items()}
        self.words = Words(self.names, forms, self.known, streams=self.streams)
        self.narrowed = self.narrowings(self.steps)
        maps = [step for step in self.steps if isinstance(step, Encode)]
        self.dims = {plain(dim) for each in maps for dim in each.dims}
        self.steps_of_maps = {stride for each in maps for stride in elements(each)}
        self.conditions(self.steps, ())
        parameters = [f"    {self.names[each.name]}: {self.type(each)},\n" for each in self.function.parameters]
        head = f"{self.function.name}(\n{''.join(parameters).removesuffix(',' + chr(10))}\n) -> None\n"
        constraints = self.constraints()
        where = "    where " + ",\n        ".join(constraints) + "\n" if constraints else ""
        body = "\n".join(f"        {line}" for line in used([*self.named(), *self.body(self.steps)]))
        return f"{head}{where}    = {{\n{body}\n    }};\n"

    # Tensors.

    def notice(self, condition: Expr) -> None:
        """Notes what a condition says of a tensor's type."""
        match condition:
            case Binary("==", Number("device_type", of), Const(value=2)):
                self.tensors[of.name].cuda = True
            case Number("contiguous", of):
                self.tensors[of.name].compact = True
            case Foldable(of, trailing):
                self.tensors[of.name].folds.add(trailing)
            case Binary("==", Number("ndim", of), Const(value=rank)):
                self.tensors[of.name].rank = int(rank)
            case Binary(">=", Number("ndim", of), Const(value=rank)):
                self.tensors[of.name].least = max(self.tensors[of.name].least, int(rank))
            case Binary("==", Binary("%", address, Const(value=align)), Const(value=0)):
                of_data = data_of(address)
                if of_data is not None:
                    self.tensors[of_data.name].align = max(self.tensors[of_data.name].align, int(align))
            case Binary("==", Item("size", of, Const(value=index)), value) if index >= 0 and depends_on_scalars(value):
                self.tensors[of.name].sizes.setdefault(int(index), value)
            case Binary("==", Scalar() as value, Item("size", of, Const(value=index))) if index >= 0:
                self.tensors[of.name].sizes.setdefault(int(index), value)

    def element(self, ref: Ref, wanted: tuple[int, ...]) -> None:
        tensor = self.tensors[ref.name]
        if wanted == (8, 1):
            tensor.dtype, tensor.storage = "uint8", True
        elif len(wanted) == 3 and wanted in DTYPES:
            tensor.dtype = DTYPES[wanted[0], wanted[1], wanted[2]]
        else:
            raise Untranslatable(f"the element type {wanted}")

    def use(self, value: Expr) -> None:
        """Notes which extents of a tensor are used."""
        match value:
            case Item("size", of, Const(value=index)):
                self.tensors[of.name].used.add(int(index))
            case Number("numel", of):
                self.tensors[of.name].numel = True

    def form(self, tensor: Tensor) -> Form:
        form = Form(self.names[tensor.ref.name], compact=tensor.compact)
        if tensor.rank is not None:
            form.rank = tensor.rank
            for index in range(tensor.rank):
                back = index - tensor.rank
                named = index in tensor.used or back in tensor.used
                form.dims[back] = self.declared(tensor, index) or (self.fresh(f"{form.plain}_{index}") if named else "_")
            return form
        ends = {-index for index in tensor.used if index < 0}
        if len(tensor.folds) > 1:
            raise Untranslatable("two folds of one tensor")
        if tensor.folds:
            form.folded = True
            [form.trailing] = tensor.folds
        elif tensor.compact and tensor.numel and ends:
            form.folded, form.trailing = True, max(ends)
        else:
            form.trailing = max([*ends, tensor.least])
        for back in range(1, form.trailing + 1):
            form.dims[-back] = self.fresh(f"{form.plain}_d{back}") if back in ends or form.folded else "_"
        return form

    def declared(self, tensor: Tensor, index: int) -> str | None:
        """Returns the text of an extent that a check compares with a constant or with parameters."""
        value = tensor.sizes.get(index)
        if value is None:
            return None
        words = Words(self.names, {}, self.known)
        return words.text(value)

    def type(self, parameter: facts.Parameter) -> str:
        """Returns the type of a parameter."""
        if parameter.kind != "tensor":
            if parameter.name in self.streams:
                return "Stream"
            return SCALARS[parameter.kind]
        tensor, form = self.tensors[parameter.name], self.words.forms[parameter.name]
        if tensor.dtype is None:
            raise Untranslatable("a tensor of any element type")
        options = [self.shape(form), tensor.dtype, *self.strides(tensor, form)]
        options += ["device=cuda"] if tensor.cuda else ["device=any"]
        options += [f"align={tensor.align}"] if tensor.align != natural(tensor.dtype) else []
        options += ["dtypes=storage"] if tensor.storage else []
        return f"Tensor({', '.join(options)})"

    def shape(self, form: Form) -> str:
        if form.rank is not None:
            return f"[{', '.join(form.dims[index - form.rank] for index in range(form.rank))}]"
        above = f"{form.fold}..." if form.folded else "..."
        return f"[{', '.join([above, *(form.dims[-back] for back in range(form.trailing, 0, -1))])}]"

    def strides(self, tensor: Tensor, form: Form) -> list[str]:
        if tensor.compact:
            return []
        if form.folded:
            return [f"strides=[{', '.join([form.fold_stride, *['_'] * form.trailing])}]"]
        return ["strides=any"]

    # Conditions.

    def conditions(self, steps: Sequence[Step], guards: tuple[Expr, ...]) -> None:
        """Writes the checks that are left as constraints; behind a branch they hold only there."""
        for step in steps:
            match step:
                case Check():
                    self.constrain(step, guards)
                case Branch():
                    outer = self.known
                    for side, condition in ((step.then, step.condition), (step.otherwise, Unary("!", step.condition, "bool"))):
                        self.known = self.words.known = outer.copy()
                        self.known.learn(self.known.simple(condition))
                        self.conditions(side, (*guards, condition))
                    self.known = self.words.known = outer
                case Loop() if any(isinstance(each, Check) for each in step.steps):
                    raise Untranslatable("a check in a loop")
                case _:
                    pass

    def constrain(self, check: Check, guards: tuple[Expr, ...]) -> None:
        for condition in conjuncts(check.condition):
            condition = self.known.simple(condition)
            if not self.said(condition, bool(guards)) and not self.known.holds(condition):
                if check.kind != "ValueError":
                    raise Untranslatable(f"a check that raises a {check.kind}")
                whole = condition
                for guard in needed(guards):
                    whole = Binary("||", denied(Unary("!", guard, "bool")), whole, "bool")
                self.where.setdefault(whole, self.words.text(whole))
            self.known.learn(condition)

    def constraints(self) -> list[str]:
        """Returns the texts of the constraints, without alternatives of which one is a constraint itself."""
        kept = [text for condition, text in self.where.items() if not any(each in self.where for each in alternatives(condition))]
        return [text for text in dict.fromkeys(kept) if text != "True"]

    def said(self, condition: Expr, guarded: bool) -> bool:
        """Whether a type, a map or a narrowing says a condition."""
        match condition:
            case Number("contiguous", _):
                return not guarded
            case Binary("==", Number("device_type" | "code" | "bits" | "lanes"), Const()):
                return not guarded
            case Binary("==", Number("device_type" | "device_id"), Number("device_type" | "device_id")):
                return True
            case Binary(">=", Number("ndim", of), Const(value=rank)):
                form = self.words.forms[of.name]
                return (form.rank if form.rank is not None else form.trailing) >= rank
            case Binary("==", Number("ndim", of), Const(value=rank)):
                return self.words.forms[of.name].rank == rank
            case Binary("==", Binary("%", address, Const(value=align)), Const(value=0)) if data_of(address) is not None:
                return not guarded
            case Binary("==", Item("size", of, Const(value=index)), value) | Binary("==", value, Item("size", of, Const(value=index))):
                tensor = self.tensors[of.name]
                return not guarded and tensor.rank is not None and tensor.sizes.get(int(index)) == value
            case Binary("||", Binary("<=", Number("ndim")), Binary(">", Item("stride"), Const(value=0))):
                return False
            case Binary(op, Scalar(name), Const(value=value)) if op in (">=", "<="):
                return (op, value) in self.narrowed.get(name, ())
        return self.by_map(condition, guarded)

    def by_map(self, condition: Expr, guarded: bool) -> bool:
        """Whether a map's own checks say that a dim is positive, and a stride not negative and of whole bytes."""
        if guarded:
            return False
        match condition:
            case Binary(">", value, Const(value=0)):
                return any(self.known.simple(dim) == value for dim in self.dims)
            case Binary(">=", value, Const(value=0)):
                return any(self.known.simple(stride) == value for stride in self.steps_of_maps)
            case Binary("==", Binary("%", Binary("*", value, Const()), Const(value=8)), Const(value=0)):
                return any(self.known.simple(stride) == value for stride in self.steps_of_maps)
        return False

    def narrowings(self, steps: Sequence[Step]) -> dict[str, set[tuple[str, int]]]:
        """Returns the bounds of parameters that the conversions of the first launch check, whichever it is: nothing has
        been done before."""
        for step in steps:
            match step:
                case Launch():
                    return self.converted(step)
                case Branch():
                    then, otherwise = self.narrowings(step.then), self.narrowings(step.otherwise)
                    if then or otherwise:
                        return {name: bounds & otherwise.get(name, set()) for name, bounds in then.items()}
                case Check() | Encode():
                    pass
                case _:
                    break
        return {}

    def converted(self, step: Launch) -> dict[str, set[tuple[str, int]]]:
        found: dict[str, set[tuple[str, int]]] = defaultdict(set)
        for value in expressions(step.arguments):
            if isinstance(value, Cast) and isinstance(value.value, Scalar) and value.type in ("i32", "u32"):
                least, most = range_of(value.type)
                found[value.value.name] |= {(">=", int(least)), ("<=", int(most))}
        return found

    # The body.

    def named(self) -> list[str]:
        """Returns values with names of their own: what the effects compute more than twice, the smaller ones first."""
        counts = Counter(self.known.simple(each) for step in effects(self.steps) for each in expressions(step) if is_long(each))
        repeated = [each for each, count in counts.items() if count > 2 or isinstance(each, facts.BitLength) or is_power(each)]
        lines = []
        for each in sorted(repeated, key=weight):
            text = self.words.text(each)
            self.words.lets[each] = self.fresh("v")
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
                    lines.append(f"upload {self.words.address(step.to)} ({values}){self.clauses(step.stream)};")
                case facts.Copy():
                    parts = self.words.address(step.to), self.words.address(step.source), self.words.address(step.bytes)
                    lines.append(f"copy {', '.join(parts)}{self.clauses(step.stream)};")
                case facts.Signal():
                    value = self.words.argument(step.value, "u32")
                    lines.append(f"upload {self.words.address(step.to)} ({value}){self.clauses(step.stream)};")
                case facts.Wait():
                    lines.append(f"wait {self.words.stream(step.stream)}, {self.words.stream(step.other)};")
                case Branch():
                    lines += self.branch(step)
                case Loop():
                    start, end = self.words.text(step.start, 5), self.words.text(step.end, 5)
                    lines += [f"for {step.variable.name} in {start}..{end} {{", *indented(self.body(step.steps)), "}"]
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
            self.words.maps[step.number] = self.fresh(name)
        return self.words.maps[step.number]

    def fresh(self, name: str) -> str:
        """Returns a name that nothing else in the function has."""
        whole, number = name, 1
        while whole in self.taken:
            number += 1
            whole = f"{name}{number}"
        self.taken.add(whole)
        return whole

    def map(self, step: Encode) -> str:
        """Returns a tensor map; its dims are those of the driver, the outermost first."""
        bits = MAP_BITS[step.dtype]
        dims = ", ".join(self.words.text(plain(dim)) for dim in reversed(step.dims))
        strides = ", ".join([*(self.words.text(plain(stride)) for stride in reversed(elements(step))), "1"])
        box = ", ".join(self.words.text(extent) for extent in reversed(step.box))
        options = [self.names[step.tensor.name], f"dims=[{dims}]", f"strides=[{strides}]"]
        offset = self.offset(step)
        options += [f"offset={offset}"] if offset else []
        options.append(f"box=[{box}]")
        if any(value != Const(1, value.type) for value in step.steps):
            options.append(f"steps=[{', '.join(self.words.text(value) for value in reversed(step.steps))}]")
        if MAP_NAMES.get(self.tensors[step.tensor.name].dtype or "") != step.dtype:
            options.append(f'dtype="{step.dtype.lower()}"')
        named = {"interleave": step.interleave, "swizzle": step.swizzle, "l2": step.l2.removeprefix("L2_"), "fill": step.fill}
        options += [f'{name}="{value.lower()}"' for name, value in named.items() if value != "NONE"]
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


def is_power(value: Expr) -> bool:
    return isinstance(value, Binary) and value.op == "<<"


def weight(value: Expr) -> int:
    """Returns the number of expressions in an expression; those that are spelled out for each bit weigh more."""
    return sum(30 if isinstance(each, facts.BitLength) else 1 for each in expressions(value))


def is_long(value: Expr) -> bool:
    """Whether a value that is computed more than once deserves a name: it must be the same throughout the function."""
    parts = list(expressions(value))
    if any(isinstance(each, (facts.Variable, facts.Map, facts.Bytes)) or each.type in ("ptr", "struct") for each in parts):
        return False
    if isinstance(value, (Cast, facts.Struct)) or value.type == "bool":
        return False
    costly = any(isinstance(each, (facts.Select, facts.BitLength)) or isinstance(each, Binary) and each.op == "/" for each in parts)
    return weight(value) > 5 and costly


def needed(guards: tuple[Expr, ...]) -> list[Expr]:
    """Returns guards without those that say that a number is not what another guard says that it is."""
    simple = [denied(guard) for guard in guards]
    equal = [guard.left for guard in simple if isinstance(guard, Binary) and guard.op == "=="]
    return [guard for guard in simple if not (isinstance(guard, Binary) and guard.op == "!=" and guard.left in equal)]


def alternatives(condition: Expr) -> list[Expr]:
    """Returns the conditions that `||` joins, if there are several, in every way of joining some of them."""
    match condition:
        case Binary("||", left, right):
            return [left, right, *alternatives(left), *alternatives(right)]
    return []


def counted_from_start(steps: tuple[Step, ...]) -> tuple[Step, ...]:
    """Returns steps in which dims of tensors of a fixed rank are counted from the start."""
    ranks: dict[Ref, int] = {}
    for step in steps:
        for condition in conjuncts(step.condition) if isinstance(step, Check) else []:
            match condition:
                case Binary("==", Number("ndim", of), Const(value=rank)):
                    ranks[of] = int(rank)

    def count(value: Expr) -> Expr:
        match value:
            case Item("size" | "stride", of, Const(value=index)) if index < 0 and of in ranks:
                return replace(value, index=Const(int(index) + ranks[of], "i64"))
            case Binary("/", Number("numel", of), below) if of in ranks:
                return above(value, of, ranks[of], factors(below))
        return value

    return changed(steps, count) if ranks else steps


def above(value: Expr, of: Ref, rank: int, below: list[Expr]) -> Expr:
    """Returns the number of elements divided by some extents as the product of the others."""
    sizes: list[Expr] = [Item("size", of, Const(index, "i64")) for index in range(rank)]
    if any(each not in sizes for each in below) or len(set(below)) < len(below):
        return value
    product: Expr = Const(1, "i64")
    for each in sizes:
        if each not in below:
            product = each if product == Const(1, "i64") else Binary("*", product, each, "i64")
    return product


def natural(dtype: str) -> int:
    """Returns the alignment of an element type in bytes."""
    digits = "".join(c for c in dtype.split("_")[0] if c.isdigit())
    return max(1, int(digits or 8) // 8)


def plain(value: Expr) -> Expr:
    """Returns a number without the conversions around it."""
    while isinstance(value, Cast) and value.type in ("u64", "i64", "u32", "i32"):
        value = value.value
    return value


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


def data_of(address: Expr) -> Ref | None:
    address = plain(address)
    while isinstance(address, Cast):
        address = address.value
    return address.of if isinstance(address, Number) and address.what == "data" else None


def depends_on_scalars(value: Expr) -> bool:
    """Whether a number depends only on constants and on one parameter."""
    match value:
        case Const() | Scalar():
            return True
        case Binary("*", Const(), Scalar()):
            return True
    return False


def stream_names(step: Step) -> Iterator[str]:
    """Yields the parameters that a step takes for streams."""
    streams: list[Expr] = []
    match step:
        case Launch() | facts.Upload() | facts.Copy() | facts.Signal():
            streams = [step.stream]
        case facts.Wait():
            streams = [step.stream, step.other]
        case _:
            pass
    for stream in streams:
        inner = plain(stream.value) if isinstance(stream, Cast) else stream
        if isinstance(inner, Scalar):
            yield inner.name


def indented(lines: Sequence[str]) -> list[str]:
    return [f"    {line}" for line in lines]


def translate(host: facts.Host) -> str:
    """Returns the declarations of a host's functions; raises Untranslatable."""
    if any(function.name == "prepare_entry" for function in host.functions):
        raise Untranslatable("two phases")
    texts = [Translator(function).translated() for function in host.functions]
    return f"image {IMAGE};\n\n" + "\n".join(texts)


def translate_all(hosts: dict[str, facts.Host]) -> tuple[dict[str, str], dict[str, str]]:
    """Returns the text of each host that can be translated, and of each other why not."""
    texts, reasons = {}, {}
    for path, host in hosts.items():
        try:
            texts[path] = translate(host)
        except Untranslatable as reason:
            reasons[path] = str(reason)
    return texts, reasons


def main() -> None:
    wheel, *words = sys.argv[1:]
    paths = [path for path in read.hosts(Path(wheel)) if not words or words[0] in path]
    if words:
        for path in paths:
            print(f"# {path}\n{translate(read.read(Path(wheel), path))}")
        return
    found, unread = read.read_all(Path(wheel))
    texts, reasons = translate_all(found)
    families: dict[str, list[str]] = defaultdict(list)
    for path in paths:
        families[str(Path(path).parent)].append(path)
    for family, members in families.items():
        print(f"{sum(path in texts for path in members):4} of {len(members):4}  {family}")
    for reason, count in Counter((unread | reasons).values()).most_common():
        print(f"{count:4}  {reason}")
    print(f"{len(families)} families, {len(paths)} files, {len(found)} read, {len(texts)} translated")


if __name__ == "__main__":
    main()
