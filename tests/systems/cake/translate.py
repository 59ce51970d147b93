"""Facts of a host to the text of a declaration that checks, encodes and launches the same.

Usage: translate.py WHEEL [WORD]; prints the declarations of hosts whose path has the word, or without one how many of
each family are translated, and why the others are not.
"""

from __future__ import annotations

import sys
from collections import Counter, defaultdict
from collections.abc import Sequence
from dataclasses import dataclass, field
from pathlib import Path

import facts
import read
from body import IMAGE, Body, elements
from bounds import Known, conjuncts, denied, range_of
from facts import Binary, Branch, Cast, Check, Const, Count, Encode, Expr, Foldable, Item, Later, Launch, Loop, Number
from facts import Ref, Scalar, Step, Unary
from rewrite import expressions
from simplify import plain, simplified
from words import Form, Untranslatable, Words, fresh, spelled

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


# What the unconditional checks of a function say of its tensors.


@dataclass
class Tensor:
    """What is checked of a tensor wherever the function goes."""

    ref: Ref
    device: str = "any"
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
        self.steps = simplified(function.steps)
        self.tensors = {each.name: Tensor(Ref(each.name)) for each in function.parameters if each.kind == "tensor"}
        self.taken: set[str] = set()
        self.names = {each.name: spelled(each.name, self.taken) for each in function.parameters}
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
        self.words = Words(self.names, forms, self.known)
        self.narrowed = self.narrowings(self.steps)
        maps = [step for step in self.steps if isinstance(step, Encode)]
        self.dims = {plain(dim) for each in maps for dim in each.dims}
        self.steps_of_maps = {stride for each in maps for stride in elements(each)}
        self.conditions(self.steps, ())
        parameters = [f"    {self.names[each.name]}: {self.type(each)},\n" for each in self.function.parameters]
        result = "Function" if self.function.has_phases else "None"
        head = f"{self.function.name}(\n{''.join(parameters).removesuffix(',' + chr(10))}\n) -> {result}\n"
        constraints = self.constraints()
        where = "    where " + ",\n        ".join(constraints) + "\n" if constraints else ""
        dtypes = {name: each.dtype or "" for name, each in self.tensors.items()}
        body = Body(self.words, dtypes, self.taken).text(self.steps)
        return f"{head}{where}    = {{\n{body}\n    }};\n"

    # Tensors.

    def notice(self, condition: Expr) -> None:
        """Notes what a condition says of a tensor's type."""
        match condition:
            case Binary("==", Number("device_type", of), Const(value=(1 | 2) as device)):
                self.tensors[of.name].device = "cpu" if device == 1 else "cuda"
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
                own = fresh(self.taken, f"{form.plain}_{index}") if named else "_"
                form.dims[back] = self.declared(tensor, index) or own
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
            form.dims[-back] = fresh(self.taken, f"{form.plain}_d{back}") if back in ends or form.folded else "_"
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
            return SCALARS[parameter.kind]
        tensor, form = self.tensors[parameter.name], self.words.forms[parameter.name]
        if tensor.dtype is None:
            raise Untranslatable("a tensor of any element type")
        options = [self.shape(form), tensor.dtype, *self.strides(tensor, form)]
        options += [f"device={tensor.device}"]
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
                    denial = Unary("!", step.condition, "bool")
                    for side, condition in ((step.then, step.condition), (step.otherwise, denial)):
                        self.known = self.words.known = outer.copy()
                        self.known.learn(self.known.simple(condition))
                        self.conditions(side, (*guards, condition))
                    self.known = self.words.known = outer
                case Loop() | Later() if any(isinstance(each, Check) for each in step.steps):
                    raise Untranslatable("a check in a loop or a second phase")
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
        said = self.where.keys()
        kept = [text for condition, text in self.where.items() if said.isdisjoint(alternatives(condition))]
        return [text for text in dict.fromkeys(kept) if text != "True"]

    def said(self, condition: Expr, guarded: bool) -> bool:
        """Whether a type, a map or a narrowing says a condition."""
        match condition:
            case Binary("==", Count(), Const(value=count)):
                return count == len(self.function.parameters)
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
            case (
                Binary("==", Item("size", of, Const(value=index)), value)
                | Binary("==", value, Item("size", of, Const(value=index)))
            ):
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


def natural(dtype: str) -> int:
    """Returns the alignment of an element type in bytes."""
    digits = "".join(c for c in dtype.split("_")[0] if c.isdigit())
    return max(1, int(digits or 8) // 8)


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


def translate(host: facts.Host) -> str:
    """Returns the declarations of a host's functions; raises Untranslatable."""
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
