/* Eight tensors of rank four, of one shape, with any strides. */
#include "checks.h"

EXPORT(strided8) {
  COUNT(8);
  const char* x[8];
  const int64_t* dims = NULL;
  for (int i = 0; i < 8; ++i) {
    const DLTensor* t = tensor(&args[i]);
    if (check_shape(t, 4) != 0) return -1;
    if (i == 0) dims = t->shape;
    REQUIRE(memcmp(t->shape, dims, 4 * sizeof *dims) == 0, "ValueError", "expected equal shapes");
    if (check_data(t, 4) != 0) return -1;
    x[i] = address(t);
  }
  return give(result, strided8_kernel(x[0], x[1], x[2], x[3], x[4], x[5], x[6], x[7], dims[0], dims[1],
                                      dims[2], dims[3]));
}
