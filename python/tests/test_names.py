"""Names that are no words of Python: functions and parameters of any text."""

import inspect
from typing import Any

import pytest
import tvm_ffi_codegen as codegen
from support import raises
from tvm_ffi_codegen import C, build

NAMES = [
    *("f(x)", "(", "a.b("),
    *("_f", "_", "__init__", "_make", "_parts", "my.f", "my-f", "a b", " ", ".", "a.", "1", "é", "数", "🦀", "'", "%s", "$x"),
    *("a@b", "f\\", 'say "f"', "{}", "#", "llvm.memcpy", "lambda", "min", "float32", "None", "module", "f" * 1000, "é" * 1000),
]
"""Names of functions and of parameters."""


def declared(name: str) -> str:
    return f"`{name}`(`{name}`: int64, *`{name}s`: Any) -> int64 = {{ return `{name}` + 1; }};"


def test_functions_of_any_name_are_found_and_called_by_keywords() -> None:
    m = codegen.jit(" ".join(map(declared, NAMES)))
    assert sorted(m) == sorted(NAMES)
    module = codegen.Functions.module(m)
    for name in NAMES:
        function: Any = m[name]
        assert function(1) == function(**{name: 1}) == 2 and function.__name__ == name
        if name not in dir(object):
            assert getattr(m, name) is function
        raises(TypeError, f"missing 1 required positional argument: {name!r}", function)
        raises(TypeError, "on argument #0 when calling: `", lambda function=function: function("text"))  # type: ignore[misc]
        assert module.get_function(name)(1) == 2
        assert module.get_function_metadata(name)["declaration"]["params"][0]["name"] == name


def test_errors_spell_names_as_declarations_do() -> None:
    m = codegen.jit("`my.f`(`my x`: int64, y: int64) -> int64 = { return `my x`; };")
    signature = "`my.f`(`my x`: int64, y: int64)"
    expected = f"Mismatched type of `my x` on argument #0 when calling: `{signature}`, expected int64 but got str"
    raises(TypeError, expected, lambda: m["my.f"]("text", 1))
    assert repr(m) == f"<{signature} -> int64>"
    raises(AttributeError, "no function 'my': there is my.f", lambda: m.my)


def test_signatures_have_the_parameters_that_python_can_spell() -> None:
    m = codegen.jit(
        '`my.f`(x: int64, s: str = "é") -> None = {}; `a.`() -> None = {};'
        "g(`a b`: int64) -> None = {}; h(`é`: int64) -> None = {};"
    )
    assert str(inspect.signature(m["my.f"])) == "(x, s='é')" and str(inspect.signature(m["a."])) == "()"
    assert m["my.f"].__doc__ == '`my.f`(x: int64, s: str = "é") -> None'
    for function in (m.g, m.h):
        with pytest.raises(ValueError, match="no signature found"):
            inspect.signature(function)


def test_built_declarations_have_the_same_names() -> None:
    for name in NAMES:
        n = build.Name(name)
        function = build.function(name, [build.Param(n, "int64")], [build.Return(n + 1)], "int64")
        library = build.Library([function])
        assert codegen.jit(str(library))[name](**{name: 1}) == 2
        assert build.parse(str(library)) == library
        assert build.parse(f"`{name}`(`{name}`: int64) -> int64 = {{ return `{name}` + 1; }};") == library


def test_reserved_names_are_refused() -> None:
    rows = {
        "_library_ctx": "the context of the library",
        "_library_bin": "the import tree of the library",
        "_metadata_f": "the metadata of `f`",
        "_doc_my f": "the documentation of `my f`",
    }
    for name, used in rows.items():
        text = f"f() -> None = {{}}; `{name}`() -> None = {{}};"
        raises(ValueError, f"its symbol `__tvm_ffi_{name}` is that of {used}", lambda text=text: codegen.jit(text))  # type: ignore[misc]
    for name in ("", "a`b", "a\nb", "\x7f", "\x85"):
        raises(ValueError, "a name is text without backticks and control characters", lambda name=name: str(build.function(name, [], [])))  # type: ignore[misc]


def test_shared_libraries_have_the_same_names(tmp_path: Any) -> None:
    names = [name for name in NAMES if "@" not in name]
    path = tmp_path / "library.so"
    text = " ".join(f"`{name}`(`{name}`: int64) -> int64 = k(`{name}`);" for name in names)
    path.write_bytes(codegen.emit(text, "shared", link=[C("long k(long n) { return n + 1; }")]))
    module = codegen.load(path)
    assert [module[name](**{name: 1}) for name in names] == [2] * len(names)
