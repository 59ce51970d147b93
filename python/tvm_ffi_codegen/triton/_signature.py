"""Signatures of variants in Triton's syntax: `x: *fp32:16, n: i32:16, BLOCK: 1024`."""

from __future__ import annotations

import ast
import re
from collections.abc import Iterable
from typing import Any, NamedTuple

_PARAMETER = re.compile(r"(\w+)\s*:\s*(.*)", re.DOTALL)
_TYPE = re.compile(r"(\*?k?[a-z]\w*)((?:\s*:\s*(?:16|1|S))*)")

_DTYPES = {
    "i1": "bool", "u1": "bool", "fp16": "float16", "bf16": "bfloat16", "fp32": "float32", "fp64": "float64",
    "fp8e4nv": "float8_e4m3fn", "fp8e5": "float8_e5m2", "fp8e4b8": "float8_e4m3fnuz", "fp8e5b16": "float8_e5m2fnuz",
    **{f"i{bits}": f"int{bits}" for bits in (8, 16, 32, 64)},
    **{f"u{bits}": f"uint{bits}" for bits in (8, 16, 32, 64)},
}  # fmt: skip
"""Our element types by Triton's names."""


class Argument(NamedTuple):
    """What a variant says of a parameter: a type and its hints, or a constant."""

    name: str
    type: str
    """Triton's type; `constexpr` for a constant."""
    hints: tuple[str, ...]
    value: Any
    """The value of a constant."""

    @property
    def is_constant(self) -> bool:
        return self.type == "constexpr"

    @property
    def is_one(self) -> bool:
        return "1" in self.hints

    def __str__(self) -> str:
        described = repr(self.value) if self.is_constant else ":".join((self.type, *self.hints))
        return f"{self.name}: {described}"

    def kind(self) -> str | None:
        """Returns our type of the argument, without that of the elements of a tensor; `None` for a constant None."""
        if self.is_constant:
            return None if self.value is None else _kind_of_value(self)
        if self.type.startswith("*"):
            return "Tensor"
        if self.type in ("i1", "u1"):
            return "bool"
        return "int64" if self.type[0] in "iu" else "float64"

    def conditions(self) -> list[str]:
        """Returns the conditions under which an argument of our type is one of this variant."""
        named = f"`{self.name}`"
        if self.is_constant:
            return [] if self.value is None else [_is_value(named, self.value)]
        if self.is_one:
            return [f"{named} == 1"]
        divisible = "16" in self.hints
        if self.type.startswith("*"):
            element = _DTYPES[self.type.removeprefix("*").removeprefix("k")]
            aligned = [f"{named}.data % 16 == 0"] if divisible else []
            most = (1 << 31) // max(1, int("".join(re.findall(r"\d+$", element)) or 8) // 8)
            small = [f"{named}.is_contiguous", f"{named}.numel < {most}"] if "S" in self.hints else []
            return [f'{named}.dtype == "{element}"', *aligned, *small]
        return [*_range(named, self.type), *([f"{named} % 16 == 0"] if divisible else [])]


def parse(text: str) -> list[Argument]:
    """Parses a signature. Raises `ValueError` for one that is none."""
    return [_argument(part) for part in split(text)]


def of_kernel(kernel: Any) -> list[Argument]:
    """Returns the signature of what Triton has compiled. Raises `ValueError` if it has tuples or descriptors."""
    hints = {path[0]: tuple(_HINTS[name] for name, _ in found) for path, found in kernel.src.attrs.items()}
    constants = {path[0]: value for path, value in kernel.src.constants.items()}
    parameters = {param.name: param for param in kernel.src.fn.params}
    arguments = []
    for index, (name, type_) in enumerate(kernel.src.signature.items()):
        if not isinstance(type_, str) or type_.startswith("tensordesc"):
            raise ValueError(f"parameter {name} comes in parts, which no function of a library takes")
        if type_ == "constexpr" and not parameters[name].is_constexpr and constants[index] == 1:
            arguments.append(Argument(name, "i32", ("1",), None))
        else:
            arguments.append(Argument(name, type_, hints.get(index, ()), constants.get(index)))
    return arguments


_HINTS = {"tt.divisibility": "16", "tt.pointer_range": "S"}


def source(kernel: Any, arguments: Iterable[Argument]) -> Any:
    """Returns what Triton compiles for a signature of a `JITFunction`. Raises `ValueError` if its parameters are others."""
    from triton.compiler import ASTSource

    given = {argument.name: argument for argument in arguments}
    names = [param.name for param in kernel.params]
    if list(given) != names:
        raise ValueError(f"the signature has {', '.join(given)}, and {kernel.__name__} has {', '.join(names)}")
    types, constants, attributes = {}, {}, {}
    long = {short: name for name, short in _HINTS.items()}
    for index, (name, argument) in enumerate(given.items()):
        folded = argument.is_constant or argument.is_one
        types[name] = "constexpr" if folded else argument.type
        if folded:
            constants[(index,)] = 1 if argument.is_one else argument.value
        bits = {"16": 16, "S": 32}
        attributes[(index,)] = [[long[hint], bits[hint]] for hint in argument.hints if hint in bits]
    return ASTSource(fn=kernel, signature=types, constexprs=constants, attrs=attributes)


def written(arguments: Iterable[Argument]) -> str:
    """Returns the signature as the importer takes it, without constants."""
    return ", ".join(str(argument) for argument in arguments if not argument.is_constant)


def split(text: str) -> list[str]:
    """Splits at commas outside of brackets and quotes."""
    parts = re.findall(r"""(?:[^,()\[\]'"]|\([^()]*\)|\[[^\[\]]*\]|'[^']*'|"[^"]*")+""", text)
    return [part.strip() for part in parts]


def _argument(text: str) -> Argument:
    found = _PARAMETER.fullmatch(text)
    if found is None:
        raise ValueError(f"parameter `{text}`: expected a name, `:` and a type or a value, such as `n: i32:16`")
    name, rest = found.groups()
    typed = _TYPE.fullmatch(rest.strip())
    if typed is not None and typed[1].removeprefix("*").removeprefix("k") in _DTYPES:
        hints = tuple(hint.strip() for hint in typed[2].split(":") if hint.strip())
        return Argument(name, typed[1], hints, None)
    try:
        return Argument(name, "constexpr", (), ast.literal_eval(rest))
    except (ValueError, SyntaxError) as error:
        raise ValueError(f"parameter `{text}`: Triton has no type `{rest}`") from error


def _kind_of_value(argument: Argument) -> str:
    kinds = {bool: "bool", int: "int64", float: "float64", str: "str"}
    kind = type(argument.value)
    if kind not in kinds:
        raise ValueError(f"parameter `{argument}`: a constant of type {kind.__name__} is no argument of a function")
    return kinds[kind]


def _is_value(named: str, value: Any) -> str:
    if isinstance(value, bool):
        return named if value else f"not {named}"
    if isinstance(value, str):
        from ..build._text import quoted

        return f"{named} == {quoted(value)}"
    return f"{named} == {value}"


def _range(named: str, type_: str) -> list[str]:
    """Returns the conditions for an integer to be of a type."""
    if type_ in ("i1", "u1") or type_[0] not in "iu" or type_ == "i64":
        return []
    bits, signed = int(type_[1:]), type_[0] == "i"
    least = -(1 << bits - 1) if signed else 0
    most = (1 << bits - signed) - 1
    return [f"{named} >= {least}"] + ([f"{named} <= {most}"] if bits < 64 else [])
