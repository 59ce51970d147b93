"""A small compiler: a decorator turns a Python expression into a kernel in C and a declaration of its arguments.

    @compiled
    def blend(x, y, weight: float):
        return x * (1 - weight) + y * weight

    blend(x, y, 0.25, out=out)

Parameters are vectors of float32; those annotated `float` are numbers. The value is computed in double precision for
each element by the rules of C (a division by zero is no error; `min` and `max` prefer numbers to NaN), and written to
`out`. The declaration says everything about arguments: their number and types, extents that must be equal, and the text
of each error.
"""

import ast
import inspect
from collections.abc import Callable
from types import FunctionType
from typing import Any, NoReturn

import numpy as np
import tvm_ffi_codegen
from tvm_ffi_codegen import C

OPERATORS: dict[type, str] = {
    **{ast.Add: "+", ast.Sub: "-", ast.Mult: "*", ast.Div: "/"},
    **{ast.Lt: "<", ast.LtE: "<=", ast.Gt: ">", ast.GtE: ">=", ast.Eq: "==", ast.NotEq: "!="},
}
FUNCTIONS = {
    **{"abs": ("fabs", 1), "exp": ("exp", 1), "log": ("log", 1), "sqrt": ("sqrt", 1), "tanh": ("tanh", 1)},
    **{"max": ("fmax", 2), "min": ("fmin", 2)},
}


class Expression:
    """The expression that a function returns."""

    def __init__(self, function: Callable[..., Any]) -> None:
        if not isinstance(function, FunctionType):
            raise TypeError(f"{function!r} is no function written in Python")
        self.file, first = inspect.getsourcefile(function) or "?", function.__code__.co_firstlineno
        self.lines = inspect.findsource(function)[0]
        definition = next((node for node in ast.walk(ast.parse("".join(self.lines))) if starts(node, first)), None)
        if not isinstance(definition, ast.FunctionDef):
            text = self.lines[first - 1]
            raise SyntaxError("only what `def` defines has a name", (self.file, first, 1, text))
        self.name, given = definition.name, definition.args
        self.numbers = {arg.arg: arg.annotation is not None for arg in given.args}
        for arg in given.args:
            if arg.annotation is not None and ast.unparse(arg.annotation) != "float":
                self.refuse(arg, "a parameter is a vector, or a `float`")
            if arg.arg in ("n", "out", "self") or not arg.arg.isascii():
                self.refuse(arg, "a parameter is named in ASCII, and not `n` (the extent), `out` or `self`")
        odd = given.vararg or given.kwonlyargs or given.posonlyargs or given.kwarg or given.defaults
        if odd or all(self.numbers.values()):
            self.refuse(definition, "there are plain parameters, at least one of them a vector")
        if not self.name.isascii():
            self.refuse(definition, "the name is in ASCII")
        match [line for line in definition.body if not is_text(line)]:
            case [ast.Return(value=ast.expr() as value)]:
                self.value = self.translate(value)
            case body:
                self.refuse(body[0] if body else definition, "the body is one `return` of a value")

    def translate(self, node: ast.expr) -> str:
        """Returns an expression in C."""
        match node:
            case ast.Constant(value=bool()):
                pass
            case ast.Constant(value=int() | float() as number) if abs(number) < 1e300:
                return float(number).hex()
            case ast.Name(id=name) if name in self.numbers:
                return f"v_{name}" if self.numbers[name] else f"v_{name}[i]"
            case ast.UnaryOp(op=ast.USub(), operand=operand):
                return f"(-{self.translate(operand)})"
            case ast.BinOp(left=left, op=op, right=right) if type(op) in OPERATORS:
                return f"({self.translate(left)} {OPERATORS[type(op)]} {self.translate(right)})"
            case ast.Compare(left=left, ops=[op], comparators=[right]) if type(op) in OPERATORS:
                return f"({self.translate(left)} {OPERATORS[type(op)]} {self.translate(right)})"
            case ast.IfExp(test=test, body=body, orelse=orelse):
                return f"({self.translate(test)} ? {self.translate(body)} : {self.translate(orelse)})"
            case ast.Call(func=ast.Name(id=name), args=given, keywords=[]) if name not in self.numbers:
                called, count = FUNCTIONS.get(name, ("", -1))
                if len(given) == count:
                    return f"{called}({', '.join(map(self.translate, given))})"
        self.refuse(node, f"`{ast.unparse(node)}` has no translation")

    def refuse(self, node: ast.stmt | ast.expr | ast.arg, why: str) -> NoReturn:
        """Raises an error that shows the place."""
        text = self.lines[node.lineno - 1]
        column = len(text.encode()[: node.col_offset].decode())
        raise SyntaxError(why, (self.file, node.lineno, column + 1, text))

    def declaration(self) -> str:
        """Returns the declaration of the function, which passes addresses, numbers and the extent to the kernel."""
        types = {name: "float64" if number else "Tensor([n], float32)" for name, number in self.numbers.items()}
        # Backticks make a name of a reserved word.
        listed = ", ".join(f"`{name}`: {ty}" for name, ty in [*types.items(), ("out", "Tensor([n], float32)")])
        passed = [f"`{name}`" if number else f"`{name}`.data" for name, number in self.numbers.items()]
        return f"`{self.name}`({listed}) -> None = kernel({', '.join([*passed, 'out.data', 'n'])});"

    def kernel(self) -> C:
        """Returns the kernel."""
        params = [f"double v_{name}" if number else f"const float* v_{name}" for name, number in self.numbers.items()]
        listed = ", ".join([*params, "float* v_out", "long long n"])
        body = f"for (long long i = 0; i < n; ++i) v_out[i] = (float)({self.value});"
        # The flags allow vectors where the loop has a condition.
        return C(f"#include <math.h>\nvoid kernel({listed}) {{ {body} }}\n", "-O3 -fno-math-errno -fno-trapping-math")


def starts(node: ast.AST, line: int) -> bool:
    """Tells whether a definition starts at a line, with its first decorator if it has any."""
    if not isinstance(node, ast.FunctionDef):
        return False
    return line == min([node.lineno, *(each.lineno for each in node.decorator_list)])


def is_text(line: ast.stmt) -> bool:
    return isinstance(line, ast.Expr) and isinstance(line.value, ast.Constant) and isinstance(line.value.value, str)


def compiled(function: Callable[..., Any]) -> Callable[..., Any]:
    """Compiles a function of one expression."""
    expression = Expression(function)
    made = tvm_ffi_codegen.jit(expression.declaration(), {"kernel": expression.kernel()})
    return made[expression.name]


@compiled
def blend(x, y, weight: float):  # type: ignore[no-untyped-def]
    return x * (1 - weight) + y * weight


@compiled
def smooth(x):  # type: ignore[no-untyped-def]
    """The logarithm of 1 + exp(x), which overflows nowhere."""
    return x + log(1 + exp(-x)) if x > 0 else log(1 + exp(x))  # type: ignore[name-defined]  # noqa: F821


x, y = np.arange(5, dtype="float32"), np.ones(5, "float32")
out = np.empty_like(x)
blend(x, y, 0.25, out=out)
print(out)
smooth(x, out)
print(np.allclose(out, np.logaddexp(x, 0)))
try:
    blend(x, y[:4], 0.25, out)
except ValueError as error:
    print(error)


def power(x):  # type: ignore[no-untyped-def]
    return 2 * x**2


try:
    compiled(power)
except SyntaxError as error:
    print(error.text.strip() if error.text else "", "-", error.msg)
