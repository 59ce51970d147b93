"""Builds the wheel: the package with the shared object and the header for C, both of which cargo builds from this folder.

The wheel depends on the platform and not on the version of Python, since Python reaches the shared object through
TVM FFI. `TVM_FFI_CODEGEN_PROFILE=dev` builds it without optimisation, `TVM_FFI_CODEGEN_FEATURES=llvm` with a backend
that needs LLVM.
"""

import json
import os
import shutil
import subprocess
import tomllib
from pathlib import Path

from setuptools import setup
from setuptools.command.bdist_wheel import bdist_wheel
from setuptools.command.build_py import build_py
from setuptools.dist import Distribution

HERE = Path(__file__).resolve().parent
CRATE = "tvm-ffi-codegen-python"
LIBRARY = Path("tvm_ffi_codegen", "libtvm_ffi_codegen.so")
HEADER = Path("tvm_ffi_codegen", "include", "tvm_ffi_codegen.h")


def cargo() -> dict[Path, Path]:
    """Builds the shared object and the header; returns their paths by their places in the package."""
    profile = os.environ.get("TVM_FFI_CODEGEN_PROFILE", "release")
    features = os.environ.get("TVM_FFI_CODEGEN_FEATURES", "")
    command = ["cargo", "rustc", "--locked", "--lib", "--crate-type", "cdylib", "-p", CRATE]
    command += ["--profile", profile, "--features", features]
    command += ["--message-format", "json-render-diagnostics", "--", "-C", "strip=symbols"]
    output = subprocess.run(command, cwd=HERE, check=True, stdout=subprocess.PIPE, text=True).stdout
    messages = [json.loads(line) for line in output.splitlines() if line.startswith("{")]
    artifacts = [message for message in messages if message["reason"] == "compiler-artifact"]
    ours = [artifact for artifact in artifacts if "cdylib" in artifact["target"]["crate_types"]]
    files = [Path(file) for artifact in ours for file in artifact["filenames"]]
    library = next(file for file in files if file.suffix in (".so", ".dylib", ".dll"))
    scripts = [message for message in messages if message["reason"] == "build-script-executed"]
    made = [Path(script["out_dir"], "include", HEADER.name) for script in scripts]
    return {LIBRARY: library, HEADER: next(file for file in made if file.is_file())}


class Build(build_py):
    """Adds the shared object and the header to the package."""

    def run(self) -> None:
        super().run()
        folder = HERE if self.editable_mode else Path(self.build_lib)
        for place, made in cargo().items():
            shutil.copyfile(made, folder / place)


class Wheel(bdist_wheel):
    """A wheel for every version of Python on one platform."""

    def get_tag(self) -> tuple[str, str, str]:
        return "py3", "none", super().get_tag()[2]


class Platform(Distribution):
    """A distribution with a file that depends on the platform."""

    def has_ext_modules(self) -> bool:
        return True


workspace = tomllib.loads((HERE.parent / "Cargo.toml").read_text())
setup(
    version=workspace["workspace"]["package"]["version"],
    cmdclass={"build_py": Build, "bdist_wheel": Wheel},
    distclass=Platform,
)
