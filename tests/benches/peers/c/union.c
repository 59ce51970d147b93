/* An integer, text, or a tensor of rank one. */
#include "checks.h"

/* A tensor that does not fit is not an alternative, and raises no error of its own. */
INLINE bool fits(const DLTensor* t) {
  if (t == NULL) return false;
  uint64_t header;
  memcpy(&header, &t->ndim, sizeof header);
  if (header != FLOAT32(1) || t->device.device_type != kDLCPU || t->shape == NULL) return false;
  if (t->shape[0] < 0 || !is_compact(t, 1)) return false;
  if (t->data == NULL && t->shape[0] != 0) return false;
  return (uintptr_t)address(t) % sizeof(float) == 0;
}

INLINE bool is_text(const TVMFFIAny* arg) {
  if (arg->type_index == kTVMFFISmallStr) return arg->small_str_len <= 7;
  if (arg->type_index == kTVMFFIRawStr) return arg->v_c_str != NULL;
  return object(arg, kTVMFFIStr, kTVMFFIStr) != NULL;
}

EXPORT(union) {
  COUNT(1);
  bool known = is_int(&args[0]) || is_text(&args[0]) || fits(tensor(&args[0]));
  REQUIRE(known, "TypeError", "expected an integer, a string or a tensor");
  return give(result, union_kernel(&args[0]));
}
