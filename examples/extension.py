"""Uses the compiler of `extension.rs`, whose shared library is the argument."""

import ctypes
import sys
import traceback

import tvm_ffi


@tvm_ffi.register_error("mylang.DomainError")
class DomainError(ValueError):
    """A value that a function is not defined for."""


def attempt(work):
    """Runs what fails, and prints the exception."""
    try:
        work()
    except Exception as error:
        first = str(error).partition("\n")[0]
        print(f"{type(error).__name__}: {first}")
        return error
    raise AssertionError("nothing is raised")


assert ctypes.CDLL(sys.argv[1]).mylang_register() == 0
compile = tvm_ffi.get_global_func("mylang.compile")

names = []
functions = compile("inverse(x: float64) -> float64 = { try positive(x); return 1.0 / x; };", names.append)
inverse = functions["inverse"]
print(f"{names}: {inverse(4.0)}")
attempt(lambda: inverse(-4.0))

# tvm_ffi knows eight kinds of errors; a program registers others once.
attempt(lambda: compile("inverse(x: ", None))
tvm_ffi.register_error("SyntaxError", SyntaxError)
attempt(lambda: compile("inverse(x: ", None))
attempt(lambda: compile(5, None))



# An exception of a callback passes through, with its frames.
def refuse(name):
    raise DomainError(f"no {name}, please")


error = attempt(lambda: compile("f() -> None = {};", refuse))
print([frame.name for frame in traceback.extract_tb(error.__traceback__) if frame.name == "refuse"])

# Code that is compiled again and again is freed.
for count in range(1000):
    last = compile(f"f() -> int64 = {{ return {count}; }};", None)
print(last["f"]())
