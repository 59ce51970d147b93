/* Eight tensors of rank four, of one shape, each with contiguous rows and other strides of its own. */
#include "checks.h"

#define X(i) x[0##i]
#define S(i) s[0##i][0], s[0##i][1], s[0##i][2]

/* Computes strides without meaning: those of extents of 1, of empty tensors, and NULL. */
COLD int unusual_strides(const DLTensor* t, int64_t* out) {
  bool has_none = t->strides == NULL || is_empty(t, 4);
  uint64_t compact = 1;
  for (int i = 3; i >= 0; --i) {
    int64_t stride = has_none || t->shape[i] == 1 ? (int64_t)compact : t->strides[i];
    if (i < 3) out[i] = stride;
    REQUIRE(i < 3 || stride == 1, "ValueError", "expected contiguous rows");
    compact *= (uint64_t)t->shape[i];
  }
  return 0;
}

EXPORT(stride_symbols8) {
  COUNT(8);
  const char* x[8];
  int64_t s[8][3];
  const int64_t* dims = NULL;
  bool is_usual = false;
  for (int i = 0; i < 8; ++i) {
    const DLTensor* t = tensor(&args[i]);
    if (check_shape(t, 4) != 0) return -1;
    if (i == 0) {
      dims = t->shape;
      is_usual = dims[0] > 1 && dims[1] > 1 && dims[2] > 1 && dims[3] > 0;
    }
    REQUIRE(memcmp(t->shape, dims, 4 * sizeof *dims) == 0, "ValueError", "expected equal shapes");
    if (is_usual && t->strides != NULL && t->strides[3] == 1) {
      memcpy(s[i], t->strides, sizeof s[i]);
    } else if (unusual_strides(t, s[i]) != 0) {
      return -1;
    }
    if (check_data(t, 4) != 0) return -1;
    x[i] = address(t);
  }
  return give(result, stride_symbols8_kernel(EIGHT(X, 0), dims[0], dims[1], dims[2], dims[3], EIGHT(S, 0)));
}
