"""Makes calls that fail, and prints the frames of each traceback below this script, one line for each call.

Usage: frames.py LIBRARY EXPRESSION..., where `m` is the library.
"""

import sys
import traceback

import tvm_ffi

m = tvm_ffi.load_module(sys.argv[1])
for expression in sys.argv[2:]:
    try:
        eval(expression)
    except Exception as error:
        frames = traceback.extract_tb(error.__traceback__)
        below = [frame for frame in frames if frame.filename not in (__file__, "<string>")]
        lines = [f"{frame.filename}:{frame.lineno} in {frame.name}" for frame in below]
        print(f"{type(error).__name__}:", ", ".join(line for line in lines if "cython" not in line))
