/* A launch through HIP, with the device of the tensors current while it is made. */
#include <dlfcn.h>

#define DEVICE kDLROCM
#include "checks.h"
#include <tvm/ffi/extra/c_env_api.h>

/* A code object, whose file the build names. */
__asm__(".section .rodata\n.balign 4096\ncode:\n.incbin \"" HSACO "\"\n.text\n");
extern const char code[] __attribute__((visibility("hidden")));

enum { DEVICES = 64 };

static void* functions[DEVICES];
static int (*get_device)(int*);
static int (*set_device)(int);
static int (*launch_kernel)(void*, unsigned, unsigned, unsigned, unsigned, unsigned, unsigned, unsigned, void*, void**,
                            void**);

static int (*load_data)(void**, const void*);
static int (*get_function)(void**, void*, const char*);

COLD int open_driver(void) {
  void* driver = dlopen("libamdhip64.so.6", RTLD_NOW);
  REQUIRE(driver != NULL, "RuntimeError", "no HIP");
  get_device = (int (*)(int*))dlsym(driver, "hipGetDevice");
  set_device = (int (*)(int))dlsym(driver, "hipSetDevice");
  load_data = (int (*)(void**, const void*))dlsym(driver, "hipModuleLoadData");
  get_function = (int (*)(void**, void*, const char*))dlsym(driver, "hipModuleGetFunction");
  launch_kernel = (int (*)(void*, unsigned, unsigned, unsigned, unsigned, unsigned, unsigned, unsigned, void*, void**,
                           void**))dlsym(driver, "hipModuleLaunchKernel");
  bool is_new = get_device && set_device && load_data && get_function && launch_kernel;
  REQUIRE(is_new, "RuntimeError", "old HIP");
  return 0;
}

/* Loads the kernel on the current device. */
COLD int load_kernel(int device) {
  void *module, *found;
  REQUIRE(load_data(&module, code) == 0, "RuntimeError", "hipModuleLoadData");
  REQUIRE(get_function(&found, module, "axpy_kernel") == 0, "RuntimeError", "hipModuleGetFunction");
  __atomic_store_n(&functions[device], found, __ATOMIC_RELEASE);
  return 0;
}

/* Launches on the current device. */
INLINE int launch_here(int device, unsigned blocks, void** params) {
  void* found = __atomic_load_n(&functions[device], __ATOMIC_ACQUIRE);
  if (found == NULL) {
    if (load_kernel(device) != 0) return -1;
    found = functions[device];
  }
  void* stream = TVMFFIEnvGetStream(kDLROCM, device);
  int status = launch_kernel(found, blocks, 1, 1, 128, 1, 1, 0, stream, params, NULL);
  REQUIRE(status == 0, "RuntimeError", "hipModuleLaunchKernel");
  return 0;
}

/* Launches on another device than the current one, which is the current one again afterwards. */
COLD int launch_there(int device, int before, unsigned blocks, void** params) {
  REQUIRE(set_device(device) == 0, "RuntimeError", "hipSetDevice");
  int status = launch_here(device, blocks, params);
  REQUIRE(set_device(before) == 0, "RuntimeError", "hipSetDevice");
  return status;
}

EXPORT(axpy_hip) {
  COUNT(3);
  const DLTensor* x = tensor(&args[0]);
  if (check_shape(x, 1) != 0 || check_layout(x, 1) != 0) return -1;
  const DLTensor* y = tensor(&args[1]);
  if (check_shape(y, 1) != 0) return -1;
  int64_t count = x->shape[0];
  int device = x->device.device_id;
  REQUIRE(y->device.device_id == device, "ValueError", "expected one device");
  REQUIRE(y->shape[0] == count, "ValueError", "expected equal extents");
  if (check_layout(y, 1) != 0) return -1;
  REQUIRE(args[2].type_index == kTVMFFIFloat || is_int(&args[2]), "TypeError", "expected float");
  float a = args[2].type_index == kTVMFFIFloat ? (float)args[2].v_float64 : (float)args[2].v_int64;
  int64_t blocks = count / 1024 + (count % 1024 != 0);
  REQUIRE(blocks <= UINT32_MAX && count <= INT32_MAX, "ValueError", "too many elements");
  if (blocks == 0) return give(result, count);
  REQUIRE((unsigned)device < DEVICES, "ValueError", "no such device");
  if (__builtin_expect(launch_kernel == NULL, 0) && open_driver() != 0) return -1;
  const char *from = address(x), *to = address(y);
  int n = (int)count, current;
  void* params[] = {&from, &to, &n, &a};
  REQUIRE(get_device(&current) == 0, "RuntimeError", "hipGetDevice");
  int status = __builtin_expect(current == device, 1) ? launch_here(device, (unsigned)blocks, params)
                                                      : launch_there(device, current, (unsigned)blocks, params);
  return status == 0 ? give(result, count) : -1;
}
