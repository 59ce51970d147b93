// Eight tensors of rank four, of one shape, with any strides.
#include "checks.h"

static void check(const TensorView& t, const int64_t* dims) {
  check_shape<4>(t);
  for (int i = 0; i < 4; ++i) check_equal(t.shape().data()[i], dims[i]);
  check_data<4>(t);
}

static int64_t strided8(TensorView a, TensorView b, TensorView c, TensorView d, TensorView e, TensorView f,
                        TensorView g, TensorView h) {
  const int64_t* dims = a.shape().data();
  if (kChecked) {
    for (const TensorView* t : {&a, &b, &c, &d, &e, &f, &g, &h}) check(*t, dims);
  }
  return strided8_kernel(address(a), address(b), address(c), address(d), address(e), address(f), address(g),
                         address(h), dims[0], dims[1], dims[2], dims[3]);
}
TVM_FFI_DLL_EXPORT_TYPED_FUNC(strided8, strided8)
