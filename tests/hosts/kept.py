"""What the sites of a library keep outlives it elsewhere: python3 kept.py <library>."""

import gc
import sys

import tvm_ffi


def mapped(path):
    """Returns true if the process has loaded the file."""
    with open("/proc/self/maps") as maps:
        return path in maps.read()


made = []


@tvm_ffi.register_global_func("kept.make")
def make(n):
    """Makes a function that returns a number, and notes that it has."""
    made.append(n)
    return tvm_ffi.convert(lambda: n)


def main(path):
    module = tvm_ffi.load_module(path, keep_module_alive=False)
    held = module.kept(3)
    print(held(), module.kept(3)(), module.kept(4)(), made)
    del module
    gc.collect()
    print(mapped(path), held())
    # A library that is loaded again keeps nothing yet.
    module = tvm_ffi.load_module(path, keep_module_alive=False)
    print(module.kept(3)(), held(), made)


main(sys.argv[1])
