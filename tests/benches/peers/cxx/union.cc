// An integer, text, or a tensor of rank one.
#include "checks.h"

static int64_t either(Variant<int64_t, String, Tensor> u) {
  if (kChecked) {
    if (auto tensor = u.as<Tensor>()) {
      TensorView t = *tensor;
      check_shape<1>(t);
      check_layout<1>(t);
    }
  }
  Any any = u;
  return union_kernel(&any);
}
TVM_FFI_DLL_EXPORT_TYPED_FUNC(union, either)
