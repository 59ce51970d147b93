"""Functions as operators of frameworks, made from their metadata.

    add = torch_op(module, "add")          # torch.compile(fullgraph=True) sees through it
    add_one = jax_target(module, "add_one", results=["y"])  # under jax.jit

The shapes of results come from the declaration: from `-> out: Tensor([n, 2 * m], float32)`, or from the named tensors
that a function writes to. PyTorch and JAX are imported by the functions that use them.
"""

from __future__ import annotations

import json
from collections.abc import Callable, Sequence
from typing import Any

import tvm_ffi

from ._calls import function_of
from ._functions import Functions, metadata
from ._shapes import Shapes

# What PyTorch knows operators by.
_LIBRARIES: list[Any] = []

# Targets of jax-tvm-ffi, which has a place for each of about a thousand functions per process and keeps names and functions:
# a function by its object, and the platform. The function is kept so that no other gets its address.
_TARGETS: dict[tuple[int, str], tuple[str, Any]] = {}

# Types of scalars in operators of PyTorch, by their names in type schemas.
_SCALARS = {"bool": "bool", "ffi.String": "str", "float": "float", "int": "int"}

# Types of devices that PyTorch names otherwise; None is any type.
_DEVICES = {"any": None, "rocm": "cuda"}


def described(module: Functions | tvm_ffi.Module, name: str) -> dict[str, Any]:
    """Returns the metadata of a function; `codegen::metadata` lists the keys."""
    found = metadata(module, name)
    if found is None:
        raise ValueError(f"{name} has no metadata")
    return dict(json.loads(found) if isinstance(found, str) else found)


def torch_op(
    module: Functions | tvm_ffi.Module, name: str, *, mutates: Sequence[str] = (), namespace: str = "tvm_ffi_codegen"
) -> Any:
    """Makes an operator of PyTorch with a fake implementation. `mutates` names the tensors that the function writes. The
    operator has no derivative: PyTorch warns where one is asked for."""
    import torch

    found = described(module, name)
    declared, function = found["declaration"], getattr(module, name)
    params, allocated = declared["params"], declared.get("outputs", [])
    # Schemas have no other names.
    for kind, named in [("operator", name), *(("argument", param["name"]) for param in params)]:
        if not (named.isascii() and named.isidentifier()):
            raise ValueError(f"no {kind} of PyTorch can be called `{named}`")
    outputs = [output["name"] for output in allocated]
    # What a function without parameters takes has another key.
    types = json.loads(found["type_schema"]).get("args", [])[1:]
    if not outputs and declared["result"] != "None":
        raise TypeError(f"{name} yields {declared['result']}, which is no tensor that it allocates")

    def run(*args: Any) -> Any:
        result = function(*args)
        if not outputs:
            return None
        found = [result] if len(outputs) == 1 else list(result)
        tensors = [one if torch.is_tensor(one) else torch.from_dlpack(one) for one in found]
        return tensors[0] if len(outputs) == 1 else tuple(tensors)

    def fake(*args: Any) -> Any:
        found = zip(allocated, shapes.of(outputs, args), strict=True)
        made = [torch.empty(shape, dtype=dtype, device=device(one["tensor"], args)) for one, (shape, dtype) in found]
        return None if not made else made[0] if len(made) == 1 else tuple(made)

    def device(tensor: dict[str, Any], args: Sequence[Any]) -> Any:
        """Returns the device of a result: that of the first tensor on a device of its type."""
        ty = _DEVICES.get(tensor["device"], tensor["device"])
        devices = (arg.device for arg in args if torch.is_tensor(arg))
        return next((one for one in devices if ty in (None, one.type)), ty or "cpu")

    def dtype(name: str) -> Any:
        if not isinstance(found := getattr(torch, name, None), torch.dtype):
            raise TypeError(f"PyTorch has no element type {name}")
        return found

    shapes = Shapes(declared, {"min": torch.sym_min, "max": torch.sym_max}, dtype)
    shapes.check(outputs, len(params))
    listed = enumerate(zip(params, types, strict=True))
    arguments = ", ".join(_argument(index, param, ty, param["name"] in mutates) for index, (param, ty) in listed)
    result = "()" if not outputs else "Tensor" if len(outputs) == 1 else f"({', '.join(['Tensor'] * len(outputs))})"
    # An operator of `torch.library.custom_op` would do more in Python at each call.
    library = torch.library.Library(namespace, "FRAGMENT")
    library.define(f"{name}({arguments}) -> {result}", tags=torch.Tag.pt2_compliant_tag)
    library.impl(name, run, "CompositeExplicitAutograd")
    torch.library.register_fake(f"{namespace}::{name}", fake, lib=library)
    # The operator is gone with its library.
    _LIBRARIES.append(library)
    return getattr(getattr(torch.ops, namespace), name).default


def jax_target(
    module: Functions | tvm_ffi.Module, name: str, *, results: Sequence[str], platform: str = "cpu"
) -> Callable[..., Any]:
    """Registers a function with jax-tvm-ffi, and returns a function of arrays that calls it. `results` names its last
    parameters, the tensors that XLA allocates and the function fills."""
    import jax
    import jax.numpy as jnp
    import jax_tvm_ffi

    declared = described(module, name)["declaration"]
    names = [param["name"] for param in declared["params"]]
    if not results or names[-len(results) :] != list(results):
        raise ValueError(f"results are the last parameters of {name}, which are {', '.join(names)}")
    shapes = Shapes(declared, {"min": jax.core.min_dim, "max": jax.core.max_dim}, jnp.dtype)
    shapes.check(results, len(names) - len(results))
    function = function_of(getattr(module, name))
    key = (function.__chandle__(), platform)
    if key not in _TARGETS:
        target = f"tvm_ffi_codegen.{name}.{len(_TARGETS)}"
        jax_tvm_ffi.register_ffi_target(target, function, ["args", "rets"], platform=platform)
        _TARGETS[key] = (target, function)
    target, _ = _TARGETS[key]

    def call(*args: Any) -> Any:
        made = [jax.ShapeDtypeStruct(shape, dtype) for shape, dtype in shapes.of(results, args)]
        return jax.ffi.ffi_call(target, made[0] if len(made) == 1 else made)(*args)

    return call


def _argument(index: int, param: dict[str, Any], ty: dict[str, Any], mutated: bool) -> str:
    """Returns a parameter in a schema of PyTorch; `ty` is its type in the type schema of the function."""
    optional = ty["type"] == "Optional"
    inner = ty["args"][0]["type"] if optional else ty["type"]
    if "tensor" in param:
        kind = f"Tensor(a{index}!)" if mutated else "Tensor"
    elif inner in _SCALARS:
        kind = _SCALARS[inner]
    else:
        raise TypeError(f"{param['name']} is of type {param['type']}, which no operator takes")
    default = f"={param['default']}" if "default" in param else ""
    return f"{kind}{'?' if optional else ''} {param['name']}{default}"
