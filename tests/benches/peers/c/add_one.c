/* Two tensors of one extent. */
#include "checks.h"

EXPORT(add_one) {
  COUNT(2);
  const DLTensor* x = tensor(&args[0]);
  if (check_shape(x, 1) != 0 || check_layout(x, 1) != 0) return -1;
  const DLTensor* y = tensor(&args[1]);
  if (check_shape(y, 1) != 0) return -1;
  int64_t n = x->shape[0];
  REQUIRE(y->shape[0] == n, "ValueError", "expected equal extents");
  if (check_layout(y, 1) != 0) return -1;
  return give(result, add_one_kernel(address(x), address(y), n));
}
