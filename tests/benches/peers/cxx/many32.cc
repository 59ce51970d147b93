// Thirty-two matrices of one shape.
#include "checks.h"

static const char* check(const TensorView& t, const int64_t* dims) {
  check_shape<2>(t);
  check_equal(t.shape().data()[0], dims[0]);
  check_equal(t.shape().data()[1], dims[1]);
  check_layout<2>(t);
  return address(t);
}

#define PARAM(i) TensorView x##i
#define CHECK(i) check(x##i, dims)
#define X(i) x[0##i]

static int64_t many32(EIGHT(PARAM, 0), EIGHT(PARAM, 1), EIGHT(PARAM, 2), EIGHT(PARAM, 3)) {
  const int64_t* dims = x00.shape().data();
  const char* x[] = {EIGHT(CHECK, 0), EIGHT(CHECK, 1), EIGHT(CHECK, 2), EIGHT(CHECK, 3)};
  // Octal, as the macro counts.
  return many32_kernel(EIGHT(X, 0), EIGHT(X, 1), EIGHT(X, 2), EIGHT(X, 3), dims[0], dims[1]);
}
TVM_FFI_DLL_EXPORT_TYPED_FUNC(many32, many32)
