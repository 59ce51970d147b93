"""Calls of kernels for the comparison of launchers: each case is a kernel, and calls of it in order."""

import dataclasses
from collections import namedtuple
from typing import NamedTuple

import triton
import triton.language as tl
from cases import columns, tiles
from memory import Tensor, allocate_for_triton, columns_of, described_by_gluon, has_columns
from triton.experimental import gluon


class Call(NamedTuple):
    """A call `kernel[grid](*given, **options)`, and what is done to the `JITFunction` before."""

    grid: object
    given: tuple
    options: dict = {}
    before: object = lambda kernel: None


class Case(NamedTuple):
    """Calls of a kernel, which is made anew for each launcher; `handed` of them are Triton's to launch."""

    name: str
    make: object
    calls: list
    handed: int = 0


def add(x, y, out, n, BLOCK: tl.constexpr = 128):
    at = tl.program_id(0) * BLOCK + tl.arange(0, BLOCK)
    tl.store(out + at, tl.load(x + at, mask=at < n) + tl.load(y + at, mask=at < n), mask=at < n)


def copy(x, out, BLOCK: tl.constexpr):
    at = tl.arange(0, BLOCK)
    tl.store(out + at, tl.load(x + at))


def scalar(out, value):
    tl.store(out, value)


def optional(out, x, value, BLOCK: tl.constexpr):
    at = tl.arange(0, BLOCK)
    if x is not None:
        value += tl.sum(tl.load(x + at))
    tl.store(out, value)


def constant(out, VALUE: tl.constexpr):
    tl.store(out, 1 if VALUE else 2)


def declared(out: "*fp32", a: tl.int32, b: tl.int64, c: tl.float32, d: tl.float64, e: tl.uint8, f: tl.float16):
    tl.store(out, (a + b + c + d + e + f).to(tl.float32))


def rounded(out, a: tl.bfloat16):
    tl.store(out, a.to(tl.float32))


def pair(out, values):
    tl.store(out, values[0] + values[1])


def nested(out, values, n):
    total = tl.load(values[0]) + values[1][1] + n
    if values[1][0] is not None:
        total += tl.load(values[1][0])
    tl.store(out, total)


def behind(out, *, a, BLOCK: tl.constexpr = 2):
    tl.store(out, a + BLOCK)


def named_oddly(_out, len, stream, tuple, n, launch):
    tl.store(_out, len + stream + tuple + n + launch)


def named_worse(_grid, a):
    tl.store(_grid, a)


def described(x, out, BLOCK: tl.constexpr):
    out.store([0, 0], x.load([0, 0]))


def many(out, a, b, c, d, e, f, g, h, x1, x2, x3, x4, x5, x6, x7):
    total = a + b + c + d + e + f + g + h
    total += tl.load(x1) + tl.load(x2) + tl.load(x3) + tl.load(x4) + tl.load(x5) + tl.load(x6) + tl.load(x7)
    tl.store(out, total)


ratio = tl.constexpr(2)


def uses_global(out):
    tl.store(out, ratio)


def matrix(x, out, BLOCK: tl.constexpr):
    at = tl.arange(0, BLOCK)[:, None] * BLOCK + tl.arange(0, BLOCK)[None, :]
    tile = tl.load(x + at)
    tl.store(out + at, tl.dot(tile, tile).to(out.dtype.element_ty))


# What hooks have seen since the last call.
SEEN = []


def taken():
    """Takes what hooks have seen."""
    seen = list(SEEN)
    SEEN.clear()
    return seen


def _see(name):
    def hook(*given, **named):
        SEEN.append((name, [one.get()["name"] for one in given if hasattr(one, "extras")], sorted(named)))

    return hook


Pair = namedtuple("Pair", "first second")
X, Y, OUT = Tensor(0x1000, "fp32", 4112), Tensor(0x2000, "fp32", 4112), Tensor(0x3000, "fp32", 4112)
ODD = Tensor(0x1004, "fp32", 1000)
FLAT = ["i8", "i16", "i32", "i64", "u8", "u16", "u32", "u64", "fp16", "bf16", "fp32", "fp64", "fp8e5", "i1"]
INTEGERS = (0, 1, 15, 16, 2**31 - 1, 2**31, -(2**31), -(2**31) - 1, 2**63 - 1, -1, -16, 3 * 2**40)


def _each(grid, *lists):
    return [Call(grid, given) for given in lists]


def common():
    """Yields the cases of every kind of GPU."""
    three = (X, Y, OUT, 4112)
    yield Case("three tensors, an integer, a constant", lambda: triton.jit(add), _each((5,), three, three, (*three, 1024)))
    named = [Call((5,), (X, Y), {"n": 4112, "out": OUT}), Call((5,), (), dict(x=X, y=Y, out=OUT, n=16, BLOCK=64))]
    yield Case("keywords and defaults", lambda: triton.jit(add), named)
    tensors = [(Tensor(0x1000, kind, 64), Tensor(at, kind, 64), 64) for kind in FLAT for at in (0x2000, 0x2008)]
    yield Case("tensors of every type, aligned or not", lambda: triton.jit(copy), _each((1,), *tensors))
    yield Case("integers", lambda: triton.jit(scalar), _each((1,), *[(OUT, n) for n in INTEGERS]))
    yield Case("integers of 64 bits without sign", lambda: triton.jit(scalar), _each((1,), (OUT, 2**63), (OUT, 2**64 - 16)), 2)
    floats = (1.0, 0.0, -0.0, 1e300, 1e-50, float("inf"), float("nan"), 3.5)
    yield Case("floats and truths", lambda: triton.jit(scalar), _each((1,), *[(OUT, n) for n in (*floats, True, False)]))
    some = [(OUT, None, 2, 32), (OUT, X, 2, 32), (OUT, X, 1, 32), (OUT, None, 2.5, 32)]
    yield Case("None", lambda: triton.jit(optional), _each((1,), *some, *some))
    values = (1, True, 1.0, 0, "a", None, 2.5, tl.float32, (1, 2), (1, 2.5), tl.constexpr(1), -1, 1, True)
    yield Case("constants of every type", lambda: triton.jit(constant), _each((1,), *[(OUT, value) for value in values]))
    whole = [(OUT, a, b, 1.5, 2.5, 200, 0.1) for a in (1, 16, 5) for b in (1, 32, 7, 2**40)]
    yield Case("declared types", lambda: triton.jit(declared), _each((1,), *whole, (OUT, True, 1, 2, 3, 4, 5)))
    yield Case("bfloat16, which Triton cuts off", lambda: triton.jit(rounded), _each((1,), (OUT, 1.01), (OUT, 2.0)), 2)
    plain = lambda: triton.jit(do_not_specialize=["value"])(scalar)  # noqa: E731
    yield Case("do_not_specialize", plain, _each((1,), *[(OUT, n) for n in INTEGERS]))
    unaligned = lambda: triton.jit(do_not_specialize_on_alignment=["out", "value"])(scalar)  # noqa: E731
    yield Case("do_not_specialize_on_alignment", unaligned, _each((1,), *[(t, n) for t in (OUT, ODD) for n in INTEGERS]))
    yield Case("by keyword only", lambda: triton.jit(behind), [Call((1,), (OUT,), {"a": a}) for a in (1, 2, 16, 2.5)])
    tuples = [(OUT, one) for one in ((1, 2.5), Pair(3, 4), (True, 1), (16, 2**40), (3.5, 2.5), Pair(5, 7), (1, 2.5), Pair(1, 1))]
    yield Case("tuples and named tuples", lambda: triton.jit(pair), _each((1,), *tuples, (OUT, [1, 2])), 1)
    nests = [((X, (None, 2)), 1), ((ODD, (None, 1)), 16), ((Tensor(0x1000, "fp16", 4), (Y, 2)), 1), ((X, (None, 2)), 1)]
    yield Case("tuples in tuples, with tensors", lambda: triton.jit(nested), _each((1,), *[(OUT, *nest) for nest in nests]))
    c, d = [Tensor(at, "bf16", 40, 32).described(32, 32) for at in (0x1000, 0x2000)]
    e, f = [Tensor(at, "fp16", 64, 64).described(16, 64) for at in (0x1000, 0x4000)]
    both = _each((2,), (c, d, 32), (d, c, 32), (e, f, 32), (c, d, 32))
    yield Case("descriptors", lambda: triton.jit(described), both)
    nan = dataclasses.replace(c, padding="nan")
    yield Case("descriptors that pad with NaN", lambda: triton.jit(described), _each((2,), (nan, d, 32)), 1)
    yield Case("names of parameters", lambda: triton.jit(named_oddly), _each((1, 2), *[(OUT, 5, n, 7, 8, 9) for n in (1, 5)]))
    yield Case("names that the launcher needs", lambda: triton.jit(named_worse), _each((1,), (OUT, 5)), 1)
    several = (OUT, *range(8), *[Tensor(0x1000 * at, "fp32", 4) for at in range(1, 8)])
    mixed = (*several[:-1], Tensor(0x9000, "fp16", 4))
    yield Case("sixteen arguments", lambda: triton.jit(many), _each((1,), several, mixed, several, mixed))
    grids = [(3,), (3, 2), (3, 2, 4), (0,), (2, 0), [7], lambda meta: (triton.cdiv(meta["n"], meta["BLOCK"]), 2)]
    yield Case("grids", lambda: triton.jit(add), [Call(grid, three) for grid in grids])
    options = [{"num_warps": 8}, {"num_stages": 2}, {"num_warps": 1, "num_stages": 1}, {"debug": True}, {}, {"num_warps": 8}]
    yield Case("options", lambda: triton.jit(add), [Call((5,), three, one) for one in options])
    yield Case("errors", lambda: triton.jit(add), [
        Call((5,), (X, Y)), Call((5,), three, {"unknown": 1}), Call((5,), (*three, 100)), Call((5,), (X, Y, OUT, "text")),
        Call((5,), (X, Y, OUT, [1])), Call((), three), Call((5,), three, {"extern_libs": {}}), Call((5,), (*three, [1])),
        Call(None, three),
    ], 6)  # fmt: skip
    yield Case("a constant of the module", lambda: triton.jit(uses_global), _each((1,), (OUT,), (OUT,)))
    yield Case("heuristics", _with_heuristics, [Call((5,), (X, Y, OUT, n)) for n in (16, 4112, 5)])
    yield Case("autotune, with one configuration", _with_one_config, [Call((5,), (X, Y, OUT, n)) for n in (16, 4112, 5)])
    yield Case("autotune, tuned by the first call", _tuned, [Call((5,), (X, Y, OUT, n)) for n in (16, 16, 4112, 16)], 2)


def states():
    """Yields cases in which something else than the arguments changes between calls."""
    runtime, three = triton.knobs.runtime, (X, Y, OUT, 4112)

    def step(action=lambda kernel: None, given=three):
        return Call((5,), given, {}, action)

    for name in ("launch_enter_hook", "launch_exit_hook", "kernel_load_end_hook"):
        see, chain = _see(name), getattr(runtime, name)
        steps = [step(), step(lambda kernel, chain=chain, see=see: chain.add(see)), step(), step(given=(X, Y, OUT, 5))]
        steps += [step(lambda kernel, chain=chain, see=see: chain.remove(see)), step(given=(X, Y, OUT, 5))]
        yield Case(name, lambda: triton.jit(add), steps, 1 if name.startswith("kernel") else 3)
    replaced = [step(), step(_set(runtime, "launch_enter_hook", _see("replaced"))), step(_reset(runtime, "launch_enter_hook"))]
    yield Case("launch_enter_hook, replaced", lambda: triton.jit(add), replaced, 1)
    for name in ("jit_cache_hook", "jit_post_compile_hook"):
        steps = [step(_set(runtime, name, _see(name))), step(), step(_reset(runtime, name)), step(given=(X, Y, OUT, 5))]
        yield Case(name, lambda: triton.jit(add), steps, 2)
    pre_run = [step(), step(lambda kernel: kernel.add_pre_run_hook(_see("pre_run"))), step()]
    yield Case("add_pre_run_hook", lambda: triton.jit(add), pre_run, 2)
    debug = [step(), step(_set(runtime, "debug", True)), step(), step(_reset(runtime, "debug")), step()]
    yield Case("knobs.runtime.debug", lambda: triton.jit(add), debug)
    compilation = triton.knobs.compilation
    mode = [step(), step(_set(compilation, "instrumentation_mode", "fpsan")), step(_set(compilation, "instrumentation_mode", ""))]
    yield Case("instrumentation_mode", lambda: triton.jit(add), mode, 1)
    edited = [step(), step(_edit), step(), step(lambda kernel: kernel.device_caches.clear()), step()]
    edited += [step(lambda kernel: kernel.device_caches[0][0].clear()), step()]
    yield Case("a kernel that is edited, and caches that are cleared", lambda: triton.jit(add), edited)
    call = Call((1,), (OUT,))
    changed = [call, call._replace(before=_set_global(4)), call._replace(before=_set_global(2)), call]
    yield Case("a constant of the module that changes", lambda: triton.jit(uses_global), changed, 1)


def _set(where, name, value):
    return lambda kernel: setattr(where, name, value)


def _reset(where, name):
    def reset(kernel):
        vars(where).pop(name, None)

    return reset


def _on_device(index):
    """Makes a device the current one, and that of all tensors."""

    def choose(kernel):
        triton.runtime.driver.active.set_current_device(index)
        Tensor.INDEX = index

    return choose


def _on_stream(stream):
    """Makes the number of a stream of the driver the current one; None for the default stream."""

    def choose(kernel):
        active = triton.runtime.driver.active
        active.get_current_stream = active._get_current_stream if stream is None else lambda device: stream

    return choose


def _refuse(size, align, stream):
    raise MemoryError(f"{size} bytes are too many")


def _edit(kernel):
    kernel._unsafe_update_src(kernel.src.replace("+ tl.load", "- tl.load"))


def _set_global(value):
    def change(kernel):
        global ratio
        ratio = tl.constexpr(value)

    return change


def _with_heuristics():
    return triton.heuristics({"BLOCK": lambda given: triton.next_power_of_2(given["n"])})(triton.jit(add))


def _with_one_config():
    found = []
    configs = [triton.Config({"BLOCK": 256}, num_warps=8, pre_hook=lambda given: found.append(given["n"]))]
    return triton.autotune(configs, key=["n"])(triton.jit(add))


def _tuned():
    configs = [triton.Config({"BLOCK": block}, num_warps=warps) for block, warps in ((64, 2), (256, 8))]
    bench = lambda call, quantiles: (call(), [1.0, 1.0, 1.0])[1]  # noqa: E731
    return triton.autotune(configs, key=["n"], do_bench=bench)(triton.jit(add))


def cuda():
    three = (X, Y, OUT, 4112)
    options = [{"launch_pdl": True}, {"num_ctas": 2}, {"launch_cooperative_grid": True}, {"maxnreg": 64}]
    options += [{"num_ctas": 2, "launch_pdl": True, "launch_cooperative_grid": True}]
    yield Case("options of launches", lambda: triton.jit(add), [Call((5, 2), three, one) for one in options])
    square = (Tensor(0x1000, "fp16", 128, 128), Tensor(0x2000, "fp16", 128, 128), 128)
    yield Case("shared memory", lambda: triton.jit(matrix), [Call((3,), square), Call((3,), square, {"num_warps": 8})])
    yield Case("streams and devices", lambda: triton.jit(add), [
        Call((5,), three), Call((5,), three, {}, _on_device(1)), Call((5,), three), Call((5,), three, {}, _on_stream(2)),
        Call((5,), three, {}, _on_device(0)), Call((5,), three, {}, _on_stream(None)),
    ])  # fmt: skip
    if has_columns():
        images, rows = Tensor(0x1000, "fp16", 8, 12, 14, 64), Tensor(0x2000, "fp16", 336, 64)
        both = (columns_of(images, (128, 64), [-1, -1], [-1, -1], None), described_by_gluon(rows, 128, 64), 128)
        yield Case("descriptors of Gluon, by columns and by boxes", lambda: gluon.jit(columns.fn), _each((3,), both, both), 2)
    scratch = (Tensor(0x1000, "fp16", 40, 96), Tensor(0x2000, "fp16", 40, 96), 40, 96)
    calls = [Call((2, 3), scratch, {"BLOCK": 32}), Call((4,), scratch, {"BLOCK": 32, "num_ctas": 2}), Call((0,), scratch, {"BLOCK": 32})]
    yield Case("scratch memory", lambda: triton.jit(tiles.fn), calls * 2)
    yield Case("scratch memory without an allocator", lambda: triton.jit(tiles.fn), [
        calls[0]._replace(before=lambda kernel: triton.set_allocator(_refuse)),
        calls[0]._replace(before=lambda kernel: triton.set_allocator(allocate_for_triton)),
    ], 1)  # fmt: skip


def hip():
    three = (X, Y, OUT, 4112)
    options = [{"launch_cooperative_grid": True}, {"waves_per_eu": 2}]
    yield Case("options of launches", lambda: triton.jit(add), [Call((5, 2), three, one) for one in options])
    large = Tensor(0x1000, "fp32", 1 << 29)
    yield Case("tensors of 2 GiB", lambda: triton.jit(add), _each((5,), (large, Y, OUT, 16), (X, large, OUT, 16), three))
