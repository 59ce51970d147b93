"""Functions of Apache TVM's tensor IR, and of TileLang's, as declarations: parameters, extents, results.

Nodes are known by the names of their classes, so that neither compiler is imported.
"""

from __future__ import annotations

import re
from collections.abc import Callable, Iterable, Sequence
from typing import Any, TypeAlias

from .build import (
    Expr,
    Function,
    KernelCall,
    Name,
    Output,
    Param,
    Scalar,
    Tensor,
    any_dim,
    binary,
    function,
    max_of,
    min_of,
    try_kernel,
)
from .build._expression import Operand
from .build._text import SCALARS, is_dtype

Number: TypeAlias = Expr | int
"""An integer expression, or a constant."""

_OPERATIONS: dict[str, Callable[[Any, Any], Number]] = {
    "Add": lambda a, b: a + b,
    "Sub": lambda a, b: a - b,
    "Mul": lambda a, b: a * b,
    "FloorDiv": lambda a, b: a // b,
    "FloorMod": lambda a, b: a % b,
    "Min": min_of,
    "Max": max_of,
}

_UNCHECKED_DTYPES = ("int1", "int4", "uint4")
"""Element types of which TVM checks neither type nor extents: their bytes hold several elements."""


_UNSPELLED = re.compile(r"[`\x00-\x1f\x7f-\x9f]")
"""Characters that no name of the language has."""
_WORD = re.compile(r"_*[^\W\d_]")
"""The beginning of a name of a symbol."""


class Left(Exception):
    """The reason why a function is left to its own compiler."""


class Declaration:
    """The declaration of a function, which grows by parameters, and what its kernel is given for each variable."""

    def __init__(self, name: str) -> None:
        self.name = name
        self.params: list[Param] = []
        self.where: list[Expr] = []
        self.result: str | None = None
        self.results: list[Output] = []
        self.values: dict[Any, Operand] = {}
        """The value of each variable, as an argument of the kernel."""
        self._symbols: dict[Any, Expr] = {}
        self._taken: set[str] = set()

    def new_name(self, wanted: str) -> Name:
        """Returns a name that nothing else has, like the one that is wanted."""
        spelled = _UNSPELLED.sub("_", wanted) or "_"
        name, number = spelled, 0
        while name in self._taken:
            number += 1
            name = f"{spelled}_{number}"
        self._taken.add(name)
        return Name(name)

    def symbol(self, var: Any) -> Expr:
        """Returns the name of an integer variable, which is a symbol if it is no parameter."""
        if var not in self._symbols:
            # A symbol is a word.
            word = re.sub(r"\W", "_", var.name)
            name = self._symbols[var] = self.new_name(word if _WORD.match(word) else f"n{word}")
            dtype = dtype_of(var)
            self.values[var] = name if dtype == "int64" else Scalar(dtype)(name)
        return self._symbols[var]

    def expression(self, node: Any) -> Number:
        """Returns an integer expression; raises `Left` for operations that the language has not."""
        kind = type(node).__name__
        if isinstance(node, int) or kind == "IntImm":
            return int(node)
        if kind in ("Var", "SizeVar"):
            return self.symbol(node)
        if kind == "Cast" and dtype_of(node) in ("int32", "int64"):
            return self.expression(node.value)
        if kind not in _OPERATIONS:
            raise Left(f"no extent of the language is `{node}`")
        return _OPERATIONS[kind](self.expression(node.a), self.expression(node.b))

    def reserve_scalar(self, var: Any) -> None:
        """Names a number that is a parameter, before extents of tensors can name it as a symbol."""
        dtype = dtype_of(var)
        if dtype not in SCALARS or dtype == "ptr":
            raise Left(f"no parameter of the language is a {dtype}, as `{var.name}` is")
        name = self._symbols[var] = self.new_name(var.name)
        # Floats of 16 bits are passed in a register for floats.
        self.values[var] = Scalar(dtype)(name) if dtype == "float16" else name

    def add_scalar(self, var: Any) -> None:
        """Adds a number whose name is reserved."""
        self.params.append(Param(self._symbols[var], dtype_of(var)))  # type: ignore[arg-type]

    def add_handle(self, var: Any) -> None:
        """Adds an address, None, a tensor or another object."""
        name = self.new_name(var.name)
        self.params.append(Param(name, "handle"))
        self.values[var] = name

    def add_tensor(
        self,
        buffer: Any,
        data: Any,
        device: str,
        dtypes: Sequence[str] = (),
        is_result: bool = False,
        is_read: bool = False,
    ) -> Name:
        """Adds a tensor, whose address is the value of `data`; returns its name. Other element types than its own may be
        accepted, and a result is allocated for the caller. `is_read` says that its elements are known to be only read."""
        name, dtype = self.new_name(buffer.name), str(buffer.dtype)
        shape: list[Any] = [self.expression(extent) for extent in buffer.shape]
        strides = [self.expression(stride) for stride in buffer.strides]
        options: dict[str, Any] = {"device": device}
        if dtype in _UNCHECKED_DTYPES:
            shape, dtype, options["strides"] = [any_dim] * len(shape), "any", "any"
        elif not is_dtype(dtype):
            raise Left(f"no element type of the language is {dtype}, that of `{buffer.name}`")
        elif not _is_compact(shape, strides):
            options["strides"] = strides
        if is_read:
            options["access"] = "read"
        tensor = Tensor(shape, dtype if is_result else dtypes or dtype, **options)
        if is_result:
            self.results.append(Output(name, tensor))
        else:
            self.params.append(Param(name, tensor))
        self.values[data] = self._address(name, buffer)
        return name

    def _address(self, name: Name, buffer: Any) -> Expr:
        """Returns the address that TVM adds the buffer's own offset to, in the place of the tensor's."""
        offset = buffer.elem_offset
        if offset is None or (type(offset).__name__ == "IntImm" and int(offset) == 0):
            return name.data
        size = -(-_bits(str(buffer.dtype)) // 8)
        if type(offset).__name__ not in ("Var", "SizeVar") or offset in self.values:
            self.where.append(binary("==", name.byte_offset, self.expression(offset) * size))
        else:
            self.values[offset] = Scalar(dtype_of(offset))(name.byte_offset // size)
            if int(buffer.offset_factor) > 1:
                self.where.append(binary("==", name.byte_offset // size % int(buffer.offset_factor), 0))
        return name.data - name.byte_offset

    def call(self, kernel: str, variables: Iterable[Any]) -> KernelCall:
        """Returns a call of a kernel that is given the values of variables and returns a status."""
        given = list(variables)
        unknown = [var.name for var in given if var not in self.values]
        if unknown:
            raise Left(f"no argument determines {', '.join(unknown)}")
        return try_kernel(kernel, *(self.values[var] for var in given))

    def function(self, body: Any, span: Any = None) -> Function:
        """Returns the declaration with a body, and with the place in the source that a span names."""
        made = function(self.name, self.params, body, self.result or self.results or None, where=self.where)
        return made if span is None else made.at(span.source_name.name, span.line, span.column)


def _is_compact(shape: Sequence[Any], strides: Sequence[Any]) -> bool:
    """Returns true for strides that say what is declared without them: nothing, or products of extents."""
    expected: Any = 1
    for extent, stride in zip(reversed(shape), reversed(strides), strict=False):
        if str(stride) != str(expected):
            return False
        expected = extent if isinstance(expected, int) and expected == 1 else expected * extent
    return True


def dtype_of(node: Any) -> str:
    """Returns the name of the type of an expression: that of a number, or any other for a pointer."""
    typed = getattr(node, "ty", node)
    return str(getattr(typed, "dtype", typed))


def _bits(dtype: str) -> int:
    """Returns the size of an element in bits, `float32x4` has 128."""
    found = re.search(r"(\d+)(?:x(\d+))?", dtype)
    return int(found[1]) * int(found[2] or 1) if found else 8
