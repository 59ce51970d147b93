"""Assembles the sources of the book: python3 assemble.py FOLDER [API].

Writes a page for each entry of SUMMARY.md into FOLDER: a chapter of the guide, the documentation of the language, a file
of the repository's root, or an example program. Links of rustdoc and of the repository become links between pages; those
to items of the crate lead to API, a folder of `cargo doc` that is to stand beside the pages as `api`, or else to docs.rs.
What a link names and nothing has is an error.
"""

import os
import pathlib
import re
import shutil
import sys

BOOK = pathlib.Path(__file__).resolve().parent
ROOT = BOOK.parents[1]
GUIDE = pathlib.PurePosixPath("codegen/src/guide")
LANGUAGE = pathlib.PurePosixPath("codegen/src/language.rs")
# Sources of pages that are neither chapters nor examples.
NAMED = {"start.md": "README.md", "contributing.md": "CONTRIBUTING.md", "grammar.md": str(LANGUAGE)}
DOCS = "https://docs.rs/tvm-ffi-codegen/latest/tvm_ffi_codegen"
PICTURES = (".svg", ".png")
LABELS = {"python": "Python", "rust": "Rust", "cpp": "C++"}


def entries() -> list[tuple[str, str]]:
    """Returns the titles and pages of the summary."""
    return re.findall(r"^ *- \[(.+?)\]\((.+?)\)$", (BOOK / "SUMMARY.md").read_text(), re.MULTILINE)


def source(page: str) -> pathlib.PurePosixPath:
    """Returns the path of what a page is made of, from the root of the repository."""
    if page in NAMED:
        return pathlib.PurePosixPath(NAMED[page])
    if "examples/" in page:
        return pathlib.PurePosixPath(page.removesuffix(".md"))
    return GUIDE / page


PAGES = {source(page): page for _, page in entries()}


class Links:
    """The targets of links on one page."""

    def __init__(self, page: str, api: pathlib.Path | None) -> None:
        self.page, self.api = page, api
        self.source = source(page)
        self.up = "../" * page.count("/")

    def item(self, path: str) -> str:
        """Returns the address of an item of the crate, such as `Library::prepare`."""
        *modules, name = path.split("::")
        member = ""
        if modules and modules[-1][0].isupper():
            member, name = name, modules.pop()
        if self.api is None:
            return f"{DOCS}/?search={path}"
        folder = self.api.joinpath("tvm_ffi_codegen", *modules)
        files = sorted(folder.glob(f"*.{name}.html"))
        if not files:
            sys.exit(f"{self.source}: nothing is called {path}")
        address = f"{self.up}api/{files[0].relative_to(self.api).as_posix()}"
        if not member:
            return address
        found = re.search(rf'id="([a-z]+\.{member})"', files[0].read_text())
        if found is None:
            sys.exit(f"{self.source}: {name} has no {member}")
        return f"{address}#{found[1]}"

    def rustdoc(self, path: str) -> str:
        """Returns the address of a path as rustdoc takes it: `crate::guide::kinds`, `crate::Library::prepare`."""
        path, _, anchor = path.removeprefix("crate::").partition("#")
        file = LANGUAGE if path == "language" else GUIDE / f"{path.removeprefix('guide::')}.md"
        if file not in PAGES:
            return self.item(path)
        return self.up + PAGES[file] + (f"#{anchor}" if anchor else "")

    def file(self, path: str) -> str | None:
        """Returns the address of a file beside the source, or None if the file is on no page."""
        path, _, anchor = path.partition("#")
        named = pathlib.PurePosixPath(os.path.normpath(self.source.parent / path))
        if named in PAGES:
            return self.up + PAGES[named] + (f"#{anchor}" if anchor else "")
        if named.suffix in PICTURES and named.is_relative_to(GUIDE):
            return f"{self.up}{named.relative_to(GUIDE)}"
        if not (ROOT / named).exists():
            sys.exit(f"{self.source}: there is no {named}")
        return None

    def resolve(self, text: str) -> str:
        """Replaces the links in a text. The text of one that leads to no page stays."""

        def inline(match: re.Match[str]) -> str:
            before, shown, target = match.groups()
            if re.match(r"#|https?:", target):
                return match[0]
            address = self.rustdoc(target) if target.startswith("crate::") else self.file(target)
            return f"{before}[{shown}]({address})" if address else shown

        text = re.sub(r"(!?)\[([^\]]*)\]\(([^)\s]+)\)", inline, text)
        text = re.sub(r"^(\[[^\]]+\]: )(\S+)$", lambda match: match[1] + (self.file(match[2]) or ""), text, flags=re.MULTILINE)
        # A name in code that is the link: [`MAX_TEXT`].
        short = r"\[(`([A-Z]\w*(?:::\w+)*)`)\](?![(\[])"
        module = "language::" if self.source == LANGUAGE else ""
        return re.sub(short, lambda match: f"[{match[1]}]({self.item(module + match[2])})", text)


def language() -> str:
    """Returns the documentation of the language."""
    lines = (ROOT / LANGUAGE).read_text().splitlines()
    return "\n".join(line[3:].removeprefix(" ") for line in lines if line.startswith("//!"))


def tabs(blocks: str) -> str:
    """Returns consecutive blocks of code as tabs, each below the name of its language."""
    named = re.sub(r"^```(\w+)\n", lambda start: f'<p class="tab">{LABELS[start[1]]}</p>\n\n{start[0]}', blocks, flags=re.MULTILINE)
    return f'<div class="tabs">\n\n{named}\n</div>\n'


def page(title: str, name: str, api: pathlib.Path | None) -> str:
    """Returns the text of a page."""
    links = Links(name, api)
    if "examples/" in name:
        kind = {".rs": "rust", ".py": "python", ".cc": "cpp", ".c": "c"}[links.source.suffix]
        return f"# {title}\n\n`{links.source}`\n\n~~~~{kind}\n{(ROOT / links.source).read_text()}~~~~\n"
    text = language() if links.source == LANGUAGE else (ROOT / links.source).read_text()
    parts = re.split(r"^(```.*?^```\n)", text + "\n", flags=re.DOTALL | re.MULTILINE)
    # Chapters have no title of their own, and start with headings of the first level.
    deeper = links.source.suffix == ".rs" or links.source.is_relative_to(GUIDE)
    for at, part in enumerate(parts):
        if at % 2:
            # To rustdoc a block without a language is Rust; mdBook hides the same lines of it.
            parts[at] = re.sub(r"\A```\n", "```rust\n", part)
        else:
            parts[at] = links.resolve(re.sub(r"^#", "##", part, flags=re.MULTILINE) if deeper else part)
    text = "".join(parts)
    block = rf"^```(?:{'|'.join(LABELS)})\n.*?^```\n"
    text = re.sub(rf"(?:{block}\n?){{2,}}", lambda run: tabs(run[0]), text, flags=re.DOTALL | re.MULTILINE)
    return f"# {title}\n\n{text}" if deeper else text


def main() -> None:
    folder = pathlib.Path(sys.argv[1])
    api = pathlib.Path(sys.argv[2]) if len(sys.argv) > 2 else None
    shutil.rmtree(folder, ignore_errors=True)
    for title, name in entries():
        path = folder / name
        path.parent.mkdir(parents=True, exist_ok=True)
        path.write_text(page(title, name, api))
    shutil.copy(BOOK / "SUMMARY.md", folder)
    for picture in (path for path in (ROOT / GUIDE).rglob("*") if path.suffix in PICTURES):
        copy = folder / picture.relative_to(ROOT / GUIDE)
        copy.parent.mkdir(parents=True, exist_ok=True)
        shutil.copy(picture, copy)


if __name__ == "__main__":
    main()
