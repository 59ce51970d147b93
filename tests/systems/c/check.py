"""C: a program that loads a library and calls a function through the runtime's C API, tests/hosts/caller.c."""

import system

SAID = "2 3 4 5 6\nresult: type index 0\nValueError: Mismatched y.shape[0] on argument #1 when calling: "

libraries = system.config("--libdir")
program = system.MADE / "caller"
source = system.ROOT / "tests" / "hosts" / "caller.c"
system.run("gcc", "-std=gnu11", *system.includes(), source, f"{libraries}/libtvm_ffi.so", f"-Wl,-rpath,{libraries}", "-o", program)


def check(library):
    printed = system.run(program, library)
    assert printed.startswith(SAID) and system.WRONG_SHAPE in printed, printed


system.on_each(check, "../shared/add_one.ffi", system.compile_c("../shared/add_one.c"))
