// Shared parts of the functions behind the C++ export macro: the checks of our declarations, which the macro leaves to
// its users. Without -DCHECKED only the macro's own conversions check.

#pragma once

#include <cstdint>

#include <tvm/ffi/container/array.h>
#include <tvm/ffi/container/map.h>
#include <tvm/ffi/container/tensor.h>
#include <tvm/ffi/container/tuple.h>
#include <tvm/ffi/container/variant.h>
#include <tvm/ffi/function.h>
#include <tvm/ffi/optional.h>
#include <tvm/ffi/string.h>

#include "../kernels.h"

#ifdef CHECKED
constexpr bool kChecked = true;
#else
constexpr bool kChecked = false;
#endif

using namespace tvm::ffi;

inline void require(bool holds, const char* message) {
  if (kChecked && __builtin_expect(!holds, 0)) TVM_FFI_THROW(ValueError) << message;
}

inline const char* address(const TensorView& t) {
  return static_cast<const char*>(t.data_ptr()) + t.byte_offset();
}

template <int rank>
inline bool is_empty(const TensorView& t) {
  for (int i = 0; i < rank; ++i) {
    if (t.shape().data()[i] == 0) return true;
  }
  return false;
}

// Makes the checks before the comparison of extents.
template <int rank>
inline void check_shape(const TensorView& t) {
  if (!kChecked) return;
  require(t.ndim() == rank, "wrong rank");
  if (t.dtype() != DLDataType{kDLFloat, 32, 1}) TVM_FFI_THROW(TypeError) << "expected float32";
  require(t.device().device_type == kDLCPU, "expected cpu");
  require(t.shape().data() != nullptr, "expected extents");
  for (int i = 0; i < rank; ++i) require(t.shape().data()[i] >= 0, "expected non-negative extents");
}

template <int rank>
inline void check_data(const TensorView& t) {
  if (!kChecked) return;
  require(t.data_ptr() != nullptr || is_empty<rank>(t), "expected data");
  require(reinterpret_cast<uintptr_t>(address(t)) % sizeof(float) == 0, "misaligned data");
}

// Makes the checks after the comparison of extents.
template <int rank>
inline void check_layout(const TensorView& t) {
  if (!kChecked) return;
  require(t.IsContiguous(), "expected contiguous strides");
  check_data<rank>(t);
}

inline void check_equal(int64_t a, int64_t b) { require(a == b, "expected equal extents"); }
