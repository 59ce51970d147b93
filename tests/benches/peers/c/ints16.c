/* Sixteen integers of 32 bits. */
#include "checks.h"

EXPORT(ints16) {
  COUNT(16);
  int32_t a[16];
  for (int i = 0; i < 16; ++i) {
    REQUIRE(is_int(&args[i]), "TypeError", "expected an integer");
    a[i] = (int32_t)args[i].v_int64;
    REQUIRE(a[i] == args[i].v_int64, "ValueError", "expected 32 bits");
  }
  return give(result, ints16_kernel(a[0], a[1], a[2], a[3], a[4], a[5], a[6], a[7], a[8], a[9], a[10], a[11],
                                    a[12], a[13], a[14], a[15]));
}
