// The interface between kernels and the runtime library.

#ifndef MYLANG_STATE_H_
#define MYLANG_STATE_H_

#ifdef __cplusplus
#include <atomic>
#include <cstdint>
using mylang_counter = std::atomic<int64_t>;
#else
#include <stdatomic.h>
#include <stdint.h>
typedef _Atomic(int64_t) mylang_counter;
#endif

typedef struct mylang_state {
  mylang_counter calls;
  mylang_counter elements;
  mylang_counter asked;
} mylang_state;

#endif  // MYLANG_STATE_H_
