// Stands in for libtorch_cpu.so: the functions of PyTorch's stable C ABI over tensors of its own, each of which says what it
// is asked for. tests/systems/pytorch has the real one.
#include "torch_shim.h"

#include <cstdio>
#include <cstdlib>
#include <cstring>

namespace {
Registry registry;
int live = 0;
bool fails(const char* name) {
  const char* failing = std::getenv("SHIM_FAILS");
  return failing != nullptr && std::strcmp(failing, name) == 0;
}
int32_t status(const char* name) { return fails(name) ? 1 : 0; }
}  // namespace

Registry& registered() { return registry; }
int& alive() { return live; }

Tensor* make(std::vector<int64_t> extents, std::vector<int64_t> strides, int dtype, int device, int index, void* data) {
  ++live;
  return new Tensor{extents, strides, dtype, device, index, data, data == nullptr};
}

extern "C" {
// Numbers that are not those of c10.
int32_t aoti_torch_dtype_float32() { return 21; }
int32_t aoti_torch_dtype_int32() { return 22; }
int32_t aoti_torch_dtype_bool() { return 23; }
int32_t aoti_torch_device_type_cpu() { return 7; }
int32_t aoti_torch_device_type_cuda() { return 8; }

int32_t aoti_torch_library_init_fragment(const char* name, const char*, uint32_t, void** library) {
  std::printf("fragment %s\n", name);
  *library = &registry;
  return 0;
}
int32_t aoti_torch_library_init_impl(const char* name, const char* key, const char*, uint32_t, void** library) {
  std::printf("impl %s %s\n", name, key);
  *library = &registry;
  return 0;
}
int32_t aoti_torch_library_def(void*, const char* schema) {
  std::printf("def %s\n", schema);
  return status("aoti_torch_library_def");
}
int32_t torch_library_impl(void*, const char* name, Kernel* kernel, uint64_t version) {
  if (version != (uint64_t{2} << 56 | uint64_t{10} << 48)) std::printf("version %llx\n", (unsigned long long)version);
  registry[name] = kernel;
  return 0;
}

int32_t torch_get_const_data_ptr(Tensor* tensor, const void** data) {
  tensor->read = true;
  *data = tensor->data;
  return tensor->strided ? 0 : 1;
}
int32_t torch_get_mutable_data_ptr(Tensor* tensor, void** data) {
  tensor->written = true;
  *data = tensor->data;
  return tensor->strided ? 0 : 1;
}
int32_t aoti_torch_get_dim(Tensor* tensor, int64_t* rank) {
  *rank = (int64_t)tensor->extents.size();
  return 0;
}
int32_t aoti_torch_get_sizes(Tensor* tensor, int64_t** extents) {
  *extents = tensor->extents.data();
  return 0;
}
int32_t aoti_torch_get_strides(Tensor* tensor, int64_t** strides) {
  *strides = tensor->strides.data();
  return 0;
}
int32_t aoti_torch_get_dtype(Tensor* tensor, int32_t* dtype) {
  *dtype = tensor->dtype;
  return 0;
}
int32_t aoti_torch_get_device_type(Tensor* tensor, int32_t* type) {
  *type = tensor->device;
  return 0;
}
int32_t aoti_torch_get_device_index(Tensor* tensor, int32_t* index) {
  *index = tensor->index;
  return 0;
}
int32_t aoti_torch_new_tensor_handle(Tensor* tensor, Tensor** shared) {
  if (fails("aoti_torch_new_tensor_handle")) return 1;
  *shared = make(tensor->extents, tensor->strides, tensor->dtype, tensor->device, tensor->index, tensor->data);
  return 0;
}
int32_t aoti_torch_delete_tensor_object(Tensor* tensor) {
  --live;
  if (tensor->owned) std::free(tensor->data);
  if (tensor->deleter != nullptr) tensor->deleter(tensor->data, tensor->context);
  delete tensor;
  return 0;
}
int32_t aoti_torch_empty_strided(int64_t rank, const int64_t* extents, const int64_t* strides, int32_t dtype, int32_t device,
                                 int32_t index, Tensor** tensor) {
  // SHIM_LEFT is how often it still works.
  static int calls = 0;
  const char* left = std::getenv("SHIM_LEFT");
  if (fails("aoti_torch_empty_strided") || (left != nullptr && ++calls > std::atoi(left))) return 1;
  size_t bytes = 8;
  for (int64_t dim = 0; dim < rank; ++dim) bytes *= (size_t)extents[dim];
  *tensor = make({extents, extents + rank}, {strides, strides + rank}, dtype, device, index, nullptr);
  (*tensor)->data = std::aligned_alloc(64, (bytes + 63) / 64 * 64);
  std::memset((*tensor)->data, 0, bytes);
  return 0;
}

int32_t torch_new_string_handle(const char* data, size_t length, std::string** text) {
  if (fails("torch_new_string_handle")) return 1;
  ++live;
  *text = new std::string(data, length);
  return 0;
}
int32_t torch_string_length(std::string* text, size_t* length) {
  *length = text->size();
  return 0;
}
int32_t torch_string_c_str(std::string* text, const char** data) {
  *data = text->c_str();
  return 0;
}
int32_t torch_delete_string(std::string* text) {
  --live;
  delete text;
  return 0;
}
int32_t torch_list_size(List* list, size_t* size) {
  *size = list->size();
  return 0;
}
int32_t torch_list_get_item(List* list, size_t index, uint64_t* item) {
  *item = list->at(index);
  return 0;
}
int32_t torch_delete_list(List* list) {
  --live;
  delete list;
  return 0;
}
int32_t torch_new_list_reserve_size(size_t size, List** list) {
  if (fails("torch_new_list_reserve_size")) return 1;
  ++live;
  *list = new List;
  (*list)->reserve(size);
  return 0;
}
int32_t torch_list_push_back(List* list, uint64_t item) {
  list->push_back(item);
  return 0;
}
int32_t aoti_torch_layout_strided() { return 31; }
#ifndef OLDER
// What PyTorch has since 2.11.
int32_t torch_from_blob(void* data, int64_t rank, const int64_t* extents, const int64_t* strides, int64_t offset, int32_t dtype,
                        int32_t device, int32_t index, Tensor** tensor, int32_t layout, const uint8_t*, int64_t metadata,
                        void (*deleter)(void*, void*), void* context) {
  if (fails("torch_from_blob")) return 1;
  if (offset != 0 || layout != 31 || metadata != 0 || (device == 7) != (index == -1)) std::printf("  an odd tensor");
  *tensor = make({extents, extents + rank}, {strides, strides + rank}, dtype, device, index, data);
  (*tensor)->deleter = deleter;
  (*tensor)->context = context;
  return 0;
}
#endif
int32_t aoti_torch_get_current_cuda_stream(int32_t index, void** stream) {
  *stream = (void*)(uintptr_t)(0x100 + index);
  return status("aoti_torch_get_current_cuda_stream");
}
void aoti_torch_check(bool condition, const char* function, const char*, uint32_t, const char* message) {
  if (!condition) throw Thrown{function, message};
}

#ifdef NEWER
// What PyTorch has since 2.12 and 2.13.
int32_t torch_tag_pt2_compliant_tag() { return 77; }
int32_t torch_library_def_with_tags(void* library, const char* schema, const int32_t* tags, int32_t count) {
  std::printf("tags %d: %d, ", count, *tags);
  return aoti_torch_library_def(library, schema);
}
int32_t torch_new_stable_ivalue(uint64_t** word) {
  if (fails("torch_new_stable_ivalue")) return 1;
  *word = new uint64_t;
  return 0;
}
int32_t torch_delete_stable_ivalue(uint64_t* word) {
  delete word;
  return 0;
}
void aoti_torch_warn(const char* function, const char*, uint32_t, const char* message) {
  std::printf("warning of %s: %s\n", function, message);
}
const char* torch_exception_get_what_without_backtrace() { return "a reason of PyTorch"; }
#endif
}
