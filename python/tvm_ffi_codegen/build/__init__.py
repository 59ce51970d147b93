"""Declarations as values: the language, built in Python.

`jit`, `emit` and `describe` take a `Library`. `str` of a part is its canonical text; `parse` is the inverse. A part is
frozen, equal to others with the same contents, and knows the line of Python that built it, `place`.

>>> from tvm_ffi_codegen.build import *
>>> n, m, x, y = symbols("n m x y")
>>> floats = Tensor([n, 2 * m], "float32")
>>> add_one = function("add_one", {x: floats, y: floats}, kernel("k", x.data, y.data, n * m), where=[n % 4 == 0])
>>> print(Library([add_one]), end="")
add_one(x: Tensor([n, 2 * m], float32), y: Tensor([n, 2 * m], float32)) -> None
    where n % 4 == 0
    = k(x.data, y.data, n * m);

*Expressions.* `symbols` makes names; numbers, truths, None, text (always in quotes, never a name) and lists (arrays)
stand for themselves. Python's operators build operations, and attributes build members: `x.shape[0]`, `x.data`,
`t.field("name")`. The language writes floor division `/`: Python's `//` builds it, and `/` divides floats only. A
comparison is a condition of the language. It is neither true nor false in Python, so that `and`, `or`, `not`, `if` and
`0 < n < 4` raise a TypeError: `all_of`, `any_of`, `not_` and `if_` build what they mean. For the same reason names are
good keys of a dict to iterate over, as above, but to look one up takes the same object; `same` compares expressions.

*Types.* A word stands for a type without parts: "int64", "str", "Function", "Array". The scalar types are values too,
which as functions build conversions: `int32(n)`.

*Bodies.* One call of a C function, or a list of statements; a call among them drops its result. `let` names values and
results, `if_(…).elif_(…).else_(…)` branches.

>>> k, = symbols("k")
>>> body = [
...     let(k, kernel("tile", n), "int64"),
...     if_(k == 0, [Raise("ValueError", ["no tile for ", n])]).else_([
...         For("i", 0, ceildiv(n, k), [try_kernel("step", x.data, k, errors={1: ("ValueError", "too small")})]),
...     ]).at("net.mt", 7),
... ]
>>> print(function("f", {x: floats}, body))
f(x: Tensor([n, 2 * m], float32)) -> None
    = {
        let k: int64 = tile(n);
        @"net.mt":7
        if k == 0 {
            raise ValueError "no tile for ", n;
        } else {
            for i in 0..ceildiv(n, k) {
                try step(x.data, k) errors { 1: ValueError "too small" };
            }
        }
    };

*Errors.* What cannot be a part raises a TypeError or a ValueError where it is built. `check` and `checked` find what is
wrong with a whole library, and name the line of Python; `with_lines` makes the lines source locations.
"""

from ._call import FunctionCall, KernelCall, StatusError, call, call_name, kernel, try_kernel
from ._check import Diagnostic, check, checked, with_lines
from ._declaration import (
    Closure,
    Constraint,
    Function,
    Image,
    Library,
    Output,
    Param,
    Signature,
    closure,
    function,
)
from ._expression import Expr, Name, binary, expression
from ._launch import (
    Attribute,
    BytesOf,
    Copy,
    Fill,
    Launch,
    LetMap,
    Scratch,
    Struct,
    Upload,
    Wait,
)
from ._map import Im2col, TensorMap
from ._operation import (
    all_of,
    any_of,
    ceildiv,
    current_device,
    global_of,
    max_of,
    min_of,
    not_,
    null,
    product,
    shape_of,
    stream,
    sum_of,
    symbols,
)
from ._parse import parse, parse_expr, parse_function, parse_signature, parse_type
from ._part import Part, Place, same
from ._statement import (
    Alloc,
    Arm,
    CallStatement,
    For,
    If,
    Let,
    Location,
    Match,
    Raise,
    Return,
    Statement,
    at,
    if_,
    let,
)
from ._type import (
    Array,
    Dict,
    Leaf,
    List,
    Literal,
    Map,
    NamedElement,
    ObjectClass,
    Optional,
    Scalar,
    Shape,
    Tensor,
    Tuple,
    Type,
    Union,
    any_dim,
    folded,
    type_of,
)

# The scalar types, but for `bool`, which is a class of Python: a type is also a word, "bool".
int8 = Scalar("int8")
int16 = Scalar("int16")
int32 = Scalar("int32")
int64 = Scalar("int64")
uint8 = Scalar("uint8")
uint16 = Scalar("uint16")
uint32 = Scalar("uint32")
uint64 = Scalar("uint64")
float16 = Scalar("float16")
bfloat16 = Scalar("bfloat16")
float32 = Scalar("float32")
float64 = Scalar("float64")
ptr = Scalar("ptr")

__all__ = [
    "Alloc",
    "Arm",
    "Array",
    "Attribute",
    "BytesOf",
    "CallStatement",
    "Closure",
    "Constraint",
    "Copy",
    "Diagnostic",
    "Dict",
    "Expr",
    "Fill",
    "For",
    "Function",
    "FunctionCall",
    "If",
    "Im2col",
    "Image",
    "KernelCall",
    "Launch",
    "Leaf",
    "Let",
    "LetMap",
    "Library",
    "List",
    "Literal",
    "Location",
    "Map",
    "Match",
    "Name",
    "NamedElement",
    "ObjectClass",
    "Optional",
    "Output",
    "Param",
    "Part",
    "Place",
    "Raise",
    "Return",
    "Scalar",
    "Scratch",
    "Shape",
    "Signature",
    "Statement",
    "StatusError",
    "Struct",
    "Tensor",
    "TensorMap",
    "Tuple",
    "Type",
    "Union",
    "Upload",
    "Wait",
    "all_of",
    "any_dim",
    "any_of",
    "at",
    "bfloat16",
    "binary",
    "call",
    "call_name",
    "ceildiv",
    "check",
    "checked",
    "closure",
    "current_device",
    "expression",
    "float16",
    "float32",
    "float64",
    "folded",
    "function",
    "global_of",
    "if_",
    "int16",
    "int32",
    "int64",
    "int8",
    "kernel",
    "let",
    "max_of",
    "min_of",
    "not_",
    "null",
    "parse",
    "parse_expr",
    "parse_function",
    "parse_signature",
    "parse_type",
    "product",
    "ptr",
    "same",
    "shape_of",
    "stream",
    "sum_of",
    "symbols",
    "try_kernel",
    "type_of",
    "uint16",
    "uint32",
    "uint64",
    "uint8",
    "with_lines",
]
