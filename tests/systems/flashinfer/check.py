"""FlashInfer: its specifications load modules from libraries in a cache; ours is placed there before."""

import os
import shutil

import torch

import system

# FlashInfer needs the architecture of a GPU at its import.
os.environ |= {"FLASHINFER_WORKSPACE_BASE": str(system.MADE), "FLASHINFER_CUDA_ARCH_LIST": "9.0a"}

from flashinfer.jit import core


def check(library):
    spec = core.gen_jit_spec(library.stem, sources=[])
    spec.jit_library_path.parent.mkdir(parents=True)
    shutil.copy(library, spec.jit_library_path)
    assert spec.is_compiled, "it would be compiled"
    system.check_add_one(spec.load().add_one, lambda values: torch.tensor(values, dtype=torch.float32))


system.on_each(check, "../shared/add_one.ffi", system.compile_c("../shared/add_one.c"))
