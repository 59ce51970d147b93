"""The chapter on this package: its blocks run as they are, one after the other."""

import re
import warnings
from pathlib import Path

CHAPTER = Path(__file__).parents[2] / "codegen/src/guide/python.md"


def test_the_chapter_is_true() -> None:
    blocks = re.findall(r"^```python\n(.*?)^```$", CHAPTER.read_text(), re.DOTALL | re.MULTILINE)
    assert len(blocks) > 5
    names: dict[str, object] = {"__name__": "chapter"}
    with warnings.catch_warnings():
        warnings.simplefilter("error")
        for number, block in enumerate(blocks):
            exec(compile(block, f"block {number}", "exec"), names)  # noqa: S102
