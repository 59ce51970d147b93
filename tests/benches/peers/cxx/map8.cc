// A mapping of text to integers.
#include "checks.h"

static int64_t map8(Map<String, int64_t> map) { return map8_kernel(map.get()); }
TVM_FFI_DLL_EXPORT_TYPED_FUNC(map8, map8)
