"""Signatures, functions, closures, images and libraries."""

from __future__ import annotations

from collections.abc import Iterable, Mapping
from typing import Any, Literal, TypeAlias

from ._call import Call, FunctionCall, KernelCall
from ._expression import Expr, Name, Operand, expression
from ._part import Part, Writer, part, tuple_of
from ._statement import NOTHING, Body, Location, Making, Nothing, Statement, statements
from ._text import label, literal, quoted, spelled
from ._type import Tensor, Type, TypeLike, Value, name_of, type_of

ParamLike: TypeAlias = "Param | tuple[str | Name, TypeLike]"
Params: TypeAlias = (
    "Iterable[ParamLike] | Mapping[str, TypeLike] | Mapping[Name, TypeLike] | Mapping[str | Name, TypeLike]"
)
"""Parameters: some, or pairs of a name and a type, or a mapping of them."""

ConstraintLike: TypeAlias = "Constraint | Expr | bool | tuple[Expr | bool, str]"
"""A condition that must hold, or one with the message of its error."""

Result: TypeAlias = "TypeLike | Output | Iterable[Output] | None"
"""A result: none, a type, or tensors that are allocated for the kernel."""


@part
class Param(Part):
    """A parameter. `default` is the value of an omitted argument, and documentation is several lines of text.

    >>> print(Param("n", "int64", default=8), Param("stream", "Stream", default=None), Param.rest("more"), sep=", ")
    n: int64 = 8, `stream`: Stream = None, *more: Any
    """

    name: str
    type: Type
    default: Value | Literal[Nothing.NOTHING]
    docs: str
    variadic: bool

    def __init__(
        self,
        name: str | Name,
        type: TypeLike,
        *,
        default: Value | Literal[Nothing.NOTHING] = NOTHING,
        docs: str = "",
        variadic: bool = False,
    ) -> None:
        self._set(name=name_of(name), type=type_of(type), default=default, docs=docs, variadic=variadic)

    @staticmethod
    def rest(name: str | Name) -> Param:
        """Builds the last parameter of a function that takes any number of further arguments."""
        return Param(name, "Any", variadic=True)

    def _print(self, out: Writer) -> None:
        out.put("*" if self.variadic else "", spelled(self.name), ": ", self.type)
        if not isinstance(self.default, Nothing):
            out.put(f" = {literal(self.default)}")


@part
class Constraint(Part):
    """`n % 4 == 0 else "n must be a multiple of 4"`: a condition of the `where` clause."""

    condition: Expr
    message: str | None

    def __init__(self, condition: Operand, message: str | None = None) -> None:
        if isinstance(condition, str):
            raise TypeError(f"a condition is an expression, not {condition!r}: `symbols` makes names")
        self._set(condition=expression(condition), message=message)

    def _print(self, out: Writer) -> None:
        out.put(self.condition, "" if self.message is None else f" else {quoted(self.message)}")


@part
class Output(Part):
    """`y: Tensor([n], float32)`: a tensor that is allocated for the kernel."""

    name: str
    tensor: Tensor

    def __init__(self, name: str | Name, tensor: Tensor) -> None:
        self._set(name=name_of(name), tensor=tensor)

    def _print(self, out: Writer) -> None:
        out.put(spelled(self.name), ": ", self.tensor)


@part
class Signature(Part):
    """Name, parameters, result and constraints of a function. `str` is one line without documentation.

    >>> from tvm_ffi_codegen.build import symbols
    >>> n, = symbols("n")
    >>> print(Signature("f", {"n": "int64"}, "float64", where=[(n > 0, "n is not positive")]))
    f(n: int64) -> float64 where n > 0 else "n is not positive"
    """

    name: str
    params: tuple[Param, ...]
    result: Type | tuple[Output, ...] | None
    constraints: tuple[Constraint, ...]

    def __init__(
        self, name: str, params: Params = (), result: Result = None, where: Iterable[ConstraintLike] = ()
    ) -> None:
        given = params.items() if isinstance(params, Mapping) else tuple_of(params, "parameters")
        self._set(
            name=name,
            params=tuple(one if isinstance(one, Param) else Param(*one) for one in given),
            result=_result(result),
            constraints=tuple(map(_constraint, tuple_of(where, "constraints"))),
        )

    def put_result(self, out: Writer) -> None:
        """Prints ` -> ` and the result."""
        out.put(" -> ")
        if isinstance(self.result, tuple):
            several = len(self.result) != 1
            out.enclosed("(" if several else "", self.result, ")" if several else "")
        else:
            out.put("None" if self.result is None else self.result)

    def _print(self, out: Writer) -> None:
        out.enclosed(f"{label(self.name)}(", self.params, ")")
        self.put_result(out)
        if self.constraints:
            out.enclosed(" where ", self.constraints, "")


def _result(given: Any) -> Type | tuple[Output, ...] | None:
    if given is None or isinstance(given, (Type, str)):
        return None if given is None or given == "None" else type_of(given)
    return (given,) if isinstance(given, Output) else tuple_of(given, "the results of a function")


def _constraint(given: ConstraintLike) -> Constraint:
    if isinstance(given, Constraint):
        return given
    return Constraint(*given) if isinstance(given, tuple) else Constraint(given)


def _put_docs(out: Writer, docs: str, margin: str) -> None:
    """Prints documentation, each line on one of its own."""
    for line in docs.split("\n") if docs else ():
        out.put(f"{margin}///{' ' if line else ''}{line}\n")


@part
class Function(Part):
    """A declaration: a signature and a body, one call of a C function or statements. `external` adds a C function of
    the same name."""

    signature: Signature
    body: KernelCall | tuple[Statement, ...]
    docs: str
    location: Location | None
    external: bool

    def __init__(
        self,
        signature: Signature,
        body: Call | Body,
        *,
        docs: str = "",
        location: Location | None = None,
        external: bool = False,
    ) -> None:
        self._set(signature=signature, body=_body(body), docs=docs, location=location, external=external)

    @property
    def name(self) -> str:
        """The name of the function."""
        return self.signature.name

    def at(self, file: str, line: int, column: int = 0) -> Function:
        """Returns the function with a source location."""
        return self._with(location=Location(file, line, column))

    def _print(self, out: Writer) -> None:
        _put_docs(out, self.docs, "")
        if self.location is not None:
            out.put(self.location, "\n")
        out.put("extern " if self.external else "")
        signature = self.signature
        if any(param.docs for param in signature.params):
            out.put(f"{label(signature.name)}(\n")
            for index, param in enumerate(signature.params):
                _put_docs(out, param.docs, "    ")
                out.put("    ", param, "\n" if index + 1 == len(signature.params) else ",\n")
            out.put(")")
        else:
            out.enclosed(f"{label(signature.name)}(", signature.params, ")")
        signature.put_result(out)
        if signature.constraints:
            out.enclosed("\n    where ", signature.constraints, "")
        out.put("\n    = ")
        if isinstance(self.body, tuple):
            out.block(self.body, out.MARGIN)
        else:
            out.put(self.body)
        out.put(";")


def _body(body: Call | Body) -> KernelCall | tuple[Statement, ...]:
    """Returns a body as it is kept. A call of a function of the FFI is a statement."""
    if isinstance(body, KernelCall):
        return body
    return statements([body] if isinstance(body, (FunctionCall, Statement)) else body)


def function(
    name: str,
    params: Params,
    body: Call | Body,
    result: Result = None,
    *,
    where: Iterable[ConstraintLike] = (),
    docs: str = "",
    location: Location | None = None,
    external: bool = False,
) -> Function:
    """Builds a function.

    >>> from tvm_ffi_codegen.build import Tensor, kernel, symbols
    >>> n, x, y, factor = symbols("n x y factor")
    >>> floats = Tensor([n], "float32")
    >>> print(function(
    ...     "scale",
    ...     [Param(x, floats), Param(factor, "float64", default=1.0)],
    ...     kernel("scale_kernel", x.data, y.data, n, factor),
    ...     Output(y, floats),
    ...     where=[n % 4 == 0],
    ...     docs="Multiplies every element.",
    ... ))
    /// Multiplies every element.
    scale(x: Tensor([n], float32), factor: float64 = 1.0) -> y: Tensor([n], float32)
        where n % 4 == 0
        = scale_kernel(x.data, y.data, n, factor);
    """
    signature = Signature(name, params, result, where)
    return Function(signature, body, docs=docs, location=location, external=external)


@part
class Closure(Making):
    """`function(i: int64) -> None { … }`: a function object that holds what its body names of the outside."""

    signature: Signature
    body: tuple[Statement, ...]

    def _print(self, out: Writer) -> None:
        self.put_at(out, out.MARGIN)

    def put_at(self, out: Writer, margin: int) -> None:
        out.put(self.signature, " ")
        out.block(self.body, margin + out.STEP)


def closure(params: Params, body: Body, result: Result = None, *, where: Iterable[ConstraintLike] = ()) -> Closure:
    """Builds a function that a body makes.

    >>> from tvm_ffi_codegen.build import Let, kernel, symbols
    >>> i, = symbols("i")
    >>> print(Let("step", closure({i: "int64"}, [kernel("step", i)])))
    let step = function(i: int64) -> None {
                step(i);
            };
    """
    return Closure(Signature("function", params, result, where), statements(body))


@part
class Image(Part):
    """`image code;`: an image from which launches take GPU kernels, and expressions device variables.

    `on_load` is the name of a function that is called once for each device after the image is loaded there.

    >>> print(Image("code", on_load="nvshmem.init"))
    image code on load @"nvshmem.init";
    """

    name: str
    on_load: str | None = None

    def _print(self, out: Writer) -> None:
        on_load = "" if self.on_load is None else f" on load @{quoted(self.on_load)}"
        out.put(f"image {label(self.name)}{on_load};")


@part
class Library(Part):
    """Functions and images. `str` is the text that `emit`, `jit` and the command line take."""

    functions: tuple[Function, ...]
    images: tuple[Image, ...]

    def __init__(self, functions: Iterable[Function], images: Iterable[Image | str] = ()) -> None:
        given = tuple_of(images, "the images of a library")
        self._set(
            functions=tuple_of(functions, "the functions of a library"),
            images=tuple(Image(one) if isinstance(one, str) else one for one in given),
        )

    def _print(self, out: Writer) -> None:
        for image in self.images:
            out.put(image, "\n")
        for index, function in enumerate(self.functions):
            out.put("\n" if index or self.images else "", function, "\n")
