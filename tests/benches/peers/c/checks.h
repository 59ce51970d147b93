/* Shared parts of the hand-written functions: the checks that our declarations imply, in the order in which our
 * wrappers report them, written by somebody who knows the ABI and cares for speed. Messages lack the received values.
 * */
#ifndef CHECKS_H
#define CHECKS_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>
#include <string.h>
#include <tvm/ffi/c_api.h>

#include "../kernels.h"

/* Device of the tensors. */
#ifndef DEVICE
#define DEVICE kDLCPU
#endif

#define INLINE static inline __attribute__((always_inline))
#define COLD static __attribute__((cold, noinline, unused))

#define EXPORT(name)                                                                             \
  TVM_FFI_DLL_EXPORT int __tvm_ffi_##name(void* handle, const TVMFFIAny* args, int32_t num_args, \
                                          TVMFFIAny* result)

COLD int fail(const char* kind, const char* message) {
  TVMFFIErrorSetRaisedFromCStr(kind, message);
  return -1;
}

#define REQUIRE(condition, kind, message) \
  if (!(condition)) return fail(kind, message)
#define COUNT(count)                                                           \
  (void)handle;                                                                \
  REQUIRE(num_args == (count), "TypeError", "wrong number of arguments")

INLINE int give(TVMFFIAny* result, int64_t value) {
  result->type_index = kTVMFFIInt;
  result->zero_padding = 0;
  result->v_int64 = value;
  return 0;
}

/* Returns an object of one of two classes, also by rvalue reference; NULL for anything else. */
INLINE const TVMFFIObject* object(const TVMFFIAny* arg, int32_t class, int32_t other) {
  if (arg->type_index == class || arg->type_index == other) return arg->v_obj;
  if (arg->type_index != kTVMFFIObjectRValueRef || arg->v_ptr == NULL) return NULL;
  const TVMFFIObject* inside = *(TVMFFIObject* const*)arg->v_ptr;
  if (inside == NULL || (inside->type_index != class && inside->type_index != other)) return NULL;
  return inside;
}

INLINE bool is_int(const TVMFFIAny* arg) {
  return arg->type_index == kTVMFFIInt || arg->type_index == kTVMFFIBool;
}

/* Returns the text of an argument; NULL for anything else. */
INLINE const char* text(const TVMFFIAny* arg, int64_t* size) {
  if (arg->type_index == kTVMFFISmallStr) {
    *size = arg->small_str_len;
    return arg->v_bytes;
  }
  if (arg->type_index == kTVMFFIRawStr) {
    if (arg->v_c_str != NULL) *size = (int64_t)strlen(arg->v_c_str);
    return arg->v_c_str;
  }
  const TVMFFIObject* string = object(arg, kTVMFFIStr, kTVMFFIStr);
  if (string == NULL) return NULL;
  const TVMFFIByteArray* bytes = (const TVMFFIByteArray*)(string + 1);
  *size = (int64_t)bytes->size;
  return bytes->data;
}

/* Returns a `DLTensor*` or a tensor object's; NULL for anything else. */
INLINE const DLTensor* tensor(const TVMFFIAny* arg) {
  if (arg->type_index == kTVMFFITensor && arg->v_obj != NULL) return (const DLTensor*)(arg->v_obj + 1);
  if (arg->type_index == kTVMFFIDLTensorPtr) return (const DLTensor*)arg->v_ptr;
  return NULL;
}

/* `ndim` and `dtype` are one aligned word. */
#define FLOAT32(ndim) (UINT64_C(0x00012002) << 32 | (uint64_t)(ndim))

COLD int wrong_header(const DLTensor* t, int ndim) {
  REQUIRE(t->ndim == ndim, "ValueError", "wrong rank");
  return fail("TypeError", "expected float32");
}

/* Makes the checks before the comparison of extents. */
INLINE int check_shape(const DLTensor* t, int ndim) {
  REQUIRE(t != NULL, "TypeError", "expected a tensor");
  uint64_t header;
  memcpy(&header, &t->ndim, sizeof header);
  if (header != FLOAT32(ndim)) return wrong_header(t, ndim);
  REQUIRE(t->device.device_type == DEVICE, "ValueError", "wrong device");
  REQUIRE(t->shape != NULL, "ValueError", "expected extents");
  int64_t signs = 0;
  for (int i = 0; i < ndim; ++i) signs |= t->shape[i];
  REQUIRE(signs >= 0, "ValueError", "expected non-negative extents");
  return 0;
}

COLD bool is_empty(const DLTensor* t, int ndim) {
  for (int i = 0; i < ndim; ++i) {
    if (t->shape[i] == 0) return true;
  }
  return false;
}

INLINE bool is_compact(const DLTensor* t, int ndim) {
  if (t->strides == NULL) return true;
  uint64_t stride = 1;
  for (int i = ndim - 1; i >= 0; --i) {
    if (t->strides[i] != (int64_t)stride && t->shape[i] != 1) return is_empty(t, ndim);
    stride *= (uint64_t)t->shape[i];
  }
  return true;
}

INLINE const char* address(const DLTensor* t) { return (const char*)t->data + t->byte_offset; }

INLINE int check_data(const DLTensor* t, int ndim) {
  REQUIRE(t->data != NULL || is_empty(t, ndim), "ValueError", "expected data");
  REQUIRE((uintptr_t)address(t) % sizeof(float) == 0, "ValueError", "misaligned data");
  return 0;
}

/* Makes the checks after the comparison of extents. */
INLINE int check_layout(const DLTensor* t, int ndim) {
  REQUIRE(is_compact(t, ndim), "ValueError", "expected contiguous strides");
  return check_data(t, ndim);
}

#endif
