"""A small compiler whose declarations are values: expressions of vectors become kernels in C and a declaration that
checks the extents, chooses a kernel by them, and has the lines of this file in backtraces.

    graph = Operation("+", Input("x"), Operation("*", Input("stream"), 2.0))

Declarations that are pasted from text need a quoter for reserved words, parentheses and unique names; values of
`tvm_ffi_codegen.build` have them. `expressions.py` is the same with text.
"""

import traceback
from dataclasses import dataclass

import numpy as np
import tvm_ffi_codegen
from tvm_ffi_codegen import C
from tvm_ffi_codegen.build import (
    Function,
    Library,
    Param,
    Raise,
    Tensor,
    all_of,
    function,
    if_,
    kernel,
    min_of,
    symbols,
    with_lines,
)

WIDTH = 8
"""Elements of a step of the wide kernel."""


@dataclass(frozen=True)
class Input:
    """A vector of float32, by its name, which may be a reserved word."""

    name: str


@dataclass(frozen=True)
class Operation:
    """An operation of two operands, by its operator in C."""

    operator: str
    left: "Node"
    right: "Node"


Node = Input | Operation | float


def inputs(node: Node) -> list[str]:
    """Returns the names of the inputs of an expression, each once, in order."""
    if isinstance(node, Input):
        return [node.name]
    if isinstance(node, Operation):
        return list(dict.fromkeys(inputs(node.left) + inputs(node.right)))
    return []


def in_c(node: Node, numbers: dict[str, int]) -> str:
    """Returns the expression in C of element `i`."""
    if isinstance(node, Input):
        return f"v{numbers[node.name]}[i]"
    if isinstance(node, Operation):
        return f"({in_c(node.left, numbers)} {node.operator} {in_c(node.right, numbers)})"
    return f"{float(node)!r}f"


def declared(name: str, node: Node, most: int) -> Function:
    """Declares a function that writes an expression to its last parameter and only reads the others, which may be read-only:
    vectors of equal extents, of up to `most` elements. Multiples of `WIDTH` go to a kernel of their own."""
    n, out = symbols("n out")
    vectors = [*symbols(" ".join(inputs(node))), out]
    addresses = [vector.data for vector in vectors]
    return function(
        name,
        [Param(vector, Tensor([n], "float32", access="write" if vector is out else "read")) for vector in vectors],
        [
            if_(n > most, [Raise("ValueError", [f"{name} takes {most} elements, not ", n])]),
            if_(all_of(n >= WIDTH, n % WIDTH == 0), [kernel("wide", *addresses, n // WIDTH)])
            .elif_(n > 0, [kernel("narrow", *addresses, min_of(n, most))]),
        ],
        docs="Computes an expression of vectors.",
    )


def kernels(node: Node) -> C:
    """Returns both kernels."""
    numbers = {name: number for number, name in enumerate(inputs(node))}
    params = ", ".join([*(f"const float* v{number}" for number in numbers.values()), "float* out", "long long n"])
    loop = "for (long long i = 0; i < n; ++i) out[i] = " + in_c(node, numbers) + ";"
    return C(f"void narrow({params}) {{ {loop} }}\nvoid wide({params}) {{ n *= {WIDTH}; {loop} }}\n", "-O2")


graph = Operation("+", Input("x"), Operation("*", Input("stream"), 2.0))
library = Library([declared("scaled_sum", graph, 64)])
print(library)

made = kernels(graph)
functions = tvm_ffi_codegen.jit(with_lines(library), {"narrow": made, "wide": made})
for size in (3, 16):
    x, y, out = np.arange(size, dtype="float32"), np.ones(size, "float32"), np.empty(size, "float32")
    y.setflags(write=False)
    functions.scaled_sum(x, y, out)
    print(out)
try:
    functions.scaled_sum(*[np.zeros(65, "float32")] * 3)
except ValueError as error:
    raised = traceback.extract_tb(error.__traceback__)[-1]
    print(error, "in", raised.name, "at", raised.line)

# What is wrong with a declaration is said with the line that built it.
wrong = declared("wrong", graph, 64)
n, m = symbols("n m")
try:
    tvm_ffi_codegen.jit(Library([wrong, function("other", {n: "int64"}, kernel("narrow", n, m))]))
except ValueError as error:
    place, _, message = str(error).partition(": ")
    print(place.rsplit(":")[-1].isdigit(), message.splitlines()[0])
