"""The object that is used in the place of a kernel."""

from __future__ import annotations

from collections import Counter
from collections.abc import Callable
from types import MethodType
from typing import Any, Protocol

from .._functions import Functions
from ._jit import Kernel


class Layer(Protocol):
    """Something that launches: a decorator, or the kernel itself."""

    @property
    def launch(self) -> Callable[..., Any]: ...


class Launcher:
    """A kernel of Triton that our host functions launch: `fast[grid](x, y, n, BLOCK=1024, num_warps=4)`.

    `handed_over` counts the calls that Triton has launched, since our launch could not do what they ask for, and `reasons`
    counts them by the reason. All else is the kernel's.
    """

    def __init__(self, kernel: Any, *, host: bool = False) -> None:
        self.kernel = kernel
        self.reasons: Counter[str] = Counter()
        # The outermost layer is looked up anew at each launch, since a layer replaces its function at the first one.
        self._jit, self._outer = _layers(kernel, self.reasons, host)
        self._hooks = self._jit.kernel.pre_run_hooks

    @property
    def handed_over(self) -> int:
        return self.reasons.total()

    def __getitem__(self, grid: Any) -> Callable[..., Any]:
        """Returns the function that launches this grid: one to three extents, or a function of the parameters."""
        if self._hooks or grid is None:
            self.reasons["add_pre_run_hook" if self._hooks else "no grid"] += 1
            launch: Callable[..., Any] = self.kernel[grid]
            return launch
        # A method passes keywords on as they come, where `functools.partial` makes a dictionary of them at each call.
        return MethodType(self._outer.launch, grid)

    def library(self) -> Functions:
        """Returns a function of the kernel's name for every host of TVM FFI: it takes what the kernel takes, and behind it the
        extents of the grid. It launches by itself the variants that were launched so far; for others it calls this object,
        by which Triton compiles them, with the options that are Triton's own. Raises `ValueError` before the first launch,
        which says what types the parameters have, and if launches were of several types."""
        return self._jit.library()

    def __getattr__(self, name: str) -> Any:
        # A copy under construction has no kernel yet.
        return getattr(self.__dict__.get("kernel"), name)

    def __repr__(self) -> str:
        return f"<launcher of {self._jit.kernel.__name__}, {self.handed_over} launches handed over>"


def launcher(kernel: Any, *, host: bool = False) -> Launcher:
    """Returns an object that is used as the kernel is, a `triton.JITFunction`, also under `@triton.heuristics` and
    `@triton.autotune`, and whose launches our host functions make.

    With `host` tensors in memory of the host are launched on as they are. Without it Triton asks the driver about each.
    """
    return Launcher(kernel, host=host)


class _Heuristics:
    """The launches of `@triton.heuristics`, which computes values of parameters."""

    def __init__(self, kernel: Any, inner: Layer) -> None:
        self.kernel, self.inner = kernel, inner

    def launch(self, grid: Any, /, *arguments: Any, **options: Any) -> Any:
        known = dict(zip(self.kernel.arg_names, arguments, strict=False))
        for name, compute in self.kernel.values.items():
            options[name] = compute({**known, "grid": grid, "warmup": False, **options})
        return self.inner.launch(grid, *arguments, **options)


class _Autotuner:
    """The launches of `@triton.autotune`, with what it has found to be best. Triton finds it by itself."""

    def __init__(self, kernel: Any, inner: Layer, reasons: Counter[str]) -> None:
        self.kernel, self.inner, self.reasons = kernel, inner, reasons

    def launch(self, grid: Any, /, *arguments: Any, **options: Any) -> Any:
        kernel = self.kernel
        named = dict(zip(kernel.arg_names, arguments, strict=False))
        config = kernel.configs[0] if len(kernel.configs) == 1 else kernel.cache.get(self.key(named, options))
        if config is None:
            self.reasons["tuning"] += 1
            return kernel.run(*arguments, grid=grid, warmup=False, **options)
        kernel.best_config = config
        found = config.all_kwargs()
        if config.pre_hook is not None:
            config.pre_hook({**named, "grid": grid, "warmup": False, **options, **found})
        return self.inner.launch(grid, *arguments, **options, **found)

    def key(self, named: dict[str, Any], options: dict[str, Any]) -> tuple[Any, ...]:
        """Returns the key under which the autotuner keeps what it has found."""
        known = {name: value for name, value in {**named, **options}.items() if name in self.kernel.arg_names}
        key = [known[name] for name in self.kernel.keys if name in known]
        return (*key, *[str(value.dtype) for value in known.values() if hasattr(value, "dtype")])


def _layers(kernel: Any, reasons: Counter[str], host: bool) -> tuple[Kernel, Layer]:
    """Returns the launcher of the `JITFunction`, and the layer that a launch goes through first."""
    from triton.runtime import Autotuner, Heuristics, JITFunction

    if isinstance(kernel, JITFunction):
        jit = Kernel(kernel, reasons, host)
        return jit, jit
    if isinstance(kernel, Heuristics):
        jit, inner = _layers(kernel.fn, reasons, host)
        return jit, _Heuristics(kernel, inner)
    if isinstance(kernel, Autotuner):
        jit, inner = _layers(kernel.fn, reasons, host)
        return jit, _Autotuner(kernel, inner, reasons)
    raise TypeError(f"kernel is of type {type(kernel).__name__}, expected a JITFunction of Triton")
