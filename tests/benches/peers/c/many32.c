/* Thirty-two matrices of one shape. */
#include "checks.h"

#define X(i) x[0##i]

EXPORT(many32) {
  COUNT(32);
  const char* x[32];
  int64_t n = 0, m = 0;
  for (int i = 0; i < 32; ++i) {
    const DLTensor* t = tensor(&args[i]);
    if (check_shape(t, 2) != 0) return -1;
    if (i == 0) n = t->shape[0], m = t->shape[1];
    REQUIRE(t->shape[0] == n, "ValueError", "expected equal extents");
    REQUIRE(t->shape[1] == m, "ValueError", "expected equal extents");
    if (check_layout(t, 2) != 0) return -1;
    x[i] = address(t);
  }
  /* Octal, as the macro counts. */
  return give(result, many32_kernel(EIGHT(X, 0), EIGHT(X, 1), EIGHT(X, 2), EIGHT(X, 3), n, m));
}
