"""Mojo: an object of its compiler, with the C calling convention."""

import sys
from pathlib import Path

import numpy as np

import system

kernel = system.MADE / "kernel.o"
mojo = Path(sys.executable).with_name("mojo")
system.run(mojo, "build", "--emit", "object", system.HERE / "kernel.mojo", "-o", kernel)


def check(library):
    system.check_add_one(system.load(library).add_one, lambda values: np.array(values, "float32"))


system.on_each(check, "../shared/add_one.ffi", kernel)
