// A tuple of two tensors of one extent.
#include "checks.h"

static int64_t pair(Tuple<Tensor, Tensor> t) {
  Tensor a = t.get<0>(), b = t.get<1>();
  TensorView x = a, y = b;
  check_shape<1>(x);
  check_layout<1>(x);
  check_shape<1>(y);
  check_equal(y.shape().data()[0], x.shape().data()[0]);
  check_layout<1>(y);
  return pair_kernel(address(x), address(y), x.shape().data()[0]);
}
TVM_FFI_DLL_EXPORT_TYPED_FUNC(pair, pair)
