// Plays PyTorch: loads a library with operators, calls them with stacks of words, and prints what they answer and what is
// left alive. Kernels are in C.
#include "torch_shim.h"

#include <dlfcn.h>
#include <tvm/ffi/big_int.h>
#include <tvm/ffi/container/array.h>
#include <tvm/ffi/container/tensor.h>
#include <tvm/ffi/extra/c_env_api.h>
#include <tvm/ffi/function.h>

#include <cinttypes>
#include <cstdio>
#include <cstring>

extern "C" {
void add_one(const float* x, float* y, int64_t n) {
  while (n--) y[n] = x[n] + 1;
}
void scale(const float* x, const float* b, bool has, int64_t k, double a, const char* mode, int64_t size, bool up, float* y,
           int* z, int64_t n) {
  std::printf("  b=%d k=%" PRId64 " a=%g mode=%.*s up=%d", has ? (int)b[0] : -1, k, a, (int)size, mode, up);
  while (n--) y[n] = 2 * x[n];
  *z = 42;
}
void words(bool d, uint32_t dtype, bool v, int type, int id, bool t, const char* data, int64_t size, bool i, int8_t number,
           bool f, float fraction, bool b, bool truth) {
  if (d) std::printf("  dtype=%" PRIx32, dtype);
  if (v) std::printf("  device=%d:%d", type, id);
  if (t) std::printf("  bytes=%.*s", (int)size, data);
  if (i) std::printf("  int=%d", number);
  if (f) std::printf("  float=%g", fraction);
  if (b) std::printf("  bool=%d", truth);
}
int on_device(const int* x, int* y, int64_t n, void* stream, int type, int id) {
  std::printf("  stream=%p thread's=%p device=%d:%d", stream, TVMFFIEnvGetStream(type, id), type, id);
  if (n == 0) return 7;
  while (n--) y[n] = x[n] + id;
  return 0;
}
void mixed(const float*, bool there, void* stream) { std::printf("  %d stream=%p", there, stream); }
void fill(const DLTensor* y, double value) {
  std::printf("  device %d", y->device.device_id);
  *(float*)y->data = (float)value;
}
void twice(const int* x, int* t, int* y, int64_t n) {
  std::printf("  allocator %d, %d alive", TVMFFIEnvGetDLPackManagedTensorAllocator() != nullptr, alive());
  while (n--) y[n] = t[2 * n] = 2 * x[n];
}
void odd(void*) {}
void doubled(const float* x, float* t, int64_t n) {
  while (n--) t[n] = 2 * x[n];
}
int fails(float*, int64_t) { return 3; }
}

namespace ffi = tvm::ffi;

namespace {
const int kFloat = 21, kInt = 22, kCpu = 7, kCuda = 8;
float floats[6] = {1, 2, 3, 4, 5, 6};
int ints[4] = {1, 2, 3, 4};

uint64_t word(const void* pointer) { return (uint64_t)(uintptr_t)pointer; }
uint64_t real(double value) {
  uint64_t bits;
  std::memcpy(&bits, &value, 8);
  return bits;
}
uint64_t vec(int64_t n, int dtype = kFloat, int device = kCpu, int index = -1) {
  return word(make({n}, {1}, dtype, device, index, dtype == kInt ? (void*)ints : (void*)floats));
}
uint64_t text(const char* data) {
  ++alive();
  return word(new std::string(data));
}
uint64_t list(List items) {
  ++alive();
  return word(new List(items));
}
uint64_t some(uint64_t value) { return word(new uint64_t(value)); }

// Prints a result as `form` says and deletes it: i an integer, b a truth, f a float, s a text, t a tensor; after l a list of
// them, after ? one that may be None.
void print(uint64_t value, const char* form) {
  if (*form == '?') {
    auto* boxed = (uint64_t*)value;
    if (boxed == nullptr) {
      std::printf("  None");
      return;
    }
    print(*boxed, form + 1);
    delete boxed;
  }
  if (*form == 'l') {
    auto* found = (List*)value;
    std::printf("  (");
    for (uint64_t item : *found) print(item, form + 1);
    std::printf(" )");
    --alive();
    delete found;
  }
  if (*form == 'i') std::printf("  %" PRId64, (int64_t)value);
  if (*form == 'b') std::printf("  %s", value == 0 ? "False" : value == 1 ? "True" : "no truth");
  if (*form == 'f') {
    double number;
    std::memcpy(&number, &value, 8);
    std::printf("  %g", number);
  }
  if (*form == 's') {
    auto* found = (std::string*)value;
    std::printf("  %s", found->c_str());
    --alive();
    delete found;
  }
  if (*form == 't') {
    auto* tensor = (Tensor*)value;
    std::printf("  [");
    bool filled = true;
    for (int64_t extent : tensor->extents) {
      std::printf(" %" PRId64, extent);
      filled &= extent != 0;
    }
    if (tensor->deleter != nullptr) {
      std::printf(" ] strides [");
      for (int64_t stride : tensor->strides) std::printf(" %" PRId64, stride);
    }
    std::printf(" ] device %d:%d", tensor->device, tensor->index);
    if (filled && tensor->dtype == kInt) std::printf(" = %d", *(int*)tensor->data);
    if (filled && tensor->dtype == kFloat) std::printf(" = %g", *(float*)tensor->data);
    aoti_torch_delete_tensor_object(tensor);
  }
}

// Returns the number of results of a form.
size_t results(const char* form) {
  size_t count = 0;
  for (; *form != 0; ++form) count += *form != 'l' && *form != '?';
  return count;
}

// Calls an operator; prints its results as `form` says.
void call(const char* what, const char* name, List inputs, const char* form) {
  size_t outputs = results(form);
  List stack = inputs;
  stack.resize(inputs.size() > outputs ? inputs.size() : outputs + 1);
  std::printf("%s: %s", what, name);
  try {
    registered()[name](stack.data(), inputs.size(), outputs);
    for (size_t at = 0; at < outputs; ++at) {
      print(stack[at], form);
      while (results(form) == outputs - at) ++form;
    }
    std::printf("\n");
  } catch (const Thrown& thrown) {
    std::printf("\n  %s throws %s\n", thrown.function.c_str(), thrown.message.c_str());
  }
  if (alive() != 0) std::printf("  %d still alive\n", alive());
  alive() = 0;
}

// Elements of a host's array: integers, the last of which is one that PyTorch lacks.
ffi::Array<ffi::Any> numbers(int64_t n) {
  ffi::Array<ffi::Any> made;
  for (int64_t at = 0; at < n; ++at) made.push_back(at);
  const uint64_t words[] = {uint64_t{1} << 63, 0};
  TVMFFIByteArray bytes{(const char*)words, sizeof words};
  ffi::Any large;
  if (n == 3 && TVMFFIBigIntFromByteArray(&bytes, (TVMFFIAny*)&large) == 0) made.push_back(large);
  return made;
}

// Sees tensors as objects, and writes to the last.
void seen(ffi::Tensor x, ffi::Optional<ffi::Tensor> o, ffi::Tensor y) {
  std::printf("  x has %" PRId64 ", o %" PRId64, x.size(0), o.has_value() ? o.value().size(0) : -1);
  static_cast<float*>(y.data_ptr())[0] = static_cast<float*>(x.data_ptr())[0] + 40;
}

// A tensor of a host, on its device 2, without strides if it may be. 1 is an unknown element type, 2 no memory, 3 neither
// elements nor memory.
ffi::Array<ffi::Tensor> foreign(int64_t n) {
  static int64_t extents[] = {2, 3};
  extents[0] = n == 3 ? 0 : 2;
  auto* managed = new DLManagedTensorVersioned{};
  managed->version = {1, 1};
  managed->deleter = [](DLManagedTensorVersioned* self) {
    std::printf("  given back");
    delete self;
  };
  managed->dl_tensor = {n < 2 ? floats : nullptr, {kDLCUDA, 2}, 2, {kDLFloat, (uint8_t)(n == 1 ? 16 : 32), 1}, extents,
                        nullptr, 4};
  return {ffi::Tensor::FromDLPackVersioned(managed)};
}
}  // namespace

int main(int, char** argv) {
  ffi::Function::SetGlobal("test.numbers", ffi::Function::FromTyped(numbers), true);
  ffi::Function::SetGlobal("test.same", ffi::Function::FromTyped([](ffi::Any value) { return value; }), true);
  ffi::Function::SetGlobal("test.seen", ffi::Function::FromTyped(seen), true);
  ffi::Function::SetGlobal("test.foreign", ffi::Function::FromTyped(foreign), true);
  if (argv[2] == nullptr && dlopen(argv[1], RTLD_NOW) == nullptr) {
    std::printf("%s\n", dlerror());
    return 1;
  }
  call("vectors", "add_one", {vec(4), vec(4)}, "");
  std::printf("  y[3] = %g\n", floats[3]);
  call("extents differ", "add_one", {vec(4), vec(3)}, "");
  call("element type", "add_one", {vec(4), vec(4, kInt)}, "");
  call("unknown element type", "add_one", {vec(4), vec(4, 63)}, "");
  call("element type out of range", "add_one", {vec(4), vec(4, -1)}, "");
  call("elsewhere", "add_one", {vec(4), vec(4, kFloat, kCuda, 1)}, "");
  call("meta", "add_one", {vec(4, kFloat, 9), vec(4)}, "");
  auto* sparse = make({4}, {1}, kFloat, kCpu, -1, floats);
  sparse->strided = false;
  call("sparse", "add_one", {vec(4), word(sparse)}, "");
  call("too many outputs", "add_one", {0, 0}, "i");
  auto matrix = [] { return word(make({2, 3}, {3, 1}, kFloat, kCpu, -1, floats)); };
  call("defaults", "scale", {matrix(), 0, 3, real(0.5), text("fast"), 0}, "tt");
  call("all", "scale", {matrix(), some(vec(3)), (uint64_t)-7, real(2), text("a longer text than fits"), 1}, "tt");
  call("optional differs", "scale", {matrix(), some(vec(2)), 3, real(1), text("t"), 1}, "tt");
  call("strides", "scale", {word(make({2, 3}, {1, 2}, kFloat, kCpu, -1, floats)), 0, 3, real(1), text("t"), 1}, "tt");
  call("lists", "lists",
       {list({1, 2, 3}), list({4, 5}), list({real(1)}), list({1, 0}), list({text("a"), text("no small text")}),
        list({vec(2), vec(3), vec(1)})},
       "i");
  call("empty lists", "lists", {list({}), list({}), list({}), list({}), list({}), list({})}, "i");
  call("element of a list", "lists",
       {list({1}), list({}), list({}), list({}), list({text("dropped")}), list({vec(2), vec(3, kInt)})}, "i");
  call("meta in a list", "lists",
       {list({1}), list({}), list({}), list({}), list({text("a")}), list({vec(2, kFloat, 9), vec(3)})}, "i");
  call("early", "lists",
       {list({(uint64_t)-1}), list({}), list({}), list({}), list({text("kept until then")}), list({vec(2)})}, "i");
  call("words", "words",
       {some(kFloat), some((uint64_t)kCuda << 32 | 3), some(text("by\0tes")), some((uint64_t)-5), some(real(0.25)), some(1)}, "");
  call("no words", "words", {0, 0, 0, 0, 0, 0}, "");
  call("cpu", "words", {0, some((uint64_t)kCpu << 32 | 0xffffffff), 0, 0, 0, some(0)}, "");
  call("unknown", "words", {some(99), some((uint64_t)31 << 32), 0, 0, 0, 0}, "");
  call("number too large", "words", {0, 0, some(text("t")), some(500), 0, 0}, "");
  call("small", "echo", {text("small")}, "s");
  call("large", "echo", {text("a text that is an object of its own")}, "s");
  TVMFFIEnvSetStream(2, 1, (void*)0x77, nullptr);
  call("stream", "on_device", {vec(4, kInt, kCuda, 1), vec(4, kInt, kCuda, 1)}, "");
  call("kernel fails", "on_device", {vec(0, kInt, kCuda, 1), vec(0, kInt, kCuda, 1)}, "");
  call("two devices", "on_device", {vec(4, kInt, kCuda, 1), vec(4, kInt, kCuda, 2)}, "");
  call("on the cpu", "on_device", {vec(4, kInt), vec(4, kInt)}, "");
  std::printf("  afterwards %p\n", TVMFFIEnvGetStream(2, 1));
  auto number = [] { return word(make({}, {}, kFloat, kCpu, -1, floats)); };
  call("a number and a device", "mixed", {number(), some(vec(4, kInt, kCuda, 3))}, "");
  call("a number alone", "mixed", {number(), 0}, "");
  call("first device", "fill", {real(1.5)}, "t");
  call("workspace", "nested", {vec(3, kInt, kCuda, 1)}, "t");
  setenv("SHIM_LEFT", "1", 1);
  call("no workspace", "nested", {vec(3, kInt, kCuda, 1)}, "t");
  unsetenv("SHIM_LEFT");
  std::printf("  afterwards allocator %d\n", TVMFFIEnvGetDLPackManagedTensorAllocator() != nullptr);
  call("element type of a result", "odd", {3}, "t");
  call("negative extent", "fails", {(uint64_t)-3}, "t");
  call("large extent", "fails", {(uint64_t)1 << 62}, "t");
  call("status", "fails", {3}, "t");
  call("each", "each", {2, text("t")}, "ibfs");
  auto some_lists = [](const char* t, List tensors) {
    return List{3, text(t), list({7, 8}), list(tensors)};
  };
  call("lists of everything", "several", some_lists("a text that is an object", {vec(2), vec(3)}), "lilflblsltli");
  call("empty lists of them", "several", {1, text(""), list({}), list({})}, "lilflblsltli");
  call("some", "perhaps", {some(4), some(text("t")), some(list({text("a"), text("b")})), list({vec(2)})}, "?i?s?ls?t");
  call("none", "perhaps", {0, 0, 0, list({})}, "?i?s?ls?t");
  call("a float", "maybe", {some(real(0.5))}, "?f");
  call("no float", "maybe", {0}, "?f");
  call("allocated by the body", "grown", {vec(3), 2}, "ti");
  call("too much in the body", "grown", {vec(3), 1ll << 60}, "ti");
  call("objects", "seen", {vec(3), some(vec(2))}, "t");
  call("an object", "seen", {vec(3), 0}, "t");
  setenv("SHIM_FAILS", "aoti_torch_new_tensor_handle", 1);
  call("no object", "seen", {vec(3), some(vec(2))}, "t");
  unsetenv("SHIM_FAILS");
  call("numbers", "numbers", {2}, "li");
  call("large numbers", "numbers", {3}, "li");
  call("foreign", "foreign", {0}, "lt");
  call("foreign element type", "foreign", {1}, "lt");
  call("foreign without memory", "foreign", {2}, "lt");
  call("foreign without elements", "foreign", {3}, "lt");
  setenv("SHIM_FAILS", "torch_from_blob", 1);
  call("the second is refused", "perhaps", {some(4), some(text("t")), some(list({text("a")})), list({vec(2)})}, "?i?s?ls?t");
  call("foreign, refused", "foreign", {0}, "lt");
  setenv("SHIM_FAILS", "torch_new_list_reserve_size", 1);
  call("no list", "several", some_lists("t", {vec(2)}), "lilflblsltli");
  call("no list to retain", "perhaps", {some(4), some(text("t")), some(list({})), list({vec(2)})}, "?i?s?ls?t");
  setenv("SHIM_FAILS", "torch_new_string_handle", 1);
  call("no text in a list", "several", some_lists("t", {vec(2)}), "lilflblsltli");
  setenv("SHIM_FAILS", "aoti_torch_empty_strided", 1);
  call("no memory", "scale", {matrix(), 0, 3, real(1), text("t"), 1}, "tt");
  setenv("SHIM_FAILS", "torch_new_string_handle", 1);
  call("no text", "echo", {text("t")}, "s");
  setenv("SHIM_FAILS", "aoti_torch_get_current_cuda_stream", 1);
  call("no stream", "on_device", {vec(4, kInt, kCuda, 1), vec(4, kInt, kCuda, 1)}, "");
  return 0;
}
