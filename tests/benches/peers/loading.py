"""Loading the libraries of peers."""

import ctypes

import tvm_ffi

_opened = set()


def load(library, case):
    """Returns a function of a library, or None if it has none of that name. Libraries listed in `needs` beside it are
    opened first."""
    needs = library.parent / "needs"
    for path in needs.read_text().splitlines() if needs.exists() else []:
        if path not in _opened:
            ctypes.CDLL(path, ctypes.RTLD_GLOBAL)
            _opened.add(path)
    module = tvm_ffi.load_module(str(library.resolve()))
    return module.get_function(case) if module.implements_function(case) else None
