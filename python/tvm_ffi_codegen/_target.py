"""Functions of arrays that call functions in programs of XLA."""

from __future__ import annotations

import functools
import inspect
import json
from collections.abc import Mapping, Sequence
from typing import Any

import jax
import jax.numpy as jnp
import numpy as np
import tvm_ffi

from . import _xla
from ._calls import function_of
from ._functions import Functions, docs
from ._literals import literal
from ._shapes import Shapes, access, described
from ._words import is_word

# Platforms of XLA by types of devices.
_PLATFORMS = {"cuda": "CUDA", "rocm": "ROCM"}

# Types, in schemas of the runtime, of what takes the tensors that jax-tvm-ffi passes; `handle` is `Any` there.
_TENSORS = {"DLTensor*", "Any"}


class Target:
    """A function of arrays; see `frameworks.jax_target`."""

    target: str
    """The name by which programs know it, as in `jax.export.DisabledSafetyCheck.custom_call`."""

    def __init__(
        self,
        module: Functions | tvm_ffi.Module,
        name: str,
        results: Sequence[str] | None,
        platform: str | None,
        graph: bool,
        target: str | None,
        **options: Any,
    ) -> None:
        handler = _xla.handler(module, name) if results is None else None
        declared = _without_handler(module, name) if handler is None else handler.declaration
        params, signature = declared["params"], declared["signature"]
        form = self._form = "".join(_role(param, results, handler is not None) for param in params)
        for result in results or ():
            if all(param["name"] != result or role != "w" for param, role in zip(params, form, strict=True)):
                raise ValueError(f"{name} writes to no tensor {result}")
        given = [index for index, role in enumerate(form) if role in "ru"]
        written = [index for index, role in enumerate(form) if role in "uw"]
        self._arrays = {params[index]["name"]: index for index in given}
        self._keywords = {params[index]["name"]: index for index, role in enumerate(form) if role == "k"}
        self._defaults = {key: _default(params[index]) for key, index in self._keywords.items()}
        outputs = declared.get("outputs", [])
        self._made = [params[index]["name"] for index in written if form[index] == "w"]
        self._made += [output["name"] for output in outputs]
        if not (written or outputs):
            raise ValueError(f"{name} writes to no tensor")
        self._shapes = Shapes(declared, {"min": jax.core.min_dim, "max": jax.core.max_dim}, jnp.dtype)
        self._shapes.check(self._made, [*given, *self._keywords.values()])
        aliases = {given.index(index): place for place, index in enumerate(written) if form[index] == "u"}
        self._options = {"input_output_aliases": aliases, **options}
        own = _platform(params + outputs)
        # The attribute by which a target of several functions knows which is meant.
        self._fixed: dict[str, Any] = {}
        if handler is not None:
            if platform not in (None, own, "cpu" if own == "cpu" else "gpu"):
                raise ValueError(f"the handler of {name} is for the platform {own}, not for {platform}")
            self.target = _xla.target(handler, own, graph, target)
        else:
            from . import _jax

            function = function_of(getattr(module, name))
            self.target, key = _jax.target(function, signature, form, platform or own, graph, target)
            self._fixed["function"] = key
        self.__name__ = self.__qualname__ = name
        self.__doc__ = "\n\n".join(filter(None, [signature, docs(module, name)]))
        if all(map(is_word, [*self._arrays, *self._keywords])):
            self.__signature__ = self._signature()

    def __call__(self, /, *args: Any, **named: Any) -> Any:
        arrays, attributes = self._sorted_out(args, named)
        values: list[Any] = [None] * len(self._form)
        for key, value in arrays.items():
            values[self._arrays[key]] = value
        for key, index in self._keywords.items():
            value = attributes.get(key, self._defaults[key])
            if value is not inspect.Parameter.empty:
                values[index] = value.tolist() if isinstance(value, np.ndarray) else value
        made = iter(self._shapes.of(self._made, values))
        written = [(role, value) for role, value in zip(self._form, values, strict=True) if role in "uw"]
        types = [next(made) if role == "w" else (value.shape, value.dtype) for role, value in written]
        results = tuple(jax.ShapeDtypeStruct(*one) for one in [*types, *made])
        run = jax.ffi.ffi_call(self.target, results[0] if len(results) == 1 else results, **self._options)
        with jax.named_scope(self.__name__):
            return run(*arrays.values(), **attributes, **self._fixed)

    def __repr__(self) -> str:
        return f"<{self.__name__} as the target {self.target} of XLA>"

    def _signature(self) -> inspect.Signature:
        """Returns the signature of calls: arrays, and behind them keywords."""
        arrays = [inspect.Parameter(key, inspect.Parameter.POSITIONAL_OR_KEYWORD) for key in self._arrays]
        keyword = functools.partial(inspect.Parameter, kind=inspect.Parameter.KEYWORD_ONLY)
        return inspect.Signature([*arrays, *(keyword(key, default=of) for key, of in self._defaults.items())])

    def _sorted_out(self, args: Sequence[Any], named: Mapping[str, Any]) -> tuple[dict[str, Any], dict[str, Any]]:
        """Returns the arrays, in the order of the parameters, and the attributes of a call."""
        name, arrays = self.__name__, dict(zip(self._arrays, args, strict=False))
        attributes: dict[str, Any] = {}
        for key, value in named.items():
            if key in arrays:
                raise TypeError(f"{name} has got {key} twice")
            if key in self._arrays:
                arrays[key] = value
            elif key not in self._keywords:
                raise TypeError(f"{name} has no keyword {key}: there is {', '.join(self._keywords) or 'none'}")
            elif value is not None:
                attributes[key] = _attribute(value, f"{key} of {name}")
            elif self._defaults[key] not in (None, inspect.Parameter.empty):
                default = self._defaults[key]
                raise TypeError(f"{key} of {name} cannot be None: XLA has no None, and {default!r} is the default")
        if len(args) > len(self._arrays) or len(arrays) < len(self._arrays):
            given = len(args) + len(arrays.keys() & named.keys())
            takes = f"{len(self._arrays)} arrays, {', '.join(self._arrays)}"
            raise TypeError(f"{name} takes {takes}, but {given} were given")
        return {key: _array(arrays[key]) for key in self._arrays}, attributes


def _array(value: Any) -> Any:
    """Returns an array of JAX, or a tracer, as it is, and makes one of anything else."""
    return value if isinstance(value, jax.Array) else jnp.asarray(value)


def _attribute(value: Any, what: str) -> Any:
    """Returns a value as an attribute of XLA: a number, a text, or an array of numbers. `what` names it in errors."""
    if any(isinstance(leaf, jax.core.Tracer) for leaf in jax.tree.leaves(value)):
        raise TypeError(f"{what} is a tracer, no constant, as which `static_argnames` of `jax.jit` passes it")
    if isinstance(value, (list, tuple, range)) or getattr(value, "ndim", 0) > 0:
        return _numbers(np.asarray(value), what)
    if isinstance(value, (np.ndarray, np.generic, jax.Array)):
        value = np.asarray(value).item()
    if not isinstance(value, (int, float, str, bytes)):
        raise TypeError(f"{what} is {value!r}, no number, text or list of numbers")
    if isinstance(value, int) and not -(2**63) <= value < 2**63:
        raise ValueError(f"{what} is {value}, which is no int64, as numbers of XLA are")
    return value


def _numbers(array: np.ndarray[Any, Any], what: str) -> np.ndarray[Any, Any]:
    """Returns a list of numbers of an element type that attributes of XLA have."""
    if array.ndim != 1:
        raise TypeError(f"{what} has {array.ndim} dimensions, and a list has one")
    if array.dtype == bool:
        return array.astype("uint8")
    if array.dtype.itemsize < 4 and jnp.issubdtype(array.dtype, jnp.floating):
        return array.astype("float32")
    if array.dtype.kind not in "iuf":
        raise TypeError(f"{what} is a list of {array.dtype}, not of integers, floats or bool")
    return array


def _default(param: Mapping[str, Any]) -> Any:
    """Returns what a keyword is without an argument; `Parameter.empty` if it needs one."""
    if "default" in param:
        return literal(param["default"])
    return None if param["type"].startswith("Optional[") else inspect.Parameter.empty


def _without_handler(module: Functions | tvm_ffi.Module, name: str) -> dict[str, Any]:
    """Returns the declaration of a function without a handler. Raises a `ValueError` if it has a parameter that is no
    tensor, or yields something."""
    found = described(module, name)
    declared: dict[str, Any] = found["declaration"]
    # What a function without parameters takes has another key.
    types = json.loads(found["type_schema"]).get("args", [])[1:]
    params = zip(declared["params"], types, strict=True)
    others = [f"takes {param['name']}: {param['type']}" for param, ty in params if not _takes_tensor(ty)]
    others += [] if declared["result"] == "None" else [f"yields {declared['result']}"]
    if others:
        raise ValueError(
            f"{name} {others[0]}, but jax-tvm-ffi passes parameters `Tensor([…], …)` only; a handler of XLA passes more: "
            'make the library with the option register="xla", and leave `results` out'
        )
    return declared


def _takes_tensor(ty: Mapping[str, Any]) -> bool:
    """Returns true if a parameter of a type, in a schema of the runtime, takes a tensor that jax-tvm-ffi passes."""
    return ty["type"] in _TENSORS or ty["type"] in ("Optional", "Variant") and any(map(_takes_tensor, ty["args"]))


def _platform(declared: Sequence[dict[str, Any]]) -> str:
    """Returns XLA's name of the platform that tensors are declared for; the cpu where none says so."""
    devices = {one["tensor"]["device"] for one in declared if "tensor" in one} & _PLATFORMS.keys()
    return _PLATFORMS[devices.pop()] if len(devices) == 1 else "cpu"


def _role(param: dict[str, Any], results: Sequence[str] | None, has_handler: bool) -> str:
    """Returns what a parameter is in a call of XLA: `r` an argument, `u` an argument whose memory a result gets, `w` a
    result, `k` a keyword, `s` the stream of the call."""
    how = access(param)
    if has_handler and "tensor" not in param:
        return "s" if param["type"] == "Stream" else "k"
    if how != "read" and (param["name"] in results if results is not None else how == "write"):
        return "w"
    return "r" if how == "read" else "u"
