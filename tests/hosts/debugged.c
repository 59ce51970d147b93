/* Kernels that a debugger stops in. The test names lines of this file. */
#include <stdint.h>

int64_t pick(int64_t n) { return n; }

int32_t stop(float *x, float *y, int64_t n)
{
    for (int64_t i = 0; i < n; i++)
        y[i] = x[i] + 1;
    return 0;
}
