/* What a person would write instead of the declaration
 *     add_one(x: Tensor([n], float32), y: Tensor([n], float32)) -> None
 *         = add_one_kernel(x.data, y.data, n);
 * with every check that the declaration implies. The benchmarks call it beside our wrapper. */
#include <stdint.h>
#include <tvm/ffi/c_api.h>

__attribute__((noinline)) void add_one_kernel(const float* x, float* y, int64_t n) {
  for (int64_t i = 0; i < n; ++i) y[i] = x[i] + 1.0f;
}

static int fail(const char* kind, const char* message) {
  TVMFFIErrorSetRaisedFromCStr(kind, message);
  return -1;
}

static const DLTensor* tensor(const TVMFFIAny* arg) {
  if (arg->type_index == kTVMFFITensor && arg->v_obj != NULL)
    return (const DLTensor*)((const char*)arg->v_obj + sizeof(TVMFFIObject));
  if (arg->type_index == kTVMFFIDLTensorPtr) return (const DLTensor*)arg->v_ptr;
  return NULL;
}

static int check(const DLTensor* t, const char** message) {
  if (t == NULL) return *message = "expected a tensor", 1;
  if (t->ndim != 1) return *message = "expected rank 1", 2;
  if (t->dtype.code != kDLFloat || t->dtype.bits != 32 || t->dtype.lanes != 1)
    return *message = "expected float32", 1;
  if (t->device.device_type != kDLCPU) return *message = "expected cpu", 2;
  if (t->shape == NULL) return *message = "expected a shape", 2;
  int64_t n = t->shape[0];
  if (n < 0) return *message = "expected a non-negative extent", 2;
  if (t->strides != NULL && n > 1 && t->strides[0] != 1) return *message = "expected contiguous", 2;
  if (t->data == NULL && n != 0) return *message = "expected data", 2;
  if (((uintptr_t)t->data + t->byte_offset) % sizeof(float) != 0)
    return *message = "expected aligned data", 2;
  return 0;
}

TVM_FFI_DLL_EXPORT int __tvm_ffi_add_one(void* handle, const TVMFFIAny* args, int32_t num_args,
                                         TVMFFIAny* result) {
  static const char* const kinds[] = {"", "TypeError", "ValueError"};
  const char* message;
  int kind;
  (void)handle;
  if (num_args != 2) return fail("TypeError", "expected 2 arguments");
  const DLTensor* x = tensor(&args[0]);
  if ((kind = check(x, &message)) != 0) return fail(kinds[kind], message);
  const DLTensor* y = tensor(&args[1]);
  if ((kind = check(y, &message)) != 0) return fail(kinds[kind], message);
  if (y->shape[0] != x->shape[0]) return fail("ValueError", "expected equal extents");
  add_one_kernel((const float*)((const char*)x->data + x->byte_offset),
                 (float*)((char*)y->data + y->byte_offset), x->shape[0]);
  result->type_index = kTVMFFINone;
  result->zero_padding = 0;
  result->v_int64 = 0;
  return 0;
}
