// An operator as one writes it by hand against PyTorch's stable ABI, with the checks that ours makes.
#include <torch/csrc/stable/library.h>
#include <torch/csrc/stable/tensor.h>

using torch::headeronly::DeviceType;
using torch::headeronly::ScalarType;
using torch::stable::Tensor;

extern "C" void add(const float* x, const float* y, float* z, int64_t n);

static void checked(const Tensor& x, const Tensor& y, Tensor z) {
  const Tensor* all[] = {&x, &y, &z};
  for (const Tensor* tensor : all) {
    STD_TORCH_CHECK(tensor->dim() == 1, "rank");
    STD_TORCH_CHECK(tensor->scalar_type() == ScalarType::Float, "element type");
    STD_TORCH_CHECK(tensor->device().type() == DeviceType::CPU, "device");
    STD_TORCH_CHECK(tensor->size(0) == x.size(0), "extent");
    STD_TORCH_CHECK(tensor->is_contiguous(), "strides");
  }
  add(x.const_data_ptr<float>(), y.const_data_ptr<float>(), z.mutable_data_ptr<float>(), x.size(0));
}

STABLE_TORCH_LIBRARY(by_hand, library) { library.def("add(Tensor x, Tensor y, Tensor(a2!) z) -> ()"); }
STABLE_TORCH_LIBRARY_IMPL(by_hand, CompositeExplicitAutograd, library) { library.impl("add", TORCH_BOX(&checked)); }
