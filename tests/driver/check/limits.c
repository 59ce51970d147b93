/* Refusals of the stand-in for the CUDA driver, in tables: launches, tensor maps, work during captures. */

#include "check.h"

#include <pthread.h>

/* Kernels that declare their blocks and clusters. */
static const char STRICT[] =
    ".version 8.0\n.target sm_80\n.address_size 64\n"
    ".visible .entry exact() .reqntid 64, 2, 1 { ret; }\n"
    "// .visible .entry commented() { ret; }\n"
    ".visible .entry small() .maxntid 96 { ret; }\n"
    ".visible .entry clustered() .explicitcluster { ret; }\n"
    ".visible .entry paired() .reqnctapercluster 2, 1, 1 { ret; }\n"
    ".visible .entry sharing(.param .u64 .ptr .global .align 16 x) { .shared .b8 a[3]; .shared .f64 b[4]; ret; }\n";

enum { NONE = 0, COOPERATIVE = 2, CLUSTER = 4, SERIALIZED = 6 };

static const struct launch {
  const char *kernel;
  unsigned grid[3], block[3], shared, attribute, value[3];
  int status;
} LAUNCHES[] = {
    {"hidden", {2147483647, 65535, 65535}, {1, 1, 1}, 0, NONE, {0}, 0},
    {"hidden", {2147483648, 1, 1}, {1, 1, 1}, 0, NONE, {0}, 1},
    {"hidden", {1, 65536, 1}, {1, 1, 1}, 0, NONE, {0}, 1},
    {"hidden", {1, 1, 0}, {1, 1, 1}, 0, NONE, {0}, 1},
    {"hidden", {1, 1, 1}, {1024, 1, 1}, 0, NONE, {0}, 0},
    {"hidden", {1, 1, 1}, {1025, 1, 1}, 0, NONE, {0}, 1},
    {"hidden", {1, 1, 1}, {1, 0, 1}, 0, NONE, {0}, 1},
    {"hidden", {1, 1, 1}, {1, 1, 65}, 0, NONE, {0}, 1},
    {"hidden", {1, 1, 1}, {32, 33, 1}, 0, NONE, {0}, 1},
    /* Limit without opting in: 48 KiB minus the static memory of the kernel. */
    {"shared_kernel", {1, 1, 1}, {1, 1, 1}, 48128, NONE, {0}, 0},
    {"shared_kernel", {1, 1, 1}, {1, 1, 1}, 48129, NONE, {0}, 1},
    {"hidden", {1, 1, 1}, {1, 1, 1}, 49152, NONE, {0}, 0},
    /* 16 blocks of 128 threads on each of 132 multiprocessors; 4 of 48 KiB and the driver's 1 KiB. */
    {"hidden", {2112, 1, 1}, {128, 1, 1}, 0, COOPERATIVE, {1}, 0},
    {"hidden", {2113, 1, 1}, {128, 1, 1}, 0, COOPERATIVE, {1}, 720},
    {"hidden", {2113, 1, 1}, {128, 1, 1}, 0, COOPERATIVE, {0}, 0},
    {"hidden", {528, 1, 1}, {1, 1, 1}, 49152, COOPERATIVE, {1}, 0},
    {"hidden", {529, 1, 1}, {1, 1, 1}, 49152, COOPERATIVE, {1}, 720},
    {"cluster_kernel", {8, 2, 1}, {1, 1, 1}, 0, CLUSTER, {4, 2, 1}, 0},
    {"cluster_kernel", {8, 2, 1}, {1, 1, 1}, 0, CLUSTER, {3, 1, 1}, 912},
    {"cluster_kernel", {8, 2, 1}, {1, 1, 1}, 0, CLUSTER, {4, 0, 1}, 912},
    {"cluster_kernel", {16, 1, 1}, {1, 1, 1}, 0, CLUSTER, {16, 1, 1}, 912},
    {"cluster_kernel", {1, 1, 1}, {1, 1, 1}, 0, SERIALIZED, {1}, 0},
    {"cluster_kernel", {1, 1, 1}, {1, 1, 1}, 0, 3, {1}, 1},
    {"cluster_kernel", {1, 1, 1}, {1, 1, 1}, 0, 19, {1}, 1},
    {"exact", {1, 1, 1}, {64, 2, 1}, 0, NONE, {0}, 0},
    {"exact", {1, 1, 1}, {128, 1, 1}, 0, NONE, {0}, 1},
    {"small", {1, 1, 1}, {96, 1, 1}, 0, NONE, {0}, 0},
    {"small", {1, 1, 1}, {97, 1, 1}, 0, NONE, {0}, 1},
    {"clustered", {2, 1, 1}, {1, 1, 1}, 0, NONE, {0}, 912},
    {"clustered", {2, 1, 1}, {1, 1, 1}, 0, CLUSTER, {2, 1, 1}, 0},
    {"paired", {2, 1, 1}, {1, 1, 1}, 0, NONE, {0}, 0},
    {"paired", {3, 1, 1}, {1, 1, 1}, 0, NONE, {0}, 912},
    {"paired", {4, 1, 1}, {1, 1, 1}, 0, CLUSTER, {4, 1, 1}, 912},
};

static int launch(const struct launch *row, void *kernel, void *stream) {
  uint64_t words[16] = {0};
  void *values[] = {words, words, words, words};
  attribute one = {.id = row->attribute, .value = {row->value[0], row->value[1], row->value[2]}};
  configuration config = {.shared = row->shared, .stream = stream, .attributes = &one, .count = one.id != NONE};
  memcpy(config.grid, row->grid, sizeof config.grid);
  memcpy(config.block, row->block, sizeof config.block);
  return CALL(cuLaunchKernelEx, &config, kernel, values, NULL);
}

static void launches(void *library, void *strict) {
  void *missing = NULL;
  for (size_t i = 0; i < sizeof LAUNCHES / sizeof *LAUNCHES; i++) {
    void *kernel = NULL;
    if (CALL(cuLibraryGetKernel, &kernel, library, LAUNCHES[i].kernel))
      kernel = kernel_of(strict, LAUNCHES[i].kernel);
    int status = launch(&LAUNCHES[i], kernel, NULL);
    check(__FILE_NAME__, __LINE__, LAUNCHES[i].kernel, status, LAUNCHES[i].status);
  }
  IS(CALL(cuLibraryGetKernel, &missing, strict, "commented"), 500);
  /* 3 bytes, then 32 aligned to 8. */
  int shared = 0;
  IS(CALL(cuKernelGetAttribute, &shared, 1, kernel_of(strict, "sharing"), 0), 0);
  IS(shared, 40);
}

/* Devices, and contexts other than primary ones, which are pushed when they are created. */
static void devices(void) {
  void *made = NULL, *again = NULL;
  char name[8];
  int value = -1;
  unsigned flags;
  IS(CALL(cuDeviceGet, &value, 1), 0), IS(value, 1);
  IS(CALL(cuDeviceGet, &value, 2), 101);
  IS(CALL(cuDeviceGetName, name, 8, 0), 0), IS(strcmp(name, "Recordi"), 0);
  IS(CALL(cuDeviceGetAttribute, &value, 97, 0), 0), IS(value, 232448);
  IS(CALL(cuDeviceGetAttribute, &value, 75, 1), 0), IS(value, 9);
  IS(CALL(cuDeviceGetAttribute, &value, 201, 1), 1);
  IS(CALL(cuCtxCreate_v2, &made, 0, 1), 0);
  IS(CALL(cuCtxGetDevice, &value), 0), IS(value, 1);
  IS(CALL(cuCtxPushCurrent_v2, made), 0);
  IS(CALL(cuCtxDestroy_v2, made), 0);
  IS(CALL(cuCtxGetDevice, &value), 709);
  IS(CALL(cuCtxPopCurrent_v2, &again), 0), IS(again == made, 1);
  IS(CALL(cuCtxPushCurrent_v2, made), 709);
  IS(CALL(cuCtxPushCurrent_v2, &value), 201);
  IS(CALL(cuDevicePrimaryCtxRelease_v2, 1), 0);
  IS(CALL(cuDevicePrimaryCtxGetState, 1, &flags, &value), 0), IS(value, 0);
  IS(CALL(cuDevicePrimaryCtxRelease_v2, 1), 201);
  IS(CALL(cuDevicePrimaryCtxRetain, &again, 1), 0);
  IS(CALL(cuCtxGetDevice_v2, &value, again), 0), IS(value, 1);
  IS(CALL(cuCtxSynchronize), 0);
}

/* Attributes apply to one device; larger clusters need one, shared memory above 48 KiB another. */
static void attributes(void *library) {
  void *shared = kernel_of(library, "shared_kernel"), *cluster = kernel_of(library, "cluster_kernel");
  struct launch large = {"", {16, 1, 1}, {1, 1, 1}, 0, CLUSTER, {16, 1, 1}, 0};
  struct launch memory = {"", {1, 1, 1}, {1, 1, 1}, 231424, NONE, {0}, 0};
  int value = -1;
  IS(CALL(cuKernelSetAttribute, 14, 1, cluster, 0), 0);
  IS(launch(&large, cluster, NULL), 0);
  IS(CALL(cuKernelSetAttribute, 8, 231425, shared, 0), 1);
  IS(CALL(cuKernelSetAttribute, 8, 231424, shared, 0), 0);
  IS(launch(&memory, shared, NULL), 0);
  IS(CALL(cuKernelGetAttribute, &value, 8, shared, 0), 0), IS(value, 231424);
  IS(CALL(cuKernelGetAttribute, &value, 8, shared, 1), 0), IS(value, 48128);
  IS(CALL(cuKernelSetAttribute, 1, 0, shared, 0), 1);
  IS(CALL(cuKernelSetAttribute, 8, 0, shared, 2), 101);
}

/* A device of an older architecture uses its own code, or fails. */
static void architectures(void *library, void *several, void *stream) {
  struct launch plain = {"", {2, 1, 1}, {1, 1, 1}, 0, NONE, {0}, 0};
  struct launch clusters = {"", {2, 1, 1}, {1, 1, 1}, 0, CLUSTER, {2, 1, 1}, 0};
  set("capability:1", 80);
  IS(launch(&plain, kernel_of(several, "axpy_kernel"), stream), 0);
  IS(launch(&clusters, kernel_of(several, "axpy_kernel"), stream), 912);
  IS(launch(&plain, kernel_of(library, "axpy_kernel"), stream), 209);
  set("capability:1", 86);
  IS(launch(&plain, kernel_of(several, "add_kernel"), stream), 0);
  set("capability:1", 75);
  IS(launch(&plain, kernel_of(several, "shared_kernel"), stream), 209);
  set("capability:1", 90);
}

/* Launches without a context, of another context's function, of destroyed handles. */
static void handles(void *library, void *several, void *stream) {
  struct launch plain = {"", {1, 1, 1}, {1, 1, 1}, 0, NONE, {0}, 0};
  void *popped = NULL, *function = NULL, *kernel = kernel_of(several, "axpy_kernel");
  IS(CALL(cuKernelGetFunction, &function, kernel), 0);
  IS(launch(&plain, function, NULL), 0);
  IS(launch(&plain, function, stream), 400);
  IS(CALL(cuCtxPopCurrent_v2, &popped), 0);
  IS(launch(&plain, kernel, NULL), 201);
  IS(launch(&plain, kernel, (void *)1), 201);
  IS(launch(&plain, kernel, (void *)2), 201);
  IS(launch(&plain, kernel, stream), 0);
  IS(CALL(cuKernelGetFunction, &function, kernel), 201);
  IS(CALL(cuCtxPopCurrent_v2, NULL), 201);
  IS(CALL(cuCtxPushCurrent_v2, popped), 0);
  IS(CALL(cuLibraryUnload, several), 0);
  IS(launch(&plain, kernel, NULL), 400);
  IS(launch(&plain, kernel_of(library, "axpy_kernel"), (void *)&plain), 400);
}

static const struct map {
  int type, rank, interleave, swizzle, promotion, fill;
  uint64_t address, dims[5], strides[4];
  unsigned box[5], steps[5];
  int status;
} MAPS[] = {
    {7, 1, 0, 0, 0, 0, 16, {1ull << 32}, {0}, {256}, {1}, 0},
    {7, 5, 0, 3, 3, 1, 16, {8, 1, 1, 1, 1}, {16, 16, 16, 16}, {32, 1, 1, 1, 1}, {1, 8, 8, 8, 8}, 0},
    {7, 0, 0, 0, 0, 0, 16, {8}, {0}, {8}, {1}, 1},
    {7, 6, 0, 0, 0, 0, 16, {8}, {0}, {8}, {1}, 1},
    {16, 1, 0, 0, 0, 0, 16, {8}, {0}, {8}, {1}, 1},
    {7, 1, 0, 0, 0, 0, 8, {8}, {0}, {8}, {1}, 1},
    {7, 1, 0, 0, 0, 0, 16, {0}, {0}, {8}, {1}, 1},
    {7, 1, 0, 0, 0, 0, 16, {(1ull << 32) + 1}, {0}, {8}, {1}, 1},
    {7, 2, 0, 0, 0, 0, 16, {8, 8}, {1ull << 40}, {8, 8}, {1, 1}, 1},
    {7, 2, 0, 0, 0, 0, 16, {8, 8}, {(1ull << 40) - 16}, {8, 8}, {1, 1}, 0},
    {7, 2, 0, 0, 0, 0, 16, {8, 8}, {36}, {8, 8}, {1, 1}, 1},
    {7, 2, 0, 0, 0, 0, 16, {8, 8}, {32}, {8, 257}, {1, 1}, 1},
    {7, 2, 0, 0, 0, 0, 16, {8, 8}, {32}, {8, 0}, {1, 1}, 1},
    {7, 2, 0, 0, 0, 0, 16, {8, 8}, {32}, {8, 8}, {1, 9}, 1},
    {7, 2, 0, 0, 0, 0, 16, {8, 8}, {32}, {8, 8}, {1, 0}, 1},
    {7, 1, 0, 0, 0, 0, 16, {8}, {0}, {3}, {1}, 1},
    {7, 1, 0, 1, 0, 0, 16, {8}, {0}, {8}, {1}, 0},
    {7, 1, 0, 1, 0, 0, 16, {8}, {0}, {16}, {1}, 1},
    {7, 1, 0, 7, 0, 0, 16, {8}, {0}, {8}, {1}, 1},
    {7, 1, 0, 0, 4, 0, 16, {8}, {0}, {8}, {1}, 1},
    {2, 1, 0, 0, 0, 1, 16, {8}, {0}, {8}, {1}, 1},
    {6, 2, 1, 0, 0, 0, 16, {8, 8}, {32}, {8, 8}, {1, 1}, 1},
    {6, 3, 2, 1, 0, 0, 32, {8, 8, 8}, {32, 32}, {8, 8, 8}, {1, 1, 1}, 0},
    {6, 3, 2, 1, 0, 0, 16, {8, 8, 8}, {32, 32}, {8, 8, 8}, {1, 1, 1}, 1},
    {6, 3, 2, 0, 0, 0, 32, {8, 8, 8}, {32, 32}, {8, 8, 8}, {1, 1, 1}, 1},
};

static void maps(void) {
  static _Alignas(64) unsigned char out[192];
  for (size_t i = 0; i < sizeof MAPS / sizeof *MAPS; i++) {
    const struct map *map = &MAPS[i];
    int status = CALL(cuTensorMapEncodeTiled, out, map->type, map->rank, map->address, map->dims, map->strides, map->box,
                      map->steps, map->interleave, map->swizzle, map->promotion, map->fill);
    if (status != map->status) printf("%zu: ", i);
    IS(status, map->status);
  }
  const struct map *map = &MAPS[0];
  IS(CALL(cuTensorMapEncodeTiled, out + 32, 7, 1, map->address, map->dims, NULL, map->box, map->steps, 0, 0, 0, 0), 1);
}

static const struct column {
  int type, rank, interleave, swizzle, lower[3], upper[3], channels, pixels, status;
} COLUMNS[] = {
    {6, 3, 0, 0, {-32768}, {-32767}, 256, 1024, 0},
    {6, 3, 0, 0, {-32769}, {0}, 64, 64, 1},
    {6, 3, 0, 0, {0}, {32768}, 64, 64, 1},
    {6, 4, 0, 0, {-128, 127}, {127, 127}, 64, 64, 0},
    {6, 4, 0, 0, {-129, 0}, {0, 0}, 64, 64, 1},
    {6, 4, 0, 0, {0, 0}, {0, 128}, 64, 64, 1},
    {6, 5, 0, 0, {-16, 0, 0}, {15, 0, 0}, 64, 64, 0},
    {6, 5, 0, 0, {0, -17, 0}, {0, 0, 0}, 64, 64, 1},
    {6, 5, 0, 0, {0, 0, 0}, {0, 0, 16}, 64, 64, 1},
    {6, 4, 0, 0, {0, 127}, {-127, -128}, 64, 64, 1},
    {6, 4, 0, 0, {0, 0}, {0, 0}, 0, 64, 1},
    {6, 4, 0, 0, {0, 0}, {0, 0}, 257, 64, 1},
    {6, 4, 0, 0, {0, 0}, {0, 0}, 64, 0, 1},
    {6, 4, 0, 0, {0, 0}, {0, 0}, 64, 1025, 1},
    {6, 4, 0, 3, {0, 0}, {0, 0}, 64, 64, 0},
    {6, 4, 0, 2, {0, 0}, {0, 0}, 64, 64, 1},
    {6, 4, 2, 1, {0, 0}, {0, 0}, 64, 64, 0},
    {6, 4, 2, 0, {0, 0}, {0, 0}, 64, 64, 1},
    {14, 4, 0, 3, {0, 0}, {0, 0}, 128, 64, 0},
    {14, 4, 0, 3, {0, 0}, {0, 0}, 64, 64, 1},
    {14, 4, 0, 2, {0, 0}, {0, 0}, 128, 64, 1},
    {15, 4, 1, 3, {0, 0}, {0, 0}, 128, 64, 1},
    {6, 2, 0, 0, {0}, {0}, 64, 64, 1},
    {6, 6, 0, 0, {0, 0, 0}, {0, 0, 0}, 64, 64, 1},
};

static void columns(void) {
  static _Alignas(64) unsigned char out[128];
  uint64_t dims[] = {256, 64, 64, 64, 8}, strides[] = {512, 1 << 15, 1 << 21, 1 << 27}, address = 0x1000;
  unsigned steps[] = {1, 1, 1, 1, 1};
  for (size_t i = 0; i < sizeof COLUMNS / sizeof *COLUMNS; i++) {
    const struct column *map = &COLUMNS[i];
    int status = CALL(cuTensorMapEncodeIm2col, out, map->type, map->rank, address, dims, strides, map->lower, map->upper,
                      map->channels, map->pixels, steps, map->interleave, map->swizzle, 0, 0);
    if (status != map->status) printf("%zu: ", i);
    IS(status, map->status);
  }
  IS(CALL(cuTensorMapEncodeIm2col, out, 6, 3, address, dims, strides, NULL, NULL, 1, 1, steps, 0, 0, 0, 0), 1);
}

static void *allocate(void *context) {
  uint64_t memory = 0;
  IS(CALL(cuCtxPushCurrent_v2, context), 0);
  intptr_t status = CALL(cuMemAlloc_v2, &memory, (size_t)16);
  if (!status) IS(CALL(cuMemFree_v2, memory), 0);
  return (void *)status;
}

/* Result of another thread's allocation while a stream is captured in a mode. */
static int in_other_thread(void *stream, int mode, int end) {
  pthread_t thread;
  void *status, *context = NULL, *graph = NULL;
  IS(CALL(cuCtxGetCurrent, &context), 0);
  IS(CALL(cuStreamBeginCapture_v2, stream, mode), 0);
  IS(pthread_create(&thread, NULL, allocate, context), 0);
  pthread_join(thread, &status);
  IS(CALL(cuStreamEndCapture, stream, &graph), end);
  if (graph) IS(CALL(cuGraphDestroy, graph), 0);
  return (int)(intptr_t)status;
}

static void captures(void *library) {
  struct launch plain = {"", {1, 1, 1}, {1, 1, 1}, 0, NONE, {0}, 0};
  void *stream = NULL, *graph = NULL, *kernel = kernel_of(library, "axpy_kernel");
  uint64_t memory = 0;
  int state = -1;
  IS(CALL(cuStreamCreate, &stream, 0), 0);
  IS(in_other_thread(stream, 0, 901), 900);
  IS(in_other_thread(stream, 1, 0), 0);
  IS(CALL(cuStreamBeginCapture_v2, stream, 2), 0);
  IS(CALL(cuMemAlloc_v2, &memory, (size_t)16), 0);
  IS(CALL(cuMemFree_v2, memory), 0);
  IS(CALL(cuStreamIsCapturing, stream, &state), 0), IS(state, 1);
  /* The stream synchronizes with the context's own. */
  IS(launch(&plain, kernel, NULL), 906);
  IS(launch(&plain, kernel, stream), 901);
  IS(CALL(cuStreamEndCapture, stream, &graph), 901);
  IS(CALL(cuStreamEndCapture, stream, &graph), 903);
  IS(CALL(cuStreamDestroy_v2, stream), 0);
}

/* Other forms of images, streams and contexts; memory. */
static void forms(const char *fatbin) {
  struct launch plain = {"", {1, 1, 1}, {1, 1, 1}, 0, NONE, {0}, 0};
  struct {
    uint32_t magic, version;
    const void *fatbin, *unused;
  } wrapper = {0x466243b1, 1, fatbin, NULL};
  void *library = load((const char *)&wrapper), *kernel = kernel_of(library, "axpy_kernel");
  void *stream = NULL, *context = NULL, *current = NULL, *values[4] = {&wrapper, &wrapper, &wrapper, &wrapper};
  uint64_t memory = 0, sent = 42, received = 0;
  int mode = 2, value = -1;
  IS(CALL(cuMemAlloc_v2, &memory, sizeof sent), 0);
  IS(CALL(cuMemcpyHtoD_v2, memory, &sent, sizeof sent), 0);
  IS(CALL(cuMemcpyDtoH_v2, &received, memory, sizeof sent), 0), IS(received, 42);
  IS(CALL(cuMemcpyDtoH_v2, &received, memory + 1, sizeof sent), 1);
  IS(CALL(cuMemFree_v2, memory), 0);
  IS(CALL(cuMemFree_v2, memory), 1);
  CALL(fake_cuda_reset);
  IS(CALL(cuLaunchKernel_ptsz, kernel, 1, 1, 1, 1, 1, 1, 0, NULL, values, NULL), 0);
  IS(CALL(cuStreamSynchronize_ptsz, NULL), 0);
  IS(CALL(cuStreamSynchronize, NULL), 0);
  IS(CALL(cuStreamGetCtx, NULL, &context), 0);
  IS(CALL(cuCtxGetCurrent, &current), 0), IS(context == current, 1);
  IS(CALL(cuThreadExchangeStreamCaptureMode, &mode), 0), IS(mode, 0);
  /* A thread in relaxed mode may load during a capture. */
  IS(CALL(cuStreamCreate, &stream, 1), 0);
  IS(CALL(cuStreamBeginCapture_v2, stream, 0), 0);
  IS(launch(&plain, kernel_of(library, "add_kernel"), stream), 0);
  IS(launch(&plain, kernel, NULL), 0);
  IS(CALL(cuStreamSynchronize, stream), 900);
  IS(CALL(cuThreadExchangeStreamCaptureMode, &mode), 0), IS(mode, 2);
  IS(CALL(cuStreamDestroy_v2, stream), 0);
  /* Functions are unloaded with their context. */
  IS(CALL(cuKernelGetFunction, &current, kernel), 0);
  IS(CALL(cuFuncIsLoaded, &value, current), 0), IS(value, 1);
  IS(CALL(cuDevicePrimaryCtxRelease_v2, 0), 0);
  IS(CALL(cuFuncIsLoaded, &value, current), 0), IS(value, 0);
  IS(launch(&plain, kernel, NULL), 709);
  IS(CALL(cuDevicePrimaryCtxRetain, &context, 0), 0);
  IS(CALL(cuLibraryUnload, library), 0);
}

void limits(const char *folder) {
  devices();
  char *cubin = read_image(folder, "kernels.cubin"), *fatbin = read_image(folder, "kernels.fatbin");
  void *library = load(cubin), *strict = load(STRICT), *several = load(fatbin), *stream = NULL, *second = NULL;
  IS(CALL(cuDevicePrimaryCtxRetain, &second, 1), 0);
  IS(CALL(cuCtxPushCurrent_v2, second), 0);
  IS(CALL(cuStreamCreate, &stream, 1), 0);
  IS(CALL(cuCtxPopCurrent_v2, NULL), 0);
  launches(library, strict);
  attributes(library);
  architectures(library, several, stream);
  handles(library, several, stream);
  maps();
  columns();
  captures(library);
  forms(fatbin);
  IS(CALL(cuStreamDestroy_v2, stream), 0);
  IS(CALL(cuDevicePrimaryCtxRelease_v2, 1), 0);
  IS(CALL(cuLibraryUnload, strict), 0);
  IS(CALL(cuLibraryUnload, library), 0);
  free(cubin), free(fatbin);
}
