"""Functions for Python compilers, which make a kernel where they are defined."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

from . import _api


def function(declaration: str) -> Callable[[Callable[[], Any]], Any]:
    """Makes a function of TVM FFI of a declaration and what yields its kernel.

        @tvm_ffi_codegen.function("add_one(x: Tensor([n], float32)) -> None = k(x.data, n);")
        def add_one():
            return compile_kernel(...)  # what `jit` takes as a kernel; a mapping where there are several

    The declaration has one function; its name may be another than that in Python. What is below runs at once.
    """

    def of(make: Callable[[], Any]) -> Any:
        made = make()
        if isinstance(made, dict):
            kernels = made
        else:
            symbols = _api.inspect(_api.emit(declaration))["undefined"]
            names = [one["name"] for one in symbols if not one["name"].startswith("TVMFFI")]
            if len(names) != 1:
                raise TypeError(f"{make.__name__} returns one kernel, but the declaration calls {', '.join(names) or 'none'}")
            kernels = {names[0]: made}
        module = _api.jit(declaration, kernels)
        name = next(one["name"] for one in _api.inspect(_api.emit(declaration))["functions"])
        return getattr(module, name)

    return of
