// A handler of three vectors in C++, by XLA's own headers, with the checks that ours makes of a declaration.
#include <cstdint>

#include "xla/ffi/api/ffi.h"

namespace ffi = xla::ffi;

extern "C" void add(const float* x, const float* y, float* z, int64_t n);

static ffi::Error Add(ffi::Buffer<ffi::F32> x, ffi::Buffer<ffi::F32> y, ffi::ResultBuffer<ffi::F32> z) {
  if (x.dimensions().size() != 1 || y.dimensions().size() != 1 || z->dimensions().size() != 1) {
    return ffi::Error::InvalidArgument("a rank is not 1");
  }
  int64_t n = x.dimensions()[0];
  if (y.dimensions()[0] != n || z->dimensions()[0] != n) {
    return ffi::Error::InvalidArgument("extents differ");
  }
  add(x.typed_data(), y.typed_data(), z->typed_data(), n);
  return ffi::Error::Success();
}

XLA_FFI_DEFINE_HANDLER_SYMBOL(cpp_add, Add,
                              ffi::Ffi::Bind()
                                  .Arg<ffi::Buffer<ffi::F32>>()
                                  .Arg<ffi::Buffer<ffi::F32>>()
                                  .Ret<ffi::Buffer<ffi::F32>>());
