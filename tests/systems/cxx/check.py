"""C++: a program on `tvm::ffi`, which calls a kernel that a C++ compiler made."""

import system

program = system.MADE / "host"
libraries = system.config("--libdir")
system.run(
    "g++", "-std=c++17", *system.includes(), system.HERE / "host.cc", f"{libraries}/libtvm_ffi.so",
    f"-Wl,-rpath,{libraries}", "-o", program,
)  # fmt: skip


def check(library):
    printed = system.run(program, library)
    assert printed.startswith("1 2 3 4 5\nValueError: ") and system.WRONG_SHAPE in printed, printed


system.on_each(check, "../shared/add_one.ffi", system.compile_c("kernel.cc", compiler="g++"))
