"""The functions that peers are asked for, as data, and arguments to call them with."""

from dataclasses import dataclass

import numpy as np


@dataclass(frozen=True)
class Tensor:
    """Of float32, with these symbols as extents, and contiguous unless strides are free."""

    shape: tuple
    free_strides: bool = False


@dataclass(frozen=True)
class Case:
    """Parameters by name: a tensor, `int32`, or a tuple of tensors. The kernel gets the data of all tensors, all
    integers, then these symbols, and returns an int64."""

    params: dict
    symbols: tuple = ()

    def tensors(self):
        """All tensors in order, those in tuples too."""
        flat = [p if isinstance(p, tuple) else (p,) for p in self.params.values()]
        return [param for params in flat for param in params if isinstance(param, Tensor)]


def numbered(prefix, count, param):
    return {f"{prefix}{i}": param for i in range(count)}


VECTOR = Tensor(("n",))

CASES = {
    "add_one": Case({"x": VECTOR, "y": VECTOR}, ("n",)),
    "matmul": Case(
        {"a": Tensor(("m", "k")), "b": Tensor(("k", "n")), "c": Tensor(("m", "n"))}, ("m", "k", "n")
    ),
    "strided8": Case(
        numbered("x", 8, Tensor(("a", "b", "c", "d"), free_strides=True)), ("a", "b", "c", "d")
    ),
    "ints16": Case(numbered("k", 16, "int32")),
    "pair": Case({"t": (VECTOR, VECTOR)}, ("n",)),
    "many32": Case(numbered("x", 32, Tensor(("n", "m"))), ("n", "m")),
}

EXTENTS = {"n": 5, "m": 4, "k": 3, "a": 2, "b": 3, "c": 4, "d": 6}


def array(tensor):
    """An array that the tensor accepts; a free stride is one that no contiguous array has."""
    shape = [EXTENTS[symbol] for symbol in tensor.shape]
    if tensor.free_strides:
        return np.zeros([*shape[:-1], 2 * shape[-1]], "float32")[..., ::2]
    return np.zeros(shape, "float32")


def argument(param):
    if isinstance(param, tuple):
        return [argument(entry) for entry in param]
    return array(param) if isinstance(param, Tensor) else 7


def arguments(case):
    """Arguments that a function accepts."""
    return [argument(param) for param in CASES[case].params.values()]


def wrong_arguments(case):
    """Arguments that a function refuses: the last tensor is longer, the last integer is a text."""
    *fine, last = arguments(case)
    if isinstance(last, list):
        last = [*last[:-1], longer(last[-1])]
    else:
        last = "text" if isinstance(last, int) else longer(last)
    return [*fine, last]


def longer(array):
    return np.zeros([extent + 1 for extent in array.shape], "float32")
