/* A sequence of tensors of one extent. */
#include "checks.h"

EXPORT(list8) {
  COUNT(1);
  const TVMFFIObject* list = object(&args[0], kTVMFFIArray, kTVMFFIList);
  REQUIRE(list != NULL, "TypeError", "expected an array");
  const TVMFFISeqCell* cell = (const TVMFFISeqCell*)(list + 1);
  const TVMFFIAny* elements = cell->data;
  int64_t n = 0;
  for (int64_t i = 0; i < cell->size; ++i) {
    const DLTensor* t = tensor(&elements[i]);
    if (check_shape(t, 1) != 0) return -1;
    if (i == 0) n = t->shape[0];
    REQUIRE(t->shape[0] == n, "ValueError", "expected equal extents");
    if (check_layout(t, 1) != 0) return -1;
  }
  return give(result, list8_kernel(list, cell->size));
}
