"""Functions of the peers as data, and arguments to call them with."""

from dataclasses import dataclass

import numpy as np


@dataclass(frozen=True)
class Tensor:
    """A tensor of float32 with symbols as extents; its strides are symbols or 1, or contiguous without them."""

    shape: tuple
    strides: tuple = ()

    def symbols(self):
        """Returns all symbols in order."""
        return [text for text in self.shape + self.strides if text != 1]


@dataclass(frozen=True)
class Case:
    """Parameters by name: a tensor, `int32`, or a tuple of tensors. The kernel gets the data of all tensors, all
    integers, then these symbols, and returns an int64."""

    params: dict
    symbols: tuple = ()

    def tensors(self):
        """Returns all tensors in order, including those in tuples."""
        flat = [p if isinstance(p, tuple) else (p,) for p in self.params.values()]
        return [param for params in flat for param in params if isinstance(param, Tensor)]


def numbered(prefix, count, param):
    return {f"{prefix}{i}": param for i in range(count)}


VECTOR = Tensor(("n",))
DIMS = ("a", "b", "c", "d")


def stride_symbols(tensor, count):
    """Returns the symbols that occur in one tensor only."""
    return tuple(f"s{tensor}{dim}" for dim in range(count))


CASES = {
    "add_one": Case({"x": VECTOR, "y": VECTOR}, ("n",)),
    "matmul": Case(
        {"a": Tensor(("m", "k")), "b": Tensor(("k", "n")), "c": Tensor(("m", "n"))}, ("m", "k", "n")
    ),
    "strided8": Case({f"x{i}": Tensor(DIMS, stride_symbols(i, 4)) for i in range(8)}, DIMS),
    "stride_symbols8": Case(
        {f"x{i}": Tensor(DIMS, (*stride_symbols(i, 3), 1)) for i in range(8)},
        sum((stride_symbols(i, 3) for i in range(8)), DIMS),
    ),
    "ints16": Case(numbered("k", 16, "int32")),
    "pair": Case({"t": (VECTOR, VECTOR)}, ("n",)),
    "many32": Case(numbered("x", 32, Tensor(("n", "m"))), ("n", "m")),
}

EXTENTS = {"n": 5, "m": 4, "k": 3, "a": 2, "b": 3, "c": 4, "d": 6}


def array(tensor):
    """Makes an array that the tensor accepts; free strides differ from those of a contiguous array."""
    shape = [EXTENTS[symbol] for symbol in tensor.shape]
    if not tensor.strides:
        return np.zeros(shape, "float32")
    wide = np.zeros([*shape[:-1], 2 * shape[-1]], "float32")
    return wide[..., : shape[-1]] if tensor.strides[-1] == 1 else wide[..., ::2]


def argument(param):
    if isinstance(param, tuple):
        return [argument(entry) for entry in param]
    return array(param) if isinstance(param, Tensor) else 7


def arguments(case):
    """Makes arguments that a function accepts."""
    return [argument(param) for param in CASES[case].params.values()]


def wrong_arguments(case):
    """Makes arguments that a function refuses: the last tensor is longer, the last integer is a text."""
    *fine, last = arguments(case)
    if isinstance(last, list):
        last = [*last[:-1], longer(last[-1])]
    else:
        last = "text" if isinstance(last, int) else longer(last)
    return [*fine, last]


def longer(array):
    return np.zeros([extent + 1 for extent in array.shape], "float32")
