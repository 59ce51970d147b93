"""Calls of CUDA in generated hosts: devices, streams, tensor maps and launches. Each is a function on the values of
`values.py` that notes steps."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from typing import TYPE_CHECKING

import cpp
import facts
from cpp import Unreadable
from facts import Attribute, Const, Expr, Number, Ref, Stream
from values import (
    Cell,
    Choice,
    Code,
    Hidden,
    Kernel,
    ListValue,
    Pointer,
    StructValue,
    Text,
    Value,
    convert,
    expr,
    infix,
    select,
    simple,
    structure,
)

if TYPE_CHECKING:
    from evaluate import Evaluator



def get_device(host: Evaluator, arguments: Sequence[Cell], line: int) -> Value:
    pointer = arguments[0].value
    if isinstance(pointer, Pointer):
        host.write(pointer.to, host.current.value)
    return Code("cudaGetDevice")


def set_device(host: Evaluator, arguments: Sequence[Cell], line: int) -> Value:
    host.write(host.current, expr(arguments[0].value))
    return Code("cudaSetDevice")


def device_attribute(host: Evaluator, arguments: Sequence[Cell], line: int) -> Value:
    pointer, number, device = (cell.value for cell in arguments)
    if not isinstance(pointer, Pointer) or not isinstance(number, Const):
        raise Unreadable(f"line {line}: an attribute of another form")
    host.write(pointer.to, Attribute(int(number.value), expr(device)))
    return Code("cudaDeviceGetAttribute")


def environment_stream(host: Evaluator, arguments: Sequence[Cell], line: int) -> Value:
    return Stream(expr(arguments[1].value))


def succeeds(name: str) -> Callable[[Evaluator, Sequence[Cell], int], Value]:
    return lambda host, arguments, line: Code(name)


def record(host: Evaluator, arguments: Sequence[Cell], line: int) -> Value:
    """An event holds the stream on which it was recorded."""
    host.write(arguments[0], expr(arguments[1].value))
    return Code("cudaEventRecord")


def wait(host: Evaluator, arguments: Sequence[Cell], line: int) -> Value:
    host.note(facts.Wait(expr(arguments[0].value), expr(arguments[1].value, "an event"), host.place(line)))
    return Code("cudaStreamWaitEvent")


def copy(host: Evaluator, arguments: Sequence[Cell], line: int) -> Value:
    to, source, count, kind, stream = (expr(cell.value) for cell in arguments)
    if kind != Const(3, "i32"):
        raise Unreadable(f"line {line}: a copy that is not between devices")
    host.note(facts.Copy(to, source, count, stream, host.place(line)))
    return Code("cudaMemcpyAsync")


def signal(host: Evaluator, arguments: Sequence[Cell], line: int) -> Value:
    stream, to, value, _ = (expr(cell.value) for cell in arguments)
    host.note(facts.Signal(to, value, stream, host.place(line)))
    return Code("cuStreamWriteValue32")


def encode(host: Evaluator, arguments: Sequence[Cell], line: int) -> Value:
    """A call of cuTensorMapEncodeTiled."""
    to, dtype, rank, address, *lists, interleave, swizzle, l2, fill = (cell.value for cell in arguments)
    if not isinstance(to, Pointer) or not isinstance(rank, Const):
        raise Unreadable(f"line {line}: a tensor map of another form")
    count = int(rank.value)
    dims, strides, box, steps = (numbers(each) for each in lists)
    base = expr(address, "an address")
    host.encoders += 1
    step = facts.Encode(
        host.encoders,
        tensor_of(base),
        base,
        option(dtype, "DATA_TYPE_"),
        dims[:count],
        strides[: count - 1],
        box[:count],
        steps[:count],
        option(interleave, "INTERLEAVE_"),
        option(swizzle, "SWIZZLE_"),
        option(l2, "L2_PROMOTION_"),
        option(fill, "FLOAT_OOB_FILL_"),
        host.place(line),
    )
    host.note(step)
    host.write(to.to, facts.Map(step.number))
    return Code("cuTensorMapEncodeTiled")


def option(value: Value, prefix: str) -> str:
    if not isinstance(value, Text):
        raise Unreadable("an option of a tensor map that is no name")
    return value.value.removeprefix("CU_TENSOR_MAP_").removeprefix(prefix)


def numbers(value: Value) -> tuple[Expr, ...]:
    if not isinstance(value, ListValue):
        raise Unreadable("a list of another form")
    return tuple(expr(cell.value) for cell in value.items)


def tensor_of(address: Expr) -> Ref:
    """Returns the tensor to whose data an address belongs."""
    match address:
        case Number("data", of):
            return of
        case facts.Cast():
            return tensor_of(address.value)
        case facts.Binary("+", left, _):
            return tensor_of(left)
        case facts.Select():
            return tensor_of(address.then)
    raise Unreadable("a tensor map of no tensor")


def launch_extended(host: Evaluator, arguments: Sequence[Cell], line: int) -> Value:
    """A call of cudaLaunchKernelExC, with the fields of its configuration."""
    pointer, kernel, kargs = (cell.value for cell in arguments)
    if not isinstance(pointer, Pointer) or not isinstance(pointer.to.value, StructValue):
        raise Unreadable(f"line {line}: a launch of another form")
    config = pointer.to.value.fields
    count = config["numAttrs"].value
    attrs = config["attrs"].value
    attributes: list[tuple[int, tuple[Expr, ...]]] = []
    if isinstance(count, Const) and count.value:
        if not isinstance(attrs, ListValue):
            raise Unreadable(f"line {line}: attributes of another form")
        attributes = [attribute(cell.value) for cell in attrs.items[: int(count.value)]]
    elif not isinstance(count, Const):
        raise Unreadable(f"line {line}: a number of attributes that depends on arguments")
    grid, block = config["gridDim"].value, config["blockDim"].value
    smem, stream = expr(config["dynamicSmemBytes"].value), expr(config["stream"].value)
    launch(host, "cudaLaunchKernelExC", kernel, kargs, (grid, block), smem, attributes, stream, line)
    return Code("cudaLaunchKernelExC")


def attribute(value: Value) -> tuple[int, tuple[Expr, ...]]:
    """Returns the number of a launch's attribute and its fields."""
    if not isinstance(value, StructValue):
        raise Unreadable("an attribute of another form")
    number = value.fields["id"].value
    fields = value.fields["val"].value
    if not isinstance(number, Const) or not isinstance(fields, StructValue):
        raise Unreadable("an attribute of another form")
    found: list[Expr] = []
    for cell in fields.fields.values():
        nested = cell.value.fields.values() if isinstance(cell.value, StructValue) else [cell]
        found += [expr(each.value) for each in nested]
    return int(number.value), tuple(found)


def launch_plain(host: Evaluator, arguments: Sequence[Cell], line: int) -> Value:
    """A call of cudaLaunchKernel or cudaLaunchCooperativeKernel."""
    kernel, grid, block, kargs, smem, stream = (cell.value for cell in arguments)
    launch(host, "cudaLaunchKernel", kernel, kargs, (grid, block), expr(smem), [], expr(stream), line)
    return Code("cudaLaunchKernel")


def launch_cooperative(host: Evaluator, arguments: Sequence[Cell], line: int) -> Value:
    kernel, grid, block, kargs, smem, stream = (cell.value for cell in arguments)
    attributes: list[tuple[int, tuple[Expr, ...]]] = [(2, (Const(1, "i32"),))]
    function = "cudaLaunchCooperativeKernel"
    launch(host, function, kernel, kargs, (grid, block), expr(smem), attributes, expr(stream), line)
    return Code(function)


def launch(
    host: Evaluator,
    function: str,
    kernel: Value,
    kargs: Value,
    sizes: tuple[Value, Value],
    smem: Expr,
    attributes: Sequence[tuple[int, tuple[Expr, ...]]],
    stream: Expr,
    line: int,
) -> None:
    """Notes a launch, or a branch of two for a choice of two kernels."""
    if isinstance(kernel, Choice):
        sides: list[list[facts.Step]] = []
        for each in (kernel.then, kernel.otherwise):
            with host.aside() as (steps, _):
                launch(host, function, each, kargs, sizes, smem, attributes, stream, line)
            sides.append(steps)
        host.note(facts.Branch(kernel.condition, tuple(sides[0]), tuple(sides[1])))
        return
    if not isinstance(kernel, Kernel) or not isinstance(kargs, ListValue):
        raise Unreadable(f"line {line}: a launch of another form")
    parameters = kernel.prototype.parameters or (NO_PARAMETER,) * len(kargs.items)
    if len(parameters) != len(kargs.items):
        raise Unreadable(f"line {line}: {len(kargs.items)} arguments for {len(parameters)} parameters")
    arguments = tuple(argument(host, parameter, cell.value) for parameter, cell in zip(parameters, kargs.items))
    grid, block = (extents(each) for each in sizes)
    places = host.place(line)
    host.note(facts.Launch(kernel.name, function, arguments, grid, block, smem, tuple(attributes), stream, places))


# The parameter of a kernel whose prototype leaves its parameters out.
NO_PARAMETER = cpp.Parameter(cpp.Type("?"), "?")


def extents(value: Value) -> tuple[Expr, Expr, Expr]:
    if not isinstance(value, StructValue):
        raise Unreadable("a grid or block of another form")
    x, y, z = (expr(value.fields[name].value) for name in "xyz")
    return x, y, z


def argument(host: Evaluator, parameter: cpp.Parameter, value: Value) -> facts.Argument:
    """Returns an argument of a kernel: the variable behind its pointer."""
    if not isinstance(value, Pointer):
        raise Unreadable("an argument of a kernel that is no address of a variable")
    held = value.to.value
    type_ = simple(parameter.type) or (value.to.type if parameter is NO_PARAMETER else parameter.type.name)
    return facts.Argument(parameter.name, type_, struct_expr(held))


def struct_expr(value: Value) -> Expr:
    if isinstance(value, StructValue):
        return facts.Struct(value.type, tuple(struct_expr(cell.value) for cell in value.fields.values()))
    if isinstance(value, ListValue):
        return facts.Struct("", tuple(struct_expr(cell.value) for cell in value.items))
    return expr(value, "an argument of a kernel")


def memcpy(host: Evaluator, arguments: Sequence[Cell], line: int) -> Value:
    """A copy from a tensor on the cpu into an argument of a kernel."""
    to, source, count = (cell.value for cell in arguments)
    if not isinstance(to, Pointer) or not isinstance(source, Number) or not isinstance(count, Const):
        raise Unreadable(f"line {line}: a copy of another form")
    host.write(to.to, facts.Bytes(source.of, int(count.value)))
    return None


def fast_divisor(host: Evaluator, arguments: Sequence[Cell], line: int) -> Value:
    """The numbers by which a kernel divides with a multiplication and a shift: for a divisor above 1, whose predecessor
    has b bits, the quotient of 2^(31 + b) and the divisor, rounded up, and b - 1."""
    divisor = convert(expr(arguments[0].value), "i32")
    one = infix("==", divisor, Const(1, "i32"))
    bits = facts.BitLength(infix("-", convert(divisor, "u32"), Const(1, "u32")))
    power = infix("<<", Const(1, "u64"), infix("+", Const(31, "u32"), bits))
    wide = convert(divisor, "u64")
    multiplier = infix("/", infix("-", infix("+", power, wide), Const(1, "u64")), wide)
    zero = Const(0, "u32")
    shift = select(one, zero, infix("-", bits, Const(1, "u32")))
    fields = [divisor, select(one, zero, convert(multiplier, "u32")), shift]
    return structure("CakeFastDivmod", zip(("divisor", "multiplier", "shift_right"), fields))


def least(op: str) -> Callable[[Evaluator, Sequence[Cell], int], Value]:
    """std::min and std::max."""

    def follow(host: Evaluator, arguments: Sequence[Cell], line: int) -> Value:
        left, right = (expr(cell.value) for cell in arguments)
        return select(infix(op, right, left), right, left)

    return follow


def nothing(host: Evaluator, arguments: Sequence[Cell], line: int) -> Value:
    return Hidden("nothing")
