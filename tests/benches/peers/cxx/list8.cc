// A sequence of tensors of one extent.
#include "checks.h"

static int64_t list8(Array<Tensor> list) {
  if (kChecked) {
    const int64_t* dims = nullptr;
    for (const Tensor& tensor : list) {
      TensorView t = tensor;
      check_shape<1>(t);
      if (dims == nullptr) dims = t.shape().data();
      check_equal(t.shape().data()[0], dims[0]);
      check_layout<1>(t);
    }
  }
  return list8_kernel(list.get(), static_cast<int64_t>(list.size()));
}
TVM_FFI_DLL_EXPORT_TYPED_FUNC(list8, list8)
