"""Functions for Python compilers, which make a kernel where they are defined."""

from __future__ import annotations

from collections.abc import Callable, Mapping
from typing import Any

from . import _api
from ._kernels import Path_


def function(
    declaration: str, *, images: Mapping[str, Path_ | bytes] | None = None, **options: Any
) -> Callable[[Callable[[], Any]], Any]:
    """Makes a function of TVM FFI of a declaration and what yields its kernel.

        @tvm_ffi_codegen.function("add_one(x: Tensor([n], float32)) -> None = k(x.data, n);")
        def add_one():
            return compile_kernel(...)  # what `jit` takes as a kernel; a mapping where there are several

    The declaration has one function; its name may be another than that in Python. What is below runs at once. Images are
    yielded likewise, or given beforehand as `images`; the rest are options of `jit`.
    """

    def of(make: Callable[[], Any]) -> Any:
        described = _api.describe(declaration)
        names = [one["name"] for one in described["functions"]]
        if len(names) != 1:
            raise ValueError(f"the declaration has {len(names)} functions, expected one; `jit` makes modules of several")
        given = dict(images or {})
        kernels = [one["name"] for one in described["kernels"]]
        missing = [name for name in described["images"] if name not in given]
        made = _made(make, kernels, missing)
        given |= {name: made.pop(name) for name in missing if name in made and name not in kernels}
        return _api.jit(declaration, made, images=given, **options).get_function(names[0])

    return of


def _made(make: Callable[[], Any], kernels: list[str], images: list[str]) -> dict[str, Any]:
    """What a function in Python yields, by name."""
    made = make()
    if isinstance(made, Mapping):
        return dict(made)
    wanted = kernels + images
    if made is None and not wanted:
        return {}
    if made is None or len(wanted) != 1:
        name = getattr(make, "__name__", repr(make))
        yields = "nothing" if made is None else "one kernel"
        raise TypeError(f"{name} returns {yields}, but the declaration calls {', '.join(wanted) or 'none'}")
    return {wanted[0]: made}
