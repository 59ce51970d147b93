"""Functions as operators of frameworks, made from their metadata.

    add = torch_op(module, "add")          # torch.compile(fullgraph=True) sees through it
    add_one = jax_target(module, "add_one")                 # under jax.jit

The shapes of results come from the declaration: from `-> out: Tensor([n, 2 * m], float32)`, or from the tensors that a
function writes to. Which tensors these are the declaration says, too: all but those with `access=read`. PyTorch and JAX are
imported by the functions that use them.
"""

from __future__ import annotations

import json
from collections.abc import Callable, Sequence
from typing import Any

import tvm_ffi

from ._api import jit
from ._calls import function_of
from ._functions import Functions, metadata
from ._shapes import Shapes

# What PyTorch knows operators by.
_LIBRARIES: list[Any] = []

# Targets of jax-tvm-ffi, which has a place for each of about a thousand functions per process and keeps names and functions:
# a function by its object, the platform, and the places of arguments that it updates. The function is kept so that no other
# gets its address.
_TARGETS: dict[tuple[int, str, tuple[int, ...]], tuple[str, Any]] = {}

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


def torch_op(module: Functions | tvm_ffi.Module, name: str, *, namespace: str = "tvm_ffi_codegen") -> Any:
    """Makes an operator of PyTorch with a fake implementation. Its schema says that it writes to all tensors that it is
    given, `Tensor(a!)`, but those that are declared with `access=read`. The operator has no derivative: PyTorch warns where
    one is asked for."""
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
    arguments = ", ".join(_argument(index, param, ty) for index, (param, ty) in listed)
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
    module: Functions | tvm_ffi.Module, name: str, *, results: Sequence[str] | None = None, platform: str = "cpu"
) -> Callable[..., Any]:
    """Registers a function with jax-tvm-ffi, and returns a function of arrays that calls it.

    Its results are the tensors that the function writes to, in the order of the parameters. Arrays of JAX do not change, so
    a tensor that is declared with `access=update`, as all are without a word, is an argument whose memory XLA gives to a
    result, a copy where the array is used elsewhere: `input_output_aliases`. The last parameters, those with
    `access=write`, or those that `results` names, are no arguments: XLA allocates them. A tensor with `access=read` is an
    argument only.
    """
    import jax
    import jax.numpy as jnp

    declared = described(module, name)["declaration"]
    params = declared["params"]
    names = [param["name"] for param in params]
    if results is None:
        results = [param["name"] for param in params if _access(param) == "write"]
    if names[len(names) - len(results) :] != list(results):
        raise ValueError(f"results are the last parameters of {name}, which are {', '.join(names)}")
    given = params[: len(names) - len(results)]
    updated = tuple(index for index, param in enumerate(given) if _access(param) != "read")
    if not (updated or results):
        raise ValueError(f"{name} writes to no tensor")
    shapes = Shapes(declared, {"min": jax.core.min_dim, "max": jax.core.max_dim}, jnp.dtype)
    shapes.check(results, len(given))
    target = _target(function_of(getattr(module, name)), name, platform, len(given), updated, len(results))

    def call(*args: Any) -> Any:
        same = [jax.ShapeDtypeStruct(args[index].shape, args[index].dtype) for index in updated]
        made = same + [jax.ShapeDtypeStruct(shape, dtype) for shape, dtype in shapes.of(results, args)]
        aliases = {index: place for place, index in enumerate(updated)}
        return jax.ffi.ffi_call(target, made[0] if len(made) == 1 else made, input_output_aliases=aliases)(*args)

    return call


def _target(
    function: tvm_ffi.Function, name: str, platform: str, arguments: int, updated: tuple[int, ...], results: int
) -> str:
    """Registers a function with jax-tvm-ffi, once; returns the name of the target. `updated` are the places of arguments
    that are results, too."""
    import jax_tvm_ffi

    key = (function.__chandle__(), platform, updated)
    if key not in _TARGETS:
        target = f"tvm_ffi_codegen.{name}.{len(_TARGETS)}"
        called = _without_aliases(function, arguments, updated, results) if updated else function
        jax_tvm_ffi.register_ffi_target(target, called, ["args", "rets"], platform=platform)
        _TARGETS[key] = (target, function)
    return _TARGETS[key][0]


def _without_aliases(
    function: tvm_ffi.Function, arguments: int, updated: tuple[int, ...], results: int
) -> tvm_ffi.Function:
    """Returns a function of all arguments and all results of a target that calls this one with each tensor once: what is
    updated comes as the result, whose memory is that of the argument or a copy of it."""
    taken = [f"a{index}" for index in range(arguments)]
    passed = list(taken)
    yielded = [f"r{place}" for place in range(len(updated) + results)]
    for place, index in enumerate(updated):
        passed[index] = yielded[place]
    passed += yielded[len(updated) :]
    params = ", ".join(f"{param}: Any" for param in taken + yielded)
    text = (
        "of(f: Function) -> Function"
        f" = {{ return function ({params}) -> None {{ @(f)({', '.join(passed)}); }}; }};"
    )
    made: tvm_ffi.Function = jit(text).of(function)
    return made


def _access(param: dict[str, Any]) -> str:
    """Returns what a function does with the elements of a parameter; what is no tensor is only read."""
    tensor = param.get("tensor")
    access: str = "read" if tensor is None else tensor.get("access", "update")
    return access


def _argument(index: int, param: dict[str, Any], ty: dict[str, Any]) -> str:
    """Returns a parameter in a schema of PyTorch; `ty` is its type in the type schema of the function."""
    optional = ty["type"] == "Optional"
    inner = ty["args"][0]["type"] if optional else ty["type"]
    if "tensor" in param:
        kind = "Tensor" if _access(param) == "read" else f"Tensor(a{index}!)"
    elif inner in _SCALARS:
        kind = _SCALARS[inner]
    else:
        raise TypeError(f"{param['name']} is of type {param['type']}, which no operator takes")
    default = f"={param['default']}" if "default" in param else ""
    return f"{kind}{'?' if optional else ''} {param['name']}{default}"
