/* Calls two handlers with one frame in turns, and prints the least nanoseconds of a call of each. */
#define _POSIX_C_SOURCE 199309L
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>
#include <time.h>

#include "xla/ffi/api/c_api.h"

extern XLA_FFI_Handler xla_add, cpp_add;

void add(const float* x, const float* y, float* z, int64_t n) {
  (void)x, (void)y, (void)z, (void)n;
  __asm__ volatile("" ::: "memory");
}

static double measured(XLA_FFI_Handler* handler, XLA_FFI_CallFrame* frame) {
  enum { CALLS = 100000 };
  struct timespec start, end;
  clock_gettime(CLOCK_PROCESS_CPUTIME_ID, &start);
  for (int i = 0; i < CALLS; ++i) {
    if (handler(frame) != NULL) abort();
  }
  clock_gettime(CLOCK_PROCESS_CPUTIME_ID, &end);
  return ((double)(end.tv_sec - start.tv_sec) * 1e9 + (double)(end.tv_nsec - start.tv_nsec)) / CALLS;
}

int main(void) {
  static float elements[4];
  int64_t dims[1] = {4};
  XLA_FFI_Buffer buffer = {XLA_FFI_Buffer_STRUCT_SIZE, NULL, XLA_FFI_DataType_F32, elements, 1, dims};
  void *args[2] = {&buffer, &buffer}, *rets[1] = {&buffer};
  XLA_FFI_ArgType arg_types[2] = {XLA_FFI_ArgType_BUFFER, XLA_FFI_ArgType_BUFFER};
  XLA_FFI_RetType ret_types[1] = {XLA_FFI_RetType_BUFFER};
  XLA_FFI_Api api = {.struct_size = XLA_FFI_Api_STRUCT_SIZE,
                     .api_version = {XLA_FFI_Api_Version_STRUCT_SIZE, NULL, XLA_FFI_API_MAJOR, XLA_FFI_API_MINOR}};
  XLA_FFI_CallFrame frame = {.struct_size = XLA_FFI_CallFrame_STRUCT_SIZE,
                             .api = &api,
                             .stage = XLA_FFI_ExecutionStage_EXECUTE,
                             .args = {XLA_FFI_Args_STRUCT_SIZE, NULL, 2, arg_types, args},
                             .rets = {XLA_FFI_Rets_STRUCT_SIZE, NULL, 1, ret_types, rets},
                             .attrs = {.struct_size = XLA_FFI_Attrs_STRUCT_SIZE}};
  double least[2] = {1e9, 1e9};
  XLA_FFI_Handler* handlers[2] = {xla_add, cpp_add};
  for (int round = 0; round < 40; ++round) {
    for (int which = 0; which < 2; ++which) {
      double found = measured(handlers[which], &frame);
      if (found < least[which]) least[which] = found;
    }
  }
  printf("%.1f %.1f\n", least[0], least[1]);
  return 0;
}
