// One function per parameter type, exported as a C++ library does it. The test compares which values they accept
// with which ours do. `-O0`, one file: what costs time is the headers.

#include <cstdint>

#include <tvm/ffi/container/tensor.h>
#include <tvm/ffi/function.h>

using namespace tvm::ffi;

#define EXPORT(name, ...)                      \
  static void take_##name(__VA_ARGS__) {}      \
  TVM_FFI_DLL_EXPORT_TYPED_FUNC(name, take_##name)

EXPORT(int8, int8_t)
EXPORT(int16, int16_t)
EXPORT(int32, int32_t)
EXPORT(int64, int64_t)
EXPORT(uint8, uint8_t)
EXPORT(uint16, uint16_t)
EXPORT(uint32, uint32_t)
EXPORT(uint64, uint64_t)
EXPORT(boolean, bool)
EXPORT(float32, float)
EXPORT(float64, double)
EXPORT(ptr, void*)
EXPORT(tensor, Tensor)
EXPORT(tensor_view, TensorView)
EXPORT(dl_tensor, DLTensor*)
