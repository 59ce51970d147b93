"""Builds the wheel: the package with the shared object, the header for C and the native caller, which cargo builds from
this folder.

The wheel depends on the platform and not on the version of Python: Python reaches the shared object through TVM FFI, and
the native caller is for the stable ABI of Python 3.11, and left alone by builds of Python that have another. Setuptools
and not maturin, which builds one crate and no headers. `TVM_FFI_CODEGEN_PROFILE=dev` builds without optimisation,
`TVM_FFI_CODEGEN_FEATURES=llvm` with a backend that needs LLVM, and `CARGO_BUILD_TARGET` for another machine with Linux.
`tests/release` builds for an older glibc.

The source distribution is the workspace without its examples and tests; `release/backend.py` builds this folder of it.
With `SOURCE_DATE_EPOCH` it depends on the sources alone.
"""

import gzip
import json
import os
import shutil
import subprocess
import sys
import tarfile
import time
import tomllib
from pathlib import Path

from setuptools import setup
from setuptools.command.bdist_wheel import bdist_wheel
from setuptools.command.build_py import build_py
from setuptools.command.sdist import sdist
from setuptools.dist import Distribution

HERE = Path(__file__).resolve().parent
WORKSPACE = HERE.parent
CRATE = "tvm-ffi-codegen-python"
CALLER_CRATE = "tvm-ffi-codegen-call"
LIBRARY = Path("tvm_ffi_codegen", "libtvm_ffi_codegen.so")
CALLER = Path("tvm_ffi_codegen", "libtvm_ffi_codegen_call.so")
HEADER = Path("tvm_ffi_codegen", "include", "tvm_ffi_codegen.h")
NOTICES = "THIRD-PARTY.txt"
CMAKE = Path("tvm_ffi_codegen", "lib", "cmake", "tvm_ffi_codegen")

# Where Debian and Ubuntu put LLVM 22, and the variables by which the crates of LLVM and MLIR find it rather than whatever
# version is on the path: `.cargo/config.toml` of the repository has both, and is no part of the source distribution, since
# it says so to systems that have LLVM elsewhere, too.
LLVM = Path("/usr/lib/llvm-22")
PREFIXES = ("LLVM_SYS_221_PREFIX", "MLIR_SYS_220_PREFIX", "TABLEGEN_220_PREFIX")
NO_RUST = """
Building this package needs Rust, and there is no `cargo` on the path: https://rustup.rs installs both. A wheel for this
machine needs neither, if there is one."""
# Members of the workspace that the package is not built of.
UNPACKED = ("examples", "tests")
# `pyproject.toml` at the root of the source distribution.
ROOT = """\
[build-system]
requires = ["setuptools>=77"]
build-backend = "backend"
backend-path = ["python/release"]
"""


def cargo(*arguments: str, cwd: Path = HERE) -> str:
    """Runs cargo in a folder; returns what it prints."""
    if shutil.which("cargo") is None:
        raise SystemExit(NO_RUST)
    environment = {**(dict.fromkeys(PREFIXES, str(LLVM)) if LLVM.is_dir() else {}), **os.environ}
    command = ["cargo", *arguments]
    return subprocess.run(command, cwd=cwd, env=environment, check=True, stdout=subprocess.PIPE, text=True).stdout


def features() -> str:
    """Returns the features that are asked for, as cargo takes them."""
    names = os.environ.get("TVM_FFI_CODEGEN_FEATURES", "").replace(",", " ").split()
    return " ".join(f"{CRATE}/{name}" for name in names)


def notices() -> str:
    """Returns the licences of what the libraries hold: see `release/notices.py`."""
    target = os.environ.get("CARGO_BUILD_TARGET", "")
    command = [sys.executable, str(HERE / "release" / "notices.py"), "--features", features(), "--target", target]
    command += [CRATE, CALLER_CRATE]
    return subprocess.run(command, check=True, stdout=subprocess.PIPE, encoding="utf-8").stdout


def compiled(crates: tuple[str, ...]) -> tuple[dict[str, Path], list[Path]]:
    """Builds crates in one go, so that what they share is compiled once; returns the paths of their libraries and of the
    folders of build scripts."""
    profile = os.environ.get("TVM_FFI_CODEGEN_PROFILE", "release")
    command = ["build", "--locked", "--lib", "--profile", profile, "--features", features()]
    for crate in crates:
        command += ["-p", crate, "--config", f"profile.{profile}.package.{crate}.strip='symbols'"]
    command += ["--message-format", "json-render-diagnostics"]
    messages = [json.loads(line) for line in cargo(*command).splitlines() if line.startswith("{")]
    artifacts = [message for message in messages if message["reason"] == "compiler-artifact"]
    files = {artifact["target"]["name"]: map(Path, artifact["filenames"]) for artifact in artifacts}
    libraries = {
        crate: next(file for file in files[crate.replace("-", "_")] if file.suffix in (".so", ".dylib", ".dll"))
        for crate in crates
    }
    scripts = [message for message in messages if message["reason"] == "build-script-executed"]
    return libraries, [Path(script["out_dir"]) for script in scripts]


def built() -> dict[Path, Path]:
    """Builds the files of the package that are no Python, or takes them from the folder `TVM_FFI_CODEGEN_FILES`; returns
    their paths by their places in the package."""
    if given := os.environ.get("TVM_FFI_CODEGEN_FILES"):
        return {place: Path(given, place.name) for place in (LIBRARY, HEADER, CALLER)}
    libraries, folders = compiled((CRATE, CALLER_CRATE))
    headers = [folder / "include" / HEADER.name for folder in folders]
    header = next(file for file in headers if file.is_file())
    return {LIBRARY: libraries[CRATE], HEADER: header, CALLER: libraries[CALLER_CRATE]}


def tracked(folders: list[str]) -> list[Path]:
    """Returns the files below folders of the workspace, relative to its root. The package is in a checkout."""
    command = ["git", "ls-files", "-z", *folders]
    listed = subprocess.run(command, cwd=WORKSPACE, check=True, stdout=subprocess.PIPE, text=True).stdout
    return [Path(file) for file in listed.split("\0")[:-1]]


class Build(build_py):
    """Adds the shared object, the header and the files for CMake to the package."""

    def run(self) -> None:
        super().run()
        folder = HERE if self.editable_mode else Path(self.build_lib)
        for place, made in built().items():
            shutil.copyfile(made, folder / place)
        (folder / CMAKE).mkdir(parents=True, exist_ok=True)
        for file in sorted((HERE / "release").glob("*.cmake")):
            text = file.read_text().replace("@VERSION@", self.distribution.get_version())
            (folder / CMAKE / file.name).write_text(text)


class Wheel(bdist_wheel):
    """A wheel for every version of Python on one platform."""

    def get_tag(self) -> tuple[str, str, str]:
        machine, _, system, *_ = [*os.environ.get("CARGO_BUILD_TARGET", "").split("-"), "", ""]
        platform = f"linux_{machine}" if system == "linux" else super().get_tag()[2]
        return "py3", "none", platform

    def write_wheelfile(self, wheelfile_base: str, *arguments: str) -> None:
        """Adds the licences of other people's code to those of the package. The metadata are there."""
        super().write_wheelfile(wheelfile_base, *arguments)
        licences, metadata = Path(wheelfile_base, "licenses"), Path(wheelfile_base, "METADATA")
        licences.mkdir(exist_ok=True)
        (licences / NOTICES).write_text(notices(), encoding="utf-8")
        named = "License-File: LICENSE\n"
        text = metadata.read_text(encoding="utf-8")
        metadata.write_text(text.replace(named, f"{named}License-File: {NOTICES}\n", 1), encoding="utf-8")


class Source(sdist):
    """The files of all crates that the package is built of, and how to build it from their root."""

    def make_release_tree(self, base_dir: str, files: list[str]) -> None:
        root = Path(base_dir)
        super().make_release_tree(base_dir, [])
        manifest = (WORKSPACE / "Cargo.toml").read_text()
        for folder in UNPACKED:
            manifest = manifest.replace(f'"{folder}", ', "")
        for file in tracked(["Cargo.lock", "LICENSE", *tomllib.loads(manifest)["workspace"]["members"]]):
            (root / file).parent.mkdir(parents=True, exist_ok=True)
            shutil.copy2(WORKSPACE / file, root / file)
        (root / "Cargo.toml").write_text(manifest)
        (root / "pyproject.toml").write_text(ROOT)
        shutil.copy2(HERE / "README.md", root)
        # Removes from the lock file what only the other members need.
        cargo("update", "-q", "--workspace", cwd=root)

    def make_archive(
        self, base_name: str, format: str, root_dir: str | None = None, base_dir: str | None = None, **_: object
    ) -> str:
        """Writes the archive without what differs from one machine to another: owners, rights and times of files."""
        if format != "gztar" or base_dir is None:
            raise ValueError("the source distribution is a `gztar`")
        made = int(os.environ.get("SOURCE_DATE_EPOCH", time.time()))

        def entry(info: tarfile.TarInfo) -> tarfile.TarInfo:
            runs = info.isdir() or info.mode & 0o100
            info.mtime, info.mode = made, 0o755 if runs else 0o644
            info.uid, info.gid, info.uname, info.gname = 0, 0, "", ""
            return info

        name = f"{base_name}.tar.gz"
        os.makedirs(os.path.dirname(name) or ".", exist_ok=True)
        with open(name, "wb") as file, gzip.GzipFile("", "wb", fileobj=file, mtime=made) as packed:
            with tarfile.open(fileobj=packed, mode="w", format=tarfile.PAX_FORMAT) as archive:
                archive.add(Path(root_dir or ".", base_dir), base_dir, filter=entry)
        return name


class Platform(Distribution):
    """A distribution with a file that depends on the platform."""

    def has_ext_modules(self) -> bool:
        return True


workspace = tomllib.loads((WORKSPACE / "Cargo.toml").read_text())
setup(
    version=workspace["workspace"]["package"]["version"],
    cmdclass={"build_py": Build, "bdist_wheel": Wheel, "sdist": Source},
    distclass=Platform,
)
