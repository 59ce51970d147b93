"""Uses a compiled library before and after its runtime is loaded, from eight threads, and from another library.

Usage: main.py LIBRARY ANOTHER. Both are `kernels.ffi` with `kernels.c`; `mylang` holds `runtime.cc` as
`libmylang_runtime.so`.
"""

import sys
import threading

import numpy as np
import tvm_ffi

THREADS, CALLS, ELEMENTS = 8, 1000, 16
library = tvm_ffi.load_module(sys.argv[1])
x = np.ones(ELEMENTS, "float32")

# Without the runtime a call says what is missing, and nothing is remembered of that.
try:
    library.sum(x)
except RuntimeError as error:
    print(error)

import mylang

failures = []
start = threading.Barrier(THREADS)


def work():
    start.wait()
    failures.extend(one for one in (library.sum(x) for _ in range(CALLS)) if one != ELEMENTS)


threads = [threading.Thread(target=work) for _ in range(THREADS)]
for thread in threads:
    thread.start()
for thread in threads:
    thread.join()
print(f"failures: {len(failures)}, calls: {mylang.calls()}, elements: {mylang.elements()}, asked: {mylang.asked()}")

# A second library shares the state of the process.
another = mylang.load(sys.argv[2])
another.sum(x)
print(f"calls: {library.calls()} {another.calls()}")

# The function was looked up once: who replaces it later reaches only what has not asked yet.
state = tvm_ffi.get_global_func("mylang.get_global_state")
replaced = []
tvm_ffi.register_global_func("mylang.get_global_state", lambda: replaced.append(1) or state(), override=True)
print(f"calls: {library.calls()}, replaced: {len(replaced)}")
