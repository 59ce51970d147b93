"""What generated hosts take from CUDA, from the runtime and from their own helpers that keep something between calls:
each is a function on the values of `values.py` that notes steps."""

from __future__ import annotations

from collections.abc import Callable, Iterator, Sequence
from typing import TYPE_CHECKING

import cpp
import cuda
import facts
from facts import Attribute, Const, Expr, Foldable, Item, Number, Ref
from cpp import Unreadable
from parameters import argument, kind
from values import (
    TRUE,
    ArrayArg,
    Cell,
    Code,
    FunctionValue,
    Hidden,
    ListValue,
    OptionalArg,
    Packed,
    StructValue,
    TensorArg,
    Text,
    Untyped,
    Value,
    convert,
    expr,
    infix,
    simple,
    status,
    structure,
)

if TYPE_CHECKING:
    from evaluate import Evaluator

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


def construct(host: Evaluator, name: str, arguments: Sequence[Value], line: int) -> Value:
    """Makes a value of a type of CUDA or the runtime."""
    match name:
        case "dim3":
            extents = [convert(expr(argument), "u32") for argument in arguments]
            extents += [Const(1, "u32")] * (3 - len(extents))
            return structure("dim3", zip("xyz", extents))
        case "CUDADeviceGuard":
            cuda.set_device(host, [Cell(arguments[0])], line)
            return Hidden(name)
        case "DLDataType":
            return structure(name, zip(("code", "bits", "lanes"), map(expr, arguments)))
        case "DLDevice":
            values = list(map(expr, arguments)) or [Const(0, "i32")] * 2
            return structure(name, zip(("device_type", "device_id"), values))
        case "CUtensorMap" | "cudaLaunchConfig_t" | "cudaLaunchAttribute" | "TVMFFIAny":
            return blank(name)
        case "cudaError_t" | "CUresult":
            return arguments[0] if arguments else Code(None)
        case "mutex" | "lock_guard" | "unordered_map" | "atomic" | "vector" | "string" | "cudaKernel_t" | "auto":
            return Hidden(name)
    raise Unreadable(f"line {line}: {name} is not known")


def blank(name: str) -> StructValue:
    """Makes a struct whose fields are made when they are first named."""
    return StructValue(name, Fields())


class Fields(dict[str, Cell]):
    """Fields of a struct of CUDA, zero at first; those of an attribute's value have fields themselves."""

    def __missing__(self, name: str) -> Cell:
        nested = name in ("val", "clusterDim", "preferredClusterDim")
        self[name] = Cell(blank(name) if nested else Const(0, "u32"))
        return self[name]

    def __contains__(self, name: object) -> bool:
        return True


def size(host: Evaluator, type_: cpp.Type | None) -> int:
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


def checks(host: Evaluator, name: str, arguments: Sequence[cpp.Expr], line: int) -> bool:
    """Follows a macro that raises; returns whether it is one."""
    if name == "TVM_FFI_CHECK":
        kind = arguments[1]
        condition = host.condition(arguments[0])
        host.check(condition, kind.name if isinstance(kind, cpp.Name) else "?", line)
        return True
    if name == "TVM_FFI_CHECK_CUDA_ERROR":
        code = host.value(arguments[0])
        host.check(status(code) if isinstance(code, Code) else TRUE, "RuntimeError", line)
        return True
    if name == "TVM_FFI_THROW":
        kind = arguments[0]
        host.check(Const(0, "bool"), kind.name if isinstance(kind, cpp.Name) else "?", line)
        return True
    return name.startswith("TVM_FFI_SAFE_CALL")


def macros(body: Sequence[cpp.Statement]) -> Iterator[tuple[str, int]]:
    """Yields the kind and line of each check in statements, in their order."""
    for statement in body:
        match statement:
            case cpp.Evaluate():
                first = statement.expr
                while isinstance(first, cpp.Infix) and first.op == "<<":
                    first = first.left
                if isinstance(first, cpp.Call) and isinstance(first.function, cpp.Name):
                    if first.function.name == "TVM_FFI_CHECK" and isinstance(first.arguments[1], cpp.Name):
                        yield first.arguments[1].name, first.function.line
                    elif first.function.name == "TVM_FFI_CHECK_CUDA_ERROR":
                        yield "RuntimeError", first.function.line
            case cpp.If():
                yield from macros(statement.then)
                yield from macros(statement.otherwise)
            case cpp.For() | cpp.Block():
                yield from macros(statement.body)
            case _:
                pass


def inside(host: Evaluator, name: str, line: int, conditions: Sequence[tuple[Expr, str | None]]) -> None:
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


def dense(name: str) -> Callable[[Evaluator, Sequence[Cell], int], Value]:
    """Returns what a helper does that demands leading dims which are one in memory."""

    def follow(host: Evaluator, arguments: Sequence[Cell], line: int) -> Value:
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


def multiprocessors(host: Evaluator, arguments: Sequence[Cell], line: int) -> Value:
    """The number of multiprocessors of a device, which the host keeps for 64 devices."""
    device = expr(arguments[0].value)
    bounds = infix("&&", infix(">=", device, Const(0, "i32")), infix("<", device, Const(64, "i32")))
    count = Attribute(16, device)
    inside(host, "CakeDeviceMultiprocessorCount", line, [(bounds, None), (TRUE, "cudaDeviceGetAttribute")])
    return convert(count, "i64")


def opt_in(host: Evaluator, arguments: Sequence[Cell], line: int) -> Value:
    """Allows a kernel its dynamic shared memory, once for every device."""
    calls = ["cudaGetKernel", "cudaGetDeviceCount", "cudaKernelSetAttributeForDevice"]
    inside(host, "CakeSetMaxDynamicSmem", line, [(TRUE, call) for call in calls])
    return TRUE


def opt_in_once(host: Evaluator, arguments: Sequence[Cell], line: int) -> Value:
    return Code("cudaFuncSetAttribute")


def upload(host: Evaluator, arguments: Sequence[Cell], line: int) -> Value:
    """Writes tensor maps to a workspace by a kernel that takes them by value."""
    to, maps, stream = (cell.value for cell in arguments)
    if not isinstance(maps, ListValue):
        raise Unreadable(f"line {line}: an upload of another form")
    values = tuple(expr(cell.value) for cell in maps.items)
    host.note(facts.Upload(expr(to), values, expr(stream), host.place(line)))
    inside(host, "UploadCallerTmaWorkspace", line, [(TRUE, "cudaLaunchKernel")])
    return None


def events(host: Evaluator, arguments: Sequence[Cell], line: int) -> Value:
    """Two events of a stream, made once."""
    inside(host, "bridge_events", line, [(TRUE, "cudaEventCreateWithFlags")] * 2)
    return StructValue("BridgeEvents", {name: Cell(Code(None)) for name in ("to_comm", "to_main")})


FUNCTIONS: dict[str, Callable[[Evaluator, Sequence[Cell], int], Value]] = {
    "check_dense_leading_dims": dense("check_dense_leading_dims"),
    "CheckDenseLeadingFold": dense("CheckDenseLeadingFold"),
    "CakeDeviceMultiprocessorCount": multiprocessors,
    "CakeSetMaxDynamicSmem": opt_in,
    "EnsureMaxDynamicSharedMemory": opt_in_once,
    "UploadCallerTmaWorkspace": upload,
    "bridge_events": events,
    "TVMFFIEnvGetStream": cuda.environment_stream,
    "cudaGetDevice": cuda.get_device,
    "cudaSetDevice": cuda.set_device,
    "cudaDeviceGetAttribute": cuda.device_attribute,
    "cudaFuncSetAttribute": cuda.succeeds("cudaFuncSetAttribute"),
    "cudaGetLastError": cuda.succeeds("cudaGetLastError"),
    "cudaEventRecord": cuda.record,
    "cudaStreamWaitEvent": cuda.wait,
    "cudaMemcpyAsync": cuda.copy,
    "cuStreamWriteValue32": cuda.signal,
    "cuTensorMapEncodeTiled": cuda.encode,
    "cudaLaunchKernelExC": cuda.launch_extended,
    "cudaLaunchKernel": cuda.launch_plain,
    "cudaLaunchCooperativeKernel": cuda.launch_cooperative,
    "memcpy": cuda.memcpy,
    "CakeFastDivmodFromDivisor": cuda.fast_divisor,
    "min": cuda.least("<"),
    "max": cuda.least(">"),
}


# Methods.


def cast(parameter: facts.Parameter, tree: cpp.Member, line: int) -> Value:
    """Converts an argument of the ABI to the type of its parameter."""
    [type_] = tree.arguments
    if not isinstance(type_, cpp.Type) or kind(type_) != parameter.kind:
        raise Unreadable(f"line {line}: {parameter.name} is no {parameter.kind}")
    return argument(parameter.name, parameter.kind)


def inner(value: OptionalArg) -> Value:
    return of_kind(value.inner, value.ref)


def of_kind(kind: str, ref: Ref) -> Value:
    return TensorArg(ref) if kind == "tensor" else facts.Scalar(ref.name, kind)


def method(host: Evaluator, of: Value, tree: cpp.Member, arguments: Sequence[Cell], line: int) -> Value:
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
    if isinstance(of, Untyped) and name == "cast":
        return cast(of.parameter, tree, line)
    if isinstance(of, Hidden):
        return hidden(host, of, name, arguments, line)
    raise Unreadable(f"line {line}: .{name}() of {type(of).__name__}")


def hidden(host: Evaluator, of: Hidden, name: str, arguments: Sequence[Cell], line: int) -> Value:
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
