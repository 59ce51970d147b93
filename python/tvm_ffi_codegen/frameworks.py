"""Functions as operators of frameworks, made from their metadata.

    add = torch_op(module, "add")          # torch.compile(fullgraph=True) sees through it
    operators = register_fakes(library)    # those that a library has registered itself
    add_one = jax_target(module, "add_one")                 # under jax.jit

The shapes of results come from the declaration: from `-> out: Tensor([n, 2 * m], float32)`, or from the tensors that a
function writes to. Which tensors these are the declaration says, too: all but those with `access=read`. PyTorch and JAX are
imported by the functions that use them.
"""

from __future__ import annotations

from collections.abc import Sequence
from typing import TYPE_CHECKING, Any

import tvm_ffi

from ._functions import Functions

if TYPE_CHECKING:
    from ._target import Target


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
    target: str | None = None,
    has_side_effect: bool = False,
    vmap_method: str | None = "sequential",
) -> Target:
    """Makes a function of arrays that calls a function in programs of XLA: by its handler, if the library was made with
    the option `register="xla"`, or else by way of jax-tvm-ffi.

    Its results are the tensors that the function writes to, in the order of the parameters: an array, or a tuple of
    several. Those with `access=write`, or those that `results` names, are no arguments: XLA allocates them. Arrays of
    JAX do not change, so any other tensor that is declared with `access=update`, as all are without a word, is an
    argument whose memory XLA gives to a result, a copy where the array is used elsewhere: `input_output_aliases`. A
    tensor with `access=read` is an argument only. What is no array of JAX becomes one by `jnp.asarray`.

    By a handler, tensors that the function allocates are further results, and numbers, texts, and lists of numbers are
    keywords, constants of the program; None is a keyword that is missing. A function that returns a closure is called
    with these when XLA makes a program; the program's calls are those of the closure, whose numbers and texts are
    keywords, too. `results` is for functions without a handler. `platform` is `cpu`, `gpu` or XLA's name of one; it is
    that of the tensors' device, or else `cpu`.

    `target` is a name by which programs know the function, also those that are exported or that JAX keeps on disk. It
    is yours to keep unique, and an error if this process has given it to another function. Without it, the name follows
    from the code of the library that has the handler: the same in each process that has loaded an equal file, and in no
    other, where XLA finds no target. If there is no library, as for those of `jit` whose kernels are addresses, or no
    handler, it follows from the signature and from how many functions of an equal one were asked for before, whatever
    their code. XLA's name is the attribute `target` of what is returned, for
    `jax.export.DisabledSafetyCheck.custom_call`.

    With `graph` XLA may capture calls in its command buffers, which are graphs of CUDA, and run those instead of
    calling again. That is right for a function whose calls with the same extents and keywords launch the same, and
    which allocates nothing but its results; its images are best loaded before, by the function that the option
    `prepare` names.

    `has_side_effect` and `vmap_method` are those of `jax.ffi.ffi_call`: without another word `jax.vmap` calls the
    function for one element of the batch after the other.
    """
    from ._target import Target

    options = {"has_side_effect": has_side_effect, "vmap_method": vmap_method}
    return Target(module, name, results, platform, graph, target, **options)
