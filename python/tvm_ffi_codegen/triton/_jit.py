"""The launcher of one `triton.JITFunction`."""

from __future__ import annotations

import itertools
import threading
from collections import Counter
from collections.abc import Callable
from typing import Any

import tvm_ffi

from .._functions import Functions
from . import _form, _host, _library, _signature, _variant
from ._device import DEVICES, device_getters, tensor_on
from ._host import Left, Parameter

_MOST = 4096
"""Forms of calls that a launcher remembers: a constant such as NaN may make a new one in each call."""

Kinds = tuple[tuple[str, type], ...]
"""Names and types of arguments, with the elements of tuples in the place of these."""
Entry = tuple[Any, Any, int, Any]
"""What is known of a form of calls: host function, Triton's caches, number of the form, tensor on the device."""


# Numbers of the functions that libraries call where they have no variant.
_libraries = itertools.count()


class _Asked(threading.local):
    """What a thread knows of its call while the host function asks for a variant."""

    answer: Any = None
    """The variant to answer with."""
    is_missing = False
    """True once a variant was asked for that there is none of."""
    left: str | None = None
    """The reason why the variant is none of ours."""


class Kernel:
    """Launches a `JITFunction`: `launch` takes the grid, then what the kernel takes, and returns what Triton returns.

    What our launch cannot do goes to `JITFunction.run`, with all arguments, and is counted by reasons.
    """

    def __init__(self, kernel: Any, reasons: Counter[str], host: bool) -> None:
        self.kernel, self.reasons, self.host = kernel, reasons, host
        self.launch: Callable[..., Any] = self._first
        # Parameters that a call has given a tuple or a descriptor for.
        self.parted: set[str] = set()
        # What Triton has compiled, by the number that host functions return.
        self.kernels: list[Any] = []
        self.places: dict[int, int] = {}
        # Host functions by the arguments' names and types; variants also by the place of what Triton has compiled.
        self.hosts: dict[Kinds, Any] = {}
        self.variants: dict[tuple[int, Kinds], Any] = {}
        # Forms of calls, by keys of what the host function does not see.
        self.found: dict[tuple[Any, ...], Entry] = {}
        self.numbers = itertools.count()
        self.asked = _Asked()
        self.lock = threading.RLock()
        self.compile = tvm_ffi.convert(self._answer)

    def _first(self, grid: Any, /, *arguments: Any, **options: Any) -> Any:
        """Makes the function that runs at every launch, and calls it."""
        from triton import knobs
        from triton.runtime import driver

        self.driver, self.knobs = driver, knobs
        self.platform = driver.active.get_current_target().backend
        self._make()
        return self.launch(grid, *arguments, **options)

    def _make(self) -> None:
        """Makes the function that runs at every launch."""
        by_torch, by_c = device_getters()
        names = {
            "_driver": self.driver,
            "_by_torch": by_torch,
            "_by_c": by_c,
            "_found": self.found,
            "_kernels": self.kernels,
            "_compile": self.compile,
            "_begin": self._begin,
            "_rescue": self._rescue,
            "_leave_it": self._hand_over,
            "_is_changed": self._is_changed,
        }
        if self.platform == "hip":
            names["_is_small"] = _smallness()
        try:
            if self.platform not in DEVICES:
                raise Left(f"the platform {self.platform}")
            self.launch = _form.function(self.kernel, self.knobs, self.platform == "hip", self.parted, names)
        except Left as left:
            self.launch = self.always(str(left))

    def always(self, reason: str) -> Callable[..., Any]:
        """Returns a function that lets Triton launch every call."""

        def launch(grid: Any, /, *arguments: Any, **options: Any) -> Any:
            self.reasons[reason] += 1
            return self.kernel.run(*arguments, grid=grid, warmup=False, **options)

        return launch

    def library(self) -> Functions:
        """Returns a function that launches as this does: what was launched so far by itself, and what was not through here.
        Raises `ValueError` if that is no one function."""
        variants = [_library.Variant(made, _signature.of_kernel(made), {}) for made in self.kernels]
        name = self.kernel.__name__
        parameters = _library.names(variants)

        def launch(*given: Any) -> None:
            split = len(parameters)
            self.launch(given[split:], **dict(zip(parameters, given[:split], strict=True)))

        other = f"tvm_ffi_codegen.triton.{name}.{next(_libraries)}"
        tvm_ffi.register_global_func(other, launch)
        return _library.functions(name, variants, other)

    def _hand_over(self, reason: str, grid: Any, values: tuple[Any, ...], options: dict[str, Any]) -> Any:
        self.reasons[reason] += 1
        return self._run(grid, values, options, warmup=False)

    def _run(self, grid: Any, values: tuple[Any, ...], options: dict[str, Any], warmup: bool) -> Any:
        """Runs Triton on the values of all parameters: it compiles, and launches unless it is to warm up only."""

        def run(grid: Any, /, *arguments: Any, **given: Any) -> Any:
            return self.kernel.run(*arguments, grid=grid, warmup=warmup, **given)

        return self._split(run, grid, values, options)

    def _split(
        self, launch: Callable[..., Any], grid: Any, values: tuple[Any, ...], options: dict[str, Any]
    ) -> Any:
        """Calls a function with the values of all parameters, some of which are given by keyword only."""
        named = _form.keywords(self.kernel.signature)
        split = len(values) - len(named)
        return launch(grid, *values[:split], **dict(zip(named, values[split:], strict=True)), **options)

    def _begin(self, key: tuple[Any, ...], grid: Any, values: tuple[Any, ...], options: dict[str, Any]) -> Any:
        """Launches a call of a form that is not known, or that may no longer be launched as it was."""
        new = {param.name for param, value in zip(self.kernel.params, values, strict=True) if _form.is_structured(value)}
        new -= {param.name for param in self.kernel.params if param.is_constexpr} | self.parted
        if new:
            self.parted |= new
            self._make()
            return self._split(self.launch, grid, values, options)
        try:
            self._check_hooks()
            with self.lock:
                self._forget()
                if key not in self.found:
                    self._remember(key, values)
                entry = self.found[key]
            return self._compiled(key, entry, grid, values, options)
        except Left as left:
            return self._hand_over(str(left), grid, values, options)

    def _check_hooks(self) -> None:
        """Raises `Left` if Triton calls somebody when it compiles, loads or launches, or compiles otherwise than now."""
        from triton.runtime import _async_compile

        runtime = self.knobs.runtime
        for name in ("launch_enter_hook", "launch_exit_hook", "kernel_load_start_hook", "kernel_load_end_hook"):
            chain = getattr(runtime, name)
            if chain is not getattr(type(runtime), name) or chain.calls:
                raise Left(name)
        for name in ("jit_cache_hook", "jit_post_compile_hook", "add_stages_inspection_hook"):
            if getattr(runtime, name) is not None:
                raise Left(name)
        if self.knobs.compilation.instrumentation_mode:
            raise Left("instrumentation_mode")
        if _async_compile.active_mode.get() is not None:
            raise Left("asynchronous compilation")
        if self._is_changed():
            raise Left("a global variable that has changed")

    def _is_changed(self) -> bool:
        """Returns true if a global variable that the kernel uses has another value than when it was compiled."""
        used = self.kernel.used_global_vals.items()
        return any(scope.get(name, self) != value for (name, _), (value, scope) in used)

    def _forget(self) -> None:
        """Forgets forms whose variants Triton has forgotten, and all if they are too many."""
        caches = self.kernel.device_caches
        stale = [key for key, entry in self.found.items() if entry[1] is not caches.get(key[0]) or not entry[1][0]]
        for key in list(self.found) if len(self.found) >= _MOST else stale:
            self.found.pop(key)

    def _remember(self, key: tuple[Any, ...], values: tuple[Any, ...]) -> None:
        given = tuple(_form.expanded(self.kernel, values))
        kinds = _kinds(given)
        if kinds not in self.hosts:
            device = DEVICES[self.platform][1]
            tensors = "any" if self.host else device
            name = self.kernel.__name__
            parameters = [parameter for parameter, _ in given]
            text = _host.declaration(name, parameters, [kind for _, kind in kinds], device, tensors)
            self.hosts[kinds] = _host.compiled(name, text)
        here = tensor_on(self.platform, key[0])
        self.found[key] = self.hosts[kinds], self.kernel.device_caches[key[0]], next(self.numbers), here

    def _compiled(
        self, key: tuple[Any, ...], entry: Entry, grid: Any, values: tuple[Any, ...], options: dict[str, Any]
    ) -> Any:
        """Lets Triton compile, and launches by the host function, which asks for what Triton has compiled."""
        compiled = self._run(grid, values, options, warmup=True)
        if callable(grid):
            grid = grid({param.name: value for param, value in zip(self.kernel.params, values, strict=True)})
        given = tuple(_form.expanded(self.kernel, values))
        with self.lock:
            self.asked.answer = self._variant(compiled, given)
        host, _, number, here = entry
        active, extents = self.driver.active, (*grid, 1, 1)[:3]
        try:
            stream = active.get_current_stream(key[0])
            place = host(*[value for _, value in given], number, self.compile, here, stream, *extents)
            return self.kernels[place]
        except Exception as error:
            return self._rescue(error, key, grid, values, options)
        finally:
            self.asked.answer = None

    def _variant(self, compiled: Any, given: tuple[tuple[Parameter, Any], ...]) -> Any:
        """Returns a variant as the host function keeps it: a function, and the place of what Triton has compiled."""
        place = self.places.setdefault(id(compiled), len(self.kernels))
        if place == len(self.kernels):
            self.kernels.append(compiled)
        kinds = _kinds(given)
        if (place, kinds) not in self.variants:
            try:
                _variant.check_device(compiled, self.driver.active)
                made = _variant.function(compiled, [parameter for parameter, _ in given], [kind for _, kind in kinds])
            except Left as left:
                made = tvm_ffi.convert(self._refusing(str(left)))
            self.variants[place, kinds] = tvm_ffi.Array([made, place])
        return self.variants[place, kinds]

    def _refusing(self, reason: str) -> Callable[..., None]:
        """Returns a function in the place of a variant that is none of ours."""

        def refuse(*_: Any) -> None:
            self.asked.left = reason
            raise ValueError(reason)

        return refuse

    def _answer(self) -> Any:
        """Answers the host function."""
        if self.asked.answer is None:
            self.asked.is_missing = True
            raise LookupError("there is no such variant yet")
        return self.asked.answer

    def _rescue(
        self, error: Exception, key: tuple[Any, ...], grid: Any, values: tuple[Any, ...], options: dict[str, Any]
    ) -> Any:
        """Goes on after the host function has raised an error."""
        asked = self.asked
        if asked.is_missing:
            asked.is_missing = False
            return self._begin(key, grid, values, options)
        if asked.left is not None:
            reason, asked.left = asked.left, None
            return self._hand_over(reason, grid, values, options)
        # An error of the driver is that of the launch, which must not be made again. With all else nothing was launched.
        if isinstance(error, RuntimeError) and "when calling" in str(error):
            raise error
        return self._hand_over("an argument that the host function refuses", grid, values, options)


def _kinds(given: tuple[tuple[Parameter, Any], ...]) -> Kinds:
    return tuple((parameter.name, value.__class__) for parameter, value in given)


def _smallness() -> Callable[[Any], Any]:
    """Returns a function that tells whether AMD's compiler takes a tensor for one of less than 2 GiB; for a tuple it tells so
    of each element."""
    from triton.backends.amd.compiler import HIPBackend

    def is_small(value: Any) -> Any:
        if isinstance(value, tuple):
            return tuple(map(is_small, value))
        return hasattr(value, "data_ptr") and bool(HIPBackend.is_within_2gb(value))

    return is_small
