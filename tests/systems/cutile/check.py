"""cuTile: a kernel exported as a cubin, in its calling convention: an array is an address, extents, strides."""

import io

import cuda.tile as ct
from cuda.tile.compilation import ArrayConstraint, CallingConvention, KernelSignature, export_kernel

import gpu

TILE = 128


@ct.kernel
def add_one(x, y, TILE: ct.Constant[int]):
    i = ct.bid(0)
    ct.store(y, index=(i,), tile=ct.load(x, index=(i,), shape=(TILE,)) + 1.0)


def compile_kernel():
    array = ArrayConstraint(
        ct.float32,
        1,
        index_dtype=ct.int64,
        stride_lower_bound_incl=0,
        stride_constant=(1,),
        alias_groups=(),
        may_alias_internally=False,
    )
    convention = CallingConvention.cutile_python_v1()
    signature = KernelSignature([array, array, TILE], calling_convention=convention, symbol="add_one_kernel")
    made = io.BytesIO()
    export_kernel(add_one, [signature], made, gpu_code=f"sm_{gpu.architecture()}", output_format="cubin")
    return made.getvalue()


gpu.check_add_one("add_one.ffi", compile_kernel(), gpu.place.launch("add_one_kernel", 8, 1))
