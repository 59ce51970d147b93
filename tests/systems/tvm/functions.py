"""Functions of TVM of every kind of signature, and calls of them: what each gives, and what it refuses.

`check.py` compiles the functions by TVM alone and with our hosts, makes the calls, and compares the outcomes: results,
tensors that were written, classes of errors.
"""

import ctypes

import ml_dtypes
import numpy as np
import tvm
import tvm_ffi
from tvm.script import ir as I
from tvm.script import tirx as T


@I.ir_module
class Functions:
    @T.prim_func
    def vectors(x: T.handle, y: T.handle):
        n = T.int64()
        X = T.match_buffer(x, (n,), "float32")
        Y = T.match_buffer(y, (n,), "float32")
        for i in range(n):
            Y[i] = X[i] + T.float32(1)

    @T.prim_func
    def fixed(X: T.Buffer((4, 8), "int32"), Y: T.Buffer((8,), "int32")):
        for i, j in T.grid(4, 8):
            Y[j] = Y[j] + X[i, j]

    @T.prim_func
    def narrow_extents(x: T.handle, y: T.handle):
        n = T.int32()
        m = T.int32()
        X = T.match_buffer(x, (n, m), "float64")
        Y = T.match_buffer(y, (m, n), "float64")
        for i, j in T.grid(n, m):
            Y[j, i] = X[i, j]

    @T.prim_func
    def expressions(x: T.handle, y: T.handle, z: T.handle):
        n = T.int64()
        X = T.match_buffer(x, (n + 1, n * 2), "float32")
        Y = T.match_buffer(y, (n,), "float32")
        Z = T.match_buffer(z, (T.max(n, 3), n // 2, n % 3 + 1), "float32")
        for i in range(n):
            Y[i] = X[i + 1, i * 2] + Z[0, 0, 0]

    @T.prim_func
    def length_given(n: T.int32, x: T.handle):
        X = T.match_buffer(x, (n,), "int32")
        for i in range(n):
            X[i] = i

    @T.prim_func
    def length_last(x: T.handle, n: T.int64) -> T.int64:
        X = T.match_buffer(x, (n,), "int64")
        return X[0] + n

    @T.prim_func
    def integers(
        a: T.int8, b: T.int16, c: T.int32, d: T.int64, e: T.uint8, f: T.uint16, g: T.uint32, h: T.uint64,
        Y: T.Buffer((8,), "int64"),
    ):
        Y[0] = T.int64(a)
        Y[1] = T.int64(b)
        Y[2] = T.int64(c)
        Y[3] = d
        Y[4] = T.int64(e)
        Y[5] = T.int64(f)
        Y[6] = T.int64(g)
        Y[7] = T.Cast("int64", h)

    @T.prim_func
    def numbers(a: T.bool, b: T.float32, c: T.float64, d: T.float16, Y: T.Buffer((4,), "float64")):
        Y[0] = T.Cast("float64", a)
        Y[1] = T.Cast("float64", b)
        Y[2] = c
        Y[3] = T.Cast("float64", d)

    @T.prim_func
    def reserved_names(stream: T.int32, where: T.Buffer((2,), "int32")):
        where[0] = stream

    @T.prim_func
    def flag(a: T.bool, X: T.Buffer((2,), "bool")) -> T.bool:
        return T.Or(a, X[1])

    @T.prim_func
    def sum_of(x: T.handle, y: T.handle, a: T.bool, z: T.handle) -> T.int32:
        n = T.int64()
        X = T.match_buffer(x, (n,), "int32")
        Y = T.match_buffer(y, (n,), "int32")
        Z = T.match_buffer(z, (1,), "int32")
        return T.if_then_else(a, X[0] + Y[0], Z[0])

    @T.prim_func
    def picked(a: T.bool, x: T.handle) -> T.int32:
        n = T.int64()
        X = T.match_buffer(x, (n,), "int32")
        return T.if_then_else(a, X[0], T.int32(-1))

    @T.prim_func
    def real(a: T.float32) -> T.float32:
        return a * T.float32(2)

    @T.prim_func
    def branches(a: T.int32) -> T.int32:
        if a > 0:
            return 1
        else:
            return 2

    @T.prim_func
    def matrices(a: T.handle, b: T.handle, c: T.handle, d: T.handle):
        n = T.int64()
        m = T.int64()
        s = T.int64()
        A = T.match_buffer(a, (n, m), "float32", strides=(s, T.int64(1)))
        B = T.match_buffer(b, (n, m), "float32")
        C = T.match_buffer(c, (n, m), "float32")
        D = T.match_buffer(d, (n, m), "float32")
        for i in range(T.min(n, 1)):
            for j in range(T.min(m, 1)):
                D[i, j] = A[i, j] + B[i, j] + C[i, j]

    @T.prim_func
    def strided(a: T.handle, b: T.handle) -> T.int64:
        n = T.int64()
        m = T.int64()
        s = T.int64()
        t = T.int64()
        A = T.match_buffer(a, (n, m), "float32", strides=(s, t))
        B = T.match_buffer(b, (n, m), "float32")
        for i, j in T.grid(n, m):
            B[i, j] = A[i, j]
        return s * 1000 + t

    @T.prim_func
    def shifted(a: T.handle, b: T.handle) -> T.int64:
        o = T.int64()
        A = T.match_buffer(a, (4,), "float32", elem_offset=o, offset_factor=1)
        B = T.match_buffer(b, (4,), "float32")
        for i in range(4):
            B[i] = A[i]
        return o

    @T.prim_func
    def halves(X: T.Buffer((4,), "bfloat16"), Y: T.Buffer((4,), "float16"), Z: T.Buffer((4,), "float32")):
        for i in range(4):
            Z[i] = T.Cast("float32", X[i]) + T.Cast("float32", Y[i])

    @T.prim_func
    def small(X: T.Buffer((4,), "float8_e4m3fn"), Y: T.Buffer((4,), "uint8"), Z: T.Buffer((4,), "float32")):
        for i in range(4):
            Z[i] = T.Cast("float32", X[i]) + T.Cast("float32", Y[i])

    @T.prim_func
    def scalar(X: T.Buffer((), "float32"), Y: T.Buffer((1,), "float32")):
        Y[0] = X[()]

    @T.prim_func
    def workspace(X: T.Buffer((4096,), "float32"), Y: T.Buffer((4096,), "float32")):
        W = T.alloc_buffer((4096,), "float32")
        for i in T.parallel(4096):
            W[i] = X[i] * T.float32(2)
        for i in T.parallel(4096):
            Y[i] = W[4095 - i]

    @T.prim_func
    def calls_by_name(X: T.Buffer((4,), "int32")) -> T.int32:
        return T.call_packed("systems.tvm.extent", X, X[1], dtype="int32")

    @T.prim_func
    def fails(a: T.int32):
        T.evaluate(T.call_packed("systems.tvm.fail", a))

    @T.prim_func
    def asserts(a: T.int32, X: T.Buffer((4,), "int32")):
        assert a > 0, "a is not positive"
        X[0] = a

    @T.prim_func
    def called(a: T.int32, p: T.handle):
        assert a > 0 and not T.isnullptr(p), "a is not positive"

    @T.prim_func
    def calls(X: T.Buffer((4,), "int32"), a: T.int32):
        Functions.called(a, X.data)
        Functions.called(a + 1, X.data)

    @T.prim_func
    def handles(p: T.handle) -> T.bool:
        return T.isnullptr(p)

    @T.prim_func
    def nothing() -> T.int64:
        return T.int64(42)

    @T.prim_func
    def twelve(
        a: T.Buffer((2,), "int32"), b: T.Buffer((2,), "int32"), c: T.Buffer((2,), "int32"), d: T.Buffer((2,), "int32"),
        e: T.Buffer((2,), "int32"), f: T.Buffer((2,), "int32"), g: T.Buffer((2,), "int32"), h: T.Buffer((2,), "int32"),
        i: T.Buffer((2,), "int32"), j: T.Buffer((2,), "int32"), k: T.Buffer((2,), "int32"), l: T.Buffer((2,), "int32"),
    ) -> T.int32:
        return a[0] + b[0] + c[0] + d[0] + e[0] + f[0] + g[0] + h[0] + i[0] + j[0] + k[0] + l[1]


def extent(tensor, number):
    return tensor.shape[0] + number


def fail(number):
    raise KeyError(f"no {number}")


for name, function in {"extent": extent, "fail": fail}.items():
    tvm_ffi.register_global_func(f"systems.tvm.{name}", function, override=True)


def array(shape, dtype="float32"):
    """Returns an array of small numbers."""
    return np.arange(int(np.prod(shape))).reshape(shape).astype(dtype)


def tensor(values):
    """Returns a tensor of TVM's, which is aligned as TVM assumes."""
    return tvm.runtime.tensor(np.ascontiguousarray(values))


def shifted(values, elements):
    """Returns a tensor with a byte offset, of the values from an element on."""
    whole = tensor(values)
    size = values.dtype.itemsize
    return whole._create_view((len(values) - elements,), str(values.dtype), elements * size)


ONE = array((4,), "int32")
F4, F5 = array((4,)), array((5,))
GRID = array((3, 4))

# Function: lists of arguments. Arrays are copied for each call and compared after it; numbers, texts and None are passed
# as they are.
CALLS = {
    "vectors": [
        (F4, F4), (F5, F4), (F4,), (), (F4, F4, F4), (F4, None), (F4, 1), (F4, GRID), (F4, ONE), (array((0,)), array((0,))),
        (array((8,))[::2], F4), (F4, array((8,))[::2]), (array((8,))[:1:2], array((1,))),
    ],
    "fixed": [(array((4, 8), "int32"), array((8,), "int32")), (array((4, 7), "int32"), array((8,), "int32")),
              (array((8, 4), "int32").T, array((8,), "int32")), (array((4, 8), "int64"), array((8,), "int32"))],
    "narrow_extents": [(array((3, 2), "float64"), array((2, 3), "float64")),
                       (array((3, 2), "float64"), array((3, 2), "float64"))],
    "expressions": [(array((6, 10)), F5, array((5, 2, 3))), (array((3, 4)), array((2,)), array((3, 1, 3))),
                    (array((6, 9)), F5, array((5, 2, 3))), (array((6, 10)), F4, array((5, 2, 3))),
                    (array((6, 10)), F5, array((5, 2, 2)))],
    "length_given": [(4, ONE), (5, ONE), (-1, ONE), (True, ONE), (4.0, ONE), ("4", ONE), (None, ONE)],
    "length_last": [(array((3,), "int64"), 3), (array((3,), "int64"), 4)],
    "integers": [(1, 2, 3, 4, 5, 6, 7, 8, array((8,), "int64")),
                 (-128, -(2**15), -(2**31), -(2**63), 255, 2**16 - 1, 2**32 - 1, 2**62, array((8,), "int64")),
                 (True, 0, 0, 0, 0, 0, 0, False, array((8,), "int64")),
                 (1, 2, 3, 4, 5, 6, 7, None, array((8,), "int64")), (1, 2, 3, 4.5, 5, 6, 7, 8, array((8,), "int64"))],
    "numbers": [(True, 1.5, -2.25, 0.5, array((4,), "float64")), (0, 3, True, 65504.0, array((4,), "float64")),
                (1, float("inf"), 1e300, 1e-8, array((4,), "float64")), (1.5, 1.0, 1.0, 1.0, array((4,), "float64")),
                (1, "1", 1.0, 1.0, array((4,), "float64"))],
    "reserved_names": [(5, array((2,), "int32")), (5, array((3,), "int32"))],
    "flag": [(True, np.array([1, 0], bool)), (0, np.array([1, 0], bool)), (0, np.array([1, 1], bool)),
             (0, np.array([1, 0], "uint8"))],
    "sum_of": [(ONE, ONE, True, array((1,), "int32")), (ONE, ONE, False, array((1,), "int32")),
               (ONE, array((3,), "int32"), True, array((1,), "int32"))],
    "picked": [(True, ONE), (0, ONE), (None, ONE), (True, F4)],
    "real": [(1.5,), (2,), (False,), (None,)],
    "branches": [(1,), (-1,)],
    "matrices": [(GRID, GRID, GRID, GRID), (array((3, 8))[:, :4], GRID, GRID, GRID), (array((4, 3)).T, GRID, GRID, GRID),
                 (GRID, GRID, array((3, 8))[:, :4], GRID), (GRID, GRID, GRID, F4)],
    "strided": [(GRID, GRID), (array((4, 3)).T, GRID), (array((6, 8))[::2, ::2], GRID)],
    "shifted": [(F4, F4), (shifted(array((6,)), 2), F4), (shifted(array((6,)), 1), F4)],
    "halves": [(F4.astype(ml_dtypes.bfloat16), F4.astype("float16"), F4), (F4.astype("float16"), F4.astype("float16"), F4)],
    "small": [(F4.astype(ml_dtypes.float8_e4m3fn), F4.astype("uint8"), F4),
              (F4.astype(ml_dtypes.float8_e5m2), F4.astype("uint8"), F4)],
    "scalar": [(array(()), array((1,))), (array((1,)), array((1,)))],
    "workspace": [(array((4096,)), array((4096,)))],
    "calls_by_name": [(ONE,)],
    "fails": [(3,)],
    "asserts": [(3, ONE), (-3, ONE)],
    "called": [(3, ONE), (0, ONE), (3, None)],
    "calls": [(ONE, 3), (ONE, -3)],
    "handles": [(None,), (F4,), (ctypes.c_void_p(0),), (ctypes.c_void_p(64),), (3,)],
    "nothing": [(), (1,)],
    "twelve": [(array((2,), "int32"),) * 12, (array((2,), "int32"),) * 11 + (F4,), (array((2,), "int32"),) * 11],
}
