"""The example of a compiler: names that mean something elsewhere, and errors that show the place."""

import runpy
from pathlib import Path
from typing import Any

import numpy as np
import pytest

EXAMPLE = Path(__file__).parents[1] / "examples/expressions.py"

HEADER = "# Functions.\n"

# The function, the text of its error, and where that is: line, column.
REFUSED = [
    ("def f(x):\n    '''Text.'''\n", "the body is one `return` of a value", 2, 1),
    ("def f(x):\n    y = x\n    return y\n", "the body is one `return` of a value", 3, 5),
    ("def f(x):\n    return f(x)\n", "`f(x)` has no translation", 3, 12),
    ("def f(x):\n    return min(x)\n", "`min(x)` has no translation", 3, 12),
    ("def f(abs):\n    return abs(abs)\n", "`abs(abs)` has no translation", 3, 12),
    ("def f(x):\n    return 'é' if x**2 else x\n", "`x ** 2` has no translation", 3, 19),
    ("def f(x, self):\n    return x\n", "a parameter is named in ASCII, and not `n`", 2, 10),
    ("def f(x, é):\n    return x\n", "a parameter is named in ASCII, and not `n`", 2, 10),
    ("def f(w: float):\n    return w\n", "at least one of them a vector", 2, 1),
    ("def é(x):\n    return x\n", "the name is in ASCII", 2, 1),
    ("f = dict(\n    f=lambda x: x,\n)['f']\n", "only what `def` defines has a name", 3, 1),
]


@pytest.fixture(scope="module")
def compiled() -> Any:
    return runpy.run_path(str(EXAMPLE))["compiled"]


def defined(folder: Path, source: str) -> Any:
    """Returns `f`, or the function with the name that is not ASCII, of a file."""
    path = folder / "functions.py"
    path.write_text(HEADER + source, encoding="utf-8")
    names = runpy.run_path(str(path))
    return names.get("f", names.get("é"))


@pytest.mark.parametrize(("source", "why", "line", "column"), REFUSED)
def test_refusals_show_the_place(
    compiled: Any, tmp_path: Path, source: str, why: str, line: int, column: int
) -> None:
    with pytest.raises(SyntaxError) as raised:
        compiled(defined(tmp_path, source))
    error = raised.value
    assert why in error.msg
    place = (error.filename, error.lineno, error.offset)
    assert place == (str(tmp_path / "functions.py"), line, column)
    assert error.text == (HEADER + source).splitlines(keepends=True)[line - 1]


@pytest.mark.parametrize("name", ["double", "Tensor", "float32", "where", "dtype", "min", "kernel", "i"])
def test_reserved_words_are_names(compiled: Any, tmp_path: Path, name: str) -> None:
    f = compiled(defined(tmp_path, f"def f({name}):\n    return {name} + 1\n"))
    x = np.arange(3, dtype="float32")
    f(**{name: x, "out": x})
    assert x.tolist() == [1, 2, 3]


def test_inner_functions_may_have_text_at_the_margin(compiled: Any, tmp_path: Path) -> None:
    function = "    def f(x):\n# A comment.\n        '''First.\nSecond.'''\n        return -x\n"
    source = f"def outer():\n{function}    return f\nf = outer()\n"
    x = np.arange(3, dtype="float32")
    compiled(defined(tmp_path, source))(x, x)
    assert x.tolist() == [0, -1, -2]


def test_min_and_max_take_two(compiled: Any, tmp_path: Path) -> None:
    f = compiled(defined(tmp_path, "def f(x, top: float):\n    return min(max(x, 0), top)\n"))
    x = np.array([-1, 0.5, 3, np.nan], "float32")
    f(x, 1.0, x)
    assert x.tolist() == [0, 0.5, 1, 0]


def test_no_elements_and_strides(compiled: Any, tmp_path: Path) -> None:
    f = compiled(defined(tmp_path, "def f(x):\n    return x / 0\n"))
    empty, x = np.empty(0, "float32"), np.ones(4, "float32")
    f(empty, empty)
    f(x, x)
    assert np.isinf(x).all()
    with pytest.raises(ValueError, match=r"x\.strides\[0\].*expected 1"):
        f(x[::2], x[:2])
