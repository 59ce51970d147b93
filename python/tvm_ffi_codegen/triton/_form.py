"""The function of Python that runs at every launch.

It is made for a kernel, as Triton makes its binder: its parameters are those of the kernel, so that Python itself sorts
positional arguments, keywords and defaults. It makes a key of what Triton's own key has and our host function does not see:
device, types, values of constants, options. Under the key it finds the host function, and calls it.
"""

from __future__ import annotations

import inspect
import re
from collections.abc import Callable, Container, Iterable, Iterator
from typing import Any

from ._host import KEYED, Left, Parameter

# Names of kinds of parameters that Python's grammar separates by `*`.
_KEYWORD = inspect.Parameter.KEYWORD_ONLY

# Parts of Triton's key that do not depend on the arguments.
_ALWAYS = ("_device", "_runtime.debug", "_kernel.debug")

# The function has the name of Triton's binder, so that errors about arguments read as they do there.
_SOURCE = """
def dynamic_func(_grid, /, {declared}, **_options):
    _active = {active}
    _get_device = _active.get_current_device
    _device = _by_c() if _get_device is _by_torch else _get_device()
    _key = ({key})
    for _name, _value in _options.items():
        _key += (_name, _value, _value.__class__)
    try:
        _entry = _found.get(_key)
    except _TypeError:
        return _leave_it("an argument without a hash", _grid, ({values}), _options)
    if (
        _entry is None
        or _entry[1] is not _device_caches[_device]
        or not _entry[1][0]
        or _runtime.launch_enter_hook is not _enter
        or _runtime.launch_exit_hook is not _exit
        or _enter.calls
        or _exit.calls
        or _runtime.add_stages_inspection_hook is not None
        or _compilation.instrumentation_mode
        or _kernel.used_global_vals
        and _is_changed()
    ):
        return _begin(_key, _grid, ({values}), _options)
    if _grid.__class__ is not _tuple and _callable(_grid):
        _grid = _grid({{{named}}})
    _extents = _len(_grid)
    try:
        return _kernels[
            _entry[0](
                {passed}
                _entry[2],
                _compile,
                _entry[3],
                _active.get_current_stream(_device),
                _grid[0],
                _grid[1] if _extents > 1 else 1,
                _grid[2] if _extents > 2 else 1,
            )
        ]
    except _Exception as _error:
        return _rescue(_error, _key, _grid, ({values}), _options)
"""

# Triton's driver in use. `active` is a property in Python, which makes the driver if there is none yet.
_ACTIVE = "_driver._active or _driver.active"

# What the function uses of Python, under names that no parameter hides.
_BUILTINS = {f"_{value.__name__}": value for value in (Exception, TypeError, callable, getattr, len, tuple)}

# Names that the function uses itself.
_TAKEN = {*re.findall(r"\b_[a-z_]+", _SOURCE + _ACTIVE), *_BUILTINS, "_amd", "_is_small", "_kinds", "_leaves"}

# Module and name of the class of tensor descriptors.
_DESCRIPTOR = ("triton.tools.tensor_descriptor", "TensorDescriptor")


def function(kernel: Any, knobs: Any, ranged: bool, parted: Container[str], names: dict[str, Any]) -> Callable[..., Any]:
    """Makes the function for a `JITFunction`. `ranged` is true where Triton specialises for the size of tensors, `parted`
    are the parameters that may come in parts, and `names` are what the launcher gives the function. Raises `Left` if the kernel
    has parameters that no call can be sorted to."""
    declared, defaults = _declared(kernel.signature)
    params = kernel.params
    passed = [param.name if param.name not in parted else f"*_leaves({param.name})" for param in params if not param.is_constexpr]
    source = _SOURCE.format(
        active=_ACTIVE if "_active" in vars(names["_driver"]) else "_driver.active",
        declared=declared,
        key="".join(f"{part}, " for part in [*_ALWAYS, *_key(params, ranged, parted)]),
        values="".join(f"{param.name}, " for param in params),
        named=", ".join(f"{param.name!r}: {param.name}" for param in params),
        passed="".join(f"{one}, " for one in passed),
    )
    scope = {
        "_runtime": knobs.runtime,
        "_compilation": knobs.compilation,
        "_amd": knobs.amd,
        # Chains of hooks, which others replace or add to.
        "_enter": type(knobs.runtime).launch_enter_hook,
        "_exit": type(knobs.runtime).launch_exit_hook,
        "_kernel": kernel,
        "_device_caches": kernel.device_caches,
        "_kinds": kinds,
        "_leaves": leaves,
        **_BUILTINS,
        **defaults,
        **names,
    }
    exec(source, scope)  # noqa: S102
    made: Callable[..., Any] = scope["dynamic_func"]
    return made


def expanded(kernel: Any, values: Iterable[Any]) -> Iterator[tuple[Parameter, Any]]:
    """Yields the parameters of a `JITFunction` that are no `tl.constexpr` with their values. Elements of tuples stand in the
    place of these, and parts of tensor descriptors. `values` are those of all parameters."""
    index = 0
    for place, (param, value) in enumerate(zip(kernel.params, values, strict=True)):
        if not param.is_constexpr:
            parameter = _parameter(param, place, index < KEYED)
            yield from _elements(parameter, value)
            index += 1


def is_structured(value: Any) -> bool:
    """Returns true if a value is passed in parts: a tuple or a tensor descriptor."""
    kind = value.__class__
    # Others of the name have layouts, by which Triton compiles too.
    return isinstance(value, tuple) or (kind.__module__, kind.__name__) == _DESCRIPTOR


def _elements(parameter: Parameter, value: Any) -> Iterator[tuple[Parameter, Any]]:
    if not is_structured(value):
        yield parameter, value
        return
    if parameter.typed:
        raise Left("a tuple or a descriptor for a parameter of another type")
    if isinstance(value, tuple):
        for index, element in enumerate(value):
            path = (*parameter.path, index)
            yield from _elements(parameter._replace(name=f"{parameter.name}.{index}", path=path, is_keyed=False), element)
        return
    if value.padding != "zero" or _is_rounded(value) or value.strides[-1] != 1:
        raise Left("a descriptor that pads with NaN or rounds")
    # Triton never specialises for them.
    fixed = parameter._replace(is_keyed=False, specialized=False, typed=True)
    yield fixed._replace(is_whole=True), value.base
    for what in ("shape", "strides"):
        for index, number in enumerate(getattr(value, what)):
            yield fixed._replace(name=f"{parameter.name}.{what}.{index}"), number


def _is_rounded(descriptor: Any) -> bool:
    """Returns true if the loads of a descriptor round, which Triton 3.6 does not know."""
    return bool(getattr(descriptor, "round_f32_to_tf32", False))


def kinds(value: Any) -> Any:
    """Returns the type of a value, for tuples those of the elements, too, and for descriptors what Triton compiles for."""
    if not is_structured(value):
        return value.__class__
    if isinstance(value, tuple):
        return value.__class__, *[(kinds(element), getattr(element, "dtype", None)) for element in value]
    described = len(value.shape), tuple(value.block_shape), value.padding, _is_rounded(value), value.strides[-1]
    return value.__class__, value.base.__class__, str(value.base.dtype), *described


def leaves(value: Any) -> tuple[Any, ...]:
    """Returns the parts of a structured value in order; a value that is passed as it is, is the only one."""
    if not is_structured(value):
        return (value,)
    if isinstance(value, tuple):
        return tuple(leaf for element in value for leaf in leaves(element))
    return value.base, *value.shape, *value.strides


def keywords(signature: inspect.Signature) -> list[str]:
    """Returns the names of the parameters that are given by keyword only, which stand last."""
    return [name for name, param in signature.parameters.items() if param.kind is _KEYWORD]


def _parameter(param: Any, place: int, is_keyed: bool) -> Parameter:
    typed = bool(param.annotation_type)
    # Triton never specialises declared truths and floats.
    fixed = typed and (param.annotation_type == "u1" or param.annotation_type[:2] in ("fp", "bf"))
    specialized = not (param.do_not_specialize or fixed)
    return Parameter(param.name, (place,), is_keyed, specialized, not param.do_not_specialize_on_alignment, typed)


def _declared(signature: inspect.Signature) -> tuple[str, dict[str, Any]]:
    """Returns the text of the parameters, and their defaults by the names that stand in it."""
    text, defaults, starred = [], {}, False
    for name, param in signature.parameters.items():
        if param.kind is inspect.Parameter.VAR_POSITIONAL:
            raise Left(f"*{name}")
        if name in _TAKEN or name.startswith("_default_"):
            raise Left(f"a parameter named {name}")
        if param.kind is _KEYWORD and not starred:
            text.append("*")
            starred = True
        if param.default is inspect.Parameter.empty:
            text.append(name)
        else:
            text.append(f"{name}=_default_{name}")
            defaults[f"_default_{name}"] = param.default
    return ", ".join(text), defaults


def _key(params: Any, ranged: bool, parted: Container[str]) -> list[str]:
    """Returns the parts of the key that the arguments give."""
    parts, index = (["_amd.use_buffer_ops"] if ranged else []), 0
    for param in params:
        parts.append(f"_kinds({param.name})" if param.name in parted else f"{param.name}.__class__")
        if param.is_constexpr:
            parts.append(param.name)
            continue
        if index >= KEYED:
            parts.append(f"_getattr({param.name}, 'dtype', None)")
        if ranged:
            parts.append(f"_is_small({param.name})")
        index += 1
    return parts
