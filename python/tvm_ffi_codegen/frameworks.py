"""Functions as operators of frameworks, made from their metadata.

    add = torch_op(module, "add")          # torch.compile(fullgraph=True) sees through it
    operators = register_fakes(library)    # those that a library has registered itself
    add_one = jax_target(module, "add_one")                 # under jax.jit

The shapes of results come from the declaration: from `-> out: Tensor([n, 2 * m], float32)`, or from the tensors that a
function writes to. Which tensors these are the declaration says, too: all but those with `access=read`. PyTorch and JAX are
imported by the functions that use them.
"""

from __future__ import annotations

from collections.abc import Callable, Sequence
from typing import Any

import tvm_ffi

from ._calls import function_of
from ._functions import Functions
from ._shapes import Shapes, access, described

# Platforms of XLA by types of devices.
_PLATFORMS = {"cuda": "CUDA", "rocm": "ROCM"}


def register_fakes(library: Functions | tvm_ffi.Module) -> dict[str, Any]:
    """Gives PyTorch fake implementations of the operators of a library that was made with the option
    `register="torch=NAMESPACE"`, for `torch.compile` and `torch.export`; returns the operators by the names of their
    functions. Those that are there already stay, so that a second call does nothing more.

    Extents of results that are known after a call only, as in `-> Tensor([_, 2 * n], float32)`, are new dynamic sizes,
    and integers are new symbols. PyTorch compiles no other results, and no operator that writes to a tensor and yields
    an integer: their fake implementations raise a `NotImplementedError`. The library registers its operators itself when
    it is loaded; where PyTorch came later, this does so."""
    from . import _torch

    return {name: _torch.with_fake(library, namespace, name) for namespace, name in _torch.operators(library)}


def torch_op(module: Functions | tvm_ffi.Module, name: str, *, namespace: str | None = None) -> Any:
    """Makes an operator of PyTorch with a fake implementation: in the namespace, or that of the library if it was made with
    the option `register="torch=NAMESPACE"`, or else in `tvm_ffi_codegen`. The library's own operator calls no Python. Its
    schema says that it writes to all tensors that it is given, `Tensor(a!)`, but those that are declared with `access=read`.
    One in Python raises their version counters, so that autograd notices; the library's own does not.
    The operator has no derivative: PyTorch warns where one is asked for."""
    from . import _torch

    if namespace is None:
        own = [known for known, of in _torch.operators(module, missing=()) if of == name]
        if own:
            return _torch.with_fake(module, own[0], name)
    return _torch.define(module, name, namespace or "tvm_ffi_codegen")


def jax_target(
    module: Functions | tvm_ffi.Module,
    name: str,
    *,
    results: Sequence[str] | None = None,
    platform: str | None = None,
    graph: bool = False,
) -> Callable[..., Any]:
    """Makes a function of arrays that calls a function in programs of XLA: by its handler, if the library was made with the
    option `register="xla"`, or else by way of jax-tvm-ffi.

    Its results are the tensors that the function writes to, in the order of the parameters. Those with `access=write`, or
    those that `results` names, are no arguments: XLA allocates them. Arrays of JAX do not change, so any other tensor that
    is declared with `access=update`, as all are without a word, is an argument whose memory XLA gives to a result, a copy
    where the array is used elsewhere: `input_output_aliases`. A tensor with `access=read` is an argument only.

    `jax.vmap` calls the function for one element of the batch after the other.

    By a handler, tensors that the function allocates are further results, and numbers, texts, and lists of numbers are
    keywords. A function that returns a closure is called with these when XLA makes a program; the program's calls are those of the closure, whose
    numbers and texts are keywords, too. `results` is for functions without a handler. `platform` is `cpu`, `gpu` or XLA's
    name of one; it is that of the tensors' device, or else `cpu`.

    With `graph` XLA may capture calls in its command buffers, which are graphs of CUDA, and run those instead of calling
    again. That is right for a function whose calls with the same extents and keywords launch the same, and which allocates
    nothing but its results; its images are best loaded before, by the function that the option `prepare` names.
    """
    import jax
    import jax.numpy as jnp
    import numpy as np

    from . import _xla

    handler = _xla.handler(module, name) if results is None else None
    declared = described(module, name)["declaration"] if handler is None else handler.declaration
    params, signature = declared["params"], declared["signature"]
    form = "".join(_role(param, results, handler is not None) for param in params)
    for result in results or ():
        if all(param["name"] != result or role != "w" for param, role in zip(params, form, strict=True)):
            raise ValueError(f"{name} writes to no tensor {result}")
    given = [index for index, role in enumerate(form) if role in "ru"]
    written = [index for index, role in enumerate(form) if role in "uw"]
    keywords = {params[index]["name"]: index for index, role in enumerate(form) if role == "k"}
    made = [params[index]["name"] for index in written if form[index] == "w"]
    outputs = [output["name"] for output in declared.get("outputs", [])] if handler is not None else []
    if not (written or outputs):
        raise ValueError(f"{name} writes to no tensor")
    shapes = Shapes(declared, {"min": jax.core.min_dim, "max": jax.core.max_dim}, jnp.dtype)
    shapes.check(made + outputs, [*given, *keywords.values()])
    aliases = {given.index(index): place for place, index in enumerate(written) if form[index] == "u"}
    fixed: dict[str, Any] = {}
    own = _platform(params + declared.get("outputs", []))
    if handler is not None and platform not in (None, own, "cpu" if own == "cpu" else "gpu"):
        raise ValueError(f"the handler of {name} is for the platform {own}, not for {platform}")
    if handler is not None:
        target = _xla.target(handler, own, graph)
    else:
        from . import _jax

        function = function_of(getattr(module, name))
        target, fixed["function"] = _jax.target(function, signature, form, platform or own, graph)

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
            all_args[keywords[keyword]] = value.tolist() if isinstance(value, np.ndarray) else value
        allocated = iter(shapes.of(made + outputs, all_args))
        updated = [(arg.shape, arg.dtype) if role == "u" else None for role, arg in zip(form, all_args, strict=True)]
        types = [jax.ShapeDtypeStruct(*(updated[index] or next(allocated))) for index in written]
        types += [jax.ShapeDtypeStruct(*one) for one in allocated]
        run = jax.ffi.ffi_call(
            target, types[0] if len(types) == 1 else types, input_output_aliases=aliases, vmap_method="sequential"
        )
        # XLA has arrays where Python has lists.
        given_as = {key: np.asarray(one) if isinstance(one, (list, tuple)) else one for key, one in attributes.items()}
        with jax.named_scope(name):
            return run(*args, **given_as, **fixed)

    return call


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
