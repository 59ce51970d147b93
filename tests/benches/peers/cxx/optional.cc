// A tensor and an integer, each of which may be None.
#include "checks.h"

static int64_t optional(Optional<TensorView> x, Optional<int64_t> k) {
  const char* data = nullptr;
  if (x.has_value()) {
    TensorView t = *x;
    check_shape<1>(t);
    check_layout<1>(t);
    data = address(t);
  }
  return optional_kernel(data, x.has_value(), k.value_or(0), k.has_value());
}
TVM_FFI_DLL_EXPORT_TYPED_FUNC(optional, optional)
