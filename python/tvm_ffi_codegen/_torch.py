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

# The operators with a fake implementation.
_FAKED: set[str] = set()

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
        raise RuntimeError(f"PyTorch has refused operator number {answer} of the library: {_reason()}")
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


def with_fake(library: Functions | tvm_ffi.Module, operator: str, name: str) -> Any:
    """Returns an operator that a library has registered, with a fake implementation unless it yields what none can make."""
    namespace = operator.partition("::")[0]
    if operator not in _FAKED:
        if (fake := _fake(described(library, name)["declaration"])) is not None:
            torch.library.register_fake(operator, fake)
        _FAKED.add(operator)
    return getattr(getattr(torch.ops, namespace), name).default


def define(module: Functions | tvm_ffi.Module, name: str, namespace: str) -> Any:
    """Makes an operator that calls a function by Python; see `frameworks.torch_op`."""
    found = described(module, name)
    declared, function = found["declaration"], getattr(module, name)
    params, allocated = declared["params"], declared.get("outputs", [])
    # Schemas have no other names.
    for kind, named in [("operator", name), *(("argument", param["name"]) for param in params)]:
        if not (named.isascii() and named.isidentifier()):
            raise ValueError(f"no {kind} of PyTorch can be called `{named}`")
    # What a function without parameters takes has another key.
    types = json.loads(found["type_schema"]).get("args", [])[1:]
    if not allocated and declared["result"] != "None":
        raise TypeError(f"{name} yields {declared['result']}, which is no tensor that it allocates")

    def run(*args: Any) -> Any:
        result = function(*args)
        if not allocated:
            return None
        found = [result] if len(allocated) == 1 else list(result)
        tensors = [one if torch.is_tensor(one) else torch.from_dlpack(one) for one in found]
        return tensors[0] if len(allocated) == 1 else tuple(tensors)

    fake = _fake(declared)
    assert fake is not None
    listed = enumerate(zip(params, types, strict=True))
    arguments = ", ".join(_argument(index, param, ty) for index, (param, ty) in listed)
    result = "()" if not allocated else "Tensor" if len(allocated) == 1 else f"({', '.join(['Tensor'] * len(allocated))})"
    # An operator of `torch.library.custom_op` would do more in Python at each call.
    library = torch.library.Library(namespace, "FRAGMENT")
    library.define(f"{name}({arguments}) -> {result}", tags=torch.Tag.pt2_compliant_tag)
    library.impl(name, run, "CompositeExplicitAutograd")
    torch.library.register_fake(f"{namespace}::{name}", fake, lib=library)
    # The operator is gone with its library.
    _LIBRARIES.append(library)
    return getattr(getattr(torch.ops, namespace), name).default


def _fake(declared: dict[str, Any]) -> Callable[..., Any] | None:
    """Returns the fake implementation of the operator of a function: it makes results without contents. Returns `None` for
    one that yields other values than tensors, or tensors of any rank or element type."""
    params = declared["params"]
    # A stream is no argument of an operator.
    places = [index for index, param in enumerate(params) if param["type"] != "Stream"]
    shapes = Shapes(declared, {"min": torch.sym_min, "max": torch.sym_max}, _dtype)
    allocated = [output["name"] for output in declared.get("outputs", [])]
    shapes.check(allocated, places)
    yielded = allocated or shapes.returned(places)
    if not yielded and declared["result"] != "None":
        return None

    def fake(*given: Any) -> Any:
        # Those that are left out have their defaults.
        args: list[Any] = [None] * (places[len(given) - 1] + 1 if given else 0)
        for place, arg in zip(places, given):
            args[place] = arg
        found = shapes.of(yielded, args, None if allocated else _new_size)
        devices = (_device(shapes.device(one), args) for one in yielded)
        made = [torch.empty(shape, dtype=dtype, device=device) for (shape, dtype), device in zip(found, devices, strict=True)]
        return None if not made else made[0] if len(made) == 1 else tuple(made)

    return fake


def _new_size() -> Any:
    """Returns an extent that is known after the call only."""
    return torch.library.get_ctx().new_dynamic_size()


def _device(declared: str, args: Sequence[Any]) -> Any:
    """Returns the device of a result that is declared for one: that of the first tensor on a device of its type."""
    ty = _DEVICES.get(declared, declared)
    devices = (arg.device for arg in args if torch.is_tensor(arg))
    return next((one for one in devices if ty in (None, one.type)), ty or "cpu")


def _dtype(name: str) -> Any:
    """Returns the element type of a name."""
    if not isinstance(found := getattr(torch, name, None), torch.dtype):
        raise TypeError(f"PyTorch has no element type {name}")
    return found


def _argument(index: int, param: dict[str, Any], ty: dict[str, Any]) -> str:
    """Returns a parameter in a schema of PyTorch; `ty` is its type in the type schema of the function."""
    optional = ty["type"] == "Optional"
    inner = ty["args"][0]["type"] if optional else ty["type"]
    if "tensor" in param:
        kind = "Tensor" if access(param) == "read" else f"Tensor(a{index}!)"
    elif inner in _SCALARS:
        kind = _SCALARS[inner]
    else:
        raise TypeError(f"{param['name']} is of type {param['type']}, which no operator takes")
    default = f"={param['default']}" if "default" in param else ""
    return f"{kind}{'?' if optional else ''} {param['name']}{default}"
