// Eight tensors of rank four, of one shape, each with contiguous rows and other strides of its own.
#include "checks.h"

// Computes strides without meaning: those of extents of 1 and of empty tensors.
static __attribute__((cold, noinline)) void unusual_strides(const TensorView& t, int64_t* out) {
  const int64_t* dims = t.shape().data();
  bool has_none = is_empty<4>(t);
  uint64_t compact = 1;
  for (int i = 3; i >= 0; --i) {
    int64_t stride = has_none || dims[i] == 1 ? static_cast<int64_t>(compact) : t.strides().data()[i];
    if (i < 3) out[i] = stride;
    require(i < 3 || stride == 1, "expected contiguous rows");
    compact *= static_cast<uint64_t>(dims[i]);
  }
}

struct Checked {
  const char* data;
  int64_t strides[3];
};

static Checked check(const TensorView& t, const int64_t* dims) {
  check_shape<4>(t);
  if (kChecked) {
    for (int i = 0; i < 4; ++i) check_equal(t.shape().data()[i], dims[i]);
  }
  const int64_t* strides = t.strides().data();
  Checked checked = {address(t), {strides[0], strides[1], strides[2]}};
  bool is_usual = dims[0] > 1 && dims[1] > 1 && dims[2] > 1 && dims[3] > 0;
  if (kChecked && !(is_usual && strides[3] == 1)) unusual_strides(t, checked.strides);
  check_data<4>(t);
  return checked;
}

#define PARAM(i) TensorView x##i
#define CHECK(i) check(x##i, dims)
#define X(i) x[0##i].data
#define S(i) x[0##i].strides[0], x[0##i].strides[1], x[0##i].strides[2]

static int64_t stride_symbols8(EIGHT(PARAM, 0)) {
  const int64_t* dims = x00.shape().data();
  const Checked x[] = {EIGHT(CHECK, 0)};
  return stride_symbols8_kernel(EIGHT(X, 0), dims[0], dims[1], dims[2], dims[3], EIGHT(S, 0));
}
TVM_FFI_DLL_EXPORT_TYPED_FUNC(stride_symbols8, stride_symbols8)
