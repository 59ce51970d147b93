"""PyTorch on the CPU: tensors as they are, results that PyTorch's allocator makes, an operator under torch.compile."""

import torch

import system
from tvm_ffi_codegen.frameworks import torch_op


def check(library):
    module = system.load(library)
    system.check_add_one(module.add_one, lambda values: torch.tensor(values, dtype=torch.float32))
    x = torch.arange(5, dtype=torch.float32)
    assert torch.is_tensor(module.added(x)), "the result is no tensor of the caller's kind"
    system.refused(ValueError, "expected 1 (contiguous) but got 2", module.add_one, x[::2], x[:3].clone())
    added = torch_op(module, "added", namespace=library.stem)
    torch.library.opcheck(added, (x,))
    compiled = torch.compile(lambda x: added(x * 2) + 1, fullgraph=True)
    assert torch.equal(compiled(x), x * 2 + 2)


system.on_each(check, "add_one.ffi", system.compile_c("../shared/add_one.c"))
