"""Prints the licences of what is linked into the libraries of crates: python/release/notices.py [--features F]
[--target T] CRATE…

Each crate with its version, its licence and the texts that are in its sources, equal ones once, and the standard library of
Rust with what the compiler's own documentation says of it. The same sources print the same text. `setup.py` puts it into the
wheel, and `tests/release` into the archive.
"""

import argparse
import html
import json
import re
import subprocess
import sys
from collections.abc import Iterator
from pathlib import Path
from typing import Any

HERE = Path(__file__).resolve().parent
HEAD = """\
The libraries of this package hold code of the following crates of Rust, which are linked into them, under the licences named
here. Where an expression has OR, any one of these licences is enough. The texts are those of the crates' sources.
"""
NAMES = re.compile(r"(?i)(un)?licen[cs]e|copying|copyright|notice")
RULE = "=" * 100


def run(*command: str) -> str:
    return subprocess.run(command, cwd=HERE, check=True, stdout=subprocess.PIPE, encoding="utf-8").stdout


def linked(crates: list[str], features: str, target: str) -> list[dict[str, Any]]:
    """Returns the packages, of others, that are linked into crates, as `cargo metadata` describes them."""
    options = ["--locked", "--features", features]
    edges = ["--edges", "normal,no-proc-macro", "--prefix", "none", "--no-dedupe", "--format", "{p}"]
    chosen = [word for crate in crates for word in ("-p", crate)]
    tree = run("cargo", "tree", *options, "--target", target, *edges, *chosen)
    # A line is a name and `v` with a version, and perhaps more.
    named = {tuple(line.split()[:2]) for line in tree.splitlines() if line}
    metadata = run("cargo", "metadata", *options, "--format-version", "1", "--filter-platform", target)
    packages = json.loads(metadata)["packages"]
    found = [package for package in packages if (package["name"], f"v{package['version']}") in named]
    return sorted((one for one in found if one["source"]), key=lambda one: (one["name"], one["version"]))


def texts(package: dict[str, Any]) -> Iterator[str]:
    """Yields the texts of licences in the sources of a package."""
    folder = Path(package["manifest_path"]).parent
    files = {file for file in folder.iterdir() if NAMES.match(file.name) and file.suffix not in (".rs", ".toml")}
    files |= {file for inner in files if inner.is_dir() for file in inner.iterdir()}
    if package["license_file"]:
        files.add(folder / package["license_file"])
    for file in sorted(files):
        if file.is_file():
            yield "\n".join(line.rstrip() for line in file.read_text("utf-8", "replace").splitlines()).strip("\n")


def standard_library() -> str:
    """Returns what the compiler's documentation says of the standard library; its licence alone where that is not there."""
    file = Path(run("rustc", "--print", "sysroot").strip(), "share", "doc", "rust", "COPYRIGHT-library.html")
    if not file.is_file():
        return "MIT OR Apache-2.0"
    page = re.sub(r"(?s)<(head|style|script)\b.*?</\1>|<[^>]*>", "", file.read_text("utf-8"))
    lines = [line.rstrip() for line in html.unescape(page).splitlines()]
    return re.sub(r"\n{3,}", "\n\n", "\n".join(lines)).strip()


def notices(crates: list[str], features: str, target: str) -> str:
    numbers: dict[str, int] = {}
    rows, users = [], dict[int, list[str]]()
    for package in linked(crates, features, target):
        name = f"{package['name']} {package['version']}"
        own = list(dict.fromkeys(numbers.setdefault(text, len(numbers) + 1) for text in texts(package)))
        for number in own:
            users.setdefault(number, []).append(name)
        authors = f"; by {', '.join(package['authors'])}" if package["authors"] else ""
        shown = f"texts {', '.join(map(str, own))}" if own else f"no text in its sources{authors}"
        rows.append(f"{name}: {package['license'] or 'see its text'} ({shown})")
    parts = [f"{HEAD}\n" + "\n".join(rows)]
    parts += [f"Text {number}, of {', '.join(users[number])}\n\n{text}" for text, number in numbers.items()]
    parts.append(f"The standard library of Rust\n\n{standard_library()}")
    return f"\n\n{RULE}\n".join(parts) + "\n"


def main() -> None:
    parser = argparse.ArgumentParser()
    parser.add_argument("--features", default="")
    parser.add_argument("--target", default="")
    parser.add_argument("crates", nargs="+")
    given = parser.parse_args()
    host = re.search(r"(?m)^host: (.*)$", run("rustc", "-vV"))
    target = given.target or (host[1] if host else "")
    sys.stdout.buffer.write(notices(given.crates, given.features, target).encode())


if __name__ == "__main__":
    main()
