"""Makes calls that fail, and prints the frames of each traceback below this script, one line for each call.

Usage: frames.py LIBRARY EXPRESSION..., where `m` is the library, `fails` a function of Python that raises, and `raise_`
the address of the function of the runtime that does.
"""

import ctypes
import sys
import traceback

import tvm_ffi
from tvm_ffi import libinfo

m = tvm_ffi.load_module(sys.argv[1])
runtime = ctypes.CDLL(libinfo.find_libtvm_ffi())
raise_ = ctypes.cast(runtime.TVMFFIErrorSetRaisedFromCStr, ctypes.c_void_p)


@tvm_ffi.convert
def fails(*args):
    raise ValueError(f"of {len(args)}")


for expression in sys.argv[2:]:
    try:
        eval(expression)
    except Exception as error:
        frames = traceback.extract_tb(error.__traceback__)
        below = [frame for frame in frames if frame.filename not in (__file__, "<string>", "<unknown>")]
        below = [frame for frame in below if "::" not in frame.name and not frame.name.startswith("__tvm_ffi_")]
        lines = [f"{frame.filename}:{frame.lineno} in {frame.name}" for frame in below]
        print(f"{type(error).__name__}:", ", ".join(line for line in lines if "cython" not in line))
