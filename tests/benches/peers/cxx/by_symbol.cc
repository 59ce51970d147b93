// A function of the same library by its symbol.
#include "programs.h"

static int64_t number(TensorView x, TensorView y) {
  check_matrices(x, y);
  return pair_kernel(address(x), address(y), x.shape().data()[0] * x.shape().data()[1]);
}
TVM_FFI_DLL_EXPORT_TYPED_FUNC(number, number)

static int64_t by_symbol(TensorView x, TensorView y) {
  check_matrices(x, y);
  return Function::InvokeExternC(nullptr, __tvm_ffi_number, x, y).cast<int64_t>();
}
TVM_FFI_DLL_EXPORT_TYPED_FUNC(by_symbol, by_symbol)
