"""A small compiler that works while its functions are called: expressions of vectors, of which every element type, extents
of one and multiples of 16 get code of their own, when a call first needs it.

    scaled = Compiled("scaled", "x + 2 * y", ["x", "y"])
    scaled(x, y, out)

The host function checks arguments and chooses among the variants that it has, without Python. Where there is none it calls
`compile_variant`, and keeps what that returns; an error goes to the caller, and nothing is kept. Kernels are C here.
"""

from collections import Counter
from collections.abc import Sequence
from typing import Any

import numpy as np
import tvm_ffi
import tvm_ffi_codegen
from tvm_ffi_codegen import C
from tvm_ffi_codegen.build import (
    Function,
    Library,
    Param,
    Tensor,
    call,
    call_name,
    function,
    kernel,
    let,
    symbols,
)

TYPES = {"float32": "float", "float64": "double", "int32": "int"}
"""Element types, and what C calls them."""

STEP = 16
"""The number by which extents of loops without a rest are divisible."""

compiled: dict[str, "Compiled"] = {}
"""The expressions by name, of which hosts know no more."""

attempts: Counter[str] = Counter()
"""The number of compilations of each variant."""


class Compiled:
    """An expression in C of elements of vectors, by the name of its function. Calls write to their last argument."""

    def __init__(self, name: str, expression: str, inputs: Sequence[str]) -> None:
        self.name, self.expression, self.generation = name, expression, 0
        self.vectors = symbols(" ".join((*inputs, "out")))
        compiled[name] = self
        self.host = tvm_ffi_codegen.jit(Library([self.chooser()]))[name]

    def __call__(self, *vectors: np.ndarray) -> None:
        self.host(*vectors, self.generation)

    def replace(self, expression: str) -> None:
        """Replaces the expression. Calls have another key from now on, which finds no variant of the old one."""
        self.expression, self.generation = expression, self.generation + 1

    def chooser(self) -> Function:
        """Declares the function that callers see."""
        n, dtype, generation, variant = symbols("n T generation variant")
        first, *rest = self.vectors
        params = [
            Param(first, Tensor([n], tuple(TYPES), symbol=dtype)),
            *(Param(vector, Tensor([n], dtype)) for vector in rest),
            Param(generation, "int64"),
        ]
        properties = (dtype, n == 1, n % STEP == 0)
        made = call_name("variants.compile", self.name, *properties).with_keys(*properties, generation)
        return function(self.name, params, [let(variant, made, "Function"), call(variant, *self.vectors)])

    def variant(self, dtype: str, *, is_one: bool, by_step: bool) -> tvm_ffi.Function:
        """Compiles the expression for vectors of which this much is known. The declaration checks it."""
        (n,) = symbols("n")
        extent = 1 if is_one else n
        condition = [n % STEP == 0] if by_step else []
        count = "1" if is_one else f"n / {STEP} * {STEP}" if by_step else "n"
        values = " ".join(f"{TYPES[dtype]} {vector} = p_{vector}[i];" for vector in self.vectors[:-1])
        pointers = ", ".join(f"{TYPES[dtype]}* p_{vector}" for vector in self.vectors)
        body = f"for (long long i = 0; i < {count}; ++i) {{ {values} p_out[i] = {self.expression}; }}"
        declared = function(
            self.name,
            [Param(vector, Tensor([extent], dtype)) for vector in self.vectors],
            kernel("loop", *(vector.data for vector in self.vectors), extent),
            where=condition,
        )
        code = C(f"void loop({pointers}, long long n) {{ {body} }}\n", "-O2")
        made: Any = tvm_ffi_codegen.jit(Library([declared]), {"loop": code})[self.name]
        # The function itself, which hosts call without Python.
        native: tvm_ffi.Function = made.__self__.function
        return native


def compile_variant(name: str, dtype: tvm_ffi.dtype, is_one: bool, by_step: bool) -> tvm_ffi.Function:
    """Compiles a variant for a host function that has none of these properties."""
    label = f"{name} of {dtype}" + " of extent 1" * is_one + f", a multiple of {STEP}" * by_step
    attempts[label] += 1
    try:
        return compiled[name].variant(str(dtype), is_one=is_one, by_step=by_step)
    except RuntimeError as error:
        raise TypeError(f"no code for {label}") from error


tvm_ffi.register_global_func("variants.compile", compile_variant)

scaled = Compiled("scaled", "x + 2 * y", ["x", "y"])
print(scaled.chooser())
for dtype in ("float32", "int32"):
    for extent in (1, 5, 16, 32, 7):
        x, out = np.arange(extent, dtype=dtype), np.empty(extent, dtype)
        for _ in range(100):
            scaled(x, x, out)
        assert (out == 3 * x).all()
print(*(f"{label}: {count}" for label, count in attempts.items()), sep="\n")

# What is compiled anew is kept beside the old, under the key of a new generation.
scaled.replace("x - y")
scaled(x, x, out)
print(out, attempts["scaled of int32"])

# An error of the compiler is that of the call, and of the next one: floats have no `%` in C.
rest = Compiled("rest", "x % 3", ["x"])
rest(x, out)
print(out, attempts["rest of int32"])
for _ in range(2):
    try:
        rest(*[np.ones(3, "float32")] * 2)
    except TypeError as error:
        print(error, attempts["rest of float32"])

# Arguments are checked before any variant is chosen.
try:
    scaled(x, x[1:], out)
except ValueError as error:
    print(error)
print(sum(attempts.values()), "compilations")
