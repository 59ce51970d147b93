"""Calls whose results are kept: what is kept may hold lists, which change later."""

import tvm_ffi
import tvm_ffi_codegen as codegen
from support import raises


def test_lists_in_what_is_kept_are_looked_at_anew() -> None:
    kept = tvm_ffi.List([7, 2])
    tvm_ffi.register_global_func("test_cached.make", lambda: tvm_ffi.Array([5, kept]), override=True)
    made = codegen.jit("""
        first(k: int64) -> int64
            = { let a: Tuple[int64, Shape([n, 2])] = cached (k) @"test_cached.make"(); return n; };
    """)
    assert [made.first(1), made.first(1)] == [7, 7]
    kept[0] = "a text that is an object"
    raises(TypeError, "[1][0] when calling", lambda: made.first(1))
    kept.clear()
    raises(ValueError, "[1].size when calling", lambda: made.first(1))
