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

# Types of scalars in operators of PyTorch, by their names in type schemas.
_SCALARS = {"bool": "bool", "ffi.String": "str", "float": "float", "int": "int"}

# Platforms of XLA by types of devices.
_PLATFORMS = {"cuda": "CUDA", "rocm": "ROCM"}

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
    shapes.check(outputs, range(len(params)))
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
    module: Functions | tvm_ffi.Module, name: str, *, results: Sequence[str] | None = None, platform: str | None = None
) -> Callable[..., Any]:
    """Makes a function of arrays that calls a function in programs of XLA: by its handler, if the library was made with the
    option `register="xla"`, or else by way of jax-tvm-ffi.

    Its results are the tensors that the function writes to, in the order of the parameters. Those with `access=write`, or
    those that `results` names, are no arguments: XLA allocates them. Arrays of JAX do not change, so any other tensor that
    is declared with `access=update`, as all are without a word, is an argument whose memory XLA gives to a result, a copy
    where the array is used elsewhere: `input_output_aliases`. A tensor with `access=read` is an argument only.

    `jax.vmap` calls the function for one element of the batch after the other.

    By a handler, tensors that the function allocates are further results, and numbers and texts are keywords. `results` is
    for functions without one. `platform` is one of XLA's; it is that of the tensors' device, or else `cpu`.
    """
    import jax
    import jax.numpy as jnp

    from . import _xla

    declared = described(module, name)["declaration"]
    params, signature = declared["params"], declared["signature"]
    address = _xla.handler(module, name) if results is None else None
    form = "".join(_role(param, results, address is not None) for param in params)
    for result in results or ():
        if all(param["name"] != result or role != "w" for param, role in zip(params, form, strict=True)):
            raise ValueError(f"{name} writes to no tensor {result}")
    given = [index for index, role in enumerate(form) if role in "ru"]
    written = [index for index, role in enumerate(form) if role in "uw"]
    keywords = {params[index]["name"]: index for index, role in enumerate(form) if role == "k"}
    made = [params[index]["name"] for index in written if form[index] == "w"]
    outputs = [output["name"] for output in declared.get("outputs", [])] if address is not None else []
    if not (written or outputs):
        raise ValueError(f"{name} writes to no tensor")
    shapes = Shapes(declared, {"min": jax.core.min_dim, "max": jax.core.max_dim}, jnp.dtype)
    shapes.check(made + outputs, [*given, *keywords.values()])
    aliases = {given.index(index): place for place, index in enumerate(written) if form[index] == "u"}
    fixed: dict[str, Any] = {}
    own = _platform(params + declared.get("outputs", []))
    if address is not None and platform not in (None, own):
        raise ValueError(f"the handler of {name} is for the platform {own}, not for {platform}")
    platform = platform or own
    if address is not None:
        target = _xla.target(address, signature, platform)
    else:
        from . import _jax

        target, fixed["function"] = _jax.target(function_of(getattr(module, name)), signature, form, platform)

    def call(*args: Any, **attributes: Any) -> Any:
        if len(args) != len(given):
            takes = ", ".join(params[index]["name"] for index in given)
            raise TypeError(f"{name} takes {len(given)} arrays, {takes}, but {len(args)} were given")
        all_args: list[Any] = [None] * len(params)
        for index, arg in zip(given, args, strict=True):
            all_args[index] = arg
        for keyword, value in attributes.items():
            if keyword not in keywords:
                raise TypeError(f"{name} has no keyword {keyword}: there is {', '.join(keywords) or 'none'}")
            all_args[keywords[keyword]] = value
        allocated = iter(shapes.of(made + outputs, all_args))
        updated = [(arg.shape, arg.dtype) if role == "u" else None for role, arg in zip(form, all_args, strict=True)]
        types = [jax.ShapeDtypeStruct(*(updated[index] or next(allocated))) for index in written]
        types += [jax.ShapeDtypeStruct(*one) for one in allocated]
        run = jax.ffi.ffi_call(
            target, types[0] if len(types) == 1 else types, input_output_aliases=aliases, vmap_method="sequential"
        )
        with jax.named_scope(name):
            return run(*args, **attributes, **fixed)

    return call


def _platform(declared: Sequence[dict[str, Any]]) -> str:
    """Returns XLA's name of the platform that tensors are declared for; the cpu where none says so."""
    devices = {one["tensor"]["device"] for one in declared if "tensor" in one} & _PLATFORMS.keys()
    return _PLATFORMS[devices.pop()] if len(devices) == 1 else "cpu"


def _role(param: dict[str, Any], results: Sequence[str] | None, has_handler: bool) -> str:
    """Returns what a parameter is in a call of XLA: `r` an argument, `u` an argument whose memory a result gets, `w` a
    result, `k` a keyword, `s` the stream of the call."""
    access = _access(param)
    if has_handler and "tensor" not in param:
        return "s" if param["type"] == "Stream" else "k"
    if access != "read" and (param["name"] in results if results is not None else access == "write"):
        return "w"
    return "r" if access == "read" else "u"


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
