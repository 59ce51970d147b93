// One function per parameter type, exported as a C++ library does it. The test compares the values that they accept
// with those that our functions accept. Compiled with `-O0`; the headers take most of the time.

#include <cstdint>

#include <tvm/ffi/container/array.h>
#include <tvm/ffi/container/dict.h>
#include <tvm/ffi/container/list.h>
#include <tvm/ffi/container/map.h>
#include <tvm/ffi/container/shape.h>
#include <tvm/ffi/container/tensor.h>
#include <tvm/ffi/container/tuple.h>
#include <tvm/ffi/container/variant.h>
#include <tvm/ffi/dtype.h>
#include <tvm/ffi/error.h>
#include <tvm/ffi/extra/module.h>
#include <tvm/ffi/function.h>
#include <tvm/ffi/object.h>
#include <tvm/ffi/optional.h>
#include <tvm/ffi/string.h>

namespace {

using namespace tvm::ffi;

// A class of the user, and a child class that only the test knows.
class ThingObj : public Object {
 public:
  TVM_FFI_DECLARE_OBJECT_INFO("test.Thing", ThingObj, Object);
};

class Thing : public ObjectRef {
 public:
  TVM_FFI_DEFINE_OBJECT_REF_METHODS_NULLABLE(Thing, ObjectRef, ThingObj);
};

}  // namespace

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
EXPORT(str, String)
EXPORT(bytes, Bytes)
EXPORT(dtype, DLDataType)
EXPORT(device, DLDevice)
EXPORT(shape, Shape)
EXPORT(function, Function)
EXPORT(module, Module)
EXPORT(error, Error)
EXPORT(object, ObjectRef)
EXPORT(thing, Thing)
EXPORT(any, AnyView)
EXPORT(optional_int, Optional<int64_t>)
EXPORT(optional_float, Optional<double>)
EXPORT(optional_str, Optional<String>)
EXPORT(optional_tensor, Optional<Tensor>)
EXPORT(optional_function, Optional<Function>)
EXPORT(optional_thing, Optional<Thing>)
EXPORT(optional_dtype, Optional<DLDataType>)
EXPORT(optional_device, Optional<DLDevice>)
EXPORT(optional_shape, Optional<Shape>)
EXPORT(optional_array_int, Optional<Array<int64_t>>)
EXPORT(optional_map_str_int, Optional<Map<String, int64_t>>)
EXPORT(optional_tuple_int_str, Optional<Tuple<int64_t, String>>)
EXPORT(optional_variant_int_str, Optional<Variant<int64_t, String>>)
EXPORT(tuple_optional_thing, Tuple<Optional<Thing>>)
EXPORT(array_int, Array<int64_t>)
EXPORT(array_any, Array<Any>)
EXPORT(array_tensor, Array<Tensor>)
EXPORT(array_array_int, Array<Array<int64_t>>)
EXPORT(list_int, List<int64_t>)
EXPORT(map_str_int, Map<String, int64_t>)
EXPORT(map_any, Map<Any, Any>)
EXPORT(dict_str_int, Dict<String, int64_t>)
EXPORT(tuple_int_str, Tuple<int64_t, String>)
EXPORT(tuple_int, Tuple<int64_t>)
EXPORT(tuple_nested, Tuple<Tuple<int64_t, double>, Optional<String>>)
EXPORT(variant_int_str, Variant<int64_t, String>)
EXPORT(variant_float_array, Variant<double, Array<int64_t>>)

// Converts a number as the macro does.
static double rounded(float x) { return x; }
TVM_FFI_DLL_EXPORT_TYPED_FUNC(rounded, rounded)
