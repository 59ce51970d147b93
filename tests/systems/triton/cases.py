"""Kernels and calls of them, on each kind of GPU."""

import os
import sys
from typing import NamedTuple

import triton
import triton.language as tl
from memory import Tensor, columns_of, described_by_gluon, has_columns

sys.path.append(os.path.join(os.path.dirname(__file__), "../../../driver/tests/triton"))
from kernels import _scale, add, columns, tiles


@triton.jit
def scalars(out, yes, large, factor, BLOCK: tl.constexpr):
    at = tl.arange(0, BLOCK)
    tl.store(out + at, tl.where(yes, large.to(tl.float32) * factor, 0.0))


class Case(NamedTuple):
    """A kernel with grid, arguments and options for Triton; with a signature and a grid for the importer, and with the
    arguments of our function if they differ."""

    name: str
    kernel: object
    grid: tuple
    given: tuple
    options: dict
    signature: str
    our_grid: str
    other: tuple = ()
    # The architecture, of those that the stand-in does not have by itself.
    capability: int = 0

    @property
    def our_given(self):
        return self.other or self.given


def cuda():
    x, y, out = [Tensor(at, "fp32", 4112) for at in (0x1000, 0x2000, 0x3000)]
    signature = "x: *fp32[n]:16, y: *fp32[n]:16, out: *fp32[n]:16, n: i32:16, stride: i32:1, BLOCK: 1024"
    yield Case("add", add, (5,), (x, y, out, 4112, 1), {"BLOCK": 1024}, signature, "cdiv(n, BLOCK)")
    odd = (*[Tensor(at, "fp32", 1000) for at in (0x1004, 0x2000, 0x3000)], 1001, 3)
    free = "x: *fp32, y: *fp32:16, out: *fp32:16, n: i32, stride: i32, BLOCK: 1024"
    options = {"BLOCK": 1024, "num_warps": 8, "launch_pdl": True, "launch_cooperative_grid": True, "num_ctas": 2}
    yield Case("add, two blocks, PDL, cooperative", add, (1, 2), odd, options, free, "cdiv(n, BLOCK), 2")
    a, b = [Tensor(at, "fp16", 40, 96) for at in (0x1000, 0x2000)]
    signature = "x: *fp16[rows, columns]:16, out: *fp16[rows, columns]:16, rows: i32, columns: i32:16, BLOCK: 32"
    grid = "cdiv(rows, BLOCK), cdiv(columns, BLOCK)"
    for ctas in (1, 2):
        options = {"BLOCK": 32, "num_ctas": ctas}
        name = f"tiles, scratch memory, clusters of {ctas}"
        yield Case(name, tiles, (2, 3), (a, b, 40, 96), options, signature, grid)
    c, d = [Tensor(at, "bf16", 40, 32) for at in (0x1000, 0x2000)]
    signature = "x: tensordesc<bf16[32, 32]>[m, n], out: tensordesc<bf16[32, 32]>[m, n], factor: fp32"
    described, grid = (c.described(32, 32), d.described(32, 32), 2.5), "cdiv(m, 32)"
    of_host = Case("", _scale, (2,), described, {"BLOCK": 32}, signature, grid, (c, d, 2.5))
    yield of_host._replace(name="scale, descriptors of the host")
    images, rows = Tensor(0x1000, "fp16", 8, 12, 14, 64), Tensor(0x2000, "fp16", 336, 64)
    for stride, lower, upper in ((1, [0, 0], [0, 0]), (2, [-1, -2], [1, -1])) if has_columns() else ():
        given = (columns_of(images, (128, 64), lower, upper, [1, stride, stride, 1]), described_by_gluon(rows, 128, 64))
        corners = f"im2col(lower={lower}, upper={upper}, steps=[1, {stride}, {stride}, 1])"
        signature = f"images: tensordesc_im2col<fp16[128, 64],input_rank=4>[n, h, w, c] = {corners}, out: tensordesc<fp16[128, 64]>"
        yield Case(f"columns of pixels, by {stride}", columns, (3,), given, {"BLOCK": 128}, signature, "3", (images, rows))
    signature = "out: *fp32:16, yes: u1, large: i64:16, factor: fp32, BLOCK: 128"
    yield Case("scalars", scalars, (1,), (x, True, 1 << 40, 0.5), {"BLOCK": 128}, signature, "1")
    # A device without tensor maps, for which Triton takes descriptors apart; 3.6 does so into fewer parameters than we know.
    if has_columns():
        yield of_host._replace(name="scale, for sm_80", kernel=triton.jit(_scale.fn), capability=80)


def hip():
    x, y, out = [Tensor(at, "fp32", 4112) for at in (0x1000, 0x2000, 0x3000)]
    signature = "x: *fp32[n]:16:S, y: *fp32[n]:16:S, out: *fp32[n]:16:S, n: i32:16, stride: i32:1, BLOCK: 1024"
    yield Case("add", add, (5,), (x, y, out, 4112, 1), {"BLOCK": 1024}, signature, "cdiv(n, BLOCK)")
    # More than 2^31 - 1 bytes, behind which Triton counts in 64 bits.
    odd = (*[Tensor(at, "fp32", size) for at, size in ((0x1004, 1000), (0x2000, 1 << 29), (0x3000, 1000))], 1001, 3)
    free = "x: *fp32:S, y: *fp32:16, out: *fp32:16:S, n: i32, stride: i32, BLOCK: 1024"
    options = {"BLOCK": 1024, "num_warps": 8, "launch_cooperative_grid": True}
    yield Case("add, two blocks, cooperative", add, (1, 2), odd, options, free, "cdiv(n, BLOCK), 2")
    a, b = [Tensor(at, "fp16", 40, 96) for at in (0x1000, 0x2000)]
    signature = "x: *fp16[rows, columns]:16:S, out: *fp16[rows, columns]:16:S, rows: i32, columns: i32:16, BLOCK: 32"
    grid = "cdiv(rows, BLOCK), cdiv(columns, BLOCK)"
    yield Case("tiles", tiles, (2, 3), (a, b, 40, 96), {"BLOCK": 32}, signature, grid)
    signature = "out: *fp32:16:S, yes: u1, large: i64:16, factor: fp32, BLOCK: 128"
    yield Case("scalars", scalars, (1,), (x, True, 1 << 40, 0.5), {"BLOCK": 128}, signature, "1")
    yield Case("scalars, for gfx90a", triton.jit(scalars.fn), (1,), (x, True, 1 << 40, 0.5), {"BLOCK": 128},
               signature, "1", capability=0x90A)  # fmt: skip
