"""Parameters of exported functions: their kinds, and what they hold."""

from __future__ import annotations

import cpp
import facts
from cpp import Unreadable
from values import TYPES, ArrayArg, OptionalArg, TensorArg, Value

KINDS = {"TensorView": "tensor", "Tensor": "tensor", "Shape": "shape", "double": "f64", "float": "f32", "bool": "bool"}


def kind(type_: cpp.Type) -> str:
    """Returns the kind of a parameter of an exported function."""
    if type_.name == "Optional" and isinstance(type_.arguments[0], cpp.Type):
        return f"optional {kind(type_.arguments[0])}"
    if type_.name == "Array" and isinstance(type_.arguments[0], cpp.Type):
        return f"array of {kind(type_.arguments[0])}s"
    found = KINDS.get(type_.name) or TYPES.get(type_.name)
    if found is None or type_.pointer:
        raise Unreadable(f"a parameter of type {type_.name}")
    return found


def argument(name: str, what: str) -> Value:
    """Returns what a parameter holds."""
    ref = facts.Ref(name)
    if what == "tensor":
        return TensorArg(ref)
    if what == "shape":
        return ArrayArg(ref, numbers=True)
    if what.startswith("optional "):
        return OptionalArg(ref, what.removeprefix("optional "))
    if what == "array of tensors":
        return ArrayArg(ref, numbers=False)
    if what.startswith("array of "):
        raise Unreadable(f"a parameter that is an {what}")
    return facts.Scalar(name, what)
