"""Libraries of variants: one function that chooses among what Triton has compiled, without Python and without Triton."""

from __future__ import annotations

import os
import re
from collections.abc import Iterable, Mapping, Sequence
from pathlib import Path
from typing import Any, NamedTuple

from .. import _api
from .._functions import Functions
from .._kernels import Path_
from . import _signature
from ._device import DEVICES
from ._import import declare
from ._signature import Argument

Signature = str | tuple[str, Mapping[str, Any]]
"""A variant: its signature, and options of Triton such as `num_warps`."""

_EXTENTS = ("grid.x", "grid.y", "grid.z")
"""Parameters of a function whose caller gives the grid."""


class Variant(NamedTuple):
    """What Triton has compiled, and its signature."""

    compiled: Any
    arguments: list[Argument]
    options: Mapping[str, Any]

    def __str__(self) -> str:
        options = "".join(f", {name}={value!r}" for name, value in self.options.items())
        return ", ".join(map(str, self.arguments)) + options

    def hints(self) -> int:
        """Returns how much the variant assumes."""
        ranged = sum(argument.type == "i32" for argument in self.arguments)
        return sum(2 * len(argument.hints) for argument in self.arguments) + ranged


class Text(NamedTuple):
    """Declarations, and the images that they launch."""

    declarations: str
    images: dict[str, bytes]


def export(
    kernel: Any, path: Path_, signatures: Iterable[Signature], *, grid: str | None = None, target: Any = None, **options: Any
) -> None:
    """Writes a shared library with a function of the kernel's name for the variants of these signatures: texts such as
    `x: *fp32:16, n: i32:16, BLOCK: 1024`, or pairs of such a text and options of Triton.

    The function takes what the kernel takes, and behind it the extents of the grid, unless `grid` says how many programs
    there are: `cdiv(n, BLOCK)`. Where two variants fit, it takes the one that assumes more; where none does, the error
    lists those that there are. The library needs neither Python nor Triton. `target` is a `GPUTarget` of Triton, else that
    of this machine's GPU; further options are those of `emit`.
    """
    made = text(kernel.__name__, compiled(kernel, signatures, target), grid)
    Path(os.fspath(path)).write_bytes(_api.emit(made.declarations, "shared", images=made.images, **options))


def functions(name: str, variants: Sequence[Variant], other: str) -> Functions:
    """Compiles the function for variants into this process. `other` is the global function that it calls where none fits."""
    made = text(name, variants, None, other)
    return _api.jit(made.declarations, images=made.images)


def names(variants: Sequence[Variant]) -> list[str]:
    """Returns the names of the parameters, without those of the grid. Raises `ValueError` if they are of no one function."""
    return list(_kinds(variants))


def compiled(kernel: Any, signatures: Iterable[Signature], target: Any) -> list[Variant]:
    """Lets Triton compile a `JITFunction` for signatures."""
    import triton
    from triton.compiler import make_backend
    from triton.runtime import driver

    target = target or driver.active.get_current_target()
    variants = []
    for signature in signatures:
        written, options = (signature, {}) if isinstance(signature, str) else signature
        arguments = _signature.parse(written)
        parsed = make_backend(target).parse_options(dict(options))
        source = _signature.source(kernel, arguments)
        made = triton.compile(source, target=target, options=vars(parsed))
        variants.append(Variant(made, arguments, options))
    return variants


def text(name: str, variants: Sequence[Variant], grid: str | None, other: str | None = None) -> Text:
    """Declares a function for variants. Where none fits, it raises an error that lists them, or calls the global function
    `other` with all that it has got. Raises `ValueError` if they are of no one function."""
    from ..build._text import quoted

    if not variants:
        raise ValueError("no variants: give a signature")
    platform = variants[0].compiled.metadata.target.backend
    kinds = _kinds(variants)
    tensor = next((name for name, kind in kinds.items() if kind == "Tensor"), None)
    if tensor is None:
        raise ValueError("no signature has a tensor, which would say on which device the kernel runs")
    params = [_declared(name, kind, DEVICES[platform][1]) for name, kind in kinds.items()]
    extents, given = _grid(grid, kinds)
    params += given
    declarations: list[str] = []
    branches: list[str] = []
    images: dict[str, bytes] = {}
    for index, variant in sorted(enumerate(variants), key=lambda one: -one[1].hints()):
        image = f"{name}_{index}"
        imported = declare(variant.compiled, f"{image}({_signature.written(variant.arguments)})", "...")
        declarations.append(imported.text)
        images |= {image: code for code in imported.images.values()}
        conditions = [one for argument in variant.arguments for one in argument.conditions()]
        # There is one at least, for the tensor.
        branches.append(f"if {' and '.join(conditions)} {{ @{image}({', '.join(_passed(variant, tensor, extents))}); return; }}")
    listed = "; ".join(map(str, variants))
    message = quoted(f"no variant of {name} for these arguments; there are: {listed}")
    passed = [*[f"`{name}`" for name in kinds], *extents]
    otherwise = f"raise TypeError {message};" if other is None else f"@{quoted(other)}({', '.join(passed)});"
    body = " ".join([*branches, otherwise])
    declarations.append(f"`{name}`({', '.join(params)}) -> None = {{ {body} }};")
    return Text("\n".join(_images_first(declarations)), images)


def _kinds(variants: Sequence[Variant]) -> dict[str, str]:
    """Returns our types of the parameters, without those that are None in every variant."""
    kinds: dict[str, str] = {}
    for variant in variants:
        for argument in variant.arguments:
            kind = argument.kind()
            if kind is None:
                continue
            if kinds.setdefault(argument.name, kind) != kind:
                raise ValueError(f"parameter {argument.name} is {kinds[argument.name]} in one signature and {kind} in another")
    for variant in variants:
        missing = [argument.name for argument in variant.arguments if argument.kind() is None and argument.name in kinds]
        if missing:
            raise ValueError(f"parameter {missing[0]} is None in one signature and {kinds[missing[0]]} in another")
    # The order is that of the kernel.
    return {argument.name: kinds[argument.name] for argument in variants[0].arguments if argument.name in kinds}


def _declared(name: str, kind: str, device: str) -> str:
    written = f"Tensor([...], any, strides=any, device={device})" if kind == "Tensor" else kind
    return f"`{name}`: {written}"


def _grid(grid: str | None, kinds: Iterable[str]) -> tuple[list[str], list[str]]:
    """Returns the three extents of the grid as expressions, and the parameters that they need. Raises `ValueError` for more
    or fewer than one to three."""
    if grid is None:
        names = [f"`{name}`" for name in _EXTENTS]
        return names, [f"{names[0]}: int64", *[f"{name}: int64 = 1" for name in names[1:]]]
    known = set(kinds)

    def word(found: re.Match[str]) -> str:
        return "ceildiv" if found[0].endswith("cdiv") else f"`{found[0]}`" if found[0] in known else found[0]

    extents = [re.sub(r"[A-Za-z_][\w.]*", word, extent).replace("//", "/") for extent in _signature.split(grid)]
    if not 1 <= len(extents) <= len(_EXTENTS):
        raise ValueError(f"grid: expected one to three extents, found {len(extents)}")
    return [*extents, "1", "1"][: len(_EXTENTS)], []


def _passed(variant: Variant, tensor: str, extents: list[str]) -> list[str]:
    """Returns what the function of a variant gets."""
    passed = []
    for argument in variant.arguments:
        if not argument.is_constant:
            passed.append(f"`{argument.name}`.data" if argument.type.startswith("*") else f"`{argument.name}`")
    return [*passed, f"`{tensor}`", f"stream(`{tensor}`)", *extents]


def _images_first(declarations: Iterable[str]) -> list[str]:
    """Returns declarations with the images before the functions."""
    lines = [line for one in declarations for line in one.splitlines()]
    return [*[line for line in lines if line.startswith("image ")], *[line for line in lines if not line.startswith("image ")]]
