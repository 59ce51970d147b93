// Three matrices.
#include "checks.h"

static int64_t matmul(TensorView a, TensorView b, TensorView c) {
  const int64_t *x = a.shape().data(), *y = b.shape().data(), *z = c.shape().data();
  check_shape<2>(a);
  check_layout<2>(a);
  check_shape<2>(b);
  check_equal(y[0], x[1]);
  check_layout<2>(b);
  check_shape<2>(c);
  check_equal(z[0], x[0]);
  check_equal(z[1], y[1]);
  check_layout<2>(c);
  return matmul_kernel(address(a), address(b), address(c), x[0], x[1], y[1]);
}
TVM_FFI_DLL_EXPORT_TYPED_FUNC(matmul, matmul)
