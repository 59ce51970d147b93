"""The object that is used in the place of a kernel."""

from __future__ import annotations

import functools
from collections import Counter
from collections.abc import Callable
from typing import Any

from ._jit import Kernel


class Launcher:
    """A kernel of Triton that our host functions launch: `fast[grid](x, y, n, BLOCK=1024, num_warps=4)`.

    `handed_over` counts the calls that Triton has launched, since our launch could not do what they ask for, and `reasons`
    counts them by the reason. All else is the kernel's.
    """

    def __init__(self, kernel: Any, *, host: bool = False) -> None:
        self.kernel = kernel
        self.reasons: Counter[str] = Counter()
        self._jit, self._launch = _layers(kernel, self.reasons, host)

    @property
    def handed_over(self) -> int:
        return self.reasons.total()

    def __getitem__(self, grid: Any) -> Callable[..., Any]:
        """Returns the function that launches this grid: one to three extents, or a function of the parameters."""
        if self._jit.kernel.pre_run_hooks:
            self.reasons["add_pre_run_hook"] += 1
            launch: Callable[..., Any] = self.kernel[grid]
            return launch
        return functools.partial(self._launch or self._jit.launch, grid)

    def __getattr__(self, name: str) -> Any:
        return getattr(self.kernel, name)

    def __repr__(self) -> str:
        return f"<launcher of {self._jit.kernel.__name__}, {self.handed_over} launches handed over>"


def launcher(kernel: Any, *, host: bool = False) -> Launcher:
    """Returns an object that is used as the kernel is, a `triton.JITFunction`, also under `@triton.heuristics` and
    `@triton.autotune`, and whose launches our host functions make.

    With `host` tensors in memory of the host are launched on as they are. Without it Triton asks the driver about each.
    """
    return Launcher(kernel, host=host)


def _layers(kernel: Any, reasons: Counter[str], host: bool) -> tuple[Kernel, Callable[..., Any] | None]:
    """Returns the launcher of the `JITFunction`, and what a launch goes through before, if there is anything."""
    from triton.runtime import Autotuner, Heuristics, JITFunction

    if isinstance(kernel, JITFunction):
        return Kernel(kernel, reasons, host), None
    if not isinstance(kernel, (Autotuner, Heuristics)):
        raise TypeError(f"kernel is of type {type(kernel).__name__}, expected a JITFunction of Triton")
    jit, below = _layers(kernel.fn, reasons, host)
    # The launcher replaces its function at the first launch.
    inner = below or (lambda grid, /, *arguments, **options: jit.launch(grid, *arguments, **options))
    layer = _tuned if isinstance(kernel, Autotuner) else _computed
    return jit, layer(kernel, inner, reasons)


def _computed(kernel: Any, inner: Callable[..., Any], reasons: Counter[str]) -> Callable[..., Any]:
    """Returns the launch of `@triton.heuristics`, which computes values of parameters."""

    def launch(grid: Any, /, *arguments: Any, **options: Any) -> Any:
        for name, compute in kernel.values.items():
            known = dict(zip(kernel.arg_names, arguments, strict=False))
            options[name] = compute({**known, "grid": grid, "warmup": False, **options})
        return inner(grid, *arguments, **options)

    return launch


def _tuned(kernel: Any, inner: Callable[..., Any], reasons: Counter[str]) -> Callable[..., Any]:
    """Returns the launch of `@triton.autotune`, with what it has found to be best. Triton finds it by itself."""

    def launch(grid: Any, /, *arguments: Any, **options: Any) -> Any:
        named = dict(zip(kernel.arg_names, arguments, strict=False))
        config = kernel.configs[0] if len(kernel.configs) == 1 else kernel.cache.get(_key(kernel, named, options))
        if config is None:
            reasons["tuning"] += 1
            return kernel.run(*arguments, grid=grid, warmup=False, **options)
        kernel.best_config = config
        found = config.all_kwargs()
        if config.pre_hook is not None:
            config.pre_hook({**named, "grid": grid, "warmup": False, **options, **found})
        kernel.nargs = None
        return inner(grid, *arguments, **options, **found)

    return launch


def _key(kernel: Any, named: dict[str, Any], options: dict[str, Any]) -> tuple[Any, ...]:
    """Returns the key under which an autotuner keeps what it has found."""
    known = {name: value for name, value in {**named, **options}.items() if name in kernel.arg_names}
    key = [known[name] for name in kernel.keys if name in known]
    return (*key, *[str(value.dtype) for value in known.values() if hasattr(value, "dtype")])
