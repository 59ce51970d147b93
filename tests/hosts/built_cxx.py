"""Reads texts of declarations, a list in JSON, and prints a program in C++ that builds the same declarations by
tvm_ffi_codegen/build.hpp and prints their texts, one after the other. Fails unless the texts have every kind of part."""

from __future__ import annotations

import json
import sys
from collections.abc import Iterable

from tvm_ffi_codegen import build
from tvm_ffi_codegen.build import _declaration, _expression, _map, _operation, _statement

HEAD = """\
#include <cstdio>
#include <string>
#include <tvm_ffi_codegen/build.hpp>
namespace b = tvm_ffi_codegen::build;
using namespace std::string_view_literals;
using namespace std::string_literals;
"""


def text(value: str) -> str:
    """Returns a text as C++ spells it."""
    plain = all(32 <= byte < 127 and byte not in b'"\\?' for byte in value.encode())
    body = value if plain else "".join(f"\\{byte:03o}" for byte in value.encode())
    return f'"{body}"'


def several(parts: Iterable[object]) -> str:
    """Returns parts as an initializer."""
    return "{" + ", ".join(map(cxx, parts)) + "}"


def block(statements: Iterable[build.Statement]) -> str:
    return "{" + ",\n".join(map(cxx, statements)) + "}"


def at(part: build.Statement | build.Function) -> str:
    """Returns the call that sets a location."""
    place = part.location
    return "" if place is None else f".at({text(place.file)}sv, {place.line}, {place.column})"


def constant(value: object) -> str:
    """Returns what stands for a literal, in an expression or a type."""
    if value is None:
        return "b::none"
    if isinstance(value, bool):
        return str(value).lower()
    if isinstance(value, int):
        # The least number has no literal in C++.
        return f"INT64_C({value + 1}) - 1" if value == -(1 << 63) else f"{value}{'u' * (value >= 1 << 63)}ll"
    return value.hex() if isinstance(value, float) else f"{text(value)}sv"


def callee(part: build.KernelCall | build.FunctionCall) -> str:
    return f"{text(part.callee)}s" if isinstance(part.callee, str) else cxx(part.callee)


def name(part: object) -> str:
    return f"{text(part.name)}s"


def kernel(part: build.KernelCall) -> str:
    operands = f"{callee(part)}, {several(part.args)}"
    if part.status is None:
        return f"b::kernel({operands})"
    return f"b::try_kernel({operands}, {several(part.status)})"


def call(part: build.FunctionCall) -> str:
    function = "call_name" if part.by_name else "call"
    return f"b::{function}({callee(part)}, {several(part.args)}).into({several(part.into)}).keys({several(part.keys)})"


def status(part: build.StatusError) -> str:
    number = "std::nullopt" if part.status is None else part.status
    return f"b::StatusError{{{number}, {text(part.kind)}s, {text(part.message)}s}}"


def call_statement(part: build.CallStatement) -> str:
    if part.name is None:
        return cxx(part.call)
    return f"b::let({name(part)}, {cxx(part.call)}{'' if part.type is None else ', ' + cxx(part.type)})"


def if_(part: build.If) -> str:
    (condition, body), *others = part.branches
    branches = "".join(f".elif_({cxx(other)}, {block(inner)})" for other, inner in others)
    return f"b::if_({cxx(condition)}, {block(body)}){branches}.else_({block(part.otherwise)})"


def arm(part: build.Arm) -> str:
    if part.type is None:
        return f"b::Arm(b::none, {block(part.body)})"
    return f"b::Arm({'' if part.name is None else name(part) + ', '}{cxx(part.type)}, {block(part.body)})"


def tensor(part: build.Tensor) -> str:
    symbol = None if part.symbol is None else f"b::symbol({text(part.symbol)}s)"
    named = symbol if not part.dtype else "std::vector<std::string>{" + ", ".join(map(text, part.dtype)) + "}"
    result = f"b::tensor({several(part.shape)}, {named})"
    if part.dtype and symbol is not None:
        result += f".dtype_symbol({symbol})"
    if part.strides == "any":
        result += ".any_strides()"
    elif part.strides != "contiguous":
        result += f".strides({several(part.strides)})"
    result += f".device({text(part.device)})"
    if part.align is not None:
        # C++ takes the greatest of them for a number without a sign.
        result += f".align({part.align}{'u' if part.align >> 63 else ''})"
    result += ".storage()" * part.storage
    return result if part.access == "update" else f"{result}.access({text(part.access)})"


def clauses(part: build.Launch | build.Upload | build.Fill | build.Copy) -> str:
    on = "" if part.on is None else f".on({cxx(part.on)})"
    return on if part.stream is None else f"{on}.stream({cxx(part.stream)})"


def attribute(part: build.Attribute) -> str:
    if isinstance(part.kind, int):
        return f".attribute({part.kind}, {several(part.fields)})"
    numbers = several(part.fields) if "cluster" in part.kind else ", ".join(map(cxx, part.fields))
    return f".{part.kind}({numbers})"


def launch(part: build.Launch) -> str:
    started = f"b::launch({text(part.image)}sv, {text(part.gpu_kernel)}sv, {several(part.args)})"
    started += f".grid({several(part.grid)}).block({several(part.block)})"
    started += "" if part.smem is None else f".smem({cxx(part.smem)})"
    return started + "".join(map(attribute, part.attributes)) + clauses(part)


def tensor_map(part: build.TensorMap) -> str:
    mode = cxx(part.mode) if isinstance(part.mode, build.Im2col) else several(part.mode)
    result = f"b::tensormap({cxx(part.tensor)}, {mode})"
    result += "" if part.offset is None else f".offset({cxx(part.offset)})"
    for option in ("dims", "strides", "steps"):
        result += f".{option}({several(getattr(part, option))})"
    words = {option: getattr(part, option) for option in _map.MAP_OPTIONS}
    return result + "".join(f".{option}({text(word)})" for option, word in words.items() if word is not None)


def param(part: build.Param) -> str:
    if part.variadic:
        made = f"b::rest({name(part)})"
    else:
        made = f"b::param({name(part)}, {cxx(part.type)})"
    if not isinstance(part.default, _statement.Nothing):
        made += f".or_default({constant(part.default)})"
    return made + (f".docs({text(part.docs)}sv)" if part.docs else "")


def result(signature: build.Signature) -> str:
    if signature.result is None:
        return "b::none"
    outputs = isinstance(signature.result, tuple)
    return f"std::vector<b::Output>{several(signature.result)}" if outputs else cxx(signature.result)


def constraint(part: build.Constraint) -> str:
    if part.message is None:
        return cxx(part.condition)
    return f"b::constraint({cxx(part.condition)}, {text(part.message)}sv)"


def function(part: build.Function) -> str:
    signature = part.signature
    made = f"b::function({text(signature.name)}sv)\n.params({several(signature.params)}).returns({result(signature)})"
    if signature.constraints:
        made += f"\n.where({', '.join(map(cxx, signature.constraints))})"
    if isinstance(part.body, build.KernelCall):
        made += f"\n.calls({cxx(part.body)})"
    else:
        made += f"\n.body({block(part.body)})"
    return made + f".docs({text(part.docs)}sv)" * bool(part.docs) + at(part) + ".external()" * part.external


def closure(part: build.Closure) -> str:
    signature = part.signature
    body = f"{several(signature.params)}, {block(part.body)}, {result(signature)}"
    return f"b::closure({body}, {several(signature.constraints)})"


def binary(part: _expression.Binary) -> str:
    operator = {"and": "&&", "or": "||"}.get(part.operator, part.operator)
    return f"({cxx(part.left)} {operator} {cxx(part.right)})"


def member(part: _expression.Member) -> str:
    return f"{cxx(part.base)}.{part.name}({'' if part.index is None else part.index})"


def device_attribute(part: _expression.DeviceAttribute) -> str:
    known = "multiprocessors()" if part.number is None else f"device_attribute({part.number})"
    return f"{cxx(part.base)}.{known}"


def literal(part: _expression.Constant) -> str:
    value = constant(part.value)
    return f"b::truth({value})" if isinstance(part.value, bool) else f"b::Expr({value})"


WAYS = {
    _expression.Constant: literal,
    build.Name: lambda part: f"b::symbol({name(part)})",
    _expression.Member: member,
    _expression.DeviceAttribute: device_attribute,
    _expression.Element: lambda part: f"{cxx(part.base)}[{cxx(part.index)}]",
    _expression.Field: lambda part: f"{cxx(part.base)}.field({text(part.name)}sv)",
    _expression.Neg: lambda part: f"(-{cxx(part.operand)})",
    _expression.Binary: binary,
    _expression.ArrayExpr: lambda part: f"b::array_of({several(part.elements)})",
    _operation.Null: lambda part: "b::null()",
    _operation.Not: lambda part: f"(!{cxx(part.operand)})",
    _operation.Builtin: lambda part: (
        f"b::{part.name}{'_of' * (part.name != 'ceildiv')}({cxx(part.left)}, {cxx(part.right)})"
    ),
    _operation.Cast: lambda part: f"b::{part.scalar}{'_' * (part.scalar == 'bool')}({cxx(part.operand)})",
    _operation.CurrentDevice: lambda part: "b::current_device()",
    _operation.Global: lambda part: f"b::global_of({text(part.image)}sv, {text(part.name)}sv)",
    _operation.Stream: lambda part: f"b::stream({cxx(part.tensor)})",
    _operation.ShapeExpr: lambda part: f"b::shape_of({several(part.numbers)})",
    _declaration.Closure: closure,
    build.Scalar: lambda part: f"b::{part.name}{'_' * (part.name == 'bool')}",
    build.Leaf: lambda part: f"b::Type({text(part.name)})",
    build.ObjectClass: lambda part: (
        f"b::Type({text(part.name)})" if part.key is None else f"b::object({text(part.key)}sv)"
    ),
    build._type.AnyDim: lambda part: "b::any_dim",
    build._type.Dots: lambda part: "b::dots",
    build._type.Folded: lambda part: f"b::folded({name(part)})",
    build.Shape: lambda part: f"b::shape({several(part.dims)})",
    build.Tensor: tensor,
    build.Array: lambda part: f"b::array({cxx(part.of)})",
    build.List: lambda part: f"b::list({cxx(part.of)})",
    build.Map: lambda part: f"b::map({cxx(part.key)}, {cxx(part.value)})",
    build.Dict: lambda part: f"b::dict({cxx(part.key)}, {cxx(part.value)})",
    build.Optional: lambda part: f"b::optional({cxx(part.of)})",
    build.NamedElement: lambda part: f"b::Element({name(part)}, {cxx(part.type)})",
    build.Tuple: lambda part: f"b::tuple({several(part.elements)})",
    build.Union: lambda part: f"b::union_of({several(part.types)})",
    build.Literal: lambda part: f"b::literal({{{', '.join(map(constant, part.values))}}})",
    build.KernelCall: kernel,
    build.FunctionCall: call,
    build.StatusError: status,
    build.Let: lambda part: f"b::let({name(part)}, {cxx(part.value)})",
    build.CallStatement: call_statement,
    build.Alloc: lambda part: (
        f"b::alloc({name(part)}, {cxx(part.tensor)}{'' if part.on is None else ', ' + cxx(part.on)})"
    ),
    build.If: if_,
    build.For: lambda part: f"b::for_({name(part)}, {cxx(part.start)}, {cxx(part.end)}, {block(part.body)})",
    build.Arm: arm,
    build.Match: lambda part: f"b::match({cxx(part.value)}, {several(part.arms)})",
    build.Return: lambda part: f"b::return_({'' if part.value is None else cxx(part.value)})",
    build.Raise: lambda part: f"b::raise({text(part.kind)}s, {several(part.message)})",
    build.Struct: lambda part: f"b::structure({several(part.fields)})",
    build.BytesOf: lambda part: f"b::bytes_of({cxx(part.tensor)}, {part.size})",
    build.Scratch: lambda part: f"b::scratch({cxx(part.bytes)}, {part.align})",
    build.TensorMap: tensor_map,
    build.Im2col: lambda part: (
        f"b::im2col({several(part.lower)}, {several(part.upper)}, {cxx(part.channels)}, {cxx(part.pixels)})"
    ),
    build.LetMap: lambda part: f"b::let({name(part)}, {cxx(part.map)})",
    build.Launch: launch,
    build.Upload: lambda part: f"b::upload({cxx(part.to)}, {several(part.values)}){clauses(part)}",
    build.Fill: lambda part: f"b::fill({cxx(part.to)}, {cxx(part.bytes)}, {cxx(part.value)}){clauses(part)}",
    build.Copy: lambda part: f"b::copy({cxx(part.to)}, {cxx(part.source)}, {cxx(part.bytes)}){clauses(part)}",
    build.Wait: lambda part: (
        f"b::wait({cxx(part.waiter)}, {cxx(part.other)}{'' if part.on is None else ', ' + cxx(part.on)})"
    ),
    build.Param: param,
    build.Output: lambda part: f"b::output({name(part)}, {cxx(part.tensor)})",
    build.Constraint: constraint,
    build.Function: function,
}


used = set()


def cxx(part: build.Part) -> str:
    """Returns the expression of C++ that builds a part."""
    used.add(type(part))
    made = WAYS[type(part)](part)
    if not isinstance(part, build.Statement) or part.location is None:
        return made
    return f"b::Statement({made}){at(part)}"


def on_load(part: build.Image) -> str:
    return "" if part.on_load is None else f", {text(part.on_load)}sv"


def library(part: build.Library) -> str:
    images = "".join(f".image({name(image)}{on_load(image)})" for image in part.images)
    functions = "".join(f"\n.add({cxx(function)})" for function in part.functions)
    return f"b::Library(){images}{functions}"


texts = json.load(sys.stdin.buffer)
print(HEAD)
for index, one in enumerate(texts):
    print(f"std::string text{index}() {{ return {library(build.parse(one))}.text(); }}")
unused = [cls.__name__ for cls in WAYS.keys() - used]
assert not unused, unused
print("int main() {\n  for (auto text : {")
print(", ".join(f"text{index}" for index in range(len(texts))))
print("}) {\n    const std::string made = text();\n    std::fwrite(made.data(), 1, made.size(), stdout);\n  }\n}")
