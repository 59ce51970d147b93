"""The decorator `function`: a declaration, and below it the Python function that makes its kernel."""

from __future__ import annotations

from collections.abc import Callable, Mapping
from typing import Any

from . import _api
from ._kernels import Path_


def function(
    declaration: str, *, images: Mapping[str, Path_ | bytes] | None = None, **options: Any
) -> Callable[[Callable[[], Any]], Callable[..., Any]]:
    """Compiles a declaration of one function with the kernel that the decorated Python function returns.

        @tvm_ffi_codegen.function("add_one(x: Tensor([n], float32)) -> None = k(x.data, n);")
        def add_one():
            return compile_kernel(...)  # what `jit` takes as a kernel; a mapping where there are several

    The name of the declared function may differ from that in Python. The decorated function runs at once. It returns
    images like kernels, unless `images` has them; the other options are those of `jit`.
    """

    def of(make: Callable[[], Any]) -> Callable[..., Any]:
        described = _api.describe(declaration)
        names = [one["name"] for one in described["functions"]]
        if len(names) != 1:
            raise ValueError(f"the declaration has {len(names)} functions, expected one; `jit` makes modules of several")
        given = dict(images or {})
        kernels = [one["name"] for one in described["kernels"]]
        missing = [name for name in described["images"] if name not in given]
        made = _made(make, kernels, missing)
        given |= {name: made.pop(name) for name in missing if name in made and name not in kernels}
        return _api.jit(declaration, made, images=given, **options)[names[0]]

    return of


def _made(make: Callable[[], Any], kernels: list[str], images: list[str]) -> dict[str, Any]:
    """Calls the decorated function and returns its kernels and images by name."""
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
