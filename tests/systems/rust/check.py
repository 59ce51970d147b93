"""Rust: a program on the crate `tvm-ffi`, which calls a kernel that rustc made."""

import os

import system

target = os.path.join(os.environ["SYSTEMS_TARGET"], "systems", "rust", "target")
libraries = system.config("--libdir")
manifest = system.HERE / "Cargo.toml"
system.run("cargo", "build", "--locked", "--quiet", "--manifest-path", manifest, CARGO_TARGET_DIR=target)
kernel = system.MADE / "kernel.o"
system.run(
    "rustc", "--edition=2024", "--crate-type=lib", "-Cpanic=abort", "-Copt-level=2", "-Crelocation-model=pic", "--emit=obj",
    system.HERE / "kernel.rs", "-o", kernel,
)  # fmt: skip


def check(library):
    printed = system.run(f"{target}/debug/host", library, LD_LIBRARY_PATH=libraries)
    assert printed.startswith("[1.0, 2.0, 3.0, 4.0, 5.0]\nValueError: "), printed
    assert system.WRONG_SHAPE in printed, printed


system.on_each(check, "../shared/add_one.ffi", kernel)
