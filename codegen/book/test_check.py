"""The checker of links finds each kind of mistake: python3 test_check.py."""

import pathlib
import tempfile
import unittest

from check import broken

GOOD = '<h1 id="top">a</h1> <a href="b.html#x">b</a> <a href="#top">up</a> <a href="https://example.org/">there</a>'


class Check(unittest.TestCase):
    def wrong(self, a: str, css: str = "") -> list[str]:
        """Returns what is wrong with a page beside another one."""
        with tempfile.TemporaryDirectory() as folder:
            root = pathlib.Path(folder)
            (root / "api").mkdir()
            for name, text in {"a.html": a, "b.html": '<p id="x">', "a.css": css, "api/c.html": '<a href="gone.html">'}.items():
                (root / name).write_text(text)
            return broken(root)

    def test_good_links(self) -> None:
        self.assertEqual(self.wrong(GOOD + '<a href="api/c.html">'), [])

    def test_each_mistake(self) -> None:
        for text, said in [
            ('<a href="c.html">', "a.html: c.html: there is no such file"),
            ('<img src="c.svg">', "a.html: c.svg: there is no such file"),
            ('<a href="b.html#y">', "a.html: b.html#y: no element has this id"),
            ('<a href="#y">', "a.html: #y: no element has this id"),
            ('<a href="api/c.html#y">', "a.html: api/c.html#y: no element has this id"),
            ('<script src="https://example.org/a.js">', "a.html: loads https://example.org/a.js"),
            ('<link href="//example.org/a.css">', "a.html: loads //example.org/a.css"),
        ]:
            self.assertEqual(self.wrong(GOOD + text), [said])

    def test_styles(self) -> None:
        self.assertEqual(self.wrong(GOOD, "@import 'https://example.org/a.css'"), ["a.css: loads https://example.org/a.css"])


if __name__ == "__main__":
    unittest.main()
