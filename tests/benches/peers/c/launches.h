/* Shared parts of the functions that launch: the driver is opened at the first launch. */
#ifndef LAUNCHES_H
#define LAUNCHES_H

#include <dlfcn.h>

#define DEVICE kDLCUDA
#include "checks.h"
#include <tvm/ffi/extra/c_env_api.h>

typedef struct {
  unsigned grid[3], block[3], shared;
  void *stream, *attributes;
  unsigned count;
} Config;

static void* kernel;
static int (*current_device)(int*);
static int (*launch_kernel)(const Config*, void*, void**, void**);
static int (*encode_tiled)(void*, int, uint32_t, const void*, const uint64_t*, const uint64_t*, const uint32_t*,
                           const uint32_t*, int, int, int, int);

COLD int load_kernel(const char* image, const char* name) {
  void *driver = dlopen("libcuda.so.1", RTLD_NOW), *library, *found;
  REQUIRE(driver != NULL, "RuntimeError", "no CUDA driver");
  int (*init)(unsigned) = (int (*)(unsigned))dlsym(driver, "cuInit");
  int (*load_data)(void**, const void*, void*, void**, unsigned, void*, void**, unsigned) =
      (int (*)(void**, const void*, void*, void**, unsigned, void*, void**, unsigned))dlsym(driver, "cuLibraryLoadData");
  int (*get_kernel)(void**, void*, const char*) = (int (*)(void**, void*, const char*))dlsym(driver, "cuLibraryGetKernel");
  current_device = (int (*)(int*))dlsym(driver, "cuCtxGetDevice");
  launch_kernel = (int (*)(const Config*, void*, void**, void**))dlsym(driver, "cuLaunchKernelEx");
  encode_tiled = (int (*)(void*, int, uint32_t, const void*, const uint64_t*, const uint64_t*, const uint32_t*,
                          const uint32_t*, int, int, int, int))dlsym(driver, "cuTensorMapEncodeTiled");
  bool is_new = init && load_data && get_kernel && current_device && launch_kernel && encode_tiled;
  REQUIRE(is_new, "RuntimeError", "old CUDA driver");
  REQUIRE(init(0) == 0, "RuntimeError", "cuInit");
  REQUIRE(load_data(&library, image, NULL, NULL, 0, NULL, NULL, 0) == 0, "RuntimeError", "cuLibraryLoadData");
  REQUIRE(get_kernel(&found, library, name) == 0, "RuntimeError", "cuLibraryGetKernel");
  __atomic_store_n(&kernel, found, __ATOMIC_RELEASE);
  return 0;
}

/* Loads the kernel at the first launch; returns NULL if that fails. */
INLINE void* find_kernel(const char* image, const char* name) {
  void* found = __atomic_load_n(&kernel, __ATOMIC_ACQUIRE);
  if (found != NULL) return found;
  return load_kernel(image, name) == 0 ? kernel : NULL;
}

/* Launches on the environment's stream of a device. */
INLINE int launch(void* found, Config* config, int device, void** params) {
  int current;
  config->stream = TVMFFIEnvGetStream(kDLCUDA, device);
  if ((uintptr_t)config->stream <= 2) {
    REQUIRE(current_device(&current) == 0 && current == device, "RuntimeError", "no context");
  }
  REQUIRE(launch_kernel(config, found, params, NULL) == 0, "RuntimeError", "cuLaunchKernelEx");
  return 0;
}

#endif
