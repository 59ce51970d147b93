"""Types of the package for its users: mypy checks this file, and its tests run."""

from __future__ import annotations

import tomllib
from collections.abc import Callable
from pathlib import Path
from typing import Any, assert_type

import tvm_ffi_codegen

DECLARATION = "twice(n: int64) -> int64 = { return n * 2; };"


def test_functions_are_callables() -> None:
    m = tvm_ffi_codegen.jit(DECLARATION)
    assert_type(m, tvm_ffi_codegen.Functions)
    assert_type(m["twice"], Callable[..., Any])
    assert_type(m.twice, Callable[..., Any])
    result = m.twice(21)
    # Checkers take what follows a call for reachable.
    assert_type(result, Any)
    assert result == 42


def test_the_version_is_that_of_the_crates() -> None:
    assert_type(tvm_ffi_codegen.__version__, str)
    manifest = tomllib.loads((Path(__file__).parents[2] / "Cargo.toml").read_text())
    assert tvm_ffi_codegen.__version__ == manifest["workspace"]["package"]["version"]
    assert "__version__" in dir(tvm_ffi_codegen)


def test_what_the_decorator_returns_is_a_callable() -> None:
    @tvm_ffi_codegen.function(DECLARATION)
    def twice() -> None:
        """Makes no kernel."""

    assert_type(twice, Callable[..., Any])
    assert twice(21) == 42
