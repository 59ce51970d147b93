// Shared parts of the functions that call others: two matrices of one shape.

#pragma once

#include "checks.h"

inline void check_matrices(const TensorView& x, const TensorView& y) {
  const int64_t *a = x.shape().data(), *b = y.shape().data();
  check_shape<2>(x);
  check_layout<2>(x);
  check_shape<2>(y);
  check_equal(b[0], a[0]);
  check_equal(b[1], a[1]);
  check_layout<2>(y);
}
