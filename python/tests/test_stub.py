"""Stubs of functions."""

import ast
import inspect

import pytest
import tvm_ffi_codegen as codegen

TEXT = """
/// Adds "one".
add_one(x: Tensor([n], float32), k: int64 = 3, name: str = "a\\"b", o: Optional[float64] = None) -> None = {};
f(xs: Array[Tensor([_], float32)], m: Map[str, int64], d: dtype, s: Device, u: Union[int64, str], p: ptr) -> int64
    = { return 1; };
h(*rest: Any) -> Any = { return rest.size; };
words(class: int64, lambda: str) -> None = {};
two(n: int64) -> (a: Tensor([n], int32), b: Tensor([n], int32)) = { @"ffi.Array"(a, b); };
del() -> None = {};
"""

DEFINITIONS = [
    """def add_one(x: Tensor, k: int = 3, name: str = 'a"b', o: float | None = None) -> None:""",
    "def f(xs: Sequence[Tensor], m: Mapping[str, int], d: tvm_ffi.dtype | str, s: tvm_ffi.Device | str, "
    "u: int | str, p: ctypes.c_void_p | None) -> int:",
    "def h(*rest: Any) -> Any:",
    "def ready(*args: Any) -> Any: ...",
    "def two(n: int) -> Sequence[Tensor]:",
    "def words(*args: Any, **named: Any) -> None:",
]


def test_every_function_has_a_definition() -> None:
    text = codegen.stub(codegen.jit(TEXT, prepare="ready"), 'About "k" \\ and """.')
    assert [line for line in text.splitlines() if line.startswith("def ")] == DEFINITIONS
    tree = ast.parse(text)
    assert ast.get_docstring(tree) == 'About "k" \\ and """.'
    add_one = next(one for one in tree.body if isinstance(one, ast.FunctionDef))
    assert str(ast.get_docstring(add_one)).endswith('\n\nAdds "one".')
    assert "# `del` is no name in Python's source" in text


def test_names_that_python_cannot_spell_are_left_out() -> None:
    m = codegen.jit("`my.f`() -> None = {}; `é`(`a`: int64) -> None = {}; _f(`a b`: int64, c: int64) -> None = {};")
    text = codegen.stub(m)
    assert [line for line in text.splitlines() if line.startswith(("def ", "# `"))] == [
        "def _f(*args: Any, **named: Any) -> None:",
        "# `my.f` is no name in Python's source: getattr finds it.",
        "def é(a: int) -> None:",
    ]
    ast.parse(text)


def test_parameters_are_those_of_the_functions() -> None:
    m = codegen.jit(TEXT)
    stubs = {one.name: one for one in ast.parse(codegen.stub(m)).body if isinstance(one, ast.FunctionDef)}
    for name in ("add_one", "f", "two"):
        assert [one.arg for one in stubs[name].args.args] == list(inspect.signature(m[name]).parameters)


def test_defaults_are_texts_of_python() -> None:
    texts = ["a\rb", "\0" + "1", '"""', "\\", "\\r", "{}", "é\x0c\u2028"]
    quoted = [text.replace("\\", "\\\\").replace('"', '\\"') for text in texts]
    params = ", ".join(f'p{index}: str = "{text}"' for index, text in enumerate(quoted))
    text = f"f({params}, k: float64 = 1.0, n: int64 = -1) -> None = {{}};"
    body = ast.parse(codegen.stub(codegen.jit(text), "a\r\0")).body
    [stub] = [one for one in body if isinstance(one, ast.FunctionDef)]
    assert [ast.literal_eval(one) for one in stub.args.defaults] == [*texts, 1.0, -1]
    assert ast.get_docstring(stub, clean=False) == codegen.describe(text)["functions"][0]["signature"]


NAMES = "bool bytes float int str tuple ctypes Callable Mapping Sequence Any TypeAlias tvm_ffi Tensor".split()
"""Names that a stub uses itself."""

TYPES = "bool float64 int64 str bytes ptr dtype Device Function Module Shape Any".split()
TYPES += ["Tuple[int64]", "Array[int64]", "Map[str, Any]", "Tensor([_], float32)"]


@pytest.mark.parametrize("names", [*([name] for name in NAMES), NAMES, ["Any", "_Any", "__Any"]], ids="-".join)
def test_types_are_no_functions_of_the_stub(names: list[str]) -> None:
    params = ", ".join(f"p{index}: {ty}" for index, ty in enumerate(TYPES))
    tree = ast.parse(codegen.stub(codegen.jit(" ".join(f"{name}({params}) -> None = {{}};" for name in names))))
    stubs = [one for one in tree.body if isinstance(one, ast.FunctionDef)]
    assert sorted(one.name for one in stubs) == sorted(names)
    imports = [one.names for one in tree.body if isinstance(one, (ast.Import, ast.ImportFrom))]
    defined = {one.asname or one.name for listed in imports for one in listed}
    defined.update(ast.unparse(one.target) for one in tree.body if isinstance(one, ast.AnnAssign))
    hints = [param.annotation for one in stubs for param in one.args.args]
    used = {one.id for hint in hints if hint is not None for one in ast.walk(hint) if isinstance(one, ast.Name)}
    assert not (used | defined).intersection(names) and used - set(NAMES) <= defined


def test_an_empty_tuple_has_a_type() -> None:
    text = codegen.stub(codegen.jit("f(t: Tuple[]) -> None = {};"))
    assert "def f(t: tuple[()]) -> None:\n" in text
    ast.parse(text)
