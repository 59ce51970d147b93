// What a C++ library exports, for the benchmarks that call it beside our wrappers, and the kernels of both.

#include <cstdint>

#include <tvm/ffi/container/tensor.h>
#include <tvm/ffi/container/tuple.h>
#include <tvm/ffi/function.h>
#include <tvm/ffi/string.h>

using namespace tvm::ffi;

#define KERNEL extern "C" __attribute__((noinline, visibility("default")))

KERNEL int64_t bench_data(const void* x, const void* y) {
  return reinterpret_cast<intptr_t>(x) ^ reinterpret_cast<intptr_t>(y);
}

KERNEL int64_t bench_text(const char* data, int64_t size) {
  return reinterpret_cast<intptr_t>(data) ^ size;
}

static int64_t text(String s) { return bench_text(s.data(), static_cast<int64_t>(s.size())); }
TVM_FFI_DLL_EXPORT_TYPED_FUNC(text, text)

static int64_t pair(Tuple<Tensor, Tensor> t) {
  return bench_data(t.get<0>().data_ptr(), t.get<1>().data_ptr());
}
TVM_FFI_DLL_EXPORT_TYPED_FUNC(pair, pair)

static int64_t tensors(TensorView x, TensorView y) { return bench_data(x.data_ptr(), y.data_ptr()); }
TVM_FFI_DLL_EXPORT_TYPED_FUNC(tensors, tensors)
