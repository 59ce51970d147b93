"""Tensor maps: how GPU kernels access memory in boxes, or in columns of pixels."""

from __future__ import annotations

from collections.abc import Iterable

from ._expression import Expr, Operand, expression, expressions
from ._part import Part, Writer, part

MAP_OPTIONS = {
    "interleave": ("none", "16b", "32b"),
    "swizzle": ("none", "32b", "64b", "128b", "128b_atom_32b", "128b_atom_32b_flip_8b", "128b_atom_64b"),
    "l2": ("none", "64b", "128b", "256b"),
    "fill": ("none", "nan_request_zero_fma"),
    "dtype": (
        *("uint8", "uint16", "uint32", "int32", "uint64", "int64", "float16", "float32", "float64", "bfloat16"),
        *("float32_ftz", "tfloat32", "tfloat32_ftz", "16u4_align8b", "16u4_align16b", "16u6_align16b"),
    ),
}
"""The options of tensor maps that are words, with their words, the default first."""


@part
class Im2col(Part):
    """`im2col(lower=[-1, -1], upper=[-1, -1], channels=64, pixels=128)`: a column of pixels, for convolutions. `lower` and
    `upper` are the offsets of the corners of the bounding box from those of an image, for each spatial dim; `channels`
    and `pixels` are what an access brings.

    >>> from tvm_ffi_codegen.build import symbols
    >>> x, pad = symbols("x pad")
    >>> print(TensorMap(x, Im2col([-pad], [pad - 2], 64, 128), steps=[1, 2, 1]))
    tensormap(x, im2col(lower=[-pad], upper=[pad - 2], channels=64, pixels=128), steps=[1, 2, 1])
    """

    lower: tuple[Expr, ...]
    upper: tuple[Expr, ...]
    channels: Expr
    pixels: Expr

    def __init__(self, lower: Iterable[Operand], upper: Iterable[Operand], channels: Operand, pixels: Operand) -> None:
        self._set(
            lower=expressions(lower, "the offsets of a corner"),
            upper=expressions(upper, "the offsets of a corner"),
            channels=expression(channels),
            pixels=expression(pixels),
        )

    def _print(self, out: Writer) -> None:
        out.enclosed("im2col(lower=[", self.lower, "]")
        out.enclosed(", upper=[", self.upper, "]")
        out.put(", channels=", self.channels, ", pixels=", self.pixels, ")")


@part
class TensorMap(Part):
    """`tensormap(x, box=[64, 64])`: how a GPU kernel accesses the memory of a tensor: in boxes, whose extents are given,
    or in columns of pixels. Options that are words hold their defaults where they are left out.

    >>> from tvm_ffi_codegen.build import symbols
    >>> x, n, m = symbols("x n m")
    >>> print(TensorMap(x, [1, 64], dims=[n, m // 128], offset=n * 16, swizzle="128b", dtype="uint16"))
    tensormap(x, dims=[n, m / 128], offset=n * 16, box=[1, 64], swizzle="128b", dtype="uint16")
    """

    tensor: Expr
    mode: tuple[Expr, ...] | Im2col
    dims: tuple[Expr, ...]
    strides: tuple[Expr, ...]
    offset: Expr | None
    steps: tuple[Expr, ...]
    interleave: str
    swizzle: str
    l2: str
    fill: str
    dtype: str | None

    def __init__(
        self,
        tensor: Expr,
        mode: Iterable[Operand] | Im2col,
        *,
        dims: Iterable[Operand] = (),
        strides: Iterable[Operand] = (),
        offset: Operand = None,
        steps: Iterable[Operand] = (),
        interleave: str = "none",
        swizzle: str = "none",
        l2: str = "none",
        fill: str = "none",
        dtype: str | None = None,
    ) -> None:
        words = {"interleave": interleave, "swizzle": swizzle, "l2": l2, "fill": fill, "dtype": dtype}
        for option, word in words.items():
            if word is not None and word not in MAP_OPTIONS[option]:
                raise ValueError(f"{option} is one of {', '.join(MAP_OPTIONS[option])}, not {word!r}")
        self._set(
            tensor=expression(tensor),
            mode=mode if isinstance(mode, Im2col) else expressions(mode, "the extents of a box"),
            dims=expressions(dims, "dims"),
            strides=expressions(strides, "strides"),
            offset=None if offset is None else expression(offset),
            steps=expressions(steps, "steps"),
            **words,
        )

    def _print(self, out: Writer) -> None:
        out.put("tensormap(", self.tensor)
        for before, numbers in ((", dims=[", self.dims), (", strides=[", self.strides)):
            if numbers:
                out.enclosed(before, numbers, "]")
        if self.offset is not None:
            out.put(", offset=", self.offset)
        if isinstance(self.mode, Im2col):
            out.put(", ", self.mode)
        else:
            out.enclosed(", box=[", self.mode, "]")
        if self.steps:
            out.enclosed(", steps=[", self.steps, "]")
        for option in MAP_OPTIONS:
            word = getattr(self, option)
            if word is not None and (option == "dtype" or word != "none"):
                out.put(f', {option}="{word}"')
        out.put(")")
