"""Changes of tensors that are arguments: another rank, extent or stride, contiguous or not, folded."""

from __future__ import annotations

import math
import random
from dataclasses import replace

from evaluation import TensorValue

MAX_RANK = 8


def resized(of: TensorValue, rank: int, random_: random.Random) -> TensorValue:
    """Returns a tensor with leading dims added or taken away."""
    missing = rank - len(of.shape)
    if missing <= 0:
        return replace(of, shape=of.shape[-missing:], strides=None if of.strides is None else of.strides[-missing:])
    shape, strides = list(of.shape), None if of.strides is None else list(of.strides)
    for _ in range(missing):
        if strides is not None:
            strides.insert(0, shape[0] * strides[0] if shape else 1)
        shape.insert(0, random_.choice((1, 2, 3, 4)))
    return replace(of, shape=tuple(shape), strides=None if strides is None else tuple(strides))


def with_extent(of: TensorValue, index: int, extent: int) -> TensorValue:
    """Returns a tensor with another extent; strides of dims outside of it follow where they were compact."""
    shape = tuple(extent if i == index else each for i, each in enumerate(of.shape))
    if of.strides is None:
        return replace(of, shape=shape)
    strides = list(of.strides)
    for i in range(index - 1, -1, -1):
        if of.strides[i] != of.strides[i + 1] * of.shape[i + 1]:
            break
        strides[i] = strides[i + 1] * shape[i + 1]
    return replace(of, shape=shape, strides=tuple(strides))


def with_stride(of: TensorValue, index: int, stride: int) -> TensorValue:
    """Returns a tensor with another stride; those of dims outside of it follow where they were compact."""
    strides = list(of.compact() if of.strides is None else of.strides)
    before = list(strides)
    strides[index] = stride
    for i in range(index - 1, -1, -1):
        if before[i] != before[i + 1] * of.shape[i + 1]:
            break
        strides[i] = strides[i + 1] * of.shape[i + 1]
    return replace(of, strides=tuple(strides))


def with_elements(of: TensorValue, target: int, random_: random.Random) -> TensorValue | None:
    """Returns a tensor of so many elements."""
    if target < 0 or not of.shape:
        return None
    if target == 0 and len(of.shape) < MAX_RANK and random_.random() < 0.4:
        return with_extent(resized(of, len(of.shape) + 1, random_), 0, 0)
    index = random_.randrange(len(of.shape))
    others = math.prod(extent for i, extent in enumerate(of.shape) if i != index)
    if others and target % others == 0:
        return with_extent(of, index, target // others)
    shape = tuple(target if i == index else 1 for i in range(len(of.shape)))
    return replace(of, shape=shape, strides=None)


def scattered(of: TensorValue, random_: random.Random) -> TensorValue | None:
    """Returns a tensor that is not contiguous: some stride is larger than it need be."""
    if not of.shape:
        return None
    wide = [i for i, extent in enumerate(of.shape) if extent > 1]
    if not wide:
        return scattered(with_extent(replace(of, strides=None), len(of.shape) - 1, 4), random_)
    if 0 in of.shape:
        filled = tuple(extent or 2 for extent in of.shape)
        return scattered(replace(of, shape=filled, strides=None), random_)
    compact = replace(of, strides=of.compact())
    index = random_.choice(wide)
    factor = random_.choice((2, 3))
    return with_stride(compact, index, compact.stride(index) * factor)


def gathered(of: TensorValue, random_: random.Random) -> TensorValue:
    """Returns a tensor that is contiguous: with compact strides, or an extent of 1 where a stride is not."""
    compact = of.compact()
    if of.strides is None or random_.random() < 0.6:
        return replace(of, strides=None)
    shape = tuple(extent if of.stride(i) == compact[i] else 1 for i, extent in enumerate(of.shape))
    return replace(of, shape=shape)


def folded(of: TensorValue, trailing: int) -> TensorValue:
    """Returns a tensor whose dims above the last ones are one in memory."""
    last = len(of.shape) - trailing - 1
    strides = list(of.compact() if of.strides is None else of.strides)
    for i in range(last - 1, -1, -1):
        strides[i] = strides[i + 1] * of.shape[i + 1]
    return replace(of, strides=tuple(strides))

