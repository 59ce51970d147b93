"""Compares what Triton's own launcher and ours launch: launcher.py cuda|hip. Each call is made by both, of a kernel that
each has for itself; compared are the records of the stand-in, the images, errors, and what Triton keeps in its cache."""

import ctypes
import sys
from concurrent.futures import ThreadPoolExecutor

import launcher_cases
import memory
import random_calls
import records
import triton
import tvm_ffi_codegen
from gpus import GPUS

GPU = GPUS[sys.argv[1]]


def jit_of(kernel):
    """Returns the `JITFunction` under decorators."""
    while hasattr(kernel, "values") or hasattr(kernel, "configs"):
        kernel = kernel.fn
    return kernel


def outcome(recorder, kernel, jit, call, resets=True):
    """Makes a call; returns its record and the image, or its error."""
    if resets:
        recorder.take()
    call.before(jit)
    try:
        made = kernel[call.grid](*call.given, **call.options)
    except Exception as error:
        return recorder.take() + launcher_cases.taken(), f"{type(error).__name__}: {error}"
    return recorder.take() + launcher_cases.taken(), getattr(made, "kernel", made)


def classes(kernel):
    """Returns the keys of Triton's caches."""
    return [sorted(caches[0]) for caches in jit_of(kernel).device_caches.values() if caches[0]]


def compare(recorder, case):
    """Prints the row of a case; returns whether all is equal."""
    stock, fast = case.make(), tvm_ffi_codegen.triton.launcher(case.make())
    wrong = []
    for index, call in enumerate(case.calls):
        expected, found = outcome(recorder, stock, jit_of(stock), call), outcome(recorder, fast, jit_of(fast.kernel), call)
        if expected != found or classes(stock) != classes(fast.kernel):
            wrong.append((index, expected, found))
    if fast.handed_over != case.handed:
        wrong.append(("handed over", case.handed, dict(fast.reasons)))
    variants = sum(map(len, classes(stock)))
    said = "NO" if wrong else "yes"
    print(f"| {case.name} | {len(case.calls)} | {variants} | {fast.handed_over} | {said} |", flush=True)
    for index, expected, found in wrong:
        print(f"  {index}:\n    Triton: {str(expected)[:400]}\n    ours: {str(found)[:400]}", file=sys.stderr)
    return not wrong


def fail(recorder):
    """Has the driver refuse the call that launches: the error is passed on, and nothing is launched in another way."""
    fast, call = tvm_ffi_codegen.triton.launcher(triton.jit(launcher_cases.add)), next(launcher_cases.common()).calls[0]
    outcome(recorder, fast, fast.kernel, call)
    calls = recorder.call("calls")
    fast[call.grid](*call.given)
    last = recorder.call("calls") - calls
    recorder.call("reset")
    # CUDA_ERROR_LAUNCH_FAILED, and that of HIP.
    recorder.call("fail_at", ctypes.c_int64(last), 719)
    lines, said = outcome(recorder, fast, fast.kernel, call, resets=False)
    refused = len(lines) == 1 and said.startswith("RuntimeError: Failed add") and not fast.handed_over
    print(f"| a launch that the driver refuses | 1 | 1 | {fast.handed_over} | {'yes' if refused else 'NO'} |")
    if not refused:
        print(lines, said, fast.reasons, file=sys.stderr)
    return refused


def race(recorder):
    """Has eight threads make calls of all classes at once, of which each compiles and looks up: the record has each call."""
    case = next(case for case in launcher_cases.common() if case.name == "integers")
    calls = case.calls * 8

    def lines(kernel, threads):
        recorder.take()
        with ThreadPoolExecutor(threads) as pool:
            list(pool.map(lambda call: kernel[call.grid](*call.given), calls))
        return sorted(recorder.take())

    fast = tvm_ffi_codegen.triton.launcher(case.make())
    same = lines(case.make(), 1) == lines(fast, 8) and not fast.handed_over
    print(f"| eight threads | {len(calls)} | {len(classes(fast.kernel)[0])} | {fast.handed_over} | {'yes' if same else 'NO'} |")
    return same


def main():
    recorder = records.Recorder(GPU)
    GPU.choose()
    triton.set_allocator(memory.allocate_for_triton)
    memory.Tensor.DEVICE = GPU.device
    cases = [*launcher_cases.common(), *launcher_cases.states(), *getattr(launcher_cases, sys.argv[1])()]
    cases += random_calls.cases()
    wanted = sys.argv[2:]
    same = [compare(recorder, case) for case in cases if not wanted or case.name.startswith(tuple(wanted))]
    same += [fail(recorder), race(recorder)]
    sys.exit(not all(same))


if __name__ == "__main__":
    main()
