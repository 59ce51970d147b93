/* Three matrices. */
#include "checks.h"

EXPORT(matmul) {
  COUNT(3);
  const DLTensor* a = tensor(&args[0]);
  if (check_shape(a, 2) != 0 || check_layout(a, 2) != 0) return -1;
  int64_t m = a->shape[0], k = a->shape[1];
  const DLTensor* b = tensor(&args[1]);
  if (check_shape(b, 2) != 0) return -1;
  int64_t n = b->shape[1];
  REQUIRE(b->shape[0] == k, "ValueError", "expected b.shape[0] == a.shape[1]");
  if (check_layout(b, 2) != 0) return -1;
  const DLTensor* c = tensor(&args[2]);
  if (check_shape(c, 2) != 0) return -1;
  REQUIRE(c->shape[0] == m, "ValueError", "expected c.shape[0] == a.shape[0]");
  REQUIRE(c->shape[1] == n, "ValueError", "expected c.shape[1] == b.shape[1]");
  if (check_layout(c, 2) != 0) return -1;
  return give(result, matmul_kernel(address(a), address(b), address(c), m, k, n));
}
