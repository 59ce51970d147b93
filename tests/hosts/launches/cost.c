/* Loops of launches for tests/gpu: through our function, and through the driver alone. Both return nanoseconds per
 * launch, or a negative number if a launch failed. */
#include <stdint.h>
#include <time.h>
#include <tvm/ffi/c_api.h>

typedef int (*Function)(void*, const TVMFFIAny*, int32_t, TVMFFIAny*);

/* CUlaunchConfig. */
typedef struct {
  unsigned grid[3], block[3], shared;
  void *stream, *attributes;
  unsigned count;
} Config;

typedef int (*LaunchKernel)(const Config*, void*, void**, void**);

static double now(void) {
  struct timespec time;
  clock_gettime(CLOCK_MONOTONIC, &time);
  return 1e9 * (double)time.tv_sec + (double)time.tv_nsec;
}

/* Launches `axpy` of one element on device 0 and the environment's stream. */
double ours(Function axpy, void* x, void* y, int64_t times) {
  int64_t shape[] = {1};
  DLTensor tensors[2];
  TVMFFIAny args[3] = {{.type_index = kTVMFFIDLTensorPtr}, {.type_index = kTVMFFIDLTensorPtr}};
  for (int i = 0; i < 2; i++) {
    tensors[i] = (DLTensor){i ? y : x, {kDLCUDA, 0}, 1, {kDLFloat, 32, 1}, shape, NULL, 0};
    args[i].v_ptr = &tensors[i];
  }
  args[2].type_index = kTVMFFIFloat;
  args[2].v_float64 = 2.5;
  double start = now();
  for (int64_t i = 0; i < times; i++) {
    TVMFFIAny result = {.type_index = kTVMFFINone};
    if (axpy(NULL, args, 3, &result) != 0) return -1;
  }
  return (now() - start) / (double)times;
}

/* Makes the same launch through the driver. */
double direct(LaunchKernel launch, void* kernel, void* stream, void* x, void* y, int64_t times) {
  double start = now();
  for (int64_t i = 0; i < times; i++) {
    int n = 1;
    float a = 2.5f;
    void* parameters[] = {&x, &y, &n, &a};
    Config config = {{1, 1, 1}, {128, 1, 1}, 0, stream, NULL, 0};
    if (launch(&config, kernel, parameters, NULL) != 0) return -1;
  }
  return (now() - start) / (double)times;
}
