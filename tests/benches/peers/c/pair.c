/* A tuple of two tensors of one extent. */
#include "checks.h"

EXPORT(pair) {
  COUNT(1);
  const TVMFFIObject* tuple = object(&args[0], kTVMFFIArray, kTVMFFIArray);
  REQUIRE(tuple != NULL, "TypeError", "expected a tuple");
  const TVMFFISeqCell* cell = (const TVMFFISeqCell*)(tuple + 1);
  REQUIRE(cell->size == 2, "ValueError", "expected two elements");
  const TVMFFIAny* elements = cell->data;
  const DLTensor* x = tensor(&elements[0]);
  if (check_shape(x, 1) != 0 || check_layout(x, 1) != 0) return -1;
  const DLTensor* y = tensor(&elements[1]);
  if (check_shape(y, 1) != 0) return -1;
  int64_t n = x->shape[0];
  REQUIRE(y->shape[0] == n, "ValueError", "expected equal extents");
  if (check_layout(y, 1) != 0) return -1;
  return give(result, pair_kernel(address(x), address(y), n));
}
