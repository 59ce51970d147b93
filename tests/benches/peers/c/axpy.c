/* A launch through the driver. */
#include "launches.h"

static const char image[] =
    ".version 8.0\n.target sm_80\n.address_size 64\n"
    ".visible .entry axpy_kernel(.param .u64 x, .param .u64 y, .param .u32 n, .param .f32 a) { ret; }\n";

EXPORT(axpy) {
  COUNT(3);
  const DLTensor* x = tensor(&args[0]);
  if (check_shape(x, 1) != 0 || check_layout(x, 1) != 0) return -1;
  const DLTensor* y = tensor(&args[1]);
  if (check_shape(y, 1) != 0) return -1;
  int64_t count = x->shape[0];
  REQUIRE(y->device.device_id == x->device.device_id, "ValueError", "expected one device");
  REQUIRE(y->shape[0] == count, "ValueError", "expected equal extents");
  if (check_layout(y, 1) != 0) return -1;
  REQUIRE(args[2].type_index == kTVMFFIFloat || is_int(&args[2]), "TypeError", "expected float");
  float a = args[2].type_index == kTVMFFIFloat ? (float)args[2].v_float64 : (float)args[2].v_int64;
  int64_t blocks = count / 1024 + (count % 1024 != 0);
  REQUIRE(blocks <= UINT32_MAX && count <= INT32_MAX, "ValueError", "too many elements");
  if (blocks == 0) return give(result, count);
  void* found = find_kernel(image, "axpy_kernel");
  if (found == NULL) return -1;
  const char *from = address(x), *to = address(y);
  int n = (int)count;
  void* params[] = {&from, &to, &n, &a};
  Config config = {{(unsigned)blocks, 1, 1}, {128, 1, 1}, 0, NULL, NULL, 0};
  if (launch(found, &config, x->device.device_id, params) != 0) return -1;
  return give(result, count);
}
