"""Stubs for type checkers and editors, made of the metadata of functions."""

from __future__ import annotations

import json
import re
from collections.abc import Iterable, Mapping
from typing import Any

from ._functions import Functions
from ._literals import literal
from ._words import is_word

_HEAD = '''\
"""{about}"""

{builtins}import {ctypes}
from collections.abc import {Callable}, {Mapping}, {Sequence}
from typing import {Any}, {TypeAlias}

import {tvm_ffi}

# A tensor of any package with DLPack.
'''

_TENSOR = "Tensor: TypeAlias = Any\n"

_BUILTINS = ("bool", "bytes", "float", "int", "str", "tuple")
_IMPORTED = ("ctypes", "Callable", "Mapping", "Sequence", "Any", "TypeAlias", "tvm_ffi")

# Types of schemas that need no arguments.
_TYPES = {
    "None": "None",
    "bool": "bool",
    "int": "int",
    "float": "float",
    "DataType": "tvm_ffi.dtype | str",
    "Device": "tvm_ffi.Device | str",
    "void*": "ctypes.c_void_p | None",
    "ffi.Bytes": "bytes",
    "ffi.Module": "tvm_ffi.Module",
    "ffi.Shape": "Sequence[int]",
    "ffi.String": "str",
    "ffi.Tensor": "Tensor",
    "ffi.Function": "Callable[..., Any]",
    "Any": "Any",
    "DLTensor*": "Tensor",
}


def stub(functions: Functions, about: str = "Functions of TVM FFI.") -> str:
    """Returns the text of a `.pyi` for a Python module that has these functions as its own:

        Path("kernels.pyi").write_text(tvm_ffi_codegen.stub(m))  # beside kernels.py: `globals().update(m.__dict__)`

    Functions without metadata take and return anything. A function whose name is no word of Python's source is a comment,
    and one with such a parameter takes anything.
    """
    if not isinstance(functions, Functions):
        raise TypeError(f"functions is of type {type(functions).__name__}, expected what `jit` or `load` returns")
    parts = functions.__tvm_ffi_parts__.values()
    own = _Own(part.name for part in parts)
    return "\n\n".join([_head(about, own), *(_function(own, part.name, part.metadata, part.docs) for part in parts)])


class _Own:
    """The names that a stub uses itself, each behind a `_` if a function has it."""

    def __init__(self, functions: Iterable[str]) -> None:
        taken = set(functions)
        self.renamed: dict[str, str] = {}
        for name in taken.intersection((*_BUILTINS, *_IMPORTED, "Tensor")):
            other = f"_{name}"
            while other in taken:
                other = f"_{other}"
            self.renamed[name] = other

    def imported(self, name: str) -> str:
        """Returns the entry of an import for a name."""
        return f"{name} as {self.renamed[name]}" if name in self.renamed else name

    def of(self, ty: str) -> str:
        """Returns the text of a type with the names of this stub. Names behind a point remain."""
        return re.sub(r"(?<![.\w])\w+", lambda found: self.renamed.get(found[0], found[0]), ty)


def _head(about: str, own: _Own) -> str:
    renamed = [own.imported(name) for name in _BUILTINS if name in own.renamed]
    builtins = f"from builtins import {', '.join(renamed)}\n" if renamed else ""
    quoted = _escaped(about).replace('"', '\\"')
    imported = {name: own.imported(name) for name in _IMPORTED}
    return _HEAD.format(about=quoted, builtins=builtins, **imported) + own.of(_TENSOR)


def _function(own: _Own, name: str, metadata: Mapping[str, Any] | None, docs: str | None) -> str:
    if not is_word(name):
        return f"# `{name}` is no name in Python's source: getattr finds it."
    anything = own.of("Any")
    if metadata is None:
        return f"def {name}(*args: {anything}) -> {anything}: ..."
    declared, schema = metadata["declaration"], json.loads(metadata["type_schema"])
    result, types = _parts(schema)
    params = [_param(param, own.of(ty)) for param, ty in zip(declared["params"], types, strict=True)]
    # `**{"my x": 1}` gives an argument by a name that the source cannot have.
    if not all(is_word(param["name"]) for param in declared["params"]):
        params = [f"*args: {anything}", f"**named: {anything}"]
    text = declared["signature"] if docs is None else f"{declared['signature']}\n\n{docs}"
    lines = [f"def {name}({', '.join(params)}) -> {own.of(result)}:", *_docstring(text), "    ..."]
    return "\n".join(lines)


def _parts(schema: Mapping[str, Any]) -> tuple[str, list[str]]:
    """Returns the types of the result and of the parameters."""
    if "named_args" in schema:
        return _type(schema["named_args"]["return"][0]), []
    result, *params = schema["args"]
    return _type(result), [_type(param) for param in params]


def _param(declared: Mapping[str, Any], ty: str) -> str:
    if declared.get("variadic"):
        return f"*{declared['name']}: {ty}"
    default = f" = {literal(declared['default'])!r}" if "default" in declared else ""
    return f"{declared['name']}: {ty}{default}"


def _type(schema: Mapping[str, Any]) -> str:
    """Returns a type that accepts what the function does, and of a result what it is."""
    name, args = schema["type"], [_type(arg) for arg in schema.get("args", [])]
    match name:
        case "Optional":
            return f"{args[0]} | None" if args else "Any"
        case "Union" | "Variant":
            return " | ".join(args) if args else "Any"
        case "ffi.Array" | "ffi.List":
            return f"Sequence[{args[0]}]" if args else "Sequence[Any]"
        case "ffi.Map" | "ffi.Dict":
            return f"Mapping[{', '.join(args)}]" if args else "Mapping[Any, Any]"
        case "tuple" | "Tuple":
            return f"tuple[{', '.join(args) or '()'}]"
        case _:
            return _TYPES.get(name, "Any")


def _escaped(text: str) -> str:
    """Returns a text as a literal spells it, but for quotes. Python's source has no NUL, and reads `\\r` as `\\n`."""
    return text.replace("\\", "\\\\").replace("\r", "\\r").replace("\0", "\\x00")


def _docstring(text: str) -> list[str]:
    quoted = _escaped(text).replace('"""', '\\"\\"\\"')
    if quoted.endswith('"'):
        quoted = quoted[:-1] + '\\"'
    first, *rest = quoted.split("\n")
    if not rest:
        return [f'    """{first}"""']
    return [f'    """{first}', *(f"    {line}".rstrip() for line in rest), '    """']
