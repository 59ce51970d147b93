"""Operators of PyTorch: those that libraries register themselves, and those that are made in Python."""

from __future__ import annotations

import ctypes
import json
import os
from collections.abc import Callable, Sequence
from typing import Any

import torch
import tvm_ffi

from ._functions import Functions
from ._shapes import Shapes, access, described

# What PyTorch knows operators by.
_LIBRARIES: list[Any] = []

# The function of a library that registers its operators.
_REGISTER = "_torch"

# The function of PyTorch's stable C ABI, since 2.13, that returns what an exception says.
_EXCEPTION = "torch_exception_get_what_without_backtrace"

# Types of scalars in operators of PyTorch, by their names in type schemas. Compilers may know an integer as a symbol.
_SCALARS = {"bool": "bool", "ffi.String": "str", "float": "float", "int": "SymInt"}

# Types of devices that PyTorch names otherwise; None is any type.
_DEVICES = {"any": None, "rocm": "cuda"}


def operators(library: Functions | tvm_ffi.Module, missing: Sequence[tuple[str, str]] | None = None) -> list[tuple[str, str]]:
    """Returns namespace and name of each operator that a library has registered, which it does now if PyTorch came later.
    A library without operators, or a PyTorch that is too old for them, is an error, or yields `missing`."""
    module = library.__tvm_ffi_make__() if isinstance(library, Functions) else library
    if not module.implements_function(_REGISTER):
        if missing is None:
            raise ValueError('the library has no operators: make it with the option register="torch=NAMESPACE"')
        return list(missing)
    answer = module.get_function(_REGISTER)()
    if answer is None and missing is not None:
        return list(missing)
    if answer is None:
        raise RuntimeError(f"the stable ABI of PyTorch 2.10 or newer is not in this process, which has {torch.__version__}")
    if not isinstance(answer, str):
        hint = "torch_op with another namespace makes one in Python"
        raise RuntimeError(f"PyTorch has refused operator number {answer} of the library ({hint}): {_reason()}")
    namespace, _, names = answer.partition(":")
    return [(namespace, name) for name in names.split(",")]


def _reason() -> str:
    """Returns what the last exception says that PyTorch has kept for a caller in C."""
    # The process has the file.
    torch_cpu = ctypes.CDLL("libtorch_cpu.so", mode=os.RTLD_NOLOAD)
    if (said := getattr(torch_cpu, _EXCEPTION, None)) is None:
        return "it has printed why"
    said.restype = ctypes.c_char_p
    return str(said().decode(errors="replace"))


def with_fake(library: Functions | tvm_ffi.Module, namespace: str, name: str) -> Any:
    """Returns an operator that a library has registered, with the fake implementation that it has, or else ours."""
    operator = _operator(namespace, name)
    if not operator.has_kernel_for_dispatch_key(torch._C.DispatchKey.Meta):
        torch.library.register_fake(operator, _fake(described(library, name), operator))
    return operator


def _operator(namespace: str, name: str) -> Any:
    """Returns the operator of a name; `None` if there is none."""
    found = getattr(getattr(torch.ops, namespace), name, None)
    if found is None:
        return None
    if not hasattr(found, "default"):
        raise ValueError(f"torch.ops.{namespace}.{name} is no operator but {found!r}: the function needs another name")
    return found.default


def define(module: Functions | tvm_ffi.Module, name: str, namespace: str) -> Any:
    """Makes an operator that calls a function by Python; see `frameworks.torch_op`."""
    found = described(module, name)
    declared, function = found["declaration"], getattr(module, name)
    params, allocated = declared["params"], declared.get("outputs", [])
    # Schemas have no other names.
    for kind, named in [("operator", name), *(("argument", param["name"]) for param in params)]:
        if not (named.isascii() and named.isidentifier()):
            raise ValueError(f"no {kind} of PyTorch can be called `{named}`")
    if _operator(namespace, name) is not None:
        raise ValueError(f"PyTorch has an operator {namespace}::{name} already: torch_op takes another namespace")
    result, *types = _types(found)
    refused = f"{name} yields {declared['result']}: it may be tensors that {name} allocates, numbers, texts or lists"
    kinds = ["Tensor"] * len(allocated) or [_kind(ty, refused) for ty in _parts(result)]
    has_parts = result["type"] == "Tuple" or len(kinds) != 1
    written = [index for index, param in enumerate(params) if access(param) != "read"]

    def run(*args: Any) -> Any:
        for index in written:
            # Those that are left out have their defaults.
            if index < len(args) and args[index] is not None:
                torch.autograd.graph.increment_version(args[index])
        result = function(*args)
        return _one_or_all([_value(one) for one in result or ()]) if has_parts else _value(result)

    listed = enumerate(zip(params, types, strict=True))
    arguments = ", ".join(_argument(index, param, ty) for index, (param, ty) in listed)
    # An operator of `torch.library.custom_op` would do more in Python at each call.
    library = torch.library.Library(namespace, "FRAGMENT")
    library.define(f"{name}({arguments}) -> ({', '.join(kinds)})", tags=torch.Tag.pt2_compliant_tag)
    library.impl(name, run, "CompositeExplicitAutograd")
    operator = _operator(namespace, name)
    torch.library.register_fake(operator, _fake(found, operator), lib=library)
    # The operator is gone with its library.
    _LIBRARIES.append(library)
    return operator


def _types(found: dict[str, Any]) -> list[dict[str, Any]]:
    """Returns the types of the result and of the parameters in the metadata of a function."""
    schema = json.loads(found["type_schema"])
    # That of a function without parameters has another key.
    return list(schema["args"] if "args" in schema else schema["named_args"]["return"])


def _parts(ty: dict[str, Any]) -> list[dict[str, Any]]:
    """Returns the types of an operator's results; `ty` is the type of the result of its function."""
    return [] if ty["type"] == "None" else ty["args"] if ty["type"] == "Tuple" else [ty]


def _kind(ty: dict[str, Any], refused: str) -> str:
    """Returns a type in a schema of PyTorch. Raises a `TypeError` that says `refused` if it is none of scalars."""
    if ty["type"] in ("Optional", "ffi.Array"):
        return _kind(ty["args"][0], refused) + ("?" if ty["type"] == "Optional" else "[]")
    if ty["type"] not in _SCALARS:
        raise TypeError(refused)
    return _SCALARS[ty["type"]]


def _value(result: Any) -> Any:
    """Returns a result of a function as one of an operator."""
    if isinstance(result, tvm_ffi.Array):
        return list(result)
    return torch.from_dlpack(result) if isinstance(result, tvm_ffi.Tensor) else result


def _one_or_all(results: Sequence[Any]) -> Any:
    """Returns the results of an operator as PyTorch expects them."""
    return None if not results else results[0] if len(results) == 1 else tuple(results)


def _fake(found: dict[str, Any], operator: Any) -> Callable[..., Any]:
    """Returns the fake implementation of the operator of a function: it makes tensors without contents, and integers
    that are symbols. It raises an error where compilers have nothing for a result."""
    declared = found["declaration"]
    params = declared["params"]
    # A stream is no argument of an operator.
    places = [index for index, param in enumerate(params) if param["type"] != "Stream"]
    shapes = Shapes(declared, {"min": torch.sym_min, "max": torch.sym_max}, _dtype)
    allocated = [output["name"] for output in declared.get("outputs", [])]
    shapes.check(allocated, places)
    tensors, parts = allocated or shapes.returned(places), _parts(_types(found)[0])
    integers = [number for number, ty in enumerate(parts) if ty["type"] == "int"]
    yielded = allocated or range(len(parts))
    # Compilers drop or refuse calls that write tensors and yield integers.
    is_known = len(yielded) == len(tensors) + len(integers) and not (integers and operator._schema.is_mutable)

    def fake(*given: Any) -> Any:
        if not is_known:
            has = "compilers have tensors of a known rank, and integers where no tensor is written"
            raise NotImplementedError(f"{operator} yields {declared['result']}: {has}; see torch.library.register_fake")
        # Those that are left out have their defaults.
        args: list[Any] = [None] * (places[len(given) - 1] + 1 if given else 0)
        for place, arg in zip(places, given):
            args[place] = arg
        found = shapes.of(tensors, args, None if allocated else _new_size)
        devices = (_device(shapes.device(one), args) for one in tensors)
        sized = zip(found, devices, strict=True)
        made = (torch.empty(shape, dtype=dtype, device=device) for (shape, dtype), device in sized)
        return _one_or_all([_new_integer() if one in integers else next(made) for one in yielded])

    return fake


def _new_size() -> Any:
    """Returns an extent that is known after the call only."""
    return torch.library.get_ctx().new_dynamic_size()


def _new_integer() -> Any:
    """Returns an integer that is known after the call only, and may be negative."""
    return torch.empty((), dtype=torch.int64, device="meta").item()


def _device(declared: str, args: Sequence[Any]) -> Any:
    """Returns the device of a result that is declared for one: `meta` if a tensor is there, or else that of the first
    tensor on a device of its type."""
    ty = _DEVICES.get(declared, declared)
    listed = (one for arg in args for one in (arg if isinstance(arg, (list, tuple)) else [arg]))
    devices = [one.device for one in listed if torch.is_tensor(one)]
    chosen = [one for one in devices if one.type == "meta"] or [one for one in devices if ty in (None, one.type)]
    return chosen[0] if chosen else ty or "cpu"


def _dtype(name: str) -> Any:
    """Returns the element type of a name."""
    if not isinstance(found := getattr(torch, name, None), torch.dtype):
        raise TypeError(f"PyTorch has no element type {name}")
    return found


def _argument(index: int, param: dict[str, Any], ty: dict[str, Any]) -> str:
    """Returns a parameter in a schema of PyTorch; `ty` is its type in the type schema of the function."""
    if "tensor" in param:
        kind = "Tensor" if access(param) == "read" else f"Tensor(a{index}!)"
        kind += "?" if ty["type"] == "Optional" else ""
    else:
        kind = _kind(ty, f"{param['name']} is of type {param['type']}, which no operator takes")
    default = f"={param['default']}" if "default" in param else ""
    return f"{kind} {param['name']}{default}"
