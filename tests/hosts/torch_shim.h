// What the stand-in for PyTorch and the program that calls operators share.
#pragma once

#include <cstdint>
#include <map>
#include <string>
#include <vector>

using Kernel = void(uint64_t* stack, uint64_t inputs, uint64_t outputs);
using List = std::vector<uint64_t>;
using Registry = std::map<std::string, Kernel*>;

struct Tensor {
  std::vector<int64_t> extents, strides;
  int dtype, device, index;
  void* data;
  bool owned;
  bool strided = true, read = false, written = false;
  // What gives back memory that is not the tensor's.
  void (*deleter)(void*, void*) = nullptr;
  void* context = nullptr;
};

// The exception of an operator.
struct Thrown {
  std::string function, message;
};

// The kernels by the names of their operators.
Registry& registered();
// The number of tensors, texts and lists that are not deleted.
int& alive();
// Makes a tensor, which owns its memory if that is none yet.
Tensor* make(std::vector<int64_t> extents, std::vector<int64_t> strides, int dtype, int device, int index, void* data);
extern "C" int32_t aoti_torch_delete_tensor_object(Tensor* tensor);
