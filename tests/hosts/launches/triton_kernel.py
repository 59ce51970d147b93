"""Compiles a kernel with Triton, if it can be imported, for the device of this machine.

Usage: triton_kernel.py FOLDER, into which it writes triton.cubin and the declarations triton.ffi.
"""

import sys
from pathlib import Path

import triton
from triton.backends.compiler import GPUTarget
from triton.compiler import ASTSource

from cuda import Driver
from triton_add import BLOCK, add_kernel

POINTER = "*fp32"


# Triton adds two parameters for scratch memory, which this kernel does not need.
DECLARATION = """\
image code;

add(x: Tensor([n], float32, device=cuda), y: Tensor([n], float32, device=cuda), z: Tensor([n], float32, device=cuda)) -> None
    = {{
        launch code."{name}"(x.data, y.data, z.data, int32(n), null, null)
            grid(ceildiv(n, {block})) block({threads}) smem({shared});
    }};
"""


def main():
    major, minor = Driver().capability(0)
    source = ASTSource(
        fn=add_kernel,
        signature={"x": POINTER, "y": POINTER, "z": POINTER, "n": "i32", "BLOCK": "constexpr"},
        constexprs={"BLOCK": BLOCK},
    )
    compiled = triton.compile(source, target=GPUTarget("cuda", 10 * major + minor, 32))
    facts = compiled.metadata
    text = DECLARATION.format(name=facts.name, block=BLOCK, threads=32 * facts.num_warps, shared=facts.shared)
    folder = Path(sys.argv[1])
    (folder / "triton.cubin").write_bytes(compiled.asm["cubin"])
    (folder / "triton.ffi").write_text(text)


main()
