// Sixteen integers of 32 bits. The macro truncates larger ones, so the checked form takes 64 bits.
#include "checks.h"

#ifdef CHECKED
using Int = int64_t;
#else
using Int = int32_t;
#endif

static int32_t narrow(Int value) {
  require(static_cast<int32_t>(value) == value, "expected 32 bits");
  return static_cast<int32_t>(value);
}

static int64_t ints16(Int a, Int b, Int c, Int d, Int e, Int f, Int g, Int h, Int i, Int j, Int k, Int l, Int m,
                      Int n, Int o, Int p) {
  return ints16_kernel(narrow(a), narrow(b), narrow(c), narrow(d), narrow(e), narrow(f), narrow(g), narrow(h),
                       narrow(i), narrow(j), narrow(k), narrow(l), narrow(m), narrow(n), narrow(o), narrow(p));
}
TVM_FFI_DLL_EXPORT_TYPED_FUNC(ints16, ints16)
