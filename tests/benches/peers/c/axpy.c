/* A launch through the driver, which is opened when something is first launched. */
#include <dlfcn.h>

#define DEVICE kDLCUDA
#include "checks.h"
#include <tvm/ffi/extra/c_env_api.h>

typedef struct {
  unsigned grid[3], block[3], shared;
  void *stream, *attributes;
  unsigned count;
} Config;

static const char image[] =
    ".version 8.0\n.target sm_80\n.address_size 64\n"
    ".visible .entry axpy_kernel(.param .u64 x, .param .u64 y, .param .u32 n, .param .f32 a) { ret; }\n";

static void* kernel;
static int (*current_device)(int*);
static int (*launch_kernel)(const Config*, void*, void**, void**);

COLD int load(void) {
  void *driver = dlopen("libcuda.so.1", RTLD_NOW), *library, *found;
  REQUIRE(driver != NULL, "RuntimeError", "no CUDA driver");
  int (*init)(unsigned) = (int (*)(unsigned))dlsym(driver, "cuInit");
  int (*load_data)(void**, const void*, void*, void**, unsigned, void*, void**, unsigned) =
      (int (*)(void**, const void*, void*, void**, unsigned, void*, void**, unsigned))dlsym(driver, "cuLibraryLoadData");
  int (*get_kernel)(void**, void*, const char*) = (int (*)(void**, void*, const char*))dlsym(driver, "cuLibraryGetKernel");
  current_device = (int (*)(int*))dlsym(driver, "cuCtxGetDevice");
  launch_kernel = (int (*)(const Config*, void*, void**, void**))dlsym(driver, "cuLaunchKernelEx");
  REQUIRE(init && load_data && get_kernel && current_device && launch_kernel, "RuntimeError", "old CUDA driver");
  REQUIRE(init(0) == 0, "RuntimeError", "cuInit");
  REQUIRE(load_data(&library, image, NULL, NULL, 0, NULL, NULL, 0) == 0, "RuntimeError", "cuLibraryLoadData");
  REQUIRE(get_kernel(&found, library, "axpy_kernel") == 0, "RuntimeError", "cuLibraryGetKernel");
  __atomic_store_n(&kernel, found, __ATOMIC_RELEASE);
  return 0;
}

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
  void* found = __atomic_load_n(&kernel, __ATOMIC_ACQUIRE);
  if (found == NULL) {
    if (load() != 0) return -1;
    found = kernel;
  }
  const char *from = address(x), *to = address(y);
  int n = (int)count, device;
  void* params[] = {&from, &to, &n, &a};
  Config config = {{(unsigned)blocks, 1, 1}, {128, 1, 1}, 0, NULL, NULL, 0};
  config.stream = TVMFFIEnvGetStream(kDLCUDA, x->device.device_id);
  if ((uintptr_t)config.stream <= 2) {
    REQUIRE(current_device(&device) == 0 && device == x->device.device_id, "RuntimeError", "no context");
  }
  REQUIRE(launch_kernel(&config, found, params, NULL) == 0, "RuntimeError", "cuLaunchKernelEx");
  return give(result, count);
}
