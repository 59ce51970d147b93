/* Kernels that know nothing of their callers. */

#include <stdint.h>

void add_one_kernel(const float *x, float *y, int64_t n) {
  for (int64_t i = 0; i < n; i++) y[i] = x[i] + 1;
}

double trace_kernel(const double *x, int64_t n, int64_t row, int64_t column) {
  double sum = 0;
  for (int64_t i = 0; i < n; i++) sum += x[i * (row + column)];
  return sum;
}
