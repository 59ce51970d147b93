"""orcjit: loads our objects into a process, with the kernel beside them or inside."""

import numpy as np
from tvm_ffi_orcjit import ExecutionSession

import system

SESSION = ExecutionSession()
kernel = system.compile_c("../shared/add_one.c")


def check(*objects):
    module = SESSION.load_module([str(path) for path in objects])
    system.check_add_one(module.add_one, lambda values: np.array(values, "float32"))


system.on_each(lambda made: check(made, kernel), "../shared/add_one.ffi", form="object")
system.on_each(check, "../shared/add_one.ffi", kernel, form="object", note="kernel in the object")
