/* Tests the stand-in for the CUDA driver as a caller would, and compares its records with the expected ones.
 *
 * Usage: check FOLDER, where the images are; the stand-in is found as `libcuda.so.1`. */

#include "check.h"

#include <pthread.h>

void *driver;
int failures;

/* Calls before cuInit fail. */
static void begin(void) {
  int count = -1, version = 0;
  IS(CALL(cuDeviceGetCount, &count), 3);
  IS(CALL(cuInit, 0), 0);
  IS(CALL(cuDeviceGetCount, &count), 0);
  IS(CALL(cuDriverGetVersion, &version), 0);
  IS(count, 2), IS(version, 12080);
  RECORDED(
      "cuDeviceGetCount() = 3 CUDA_ERROR_NOT_INITIALIZED (there was no cuInit)\n"
      "cuInit(flags=0)\n"
      "cuDeviceGetCount() -> 2\n"
      "cuDriverGetVersion() -> 12080\n");
}

/* The stack of contexts, and live resources. */
static void contexts(void) {
  void *first = NULL, *second = NULL, *popped = NULL;
  int device = -1;
  IS(CALL(cuCtxGetDevice, &device), 201);
  IS(CALL(cuDevicePrimaryCtxRetain, &first, 0), 0);
  IS(CALL(cuDevicePrimaryCtxRetain, &second, 1), 0);
  IS(CALL(cuCtxPushCurrent_v2, first), 0);
  IS(CALL(cuCtxPushCurrent_v2, second), 0);
  IS(CALL(cuCtxGetDevice, &device), 0);
  IS(device, 1);
  live(0, 2, 0, 0, 2);
  IS(CALL(cuCtxPopCurrent_v2, &popped), 0);
  IS(popped == second, 1);
  RECORDED(
      "cuCtxGetDevice() = 201 CUDA_ERROR_INVALID_CONTEXT (there is no context)\n"
      "cuDevicePrimaryCtxRetain(device=0) -> primary0 retained=1\n"
      "cuDevicePrimaryCtxRetain(device=1) -> primary1 retained=1\n"
      "cuCtxPushCurrent_v2(primary0)\n"
      "cuCtxPushCurrent_v2(primary1)\n"
      "cuCtxGetDevice() -> device=1\n"
      "cuCtxPopCurrent_v2() -> primary1\n");
}

/* Parameters of a kernel; `text` is the same kernel in PTX. The offset of the first one depends on the assembler, which
 * aligns to more than 16 bytes from another base. */
static void parameters(void *library, void *text, const char *name, const size_t (*expected)[2], size_t count) {
  void *kernels[] = {kernel_of(library, name), kernel_of(text, name)};
  for (int k = 0; k < 2; k++) {
    for (size_t i = 0; i <= count; i++) {
      size_t offset = 0, size = 0;
      IS(CALL(cuKernelGetParamInfo, kernels[k], i, &offset, &size), i == count);
      if (i == count) continue;
      IS(offset, (long long)(expected[i][0] - (k ? expected[0][0] : 0)));
      IS(size, (long long)expected[i][1]);
    }
  }
}

#define PARAMETERS(name, ...)                                                        \
  do {                                                                               \
    static const size_t expected[][2] = {__VA_ARGS__};                               \
    parameters(library, text, name, expected, sizeof expected / sizeof *expected);   \
  } while (0)

static void images(const char *folder, const char *cubin) {
  char *ptx = read_image(folder, "kernels.ptx"), *fatbin = read_image(folder, "kernels.fatbin");
  void *library = load(cubin), *text = load(ptx), *none = NULL;
  PARAMETERS("axpy_kernel", {0, 8}, {8, 8}, {16, 4}, {20, 4});
  PARAMETERS("add_kernel", {0, 8}, {8, 8}, {16, 8}, {24, 8});
  PARAMETERS("shared_kernel", {0, 8}, {8, 4});
  PARAMETERS("widths", {0, 1}, {2, 2}, {4, 4}, {8, 8}, {16, 4}, {24, 8}, {32, 12}, {48, 24});
  PARAMETERS("tma", {48, 128}, {176, 8});
  PARAMETERS("cluster_kernel", {0, 8});
  PARAMETERS("hidden", {0, 8}, {8, 4}, {16, 8}, {24, 8});
  int shared[2] = {0, 0};
  IS(CALL(cuKernelGetAttribute, &shared[0], 1, kernel_of(library, "shared_kernel"), 0), 0);
  IS(CALL(cuKernelGetAttribute, &shared[1], 1, kernel_of(text, "shared_kernel"), 0), 0);
  IS(shared[0], 1024), IS(shared[1], 1024);
  CALL(fake_cuda_reset);
  IS(CALL(cuLibraryUnload, text), 0);
  IS(CALL(cuLibraryUnload, text), 400);
  IS(CALL(cuLibraryLoadData, &none, "junk", NULL, NULL, 0, NULL, NULL, 0), 200);
  IS(CALL(cuLibraryGetKernel, &none, library, "missing"), 500);
  set("capability", 80);
  IS(CALL(cuLibraryLoadData, &none, cubin, NULL, NULL, 0, NULL, NULL, 0), 209);
  set("late_arch", 1);
  void *late = load(cubin);
  IS(CALL(cuKernelGetFunction, &none, kernel_of(late, "hidden")), 209);
  set("late_arch", 0);
  void *several = load(fatbin);
  set("capability", 90);
  IS(CALL(cuLibraryUnload, several), 0);
  IS(CALL(cuLibraryUnload, late), 0);
  IS(CALL(cuLibraryUnload, library), 0);
  RECORDED(
      "cuLibraryUnload(lib1)\n"
      "cuLibraryUnload(lib-1) = 400 CUDA_ERROR_INVALID_HANDLE (it is no library)\n"
      "cuLibraryLoadData(jit_options=0 options=0) = 200 CUDA_ERROR_INVALID_IMAGE (neither cubin nor fatbin nor PTX)\n"
      "cuLibraryGetKernel(lib0 \"missing\") = 500 CUDA_ERROR_NOT_FOUND (the library has no such kernel)\n"
      "cuLibraryLoadData(jit_options=0 options=0) = 209 CUDA_ERROR_NO_BINARY_FOR_GPU (device 0 has the architecture "
      "80)\n"
      "cuLibraryLoadData(jit_options=0 options=0) -> lib2 sm_90\n"
      "cuLibraryGetKernel(lib2 \"hidden\")\n"
      "cuKernelGetFunction(lib2.\"hidden\") = 209 CUDA_ERROR_NO_BINARY_FOR_GPU (device 0 has the architecture 80)\n"
      "cuLibraryLoadData(jit_options=0 options=0) -> lib3 sm_80 sm_90\n"
      "cuLibraryUnload(lib3)\n"
      "cuLibraryUnload(lib2)\n"
      "cuLibraryUnload(lib0)\n");
  free(ptx), free(fatbin);
}

/* Launches on the stream of the context and on one of another device; errors of others. */
static void launches(const char *cubin) {
  void *library = load(cubin), *axpy = kernel_of(library, "axpy_kernel");
  uint64_t x = 0x1122334455667788, y = 0;
  int n = 5;
  float a = 1;
  void *values[] = {&x, &y, &n, &a};
  attribute serialized = {.id = 6, .value = {1}}, cluster = {.id = 4, .value = {2, 1, 1}};
  configuration config = {.grid = {4, 1, 1}, .block = {128, 1, 1}, .attributes = &serialized, .count = 1};
  CALL(fake_cuda_reset);
  IS(CALL(cuLaunchKernelEx, &config, axpy, values, NULL), 0);
  config.grid[0] = 3, config.attributes = &cluster;
  IS(CALL(cuLaunchKernelEx, &config, axpy, values, NULL), 912);
  config.grid[0] = 0;
  IS(CALL(cuLaunchKernelEx, &config, axpy, values, NULL), 1);
  IS(CALL(cuLaunchKernel, axpy, 1, 1, 1, 128, 1, 1, 49153, NULL, values, NULL), 1);
  IS(CALL(cuKernelSetAttribute, 8, 65536, axpy, 0), 0);
  IS(CALL(cuLaunchKernel, axpy, 1, 1, 1, 128, 1, 1, 49153, NULL, values, NULL), 0);
  /* The stream belongs to the second device, the context to the first. */
  void *stream = NULL, *second = NULL;
  IS(CALL(cuDevicePrimaryCtxRetain, &second, 1), 0);
  IS(CALL(cuCtxPushCurrent_v2, second), 0);
  IS(CALL(cuStreamCreate, &stream, 1), 0);
  IS(CALL(cuCtxPopCurrent_v2, NULL), 0);
  IS(CALL(cuLaunchKernel, axpy, 1, 1, 1, 1, 1, 1, 0, stream, values, NULL), 0);
  unsigned char buffer[24] = {1};
  size_t size = sizeof buffer;
  void *extra[] = {(void *)1, buffer, (void *)2, &size, NULL};
  IS(CALL(cuLaunchKernel, axpy, 1, 1, 1, 1, 1, 1, 0, stream, NULL, extra), 0);
  IS(CALL(cuStreamDestroy_v2, stream), 0);
  IS(CALL(cuDevicePrimaryCtxRelease_v2, 1), 0);
  IS(CALL(cuLibraryUnload, library), 0);
  RECORDED(
      "cuLaunchKernelEx(lib4.\"axpy_kernel\" grid=4,1,1 block=128,1,1 shared=0 stream=null attributes=[6:01]) -> "
      "device=0 context=primary0 parameters=[8877665544332211, 0000000000000000, 05000000, 0000803f]\n"
      "cuLaunchKernelEx(lib4.\"axpy_kernel\" grid=3,1,1 block=128,1,1 shared=0 stream=null "
      "attributes=[4:020000000100000001]) = 912 CUDA_ERROR_INVALID_CLUSTER_SIZE (clusters of 2,1,1)\n"
      "cuLaunchKernelEx(lib4.\"axpy_kernel\" grid=0,1,1 block=128,1,1 shared=0 stream=null "
      "attributes=[4:020000000100000001]) = 1 CUDA_ERROR_INVALID_VALUE (the grid is 0,1,1)\n"
      "cuLaunchKernel(lib4.\"axpy_kernel\" grid=1,1,1 block=128,1,1 shared=49153 stream=null attributes=[]) = 1 "
      "CUDA_ERROR_INVALID_VALUE (shared memory above 49152)\n"
      "cuKernelSetAttribute(lib4.\"axpy_kernel\" 8=65536 device=0)\n"
      "cuLaunchKernel(lib4.\"axpy_kernel\" grid=1,1,1 block=128,1,1 shared=49153 stream=null attributes=[]) -> "
      "device=0 context=primary0 parameters=[8877665544332211, 0000000000000000, 05000000, 0000803f]\n"
      "cuDevicePrimaryCtxRetain(device=1) -> primary1 retained=2\n"
      "cuCtxPushCurrent_v2(primary1)\n"
      "cuStreamCreate(flags=1) -> stream0 context=primary1\n"
      "cuCtxPopCurrent_v2() -> primary1\n"
      "cuLaunchKernel(lib4.\"axpy_kernel\" grid=1,1,1 block=1,1,1 shared=0 stream=stream0 attributes=[]) -> "
      "device=1 context=primary1 parameters=[8877665544332211, 0000000000000000, 05000000, 0000803f]\n"
      "cuLaunchKernel(lib4.\"axpy_kernel\" grid=1,1,1 block=1,1,1 shared=0 stream=stream0 attributes=[]) -> "
      "device=1 context=primary1 parameters=[0100000000000000, 0000000000000000, 00000000, 00000000]\n"
      "cuStreamDestroy_v2(stream0)\n"
      "cuDevicePrimaryCtxRelease_v2(device=1) -> retained=1\n"
      "cuLibraryUnload(lib4)\n");
}

/* Loading a kernel invalidates the capture; launching a loaded one adds it. */
static void capture(const char *cubin) {
  void *library = load(cubin), *kernel = kernel_of(library, "cluster_kernel");
  void *stream = NULL, *graph = NULL, *function = NULL, *other = NULL;
  uint64_t x = 0;
  void *values[] = {&x};
  IS(CALL(cuStreamCreate, &stream, 0), 0);
  CALL(fake_cuda_reset);
  IS(CALL(cuStreamBeginCapture_v2, stream, 0), 0);
  IS(CALL(cuLaunchKernel, kernel, 1, 1, 1, 1, 1, 1, 0, stream, values, NULL), 900);
  IS(CALL(cuStreamEndCapture, stream, &graph), 901);
  IS(CALL(cuKernelGetFunction, &function, kernel), 0);
  IS(CALL(cuFuncLoad, function), 0);
  IS(CALL(cuStreamBeginCapture_v2, stream, 0), 0);
  IS(CALL(cuLaunchKernel, kernel, 1, 1, 1, 1, 1, 1, 0, stream, values, NULL), 0);
  IS(CALL(cuStreamEndCapture, stream, &graph), 0);
  IS(CALL(cuGraphDestroy, graph), 0);
  IS(CALL(cuStreamBeginCapture_v2, stream, 0), 0);
  IS(CALL(cuLibraryLoadData, &other, cubin, NULL, NULL, 0, NULL, NULL, 0), 900);
  IS(CALL(cuStreamEndCapture, stream, &graph), 901);
  IS(CALL(cuStreamDestroy_v2, stream), 0);
  IS(CALL(cuLibraryUnload, library), 0);
  RECORDED(
      "cuStreamBeginCapture_v2(stream1 mode=0)\n"
      "cuLaunchKernel(lib5.\"cluster_kernel\" grid=1,1,1 block=1,1,1 shared=0 stream=stream1 attributes=[]) = 900 "
      "CUDA_ERROR_STREAM_CAPTURE_UNSUPPORTED (a kernel new to its context while stream1 is captured)\n"
      "cuStreamEndCapture(stream1) = 901 CUDA_ERROR_STREAM_CAPTURE_INVALIDATED (the capture is lost)\n"
      "cuKernelGetFunction(lib5.\"cluster_kernel\") -> lib5.\"cluster_kernel\"@primary0\n"
      "cuFuncLoad(lib5.\"cluster_kernel\"@primary0)\n"
      "cuStreamBeginCapture_v2(stream1 mode=0)\n"
      "cuLaunchKernel(lib5.\"cluster_kernel\" grid=1,1,1 block=1,1,1 shared=0 stream=stream1 attributes=[]) -> "
      "device=0 context=primary0 parameters=[0000000000000000] captured\n"
      "cuStreamEndCapture(stream1) -> launches=1\n"
      "cuGraphDestroy()\n"
      "cuStreamBeginCapture_v2(stream1 mode=0)\n"
      "cuLibraryLoadData(jit_options=0 options=0) = 900 CUDA_ERROR_STREAM_CAPTURE_UNSUPPORTED (loading of a library "
      "while stream1 is captured)\n"
      "cuStreamEndCapture(stream1) = 901 CUDA_ERROR_STREAM_CAPTURE_INVALIDATED (the capture is lost)\n"
      "cuStreamDestroy_v2(stream1)\n"
      "cuLibraryUnload(lib5)\n");
}

/* Contents of an encoded map: a mark, the address, then five extents and four strides. */
static void tensor_maps(void) {
  static _Alignas(64) uint64_t map[16];
  uint64_t dims[] = {64, 32}, strides[] = {128}, odd[] = {100}, address = 0x1000;
  unsigned box[] = {64, 8}, steps[] = {1, 1};
  IS(CALL(cuTensorMapEncodeTiled, map, 6, 2, address, dims, strides, box, steps, 0, 3, 2, 0), 0);
  IS(memcmp(map, "tilemap", 8), 0), IS(map[1], 0x1000), IS(map[2], 64), IS(map[3], 32), IS(map[7], 128);
  IS(CALL(cuTensorMapEncodeTiled, map, 6, 2, address, dims, odd, box, steps, 0, 3, 2, 0), 1);
  IS(CALL(cuTensorMapEncodeTiled, map, 6, 2, address, dims, strides, box, steps, 0, 2, 2, 0), 1);
  RECORDED(
      "cuTensorMapEncodeTiled(type=6 rank=2 dims=64,32 strides=128 box=64,8 steps=1,1 interleave=0 swizzle=3 "
      "promotion=2 fill=0)\n"
      "cuTensorMapEncodeTiled(type=6 rank=2 dims=64,32 strides=100 box=64,8 steps=1,1 interleave=0 swizzle=3 "
      "promotion=2 fill=0) = 1 CUDA_ERROR_INVALID_VALUE (stride 0)\n"
      "cuTensorMapEncodeTiled(type=6 rank=2 dims=64,32 strides=128 box=64,8 steps=1,1 interleave=0 swizzle=2 "
      "promotion=2 fill=0) = 1 CUDA_ERROR_INVALID_VALUE (rows longer than the swizzle)\n");
}

static void columns(void) {
  static _Alignas(64) uint64_t map[16];
  uint64_t dims[] = {64, 14, 12, 8}, strides[] = {128, 1792, 21504}, address = 0x1000;
  unsigned steps[] = {1, 2, 2, 1};
  int lower[] = {-1, -2}, upper[] = {-1, 0};
  const int16_t *mode = (const int16_t *)((const char *)map + 110);
  IS(CALL(cuTensorMapEncodeIm2col, map, 6, 4, address, dims, strides, lower, upper, 64, 128, steps, 0, 3, 2, 0), 0);
  IS(memcmp(map, "columns", 8), 0), IS(map[1], 0x1000), IS(map[5], 8), IS(map[10], 0);
  IS(mode[0], -1), IS(mode[1], -2), IS(mode[3], -1), IS(mode[6], 64), IS(mode[7], 128);
  IS(CALL(cuTensorMapEncodeIm2col, map, 6, 4, address, dims, strides, lower, upper, 64, 128, steps, 0, 2, 2, 0), 1);
  RECORDED(
      "cuTensorMapEncodeIm2col(type=6 rank=4 dims=64,14,12,8 strides=128,1792,21504 lower=-1,-2 upper=-1,0 channels=64 "
      "pixels=128 steps=1,2,2,1 interleave=0 swizzle=3 promotion=2 fill=0)\n"
      "cuTensorMapEncodeIm2col(type=6 rank=4 dims=64,14,12,8 strides=128,1792,21504 lower=-1,-2 upper=-1,0 channels=64 "
      "pixels=128 steps=1,2,2,1 interleave=0 swizzle=2 promotion=2 fill=0) = 1 CUDA_ERROR_INVALID_VALUE (pixels wider "
      "than the swizzle)\n");
}

/* Entry points by version; failure of the n-th call; quiet mode. */
static void faults_and_lookups(void) {
  void *found = NULL;
  int result = -1, device = -1;
  IS(CALL(cuGetProcAddress_v2, "cuCtxGetDevice", &found, 12000, UINT64_C(0), &result), 0);
  IS(found == symbol("cuCtxGetDevice"), 1), IS(result, 0);
  IS(CALL(cuGetProcAddress_v2, "cuCtxPushCurrent", &found, 12000, UINT64_C(0), &result), 0);
  IS(found == symbol("cuCtxPushCurrent_v2"), 1);
  IS(CALL(cuGetProcAddress_v2, "cuLaunchKernelEx", &found, 12000, UINT64_C(2), &result), 0);
  IS(found == symbol("cuLaunchKernelEx_ptsz"), 1);
  IS(CALL(cuGetProcAddress_v2, "cuKernelGetParamInfo", &found, 12000, UINT64_C(0), &result), 500);
  IS(result, 2), IS(found == NULL, 1);
  IS(CALL(cuGetProcAddress_v2, "cuKernelGetParamInfo", &found, 12040, UINT64_C(0), &result), 0);
  set("version", 12020);
  IS(CALL(cuGetProcAddress_v2, "cuKernelGetParamInfo", &found, 12020, UINT64_C(0), &result), 500);
  IS(result, 1);
  CALL(fake_cuda_defaults);
  fail_at(2, 719);
  IS(CALL(cuCtxGetDevice, &device), 0);
  IS(CALL(cuCtxGetDevice, &device), 719);
  IS(CALL(cuCtxGetDevice, &device), 0);
  IS(CALL(fake_cuda_calls), 3);
  CALL(fake_cuda_quiet, 1);
  IS(CALL(cuCtxGetDevice, &device), 0);
  IS(CALL(cuLaunchKernelEx, NULL, NULL, NULL, NULL), 0);
  CALL(fake_cuda_quiet, 0);
  RECORDED(
      "cuCtxGetDevice() -> device=0\n"
      "cuCtxGetDevice() = 719 CUDA_ERROR_LAUNCH_FAILED (as told)\n"
      "cuCtxGetDevice() -> device=0\n");
  const char *name = NULL;
  IS(CALL(cuGetErrorName, 700, &name), 0);
  IS(strcmp(name, "CUDA_ERROR_ILLEGAL_ADDRESS"), 0);
}

/* Each thread has contexts of its own. */
static void *in_thread(void *first) {
  int device = -1;
  for (int i = 0; i < 1000; i++) {
    IS(CALL(cuCtxGetDevice, &device), 201);
    IS(CALL(cuCtxPushCurrent_v2, first), 0);
    IS(CALL(cuCtxPopCurrent_v2, NULL), 0);
  }
  return NULL;
}

static void threads(void) {
  pthread_t threads[4];
  void *first = NULL;
  IS(CALL(cuCtxGetCurrent, &first), 0);
  for (int i = 0; i < 4; i++) IS(pthread_create(&threads[i], NULL, in_thread, first), 0);
  for (int i = 0; i < 4; i++) pthread_join(threads[i], NULL);
  IS(CALL(fake_cuda_calls), 12001);
  CALL(fake_cuda_reset);
}

int main(int argc, char **argv) {
  if (argc != 2) return 2;
  driver = dlopen("libcuda.so.1", RTLD_NOW);
  if (!driver) return fprintf(stderr, "%s\n", dlerror()), 2;
  char *cubin = read_image(argv[1], "kernels.cubin");
  begin();
  contexts();
  images(argv[1], cubin);
  launches(cubin);
  capture(cubin);
  tensor_maps();
  columns();
  faults_and_lookups();
  threads();
  limits(argv[1]);
  live(0, 1, 0, 0, 2);
  free(cubin);
  puts(failures ? "not as expected" : "as expected");
  return failures != 0;
}
