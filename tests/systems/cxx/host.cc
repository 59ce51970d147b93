// A host in C++: owns tensors of the runtime, calls a function of a library, and prints what a bad call throws.
//
// Usage: host LIBRARY, which exports add_one(x: Tensor([n], float32), y: Tensor([n], float32)).

#include <tvm/ffi/container/tensor.h>
#include <tvm/ffi/error.h>
#include <tvm/ffi/extra/module.h>

#include <cstdio>
#include <numeric>

namespace ffi = tvm::ffi;

struct Memory {
  void AllocData(DLTensor* tensor) { tensor->data = new float[static_cast<size_t>(tensor->shape[0])]; }
  void FreeData(DLTensor* tensor) { delete[] static_cast<float*>(tensor->data); }
};

static ffi::Tensor vector(int64_t n) {
  ffi::Tensor made = ffi::Tensor::FromNDAlloc(Memory(), {n}, DLDataType{kDLFloat, 32, 1}, DLDevice{kDLCPU, 0});
  float* data = static_cast<float*>(made.data_ptr());
  std::iota(data, data + n, 0.0f);
  return made;
}

int main(int argc, char** argv) {
  if (argc != 2) return 2;
  ffi::Function add_one = ffi::Module::LoadFromFile(argv[1])->GetFunction("add_one").value();
  ffi::Tensor x = vector(5), y = vector(5);
  add_one(x, y);
  const float* sums = static_cast<const float*>(y.data_ptr());
  for (int i = 0; i < 5; ++i) std::printf("%g%c", sums[i], i < 4 ? ' ' : '\n');
  try {
    add_one(x, vector(4));
  } catch (const ffi::Error& error) {
    std::printf("%s: %s\n", error.kind().c_str(), error.message().c_str());
    return 0;
  }
  return 1;
}
