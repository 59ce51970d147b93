"""Declarations as values.

>>> from tvm_ffi_codegen.build import *
>>> n, m, x, y = symbols("n m x y")
>>> floats = Tensor([n, m // 2 * 2], "float32")
>>> add_one = function("add_one", {x: floats, y: floats}, kernel("k", x.data, y.data, n * m), where=[n % 4 == 0])
>>> print(Library([add_one]), end="")
add_one(x: Tensor([n, m / 2 * 2], float32), y: Tensor([n, m / 2 * 2], float32)) -> None
    where n % 4 == 0
    = k(x.data, y.data, n * m);
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
    Copy,
    Fill,
    Launch,
    LetMap,
    Scratch,
    Struct,
    TensorMap,
    Upload,
    Wait,
)
from ._operation import (
    all_of,
    any_of,
    ceildiv,
    max_of,
    min_of,
    not_,
    null,
    product,
    shape_of,
    stream,
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
    "expression",
    "float16",
    "float32",
    "float64",
    "folded",
    "function",
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
    "symbols",
    "try_kernel",
    "type_of",
    "uint16",
    "uint32",
    "uint64",
    "uint8",
    "with_lines",
]
