/* The kernel of systems that are tested as hosts. */

#include <stdint.h>

void add_one_kernel(const float *x, float *y, int64_t n) {
  for (int64_t i = 0; i < n; i++) y[i] = x[i] + 1;
}
