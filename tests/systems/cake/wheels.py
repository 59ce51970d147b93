"""The wheels that hold the hosts and NVIDIA's headers: downloaded by their exact versions and unpacked, once."""

from __future__ import annotations

import shutil
import subprocess
import sys
import zipfile
from dataclasses import dataclass
from pathlib import Path

HERE = Path(__file__).resolve().parent
WANTED = HERE / "wheels.txt"
# Sources and headers. Headers of the C++ library of CUDA have no extension.
SOURCES = (".cu", ".cuh", ".h", ".hpp", ".inl", ".inc")
LIBRARY = "flashinfer/data/cccl/libcudacxx/include/"


class Missing(Exception):
    """The reason why the wheels are not here."""


@dataclass(frozen=True)
class Unpacked:
    """The folder of the wheel with the hosts, that of NVIDIA's headers, and the versions of all."""

    hosts: Path
    nvidia: Path
    versions: str

    @property
    def includes(self) -> tuple[Path, ...]:
        """Returns folders of headers. One header is included by hosts that do not lie beside it."""
        data = self.hosts / "flashinfer" / "data"
        own = (data / "csrc", data / "include", self.hosts / LIBRARY, data / "csrc" / "kda" / "tf32")
        return (self.nvidia / "nvidia" / "cu13" / "include", *own)


def unpack(folder: Path) -> Unpacked:
    """Returns the wheels in a folder, which are downloaded if they are not there."""
    mark, versions = folder / "unpacked-from", WANTED.read_text()
    found = Unpacked(folder / "hosts", folder / "nvidia", versions)
    if mark.exists() and mark.read_text() == versions:
        return found
    for part in (found.hosts, found.nvidia):
        shutil.rmtree(part, ignore_errors=True)
    wheels = folder / "wheels"
    wheels.mkdir(parents=True, exist_ok=True)
    download = ["-m", "pip", "download", "--quiet", "--disable-pip-version-check", "--no-deps", "--only-binary=:all:"]
    done = subprocess.run(
        [sys.executable, *download, "--dest", wheels, "--requirement", WANTED], capture_output=True, text=True
    )
    if done.returncode != 0:
        raise Missing((done.stderr.strip().splitlines() or ["pip says nothing"])[-1])
    for wheel in wheels.glob("*.whl"):
        extract(wheel, found.nvidia if wheel.name.startswith("nvidia") else found.hosts)
    shutil.rmtree(wheels)
    mark.write_text(versions)
    return found


def extract(wheel: Path, to: Path) -> None:
    with zipfile.ZipFile(wheel) as archive:
        for name in archive.namelist():
            if name.endswith(SOURCES) or name.startswith(LIBRARY):
                archive.extract(name, to)
