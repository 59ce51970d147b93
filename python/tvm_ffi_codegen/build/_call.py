"""Calls of C functions and of functions of the FFI."""

from __future__ import annotations

from collections.abc import Iterable, Mapping
from typing import TypeAlias

from ._expression import Expr, Operand, expression, expressions
from ._part import Part, Writer, part
from ._text import check_error_kind, label, quoted, symbol


@part
class StatusError(Part):
    """`1: ValueError "too small"`: the error that a status raises; None stands for every status without an entry."""

    status: int | None
    kind: str
    message: str

    def __post_init__(self) -> None:
        super().__post_init__()
        check_error_kind(self.kind)

    def _print(self, out: Writer) -> None:
        out.put("_" if self.status is None else str(self.status), f": {self.kind} {quoted(self.message)}")


@part
class KernelCall(Part):
    """`k(x.data, n)`: a call of a C function, by its symbol or by its address."""

    callee: str | Expr
    args: tuple[Expr, ...]
    status: tuple[StatusError, ...] | None = None
    """Errors by status, of a function that returns one; None for others."""

    def _print(self, out: Writer) -> None:
        out.put("try " if self.status is not None else "")
        out.put(symbol(self.callee)) if isinstance(self.callee, str) else out.put("(", self.callee, ")")
        out.enclosed("(", self.args, ")")
        if self.status:
            out.enclosed(" errors { ", self.status, " }")


@part
class FunctionCall(Part):
    """`@relu(t, y)`, `@"blas.matmul"(x, w)` or `@(f)(x)`: a call of a function of the FFI."""

    callee: str | Expr
    args: tuple[Expr, ...]
    into: tuple[Expr, ...] = ()
    """Tensors to write in the place of those that the function would allocate and return."""
    by_name: bool = False
    """True if the function is looked up by its name, at the first call."""
    keys: tuple[Expr, ...] = ()
    """Keys under which the result is kept; none for a call that is always made."""

    def with_into(self, tensors: Iterable[Operand]) -> FunctionCall:
        """Gives the function tensors to write in the place of those that it would allocate and return."""
        return self._with(into=expressions(tensors, "the tensors to write"))

    def with_keys(self, *keys: Operand) -> FunctionCall:
        """Keeps the result, an object, under keys: integers, truths, element types, addresses and devices. The call is
        made only where no call of the same statement has kept one under equal keys.

        >>> from tvm_ffi_codegen.build import let, symbols
        >>> n, f = symbols("n f")
        >>> print(let(f, call_name("mini.compile", n).with_keys(n % 16 == 0), "Function"))
        let f: Function = cached (n % 16 == 0) @"mini.compile"(n);
        """
        return self._with(keys=_args(keys))

    def _print(self, out: Writer) -> None:
        if self.keys:
            out.enclosed("cached (", self.keys, ") ")
        out.put("@")
        if isinstance(self.callee, str):
            out.put(quoted(self.callee) if self.by_name else label(self.callee))
        else:
            out.put("(", self.callee, ")")
        out.enclosed("(", self.args, ")")
        if self.into:
            out.enclosed(" into ", self.into, "")


Call: TypeAlias = KernelCall | FunctionCall


def kernel(callee: str | Expr, *args: Operand) -> KernelCall:
    """Builds a call of the C function of a symbol or at an address, which returns the result, or nothing.

    >>> from tvm_ffi_codegen.build import symbols
    >>> x, n, p = symbols("x n p")
    >>> print(kernel("k", x.data, n), kernel("min", n), kernel(p, n), sep="; ")
    k(x.data, n); "min"(n); (p)(n)
    """
    return KernelCall(_callee(callee), _args(args))


def try_kernel(
    callee: str | Expr, *args: Operand, errors: Mapping[int | None, tuple[str, str]] | None = None
) -> KernelCall:
    """Builds a call of a C function that returns a status. `errors` has kinds and messages by status; None stands for
    every status without an entry.

    >>> print(try_kernel("k", errors={1: ("ValueError", "too small"), None: ("RuntimeError", "failed")}))
    try k() errors { 1: ValueError "too small", _: RuntimeError "failed" }
    """
    entries = () if errors is None else tuple(StatusError(status, *error) for status, error in errors.items())
    return KernelCall(_callee(callee), _args(args), entries)


def call(callee: str | Expr, *args: Operand) -> FunctionCall:
    """Builds a call of a function of this library or of another object, or of a value of type `Function`.

    >>> from tvm_ffi_codegen.build import symbols
    >>> x, y, f = symbols("x y f")
    >>> print(call("relu", x).with_into([y]), call(f, None, "text", [x, y]), sep="; ")
    @relu(x) into y; @(f)(None, "text", [x, y])
    """
    return FunctionCall(_callee(callee), _args(args))


def call_name(name: str, *args: Operand) -> FunctionCall:
    """Builds a call of the function of a name in the imports of the library, else in the registry.

    >>> print(call_name("blas.matmul", 1))
    @"blas.matmul"(1)
    """
    return FunctionCall(name, _args(args), by_name=True)


def _callee(callee: str | Expr) -> str | Expr:
    if isinstance(callee, (str, Expr)):
        return callee
    raise TypeError(f"a callee is a name or an expression, not {type(callee).__name__}")


def _args(args: tuple[Operand, ...]) -> tuple[Expr, ...]:
    return tuple(map(expression, args))
