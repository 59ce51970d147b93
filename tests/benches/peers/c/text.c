/* Text in every form. */
#include "checks.h"

EXPORT(text) {
  COUNT(1);
  int64_t size;
  const char* data = text(&args[0], &size);
  REQUIRE(data != NULL, "TypeError", "expected a string");
  REQUIRE(args[0].type_index != kTVMFFISmallStr || size <= 7, "ValueError", "a small string is too long");
  return give(result, text_kernel(data, size));
}
