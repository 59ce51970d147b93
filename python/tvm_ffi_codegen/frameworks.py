"""Functions as operators of frameworks, made from their metadata.

    add = torch_op(module, "add")          # torch.compile(fullgraph=True) sees through it
    add_one = jax_target(module, "add_one", results=["y"])  # under jax.jit

The shapes of results come from the declaration: from `-> out: Tensor([n, 2 * m], float32)`, or from the named tensors
that a function writes to. PyTorch and JAX are imported by the functions that use them.
"""

from __future__ import annotations

import json
import math
import re
from collections.abc import Callable, Sequence
from typing import Any

import tvm_ffi

from ._calls import function_of
from ._functions import Functions, metadata

_BUILTINS: dict[str, Any] = {
    "__builtins__": {},
    "min": min,
    "max": max,
    "ceildiv": lambda a, b: -(-a // b),
}

# What PyTorch knows operators by.
_LIBRARIES: list[Any] = []

# Targets of jax-tvm-ffi, which has a place for each of about a thousand functions per process and keeps names and functions:
# a function by its object, and the platform. The function is kept so that no other gets its address.
_TARGETS: dict[tuple[int, str], tuple[str, Any]] = {}

_SCALARS = {"bool": "bool", "str": "str", "float": "float", "int": "int", "uint": "int"}


def declaration(module: Functions | tvm_ffi.Module, name: str) -> dict[str, Any]:
    """Returns the declaration in the metadata of a function; `codegen::metadata` lists the keys."""
    found = metadata(module, name)
    if found is None:
        raise ValueError(f"{name} has no metadata")
    found = json.loads(found) if isinstance(found, str) else found
    return dict(found["declaration"])


def torch_op(
    module: Functions | tvm_ffi.Module, name: str, *, mutates: Sequence[str] = (), namespace: str = "tvm_ffi_codegen"
) -> Any:
    """Makes an operator of PyTorch with a fake implementation. `mutates` names the tensors that the function writes. The
    operator has no derivative: PyTorch warns where one is asked for."""
    import torch

    declared = declaration(module, name)
    function = getattr(module, name)
    params, outputs = declared["params"], declared.get("outputs", [])
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
        shapes = _shapes(outputs, _sizes(params, args), _dtypes(params, args), torch)
        first = next(arg for arg in args if torch.is_tensor(arg))
        made = [first.new_empty(shape, dtype=dtype) for shape, dtype in shapes]
        return None if not made else made[0] if len(made) == 1 else tuple(made)

    arguments = ", ".join(_argument(index, param, param["name"] in mutates) for index, param in enumerate(params))
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

    params = declaration(module, name)["params"]
    names = [param["name"] for param in params]
    if not results or names[-len(results) :] != list(results):
        raise ValueError(f"results are the last parameters of {name}, which are {', '.join(names)}")
    function = function_of(getattr(module, name))
    key = (function.__chandle__(), platform)
    if key not in _TARGETS:
        target = f"tvm_ffi_codegen.{name}.{len(_TARGETS)}"
        jax_tvm_ffi.register_ffi_target(target, function, ["args", "rets"], platform=platform)
        _TARGETS[key] = (target, function)
    target, _ = _TARGETS[key]
    given, written = params[: -len(results)], params[-len(results) :]

    def call(*args: Any) -> Any:
        known = _shapes(written, _sizes(given, args), _dtypes(given, args), jnp)
        shapes = [jax.ShapeDtypeStruct(shape, dtype) for shape, dtype in known]
        return jax.ffi.ffi_call(target, shapes[0] if len(shapes) == 1 else shapes)(*args)

    return call


def _argument(index: int, param: dict[str, Any], mutated: bool) -> str:
    default = f"={param['default']}" if "default" in param else ""
    if "tensor" in param:
        kind = f"Tensor({chr(97 + index)}!)" if mutated else "Tensor"
        optional = "?" if param["type"].startswith("Optional[") else ""
        return f"{kind}{optional} {param['name']}{default}"
    scalar = _SCALARS.get(re.sub(r"\d+$", "", param["type"]))
    if scalar is None:
        raise TypeError(f"{param['name']} is of type {param['type']}, which no operator takes")
    return f"{scalar} {param['name']}{default}"


def _sizes(params: Sequence[dict[str, Any]], args: Sequence[Any]) -> dict[str, Any]:
    """Returns the values of symbols, from the extents of tensors, and those of integer arguments."""
    sizes: dict[str, Any] = {}
    for param, arg in zip(params, args, strict=False):
        if "tensor" not in param:
            sizes.setdefault(param["name"], arg)
            continue
        if arg is None:
            continue
        for dim, extent in _extents(param["tensor"]["shape"] or [], arg.shape):
            if re.fullmatch(r"`?[A-Za-z_]\w*`?", dim) and dim != "_":
                sizes.setdefault(dim.strip("`"), extent)
    return sizes


def _extents(dims: Sequence[str], extents: Sequence[Any]) -> list[tuple[str, Any]]:
    """Returns the declared dims with their extents. After `...` they are the last ones; `n...` is all before the others."""
    if not dims or not dims[0].endswith("..."):
        return list(zip(dims, extents, strict=False))
    last = dims[1:]
    leading = max(len(extents) - len(last), 0)
    outer = [(dims[0].removesuffix("..."), math.prod(extents[:leading]))] if dims[0] != "..." else []
    return [*outer, *zip(last, extents[leading:], strict=False)]


def _dtypes(params: Sequence[dict[str, Any]], args: Sequence[Any]) -> dict[str, Any]:
    """Returns the element types that symbols stand for."""
    dtypes: dict[str, Any] = {}
    for param, arg in zip(params, args, strict=False):
        symbol = param.get("tensor", {}).get("dtype_symbol")
        if symbol is not None and arg is not None:
            dtypes.setdefault(symbol, arg.dtype)
    return dtypes


def _shapes(
    tensors: Sequence[dict[str, Any]], sizes: dict[str, Any], dtypes: dict[str, Any], package: Any
) -> list[tuple[tuple[Any, ...], Any]]:
    """Returns shape and element type of each tensor; `package` has the element types as attributes."""

    def extent(dim: str) -> Any:
        # The language's division is Python's floor division.
        return eval(dim.replace("`", "").replace("/", "//"), _BUILTINS, sizes)  # noqa: S307

    found = []
    for one in tensors:
        tensor = one["tensor"]
        shape = tensor["shape"]
        if shape is None or "_" in shape or (shape and shape[0].endswith("...")):
            raise TypeError(f"the shape of {one['name']} is not known: {tensor['shape']}")
        symbol = tensor.get("dtype_symbol")
        dtype = getattr(package, tensor["dtype"]) if symbol is None else dtypes[symbol]
        found.append((tuple(extent(dim) for dim in tensor["shape"]), dtype))
    return found
