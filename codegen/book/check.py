"""Checks the pages of a book: python3 check.py FOLDER.

Every link between files must lead to a file and, after `#`, to an element that has this id. Nothing may be loaded from
elsewhere: no picture, style, font or program. The API documentation in `api` is looked up and not checked itself.
"""

import pathlib
import re
import sys
from html.parser import HTMLParser
from urllib.parse import unquote, urlsplit


class Page(HTMLParser):
    """The ids and links of a page."""

    def __init__(self, path: pathlib.Path) -> None:
        super().__init__()
        self.ids: set[str] = set()
        # What is clicked, and what the page loads by itself.
        self.links: list[str] = []
        self.loads: list[str] = []
        self.feed(path.read_text())

    def handle_starttag(self, tag: str, attributes: list[tuple[str, str | None]]) -> None:
        for name, value in attributes:
            if value is None:
                continue
            if name == "id" or (tag == "a" and name == "name"):
                self.ids.add(value)
            elif name in ("href", "xlink:href") and tag != "link":
                self.links.append(value)
            elif name in ("src", "href", "data", "poster"):
                self.loads.append(value)


def broken(root: pathlib.Path) -> list[str]:
    """Returns what is wrong with the pages of a folder."""
    pages: dict[pathlib.Path, Page] = {}
    wrong: list[str] = []

    def read(path: pathlib.Path) -> Page:
        if path not in pages:
            pages[path] = Page(path)
        return pages[path]

    def look(page: pathlib.Path, link: str) -> None:
        parts = urlsplit(link)
        if parts.scheme or parts.netloc:
            return
        target = (page.parent / unquote(parts.path)).resolve() if parts.path else page
        if target.is_dir():
            target /= "index.html"
        name = page.relative_to(root)
        if not target.is_file():
            wrong.append(f"{name}: {link}: there is no such file")
        elif parts.fragment and target.suffix == ".html" and unquote(parts.fragment) not in read(target).ids:
            wrong.append(f"{name}: {link}: no element has this id")

    root = root.resolve()
    own = [path for path in sorted(root.rglob("*")) if path.relative_to(root).parts[0] != "api"]
    for path in own:
        if path.suffix == ".html":
            page = read(path)
            for link in page.links + page.loads:
                look(path, link)
            wrong += [f"{path.relative_to(root)}: loads {load}" for load in page.loads if re.match(r"(https?:)?//", load)]
        elif path.suffix == ".css":
            loads = re.findall(r"(?:url\(|@import )\s*[\"']?((?:https?:)?//[^\"')\s]+)", path.read_text())
            wrong += [f"{path.relative_to(root)}: loads {load}" for load in loads]
    return wrong


if __name__ == "__main__":
    found = broken(pathlib.Path(sys.argv[1]))
    for line in found:
        print(line, file=sys.stderr)
    sys.exit(1 if found else 0)
