/* A tensor and an integer, each of which may be None. */
#include "checks.h"

EXPORT(optional) {
  COUNT(2);
  bool has_x = args[0].type_index != kTVMFFINone, has_k = args[1].type_index != kTVMFFINone;
  const char* x = NULL;
  if (has_x) {
    const DLTensor* t = tensor(&args[0]);
    if (check_shape(t, 1) != 0 || check_layout(t, 1) != 0) return -1;
    x = address(t);
  }
  REQUIRE(!has_k || is_int(&args[1]), "TypeError", "expected an integer or None");
  return give(result, optional_kernel(x, has_x, has_k ? args[1].v_int64 : 0, has_k));
}
