// What a C++ library exports, for the benchmarks that call it beside our wrappers, and the kernels of both.

#include <cstdint>

#include <tvm/ffi/container/array.h>
#include <tvm/ffi/container/map.h>
#include <tvm/ffi/container/tensor.h>
#include <tvm/ffi/container/tuple.h>
#include <tvm/ffi/container/variant.h>
#include <tvm/ffi/function.h>
#include <tvm/ffi/optional.h>
#include <tvm/ffi/string.h>

using namespace tvm::ffi;

#define KERNEL extern "C" __attribute__((noinline, visibility("default")))

KERNEL int64_t bench_data(const void* x, const void* y) {
  return reinterpret_cast<intptr_t>(x) ^ reinterpret_cast<intptr_t>(y);
}

KERNEL int64_t bench_text(const char* data, int64_t size) {
  return reinterpret_cast<intptr_t>(data) ^ size;
}

KERNEL int64_t bench_object(const void* object) { return reinterpret_cast<intptr_t>(object); }

static int64_t text(String s) { return bench_text(s.data(), static_cast<int64_t>(s.size())); }
TVM_FFI_DLL_EXPORT_TYPED_FUNC(text, text)

static int64_t pair(Tuple<Tensor, Tensor> t) {
  return bench_data(t.get<0>().data_ptr(), t.get<1>().data_ptr());
}
TVM_FFI_DLL_EXPORT_TYPED_FUNC(pair, pair)

static int64_t tensors(TensorView x, TensorView y) { return bench_data(x.data_ptr(), y.data_ptr()); }
TVM_FFI_DLL_EXPORT_TYPED_FUNC(tensors, tensors)

// The macro checks the types only; extents are up to its users.
static int64_t list(Array<Tensor> xs) { return bench_object(xs.get()); }
TVM_FFI_DLL_EXPORT_TYPED_FUNC(list, list)

// What they then write, for the same checks as ours.
static int64_t checked_list(Array<Tensor> xs) {
  int64_t n = -1;
  for (const Tensor& x : xs) {
    if (x.ndim() != 1) TVM_FFI_THROW(ValueError) << "wrong rank";
    if (x.dtype() != DLDataType{kDLFloat, 32, 1}) TVM_FFI_THROW(TypeError) << "wrong type";
    if (x.device().device_type != kDLCPU) TVM_FFI_THROW(ValueError) << "wrong device";
    if (n < 0) n = x.size(0);
    if (x.size(0) != n || n < 0) TVM_FFI_THROW(ValueError) << "wrong extent";
    if (!x.IsContiguous()) TVM_FFI_THROW(ValueError) << "not contiguous";
    uintptr_t address = reinterpret_cast<uintptr_t>(x.data_ptr()) + x.byte_offset();
    if (n != 0 && x.data_ptr() == nullptr) TVM_FFI_THROW(ValueError) << "no data";
    if (address % sizeof(float) != 0) TVM_FFI_THROW(ValueError) << "misaligned";
  }
  return bench_object(xs.get());
}
TVM_FFI_DLL_EXPORT_TYPED_FUNC(checked_list, checked_list)

static int64_t either(Variant<int64_t, String, Tensor> u) { return bench_object(&u); }
TVM_FFI_DLL_EXPORT_TYPED_FUNC(either, either)

static int64_t mapping(Map<String, int64_t> m) { return bench_object(m.get()); }
TVM_FFI_DLL_EXPORT_TYPED_FUNC(mapping, mapping)

static int64_t maybe(Optional<Tensor> x) {
  return bench_data(x.has_value() ? x.value().data_ptr() : nullptr, nullptr);
}
TVM_FFI_DLL_EXPORT_TYPED_FUNC(maybe, maybe)

static int call(const Function& function, TVMFFIAny* argument, TVMFFIAny* result) {
  return TVMFFIFunctionCall(const_cast<FunctionObj*>(function.get()), argument, 1, result);
}

static bool step(void* iterator, int64_t what, TVMFFIAny* result) {
  TVMFFIAny argument{};
  argument.type_index = kTVMFFIInt;
  argument.v_int64 = what;
  *result = TVMFFIAny{};
  return TVMFFIFunctionCall(iterator, &argument, 1, result) == 0;
}

static void drop(const TVMFFIAny& value) {
  if (value.type_index >= kTVMFFIStaticObjectBegin) TVMFFIObjectDecRef(value.v_obj);
}

static bool is_text(const TVMFFIAny& value) {
  return value.type_index == kTVMFFISmallStr || value.type_index == kTVMFFIStr;
}

// What a C program does that does not know how maps are laid out.
extern "C" __attribute__((visibility("default"))) int __tvm_ffi_mapping_by_hand(
    void*, const TVMFFIAny* args, int32_t, TVMFFIAny* result) {
  static const Function size_of = Function::GetGlobalRequired("ffi.MapSize");
  static const Function entries_of = Function::GetGlobalRequired("ffi.MapForwardIterFunctor");
  TVMFFIAny size{}, iterator{}, key, value, argument = args[0];
  if (call(size_of, &argument, &size) != 0 || call(entries_of, &argument, &iterator) != 0) return -1;
  for (int64_t left = size.v_int64; left > 0; left--) {
    if (!step(iterator.v_obj, 0, &key) || !step(iterator.v_obj, 1, &value)) return -1;
    bool good = is_text(key) && value.type_index == kTVMFFIInt;
    drop(key);
    drop(value);
    if (!good || !step(iterator.v_obj, 2, &value)) return -1;
  }
  TVMFFIObjectDecRef(iterator.v_obj);
  result->type_index = kTVMFFIInt;
  result->v_int64 = bench_object(args[0].v_obj);
  return 0;
}
