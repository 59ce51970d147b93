// Text in every form.
#include "checks.h"

static int64_t text(String s) { return text_kernel(s.data(), static_cast<int64_t>(s.size())); }
TVM_FFI_DLL_EXPORT_TYPED_FUNC(text, text)
