"""Words, names, numbers and quotations as the text of the language spells them."""

from __future__ import annotations

import math
import re
from decimal import Decimal

SCALARS = (
    *("bool", "int8", "int16", "int32", "int64", "uint8", "uint16", "uint32", "uint64"),
    *("float16", "bfloat16", "float32", "float64", "ptr"),
)
"""Names of the scalar types."""

LEAVES = ("str", "bytes", "dtype", "Device", "Any", "Stream", "handle")
"""Names of the other types without parts."""

CLASSES = ("Function", "Module", "Tensor", "Object")
"""Names of the classes of objects."""

DEVICES = (
    *("any", "cpu", "cuda", "cuda_host", "opencl", "vulkan", "metal", "vpi", "rocm", "rocm_host", "ext_dev"),
    *("cuda_managed", "oneapi", "webgpu", "hexagon", "maia", "trn"),
)
"""Names of the types of devices, and `any`."""

ACCESSES = ("update", "read", "write")
"""What a function does with the elements of a tensor."""

ANY_DTYPE = "any"
"""The word that stands for every element type."""

_RESERVED = frozenset(
    "min max ceildiv stream current_device null None True False where try else _ and or not Shape Array List Map Dict Tuple Optional"
    " Union Literal".split()
).union(SCALARS, LEAVES, CLASSES)

_IDENTIFIER = re.compile(r"[A-Za-z_][A-Za-z0-9_]*", re.ASCII)
_NAME = re.compile(r"[^`\x00-\x1f\x7f-\x9f]+")
_KIND = re.compile(rf"{_IDENTIFIER.pattern}(?:\.{_IDENTIFIER.pattern})*", re.ASCII)
_NUMBER = "(?:0|[1-9][0-9]*)"
_DTYPE = re.compile(
    rf"(?:(?P<bits>u?int{_NUMBER}|float(?:16|32|64)|bfloat16|complex(?:64|128))|handle|bool|float8_e3m4|float8_e4m3"
    r"|float8_e4m3b11fnuz|float8_e4m3fn|float8_e4m3fnuz|float8_e5m2|float8_e5m2fnuz|float8_e8m0fnu|float6_e2m3fn"
    rf"|float6_e3m2fn|float4_e2m1fn)(?:x(?P<lanes>{_NUMBER}))?",
    re.ASCII,
)
# Names of types in other languages, which the parser reads as those of element types to say what to write instead.
_ELSEWHERE = frozenset("int uint long float double half string".split())


def is_identifier(word: str) -> bool:
    """Returns true for ASCII identifiers, reserved or not."""
    return _IDENTIFIER.fullmatch(word) is not None


def is_reserved(word: str) -> bool:
    """Returns true for words that name nothing without backticks."""
    return word in _RESERVED


def is_dtype(word: str) -> bool:
    """Returns true for names of element types.

    >>> [word for word in ["float32", "float32x4", "int65", "float8_e4m3fn", "float32x1"] if is_dtype(word)]
    ['float32', 'float32x4', 'float8_e4m3fn']
    """
    found = _DTYPE.fullmatch(word)
    if found is None:
        return False
    name, lanes = found["bits"] or "", found["lanes"]
    has_bits = "int" not in name or 1 <= int(name.split("int")[1]) <= 64
    return has_bits and (lanes is None or 2 <= int(lanes) < 1 << 15)


def reads_as_dtype(word: str) -> bool:
    """Returns true for words that need backticks where an element type may stand."""
    return is_dtype(word) or word in _ELSEWHERE or word == ANY_DTYPE


def lane_alignment(dtype: str) -> int:
    """Returns the natural alignment of an element type in bytes: the largest power of two that divides a lane.

    >>> [lane_alignment(dtype) for dtype in ["bool", "int4", "int24", "float64x2", "complex128", "handle"]]
    [1, 1, 1, 8, 16, 8]
    """
    if dtype.startswith("handle"):
        return 8
    found = re.match(r"[a-z]+([0-9]+)", dtype)
    size = -(-int(found[1]) // 8) if found else 1
    return size & -size


def label(name: str) -> str:
    """Returns the name of a function or of an element, in backticks if it is no identifier.

    >>> print(label("stream"), label("my.f"))
    stream `my.f`
    """
    return name if is_identifier(name) else _in_backticks(name)


def spelled(name: str) -> str:
    """Returns the name of a parameter, a symbol or a local, in backticks if it is reserved or no identifier.

    >>> print(spelled("n"), spelled("stream"), spelled("my n"))
    n `stream` `my n`
    """
    return _in_backticks(name) if is_reserved(name) else label(name)


def _in_backticks(name: str) -> str:
    if not _NAME.fullmatch(name):
        raise ValueError(f"a name is text without backticks and control characters, not {name!r}")
    return f"`{name}`"


def symbol(name: str) -> str:
    """Returns the symbol of a C function, in quotes if it is no word that names one."""
    plain = is_identifier(name) and not is_reserved(name) and name not in ("if", "return")
    return name if plain else quoted(name)


def quoted(text: str) -> str:
    r"""Returns a text in quotes.

    >>> print(quoted('a "b" \\'))
    "a \"b\" \\"
    """
    if "\n" in text:
        raise ValueError(f"text in quotes is one line, not {text!r}")
    return '"' + text.replace("\\", "\\\\").replace('"', '\\"') + '"'


def check_error_kind(text: str) -> None:
    """Raises a `ValueError` for what is no kind of an error: words with dots between them."""
    if not _KIND.fullmatch(text):
        raise ValueError(f"the kind of an error is words with dots between them, not {text!r}")


def decimal(value: float) -> str:
    """Returns the shortest digits that read back as a finite float, at least one after the point.

    >>> print(decimal(1e22), decimal(-0.0), decimal(2.5e-7))
    10000000000000000000000.0 -0.0 0.00000025
    """
    if not math.isfinite(value):
        raise ValueError(f"{value} is not a number that can be written")
    digits = format(Decimal(repr(value)), "f")
    return digits if "." in digits else f"{digits}.0"


def literal(value: object) -> str:
    """Returns the text of a literal.

    >>> print(*map(literal, [None, True, -3, 0.5, "fast"]))
    None True -3 0.5 "fast"
    """
    if value is None or isinstance(value, int):
        return str(value)
    if isinstance(value, float):
        return decimal(float(value))
    if isinstance(value, str):
        return quoted(value)
    raise TypeError(f"a literal is None, a truth, a number or text, not {type(value).__name__}")
