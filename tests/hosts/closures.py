"""Functions that a library has made outlive it: python3 closures.py <library> <creations>."""

import atexit
import gc
import sys
import threading

import numpy
import tvm_ffi


def mapped(path):
    """Returns true if the process has loaded the file."""
    with open("/proc/self/maps") as maps:
        return path in maps.read()


def resident():
    """Returns the number of resident pages."""
    with open("/proc/self/statm") as statm:
        return int(statm.read().split()[1])


def main(path, creations):
    module = tvm_ffi.load_module(path, keep_module_alive=False)
    made = [module.adder(10), module.summer(tvm_ffi.from_dlpack(numpy.arange(4, dtype="float32")), "text")]
    nested = module.nested(1)(2)
    del module
    gc.collect()
    print(mapped(path), made[0](5), made[1](2.0), nested(3))
    try:
        made[0]("x")
    except TypeError as error:
        print(error)
    taken = []
    thread = threading.Thread(target=lambda: taken.append((made.pop()(1.0), made.clear())))
    thread.start()
    thread.join()
    print(taken, mapped(path))
    del nested
    gc.collect()
    print(mapped(path))

    module = tvm_ffi.load_module(path, keep_module_alive=False)
    for number in range(creations // 10):
        module.adder(number)
    before = resident()
    for number in range(creations):
        module.adder(number)
    print(resident() - before < 200)
    # It is called and dropped while the interpreter ends.
    atexit.register(module.adder(100), 5)
    global last
    last = module.nested(1)


main(sys.argv[1], int(sys.argv[2]))
