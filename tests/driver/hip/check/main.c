/* Tests the stand-in for HIP as a caller would, and compares its records with the expected ones.
 *
 * Usage: check FOLDER, where the images are; the stand-in is found as `libamdhip64.so.6`. */

#define FAKE "fake_hip_"
#include "../../check/check.h"

void *driver;
int failures;

static void *module_of(const char *code) {
  void *module = NULL;
  IS(CALL(hipModuleLoadData, &module, code), 0);
  return module;
}

static void *function_of(void *module, const char *name) {
  void *function = NULL;
  IS(CALL(hipModuleGetFunction, &function, module, name), 0);
  return function;
}

/* Devices: each thread has one. */
static void devices(void) {
  int count = -1, device = -1, value = -1;
  IS(CALL(hipGetDeviceCount, &count), 0), IS(count, 2);
  IS(CALL(hipSetDevice, 2), 101);
  IS(CALL(hipSetDevice, 1), 0);
  IS(CALL(hipGetDevice, &device), 0), IS(device, 1);
  live(0, 1, 0, 0, 0);
  IS(CALL(hipSetDevice, 0), 0);
  IS(CALL(hipDeviceGetAttribute, &value, 74, 1), 0), IS(value, 65536);
  IS(CALL(hipDeviceGetAttribute, &value, 63, 2), 101);
  IS(strcmp(((const char *(*)(int))symbol("hipGetErrorName"))(700), "hipErrorIllegalAddress"), 0);
  IS(strcmp(((const char *(*)(int))symbol("hipGetErrorName"))(-1), "hipErrorUnknown"), 0);
  IS(strcmp(((const char *(*)(int))symbol("hipGetErrorString"))(101), "invalid device ordinal"), 0);
  RECORDED(
      "hipGetDeviceCount() -> 2\n"
      "hipSetDevice(2) = 101 hipErrorInvalidDevice (there are 2)\n"
      "hipSetDevice(1)\n"
      "hipGetDevice() -> 1\n"
      "hipSetDevice(0)\n"
      "hipDeviceGetAttribute(74 device=1) -> 65536\n"
      "hipDeviceGetAttribute(63 device=2) = 101 hipErrorInvalidDevice (there are 2)\n");
}

/* Loads a code object and a bundle, each on devices that they fit and others. */
static void images(const char *folder, char *code) {
  char *bundle = read_image(folder, "kernels.bundle");
  void *none = NULL, *module = module_of(code);
  int value = -1;
  IS(CALL(hipModuleGetFunction, &none, module, "missing"), 500);
  IS(CALL(hipFuncGetAttribute, &value, 1, function_of(module, "shared_kernel")), 0), IS(value, 1024);
  IS(CALL(hipFuncGetAttribute, &value, 0, function_of(module, "bounded")), 0), IS(value, 64);
  IS(CALL(hipModuleLoadData, &none, "junk"), 200);
  IS(CALL(hipModuleLoadData, &none, "CCOB"), 200);
  code[18] = 62;
  IS(CALL(hipModuleLoadData, &none, code), 200);
  code[18] = (char)224;
  set("capability:1", 0x90a);
  IS(CALL(hipSetDevice, 1), 0);
  IS(CALL(hipModuleLoadData, &none, code), 209);
  IS(CALL(hipModuleGetFunction, &none, module, "nothing"), 101);
  void *several = module_of(bundle);
  IS(CALL(hipModuleUnload, several), 0);
  IS(CALL(hipModuleUnload, several), 500);
  IS(CALL(hipSetDevice, 0), 0);
  set("capability:1", 0x942);
  IS(CALL(hipModuleUnload, module), 0);
  RECORDED(
      "hipModuleLoadData() -> mod0 device=0 gfx942\n"
      "hipModuleGetFunction(mod0 \"missing\") = 500 hipErrorNotFound (the module has no such kernel)\n"
      "hipModuleGetFunction(mod0 \"shared_kernel\")\n"
      "hipFuncGetAttribute(mod0.\"shared_kernel\" 1) -> 1024\n"
      "hipModuleGetFunction(mod0 \"bounded\")\n"
      "hipFuncGetAttribute(mod0.\"bounded\" 0) -> 64\n"
      "hipModuleLoadData() = 200 hipErrorInvalidImage (neither a code object nor a bundle)\n"
      "hipModuleLoadData() = 200 hipErrorInvalidImage (this stand-in reads no compressed bundle)\n"
      "hipModuleLoadData() = 200 hipErrorInvalidImage (an ELF file of another machine)\n"
      "hipSetDevice(1)\n"
      "hipModuleLoadData() = 209 hipErrorNoBinaryForGpu (device 1 is a gfx90a)\n"
      "hipModuleGetFunction(mod0 \"nothing\") = 101 hipErrorInvalidDevice (the module is of device 0)\n"
      "hipModuleLoadData() -> mod1 device=1 gfx90a gfx942\n"
      "hipModuleUnload(mod1)\n"
      "hipModuleUnload(mod-1) = 500 hipErrorNotFound (it is no module)\n"
      "hipSetDevice(0)\n"
      "hipModuleUnload(mod0)\n");
  free(bundle);
}

static const struct launch {
  const char *kernel;
  unsigned grid[3], block[3], shared, cooperative;
  int status;
} LAUNCHES[] = {
    {"axpy_kernel", {2147483647, 65535, 65535}, {1, 1, 1}, 0, 0, 0},
    {"axpy_kernel", {2147483648, 1, 1}, {1, 1, 1}, 0, 0, 1},
    {"axpy_kernel", {1, 65536, 1}, {1, 1, 1}, 0, 0, 1},
    {"axpy_kernel", {0, 1, 1}, {1, 1, 1}, 0, 0, 1},
    {"axpy_kernel", {1, 1, 1}, {1, 0, 1}, 0, 0, 9},
    /* 2^32 - 1 threads, and 2^32. */
    {"axpy_kernel", {16843009, 1, 1}, {255, 1, 1}, 0, 0, 0},
    {"axpy_kernel", {16777216, 1, 1}, {256, 1, 1}, 0, 0, 9},
    {"axpy_kernel", {1, 1, 1}, {1024, 1, 1}, 0, 0, 0},
    {"axpy_kernel", {1, 1, 1}, {1, 1, 1024}, 0, 0, 0},
    {"axpy_kernel", {1, 1, 1}, {1025, 1, 1}, 0, 0, 1},
    {"axpy_kernel", {1, 1, 1}, {65536, 65536, 1}, 0, 0, 1},
    {"axpy_kernel", {1, 1, 1}, {1, 1, 1}, 65536, 0, 0},
    {"axpy_kernel", {1, 1, 1}, {1, 1, 1}, 65537, 0, 1},
    {"shared_kernel", {1, 1, 1}, {1, 1, 1}, 64512, 0, 0},
    {"shared_kernel", {1, 1, 1}, {1, 1, 1}, 64513, 0, 1},
    {"bounded", {1, 1, 1}, {64, 1, 1}, 0, 0, 0},
    {"bounded", {1, 1, 1}, {65, 1, 1}, 0, 0, 719},
    /* 8 blocks of 256 threads on each of 304 multiprocessors; 2 of 32 KiB. */
    {"axpy_kernel", {2432, 1, 1}, {256, 1, 1}, 0, 1, 0},
    {"axpy_kernel", {2433, 1, 1}, {256, 1, 1}, 0, 1, 720},
    {"axpy_kernel", {608, 1, 1}, {64, 1, 1}, 32768, 1, 0},
    {"axpy_kernel", {609, 1, 1}, {64, 1, 1}, 32768, 1, 720},
    {"axpy_kernel", {4294967295u, 4294967295u, 4294967295u}, {1, 1, 1}, 0, 1, 720},
};

static int launch(const struct launch *row, void *kernel, void *stream) {
  uint64_t words[4] = {0};
  void *values[] = {words, words, words, words, words, words, words, words};
  const unsigned *grid = row->grid, *block = row->block;
  if (row->cooperative)
    return CALL(hipModuleLaunchCooperativeKernel, kernel, grid[0], grid[1], grid[2], block[0], block[1], block[2],
                row->shared, stream, values);
  return CALL(hipModuleLaunchKernel, kernel, grid[0], grid[1], grid[2], block[0], block[1], block[2], row->shared,
              stream, values, NULL);
}

static void extents(void *module) {
  for (size_t i = 0; i < sizeof LAUNCHES / sizeof *LAUNCHES; i++) {
    int status = launch(&LAUNCHES[i], function_of(module, LAUNCHES[i].kernel), NULL);
    if (status != LAUNCHES[i].status) printf("%zu: ", i);
    IS(status, LAUNCHES[i].status);
  }
}

/* Launches record the bytes of their parameters, and belong to one device. */
static void launches(void *module) {
  void *axpy = function_of(module, "axpy_kernel"), *widths = function_of(module, "widths"), *stream = NULL;
  uint64_t x = 0x1122334455667788, y = 0, wide[3] = {1, 2, 3};
  int n = 5;
  float a = 1;
  void *values[] = {&x, &y, &n, &a}, *all[] = {&x, &x, &x, &x, &a, &x, wide, wide};
  unsigned char buffer[24] = {1};
  size_t size = sizeof buffer;
  void *extra[] = {(void *)1, buffer, (void *)2, &size, (void *)3};
  struct launch one = {"", {1, 1, 1}, {1, 1, 1}, 0, 0, 0};
  ((void (*)(void))symbol(FAKE "reset"))();
  IS(CALL(hipModuleLaunchKernel, axpy, 4, 1, 1, 128, 1, 1, 16, NULL, values, NULL), 0);
  IS(CALL(hipModuleLaunchKernel, axpy, 4, 1, 1, 128, 1, 1, 0, NULL, NULL, extra), 0);
  IS(CALL(hipModuleLaunchKernel, axpy, 4, 1, 1, 128, 1, 1, 0, NULL, values, extra), 1);
  IS(CALL(hipModuleLaunchKernel, axpy, 4, 1, 1, 128, 1, 1, 0, NULL, NULL, NULL), 1);
  IS(CALL(hipModuleLaunchKernel, widths, 1, 1, 1, 1, 1, 1, 0, NULL, all, NULL), 0);
  IS(CALL(hipModuleLaunchCooperativeKernel, axpy, 4, 1, 1, 128, 1, 1, 0, NULL, values), 0);
  IS(CALL(hipSetDevice, 1), 0);
  IS(CALL(hipStreamCreateWithFlags, &stream, 1), 0);
  IS(launch(&one, axpy, NULL), 101);
  IS(CALL(hipSetDevice, 0), 0);
  IS(launch(&one, axpy, stream), 101);
  void *other = NULL;
  IS(CALL(hipSetDevice, 1), 0);
  IS(CALL(hipStreamGetDevice, stream, &n), 0), IS(n, 1);
  IS(CALL(hipStreamDestroy, stream), 0);
  IS(launch(&one, axpy, stream), 1);
  IS(CALL(hipSetDevice, 0), 0);
  IS(launch(&one, &other, NULL), 400);
  RECORDED(
      "hipModuleLaunchKernel(mod2.\"axpy_kernel\" grid=4,1,1 block=128,1,1 shared=16 stream=null) -> device=0 "
      "parameters=[8877665544332211, 0000000000000000, 05000000, 0000803f]\n"
      "hipModuleLaunchKernel(mod2.\"axpy_kernel\" grid=4,1,1 block=128,1,1 shared=0 stream=null) -> device=0 "
      "parameters=[0100000000000000, 0000000000000000, 00000000, 00000000]\n"
      "hipModuleLaunchKernel(mod2.\"axpy_kernel\" grid=4,1,1 block=128,1,1 shared=0 stream=null) = 1 "
      "hipErrorInvalidValue (parameters in two ways)\n"
      "hipModuleLaunchKernel(mod2.\"axpy_kernel\" grid=4,1,1 block=128,1,1 shared=0 stream=null) = 1 "
      "hipErrorInvalidValue (no parameters)\n"
      "hipModuleLaunchKernel(mod2.\"widths\" grid=1,1,1 block=1,1,1 shared=0 stream=null) -> device=0 "
      "parameters=[88, 8877, 88776655, 8877665544332211, 0000803f, 8877665544332211, 010000000000000002000000, "
      "010000000000000002000000000000000300000000000000]\n"
      "hipModuleLaunchCooperativeKernel(mod2.\"axpy_kernel\" grid=4,1,1 block=128,1,1 shared=0 stream=null) -> "
      "device=0 parameters=[8877665544332211, 0000000000000000, 05000000, 0000803f]\n"
      "hipSetDevice(1)\n"
      "hipStreamCreateWithFlags(flags=1) -> stream0 context=device1\n"
      "hipModuleLaunchKernel(mod2.\"axpy_kernel\" grid=1,1,1 block=1,1,1 shared=0 stream=null) = 101 "
      "hipErrorInvalidDevice (the kernel is of device 0, the stream of 1)\n"
      "hipSetDevice(0)\n"
      "hipModuleLaunchKernel(mod2.\"axpy_kernel\" grid=1,1,1 block=1,1,1 shared=0 stream=stream0) = 101 "
      "hipErrorInvalidDevice (the kernel is of device 0, the stream of 1)\n"
      "hipSetDevice(1)\n"
      "hipStreamGetDevice(stream0) -> device=1\n"
      "hipStreamDestroy(stream0)\n"
      "hipModuleLaunchKernel(mod2.\"axpy_kernel\" grid=1,1,1 block=1,1,1 shared=0 stream=no-stream) = 1 "
      "hipErrorInvalidValue (it is no stream)\n"
      "hipSetDevice(0)\n"
      "hipModuleLaunchKernel(no-kernel grid=1,1,1 block=1,1,1 shared=0 stream=null) = 400 hipErrorInvalidHandle (it is "
      "no kernel)\n");
}

/* A capture keeps launches, fills and copies; modules may be loaded meanwhile, memory may not be allocated. */
static void captures(void *module, const char *code) {
  struct launch one = {"", {1, 1, 1}, {1, 1, 1}, 0, 0, 0};
  void *kernel = function_of(module, "nothing"), *stream = NULL, *other = NULL, *graph = NULL, *memory = NULL;
  void *event = NULL, *refused = NULL;
  unsigned char bytes[8] = {0};
  int state = -1;
  IS(CALL(hipMalloc, &memory, (size_t)16), 0);
  IS(CALL(hipStreamCreateWithFlags, &stream, 1), 0);
  IS(CALL(hipStreamCreateWithFlags, &other, 1), 0);
  IS(CALL(hipEventCreateWithFlags, &event, 2), 0);
  ((void (*)(void))symbol(FAKE "reset"))();
  IS(CALL(hipMemsetAsync, memory, 0x101, (size_t)16, NULL), 0);
  IS(CALL(hipStreamBeginCapture, stream, 0), 0);
  IS(CALL(hipStreamIsCapturing, stream, &state), 0), IS(state, 1);
  IS(launch(&one, kernel, stream), 0);
  IS(CALL(hipMemsetD32Async, memory, 7, (size_t)1, stream), 0);
  IS(CALL(hipMemcpyAsync, (char *)memory + 4, memory, (size_t)4, 3, stream), 0);
  IS(CALL(hipMemcpyAsync, (char *)memory + 4, memory, (size_t)13, 3, stream), 1);
  IS(CALL(hipEventRecord, event, stream), 0);
  IS(CALL(hipStreamWaitEvent, other, event, 0), 0);
  IS(CALL(hipEventRecord, event, other), 0);
  IS(CALL(hipStreamWaitEvent, stream, event, 0), 0);
  IS(CALL(hipModuleUnload, module_of(code)), 0);
  IS(CALL(hipStreamEndCapture, stream, &graph), 0);
  IS(CALL(hipMemcpy, bytes, memory, (size_t)8, 2), 0), IS(bytes[0], 1), IS(bytes[4], 1);
  ((void (*)(void *))symbol(FAKE "replay"))(graph);
  IS(CALL(hipMemcpy, bytes, memory, (size_t)8, 2), 0), IS(bytes[0], 7), IS(bytes[4], 7);
  IS(CALL(hipGraphDestroy, graph), 0);
  IS(CALL(hipStreamBeginCapture, stream, 0), 0);
  IS(CALL(hipMalloc, &refused, (size_t)16), 900);
  IS(CALL(hipStreamEndCapture, stream, &graph), 901);
  RECORDED(
      "hipMemsetAsync(memory+0 257 16 null)\n"
      "hipStreamBeginCapture(stream1 mode=0)\n"
      "hipStreamIsCapturing(stream1) -> 1\n"
      "hipModuleLaunchKernel(mod2.\"nothing\" grid=1,1,1 block=1,1,1 shared=0 stream=stream1) -> device=0 "
      "parameters=[] captured\n"
      "hipMemsetD32Async(memory+0 00000007 1 stream1) -> captured\n"
      "hipMemcpyAsync(memory+4 memory+0 4 kind=3 stream1) -> captured\n"
      "hipMemcpyAsync(memory+4 memory+0 13 kind=3 stream1) = 1 hipErrorInvalidValue (13 bytes are not inside of "
      "memory)\n"
      "hipEventRecord(stream1)\n"
      "hipStreamWaitEvent(stream2)\n"
      "hipEventRecord(stream2)\n"
      "hipStreamWaitEvent(stream1)\n"
      "hipModuleLoadData() -> mod3 device=0 gfx942\n"
      "hipModuleUnload(mod3)\n"
      "hipStreamEndCapture(stream1) -> launches=3\n"
      "hipMemcpy(8 kind=2)\n"
      "hipMemcpy(8 kind=2)\n"
      "hipGraphDestroy()\n"
      "hipStreamBeginCapture(stream1 mode=0)\n"
      "hipMalloc(16) = 900 hipErrorStreamCaptureUnsupported (an allocation while stream1 is captured)\n"
      "hipStreamEndCapture(stream1) = 901 hipErrorStreamCaptureInvalidated (the capture is lost)\n");
  IS(CALL(hipEventDestroy, event), 0);
  live(1, 0, 2, 1, 0);
  IS(CALL(hipStreamDestroy, stream), 0);
  IS(CALL(hipStreamDestroy, other), 0);
  IS(CALL(hipFree, memory), 0);
}

/* A failure on demand does nothing; the quiet form checks nothing. */
static void faults(void *module) {
  struct launch none = {"", {0, 0, 0}, {0, 0, 0}, 0, 0, 0};
  int device = -1;
  ((void (*)(void))symbol(FAKE "reset"))();
  fail_at(2, 719);
  IS(CALL(hipGetDevice, &device), 0);
  IS(CALL(hipSetDevice, 1), 719);
  IS(CALL(hipGetDevice, &device), 0), IS(device, 0);
  ((void (*)(int))symbol(FAKE "quiet"))(1);
  IS(launch(&none, module, NULL), 0);
  IS(CALL(hipSetDevice, 1), 0);
  IS(CALL(hipGetDevice, &device), 0), IS(device, 1);
  IS(CALL(hipSetDevice, 0), 0);
  ((void (*)(int))symbol(FAKE "quiet"))(0);
  RECORDED(
      "hipGetDevice() -> 0\n"
      "hipSetDevice(1) = 719 hipErrorLaunchFailure (as told)\n"
      "hipGetDevice() -> 0\n");
}

int main(int argc, char **argv) {
  if (argc != 2) return 2;
  driver = dlopen("libamdhip64.so.6", RTLD_NOW);
  if (!driver) return fprintf(stderr, "%s\n", dlerror()), 2;
  char *code = read_image(argv[1], "kernels.hsaco");
  devices();
  images(argv[1], code);
  void *module = module_of(code);
  extents(module);
  launches(module);
  captures(module, code);
  faults(module);
  IS(CALL(hipModuleUnload, module), 0);
  live(0, 0, 0, 0, 0);
  free(code);
  puts(failures ? "not as expected" : "as expected");
  return failures != 0;
}
