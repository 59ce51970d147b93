"""What generated hosts take from CUDA, from the runtime and from their own helpers that keep something between calls:
each is a function on the values of `values.py` that notes steps."""

from __future__ import annotations

from collections.abc import Callable, Iterator, Sequence
from typing import TYPE_CHECKING

import facts
import syntax
from facts import Attribute, Check, Const, Expr, Foldable, Item, Number, Ref, Stream
from syntax import Unreadable
from values import (
    TRUE,
    ArrayArg,
    Cell,
    Choice,
    Code,
    FunctionValue,
    Hidden,
    Kernel,
    ListValue,
    OptionalArg,
    Packed,
    Pointer,
    StructValue,
    TensorArg,
    Text,
    Value,
    convert,
    expr,
    infix,
    is_expr,
    negate,
    select,
    simple,
    status,
)

if TYPE_CHECKING:
    from execute import Executor

# Classes whose values take no part: what they keep is the same at every call.
HIDDEN = {"TensorMapCache", "TensorMapKey"}

# The codes of DLPack.
CODES = {
    "kDLInt": 0,
    "kDLUInt": 1,
    "kDLFloat": 2,
    "kDLBfloat": 4,
    "kDLBool": 6,
    "kDLFloat8_e4m3fn": 10,
    "kDLFloat8_e5m2": 12,
    "kDLFloat8_e8m0fnu": 14,
    "kDLFloat4_e2m1fn": 17,
    "kDLCPU": 1,
    "kDLCUDA": 2,
}

# Attributes of launches and of devices by their numbers in cuda.h, and the fields of the former.
ATTRIBUTES = {
    "cudaLaunchAttributeCooperative": 2,
    "cudaLaunchAttributeClusterDimension": 4,
    "cudaLaunchAttributeClusterSchedulingPolicyPreference": 5,
    "cudaLaunchAttributeProgrammaticStreamSerialization": 6,
    "cudaLaunchAttributePriority": 8,
    "cudaLaunchAttributeMemSyncDomain": 10,
    "cudaLaunchAttributePreferredClusterDimension": 11,
}
NUMBERS = CODES | ATTRIBUTES | {
    "cudaClusterSchedulingPolicyDefault": 0,
    "cudaClusterSchedulingPolicySpread": 1,
    "cudaClusterSchedulingPolicyLoadBalancing": 2,
    "cudaDevAttrMultiProcessorCount": 16,
    "cudaEventDisableTiming": 2,
    "cudaMemcpyDeviceToDevice": 3,
    "cudaFuncAttributeMaxDynamicSharedMemorySize": 8,
    "true": 1,
    "false": 0,
}


# The sizes of CUDA's own types.
SIZES = {"CUtensorMap": 128, "__nv_bfloat16": 2, "__half": 2, "void": 1, "char": 1}


def named(name: str) -> Value:
    """Returns the value of a name that the host does not define."""
    if name in ("true", "false"):
        return Const(NUMBERS[name], "bool")
    if name in NUMBERS:
        return Const(NUMBERS[name], "i32")
    if name == "nullptr":
        return Const(0, "ptr")
    if name in ("cudaSuccess", "CUDA_SUCCESS"):
        return Code(None)
    if name.startswith("cudaError"):
        return Code(name)
    if name.startswith(("CU_TENSOR_MAP_", "ValueError", "TypeError", "RuntimeError", "memory_order", "cuda")):
        return Text(name)
    raise Unreadable(f"{name} is not known")


def construct(host: Executor, name: str, arguments: Sequence[Value], line: int) -> Value:
    """Makes a value of a type of CUDA or the runtime."""
    match name:
        case "dim3":
            extents = [convert(expr(argument), "u32") for argument in arguments]
            extents += [Const(1, "u32")] * (3 - len(extents))
            return structure("dim3", zip("xyz", extents))
        case "CUDADeviceGuard":
            set_device(host, [Cell(arguments[0])], line)
            return Hidden(name)
        case "DLDataType":
            return structure(name, zip(("code", "bits", "lanes"), map(expr, arguments)))
        case "DLDevice":
            values = list(map(expr, arguments)) or [Const(0, "i32")] * 2
            return structure(name, zip(("device_type", "device_id"), values))
        case "CUtensorMap" | "cudaLaunchConfig_t" | "cudaLaunchAttribute" | "TVMFFIAny":
            return Record(name)
        case "cudaError_t" | "CUresult":
            return arguments[0] if arguments else Code(None)
        case "mutex" | "lock_guard" | "unordered_map" | "atomic" | "vector" | "string" | "cudaKernel_t" | "auto":
            return Hidden(name)
    raise Unreadable(f"line {line}: {name} is not known")


def Record(name: str) -> StructValue:
    """Makes a struct whose fields are made when they are first named."""
    return StructValue(name, Fields())


class Fields(dict[str, Cell]):
    """Fields of a struct of CUDA, zero at first; those of an attribute's value have fields themselves."""

    def __missing__(self, name: str) -> Cell:
        nested = name in ("val", "clusterDim", "preferredClusterDim")
        self[name] = Cell(Record(name) if nested else Const(0, "u32"))
        return self[name]

    def __contains__(self, name: object) -> bool:
        return True


def structure(name: str, values: Iterator[tuple[str, Expr]] | zip[tuple[str, Expr]]) -> StructValue:
    return StructValue(name, {field: Cell(value, value.type) for field, value in values})


def size(host: Executor, type_: syntax.Type | None) -> int:
    """Returns the size of a type in bytes."""
    if type_ is None:
        raise Unreadable("the size of an unknown type")
    if type_.name in SIZES:
        return SIZES[type_.name]
    held = host.names.get(type_.name, Cell(None)).value
    if isinstance(held, Packed):
        return held.size
    number = simple(type_)
    if number in facts.INTEGERS:
        return facts.INTEGERS[number][0] // 8
    if number in facts.FLOATS:
        return 4 if number == "f32" else 8
    raise Unreadable(f"the size of {type_.name}")


# Checks.


def checks(host: Executor, name: str, arguments: Sequence[syntax.Expr], line: int) -> bool:
    """Follows a macro that raises; returns whether it is one."""
    if name == "TVM_FFI_CHECK":
        kind = arguments[1]
        condition = host.condition(arguments[0])
        host.check(condition, kind.name if isinstance(kind, syntax.Name) else "?", line)
        return True
    if name == "TVM_FFI_CHECK_CUDA_ERROR":
        code = host.value(arguments[0])
        host.check(status(code) if isinstance(code, Code) else TRUE, "RuntimeError", line)
        return True
    if name == "TVM_FFI_THROW":
        kind = arguments[0]
        host.check(Const(0, "bool"), kind.name if isinstance(kind, syntax.Name) else "?", line)
        return True
    return name.startswith("TVM_FFI_SAFE_CALL")


def macros(body: Sequence[syntax.Statement]) -> Iterator[tuple[str, int]]:
    """Yields the kind and line of each check in statements, in their order."""
    for statement in body:
        match statement:
            case syntax.Evaluate():
                first = statement.expr
                while isinstance(first, syntax.Infix) and first.op == "<<":
                    first = first.left
                if isinstance(first, syntax.Call) and isinstance(first.function, syntax.Name):
                    if first.function.name == "TVM_FFI_CHECK" and isinstance(first.arguments[1], syntax.Name):
                        yield first.arguments[1].name, first.function.line
                    elif first.function.name == "TVM_FFI_CHECK_CUDA_ERROR":
                        yield "RuntimeError", first.function.line
            case syntax.If():
                yield from macros(statement.then)
                yield from macros(statement.otherwise)
            case syntax.For() | syntax.Block():
                yield from macros(statement.body)
            case _:
                pass


def inside(host: Executor, name: str, line: int, conditions: Sequence[tuple[Expr, str | None]]) -> None:
    """Notes the checks of a helper of the host that is not followed: a condition for each, in their order."""
    function = host.program.functions[name]
    found = list(macros(function.body or ()))
    if len(found) != len(conditions):
        raise Unreadable(f"{name} has {len(found)} checks, not {len(conditions)}")
    outer = host.places, host.path
    host.places, host.path = host.place(line), host.program.paths[id(function)]
    for (kind, at), (condition, about) in zip(found, conditions):
        host.check(condition, kind, at, about)
    host.places, host.path = outer


def dense(name: str) -> Callable[[Executor, Sequence[Cell], int], Value]:
    """Returns what a helper does that demands leading dims which are one in memory."""

    def follow(host: Executor, arguments: Sequence[Cell], line: int) -> Value:
        tensor, trailing = arguments[0].value, arguments[1].value
        if not isinstance(tensor, TensorArg) or not isinstance(trailing, Const):
            raise Unreadable(f"line {line}: {name} of another form")
        count = int(trailing.value)
        rank = Number("ndim", tensor.ref)
        few = infix("<=", rank, Const(count + 1, "i32"))
        positive = infix(">", Item("stride", tensor.ref, Const(-count - 1, "i64")), Const(0, "i64"))
        conditions = [infix(">=", rank, trailing), infix("||", few, positive), Foldable(tensor.ref, count)]
        inside(host, name, line, [(condition, None) for condition in conditions])
        return None

    return follow


def multiprocessors(host: Executor, arguments: Sequence[Cell], line: int) -> Value:
    """The number of multiprocessors of a device, which the host keeps for 64 devices."""
    device = expr(arguments[0].value)
    bounds = infix("&&", infix(">=", device, Const(0, "i32")), infix("<", device, Const(64, "i32")))
    count = Attribute(16, device)
    inside(host, "CakeDeviceMultiprocessorCount", line, [(bounds, None), (TRUE, "cudaDeviceGetAttribute")])
    return convert(count, "i64")


def opt_in(host: Executor, arguments: Sequence[Cell], line: int) -> Value:
    """Allows a kernel its dynamic shared memory, once for every device."""
    calls = ["cudaGetKernel", "cudaGetDeviceCount", "cudaKernelSetAttributeForDevice"]
    inside(host, "CakeSetMaxDynamicSmem", line, [(TRUE, call) for call in calls])
    return TRUE


def opt_in_once(host: Executor, arguments: Sequence[Cell], line: int) -> Value:
    return Code("cudaFuncSetAttribute")


def upload(host: Executor, arguments: Sequence[Cell], line: int) -> Value:
    """Writes tensor maps to a workspace by a kernel that takes them by value."""
    to, maps, stream = (cell.value for cell in arguments)
    if not isinstance(maps, ListValue):
        raise Unreadable(f"line {line}: an upload of another form")
    values = tuple(expr(cell.value) for cell in maps.items)
    host.note(facts.Upload(expr(to), values, expr(stream), host.place(line)))
    inside(host, "UploadCallerTmaWorkspace", line, [(TRUE, "cudaLaunchKernel")])
    return None


def events(host: Executor, arguments: Sequence[Cell], line: int) -> Value:
    """Two events of a stream, made once."""
    inside(host, "bridge_events", line, [(TRUE, "cudaEventCreateWithFlags")] * 2)
    return StructValue("BridgeEvents", {name: Cell(Code(None)) for name in ("to_comm", "to_main")})


# Functions of CUDA and of the runtime.


def get_device(host: Executor, arguments: Sequence[Cell], line: int) -> Value:
    pointer = arguments[0].value
    if isinstance(pointer, Pointer):
        host.write(pointer.to, host.current.value)
    return Code("cudaGetDevice")


def set_device(host: Executor, arguments: Sequence[Cell], line: int) -> Value:
    host.write(host.current, expr(arguments[0].value))
    return Code("cudaSetDevice")


def device_attribute(host: Executor, arguments: Sequence[Cell], line: int) -> Value:
    pointer, number, device = (cell.value for cell in arguments)
    if not isinstance(pointer, Pointer) or not isinstance(number, Const):
        raise Unreadable(f"line {line}: an attribute of another form")
    host.write(pointer.to, Attribute(int(number.value), expr(device)))
    return Code("cudaDeviceGetAttribute")


def environment_stream(host: Executor, arguments: Sequence[Cell], line: int) -> Value:
    return Stream(expr(arguments[1].value))


def succeeds(name: str) -> Callable[[Executor, Sequence[Cell], int], Value]:
    return lambda host, arguments, line: Code(name)


def record(host: Executor, arguments: Sequence[Cell], line: int) -> Value:
    """An event holds the stream on which it was recorded."""
    host.write(arguments[0], expr(arguments[1].value))
    return Code("cudaEventRecord")


def wait(host: Executor, arguments: Sequence[Cell], line: int) -> Value:
    host.note(facts.Wait(expr(arguments[0].value), expr(arguments[1].value, "an event"), host.place(line)))
    return Code("cudaStreamWaitEvent")


def copy(host: Executor, arguments: Sequence[Cell], line: int) -> Value:
    to, source, count, kind, stream = (expr(cell.value) for cell in arguments)
    if kind != Const(3, "i32"):
        raise Unreadable(f"line {line}: a copy that is not between devices")
    host.note(facts.Copy(to, source, count, stream, host.place(line)))
    return Code("cudaMemcpyAsync")


def signal(host: Executor, arguments: Sequence[Cell], line: int) -> Value:
    stream, to, value, _ = (expr(cell.value) for cell in arguments)
    host.note(facts.Signal(to, value, stream, host.place(line)))
    return Code("cuStreamWriteValue32")


def encode(host: Executor, arguments: Sequence[Cell], line: int) -> Value:
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


def launch_extended(host: Executor, arguments: Sequence[Cell], line: int) -> Value:
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


def launch_plain(host: Executor, arguments: Sequence[Cell], line: int) -> Value:
    """A call of cudaLaunchKernel or cudaLaunchCooperativeKernel."""
    kernel, grid, block, kargs, smem, stream = (cell.value for cell in arguments)
    launch(host, "cudaLaunchKernel", kernel, kargs, (grid, block), expr(smem), [], expr(stream), line)
    return Code("cudaLaunchKernel")


def launch_cooperative(host: Executor, arguments: Sequence[Cell], line: int) -> Value:
    kernel, grid, block, kargs, smem, stream = (cell.value for cell in arguments)
    attributes: list[tuple[int, tuple[Expr, ...]]] = [(2, (Const(1, "i32"),))]
    launch(host, "cudaLaunchCooperativeKernel", kernel, kargs, (grid, block), expr(smem), attributes, expr(stream), line)
    return Code("cudaLaunchCooperativeKernel")


def launch(
    host: Executor,
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
    host.note(facts.Launch(kernel.name, function, arguments, grid, block, smem, tuple(attributes), stream, host.place(line)))


# The parameter of a kernel whose prototype leaves its parameters out.
NO_PARAMETER = syntax.Parameter(syntax.Type("?"), "?")


def extents(value: Value) -> tuple[Expr, Expr, Expr]:
    if not isinstance(value, StructValue):
        raise Unreadable("a grid or block of another form")
    x, y, z = (expr(value.fields[name].value) for name in "xyz")
    return x, y, z


def argument(host: Executor, parameter: syntax.Parameter, value: Value) -> facts.Argument:
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


def memcpy(host: Executor, arguments: Sequence[Cell], line: int) -> Value:
    """A copy from a tensor on the cpu into an argument of a kernel."""
    to, source, count = (cell.value for cell in arguments)
    if not isinstance(to, Pointer) or not isinstance(source, Number) or not isinstance(count, Const):
        raise Unreadable(f"line {line}: a copy of another form")
    host.write(to.to, facts.Bytes(source.of, int(count.value)))
    return None


def fast_divisor(host: Executor, arguments: Sequence[Cell], line: int) -> Value:
    """The numbers by which a kernel divides with a multiplication and a shift: for a divisor above 1, whose predecessor
    has b bits, the quotient of 2^(31 + b) and the divisor, rounded up, and b - 1."""
    divisor = convert(expr(arguments[0].value), "i32")
    one = infix("==", divisor, Const(1, "i32"))
    bits = facts.BitLength(infix("-", convert(divisor, "u32"), Const(1, "u32")))
    power = infix("<<", Const(1, "u64"), infix("+", Const(31, "u32"), bits))
    wide = convert(divisor, "u64")
    multiplier = infix("/", infix("-", infix("+", power, wide), Const(1, "u64")), wide)
    zero = Const(0, "u32")
    fields = [divisor, select(one, zero, convert(multiplier, "u32")), select(one, zero, infix("-", bits, Const(1, "u32")))]
    return structure("CakeFastDivmod", zip(("divisor", "multiplier", "shift_right"), fields))


def least(op: str) -> Callable[[Executor, Sequence[Cell], int], Value]:
    """std::min and std::max."""

    def follow(host: Executor, arguments: Sequence[Cell], line: int) -> Value:
        left, right = (expr(cell.value) for cell in arguments)
        return select(infix(op, right, left), right, left)

    return follow


def nothing(host: Executor, arguments: Sequence[Cell], line: int) -> Value:
    return Hidden("nothing")


FUNCTIONS: dict[str, Callable[[Executor, Sequence[Cell], int], Value]] = {
    "check_dense_leading_dims": dense("check_dense_leading_dims"),
    "CheckDenseLeadingFold": dense("CheckDenseLeadingFold"),
    "CakeDeviceMultiprocessorCount": multiprocessors,
    "CakeSetMaxDynamicSmem": opt_in,
    "EnsureMaxDynamicSharedMemory": opt_in_once,
    "UploadCallerTmaWorkspace": upload,
    "bridge_events": events,
    "TVMFFIEnvGetStream": environment_stream,
    "cudaGetDevice": get_device,
    "cudaSetDevice": set_device,
    "cudaDeviceGetAttribute": device_attribute,
    "cudaFuncSetAttribute": succeeds("cudaFuncSetAttribute"),
    "cudaGetLastError": succeeds("cudaGetLastError"),
    "cudaEventRecord": record,
    "cudaStreamWaitEvent": wait,
    "cudaMemcpyAsync": copy,
    "cuStreamWriteValue32": signal,
    "cuTensorMapEncodeTiled": encode,
    "cudaLaunchKernelExC": launch_extended,
    "cudaLaunchKernel": launch_plain,
    "cudaLaunchCooperativeKernel": launch_cooperative,
    "memcpy": memcpy,
    "CakeFastDivmodFromDivisor": fast_divisor,
    "min": least("<"),
    "max": least(">"),
}


# Methods.


def inner(value: OptionalArg) -> Value:
    return of_kind(value.inner, value.ref)


def of_kind(kind: str, ref: Ref) -> Value:
    return TensorArg(ref) if kind == "tensor" else facts.Scalar(ref.name, kind)


def method(host: Executor, of: Value, tree: syntax.Member, arguments: Sequence[Cell], line: int) -> Value:
    """Follows a call of a member."""
    name = tree.name
    if isinstance(of, TensorArg):
        return of_tensor(of.ref, name, [expr(cell.value) for cell in arguments], line)
    if isinstance(of, OptionalArg):
        if name in ("has_value", "defined"):
            return Number("is_some", of.ref)
        if name == "value":
            return inner(of)
    if isinstance(of, ArrayArg) and name == "size":
        length = Number("length", of.ref)
        return convert(length, "i64") if of.numbers else length
    if isinstance(of, Hidden):
        return hidden(host, of, name, arguments, line)
    raise Unreadable(f"line {line}: .{name}() of {type(of).__name__}")


def hidden(host: Executor, of: Hidden, name: str, arguments: Sequence[Cell], line: int) -> Value:
    """A member of what is kept between calls: nothing has been kept at the first call."""
    if of.what == "TensorMapCache" and name == "get" and isinstance(arguments[1].value, FunctionValue):
        return host.call(arguments[1].value.function, arguments[:1], line)
    return Const(0, "i32") if name == "load" else Hidden(name)


def of_tensor(ref: Ref, name: str, arguments: Sequence[Expr], line: int) -> Value:
    match name:
        case "size" | "stride":
            return Item(name, ref, from_end(ref, convert(arguments[0], "i64")))
        case "ndim" | "dim":
            return Number("ndim", ref)
        case "numel":
            return Number("numel", ref)
        case "data_ptr":
            return Number("data", ref)
        case "IsContiguous" | "is_contiguous":
            return Number("contiguous", ref)
        case "device":
            return structure("DLDevice", ((each, Number(each, ref)) for each in ("device_type", "device_id")))
        case "dtype":
            return structure("DLDataType", ((each, Number(each, ref)) for each in ("code", "bits", "lanes")))
    raise Unreadable(f"line {line}: .{name}() of a tensor")


def from_end(ref: Ref, index: Expr) -> Expr:
    """Returns an index as a constant where it counts from the rank: `ndim - 1` is -1."""
    inner_ = index.value if isinstance(index, facts.Cast) else index
    match inner_:
        case facts.Binary("-", Number("ndim", of), Const(value=back)) if of == ref and back > 0:
            return Const(-back, "i64")
    return index
