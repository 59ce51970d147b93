/* Times calls of a function of the FFI: returns nanoseconds a call. */
#include <stdint.h>
#include <time.h>

#include <tvm/ffi/c_api.h>

double nanoseconds(TVMFFIObjectHandle function, const TVMFFIAny* args, int32_t num_args, int64_t calls) {
  struct timespec start, end;
  clock_gettime(CLOCK_MONOTONIC, &start);
  for (int64_t i = 0; i < calls; ++i) {
    TVMFFIAny result = {0};
    if (TVMFFIFunctionCall(function, (TVMFFIAny*)args, num_args, &result) != 0) return -1;
  }
  clock_gettime(CLOCK_MONOTONIC, &end);
  return ((end.tv_sec - start.tv_sec) * 1e9 + (end.tv_nsec - start.tv_nsec)) / calls;
}
