"""The blocks of the guide: those of the chapter on this package, one after the other, and those of each page on the language."""

import ast
import re
import warnings
from pathlib import Path

import pytest
import tvm_ffi_codegen as codegen

ROOT = Path(__file__).parents[2]
GUIDE = ROOT / "codegen/src/guide"
PAGES = sorted((GUIDE / "language").glob("*.md"))
# Code that a library may carry; nothing runs it.
IMAGE = b".version 8.0\n.target sm_80\n.address_size 64\n"


def blocks(path: Path, language: str) -> list[str]:
    """Returns the blocks of code of a language."""
    return re.findall(rf"^```{language}\n(.*?)^```$", path.read_text(), re.DOTALL | re.MULTILINE)


def test_the_chapter_is_true() -> None:
    found = blocks(GUIDE / "python.md", "python")
    assert len(found) > 5
    names: dict[str, object] = {"__name__": "chapter"}
    with warnings.catch_warnings():
        warnings.simplefilter("error")
        for number, block in enumerate(found):
            exec(compile(block, f"block {number}", "exec"), names)  # noqa: S102


@pytest.mark.parametrize("page", PAGES, ids=lambda page: page.stem)
def test_a_page_is_true(page: Path) -> None:
    [declaration], [error] = blocks(page, "ffi"), blocks(page, "text")
    [python], [rust] = blocks(page, "python"), blocks(page, "rust")
    assert codegen.check(declaration) == []

    images = {name: IMAGE for name in codegen.describe(declaration)["images"]}
    header = codegen.emit(declaration, "header", images=images)
    called = re.findall(r"^/\* What the library calls\. \*/\n(.*?)^#endif", header, re.DOTALL | re.MULTILINE)
    assert blocks(page, "c") == called

    names: dict[str, object] = {"__name__": page.stem, "declaration": declaration}
    exec(blocks(GUIDE / "language.md", "python")[0], names)  # noqa: S102
    *body, last = ast.parse(python).body
    with warnings.catch_warnings():
        warnings.simplefilter("error")
        exec(compile(ast.Module(body, []), str(page), "exec"), names)  # noqa: S102
        with pytest.raises(Exception) as raised:
            exec(compile(ast.Module([last], []), str(page), "exec"), names)  # noqa: S102
    assert f"{type(raised.value).__name__}: {raised.value}\n" == error

    # The crate of the JIT runs the block of Rust, python.rs that of C++.
    texts = re.findall(r'r#"(.*?)"#', re.sub(r"^# ?", "", rust, flags=re.MULTILINE), re.DOTALL)
    assert [text.strip("\n") for text in texts] == [declaration.strip("\n"), error.strip("\n")]
    assert f'"../../codegen/src/guide/language/{page.name}"' in (ROOT / "jit/src/lib.rs").read_text()
    assert f"(language/{page.name})" in (ROOT / "codegen/book/SUMMARY.md").read_text()
