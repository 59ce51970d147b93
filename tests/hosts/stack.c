/* Measures the stack of a call: the call runs twice on one thread, and in between the stack below is painted. The first
 * run pays for work that happens once per thread or process. */

#define _GNU_SOURCE
#include <pthread.h>
#include <stdint.h>
#include <stdlib.h>

enum { SIZE = 1 << 18, PAINT = 0xa5 };

typedef int32_t function(void *handle, const void *args, int32_t count, void *result);

struct call {
  function *function;
  const void *args;
  int32_t count;
  void *result;
  int32_t status;
  /* Lowest address of the stack. */
  volatile unsigned char *stack;
  /* Bytes that the second run has written below the frame of `run`. */
  int64_t used;
};

/* Paints the stack well below its own frame; returns the end of the paint. */
static __attribute__((noinline)) volatile unsigned char *paint(volatile unsigned char *stack) {
  volatile unsigned char *end = (unsigned char *)__builtin_frame_address(0) - 256;
  for (volatile unsigned char *at = stack; at < end; at++) *at = PAINT;
  return end;
}

static void *run(void *data) {
  struct call *call = data;
  call->status = call->function(NULL, call->args, call->count, call->result);
  volatile unsigned char *end = paint(call->stack), *clean = call->stack;
  call->status |= call->function(NULL, call->args, call->count, call->result);
  while (clean < end && *clean == PAINT) clean++;
  call->used = end - clean + 256;
  return NULL;
}

/* Returns the bytes of stack that a call needs, at least 256; -1 if it fails or could not be made. */
int64_t stack_used(function *callee, const void *args, int32_t count, void *result) {
  void *stack = aligned_alloc(4096, SIZE);
  if (!stack) return -1;
  struct call call = {callee, args, count, result, 0, stack, 0};
  pthread_attr_t attributes;
  pthread_t thread;
  int failed = pthread_attr_init(&attributes) || pthread_attr_setstack(&attributes, stack, SIZE) ||
               pthread_create(&thread, &attributes, run, &call) || pthread_join(thread, NULL);
  pthread_attr_destroy(&attributes);
  free(stack);
  return failed || call.status ? -1 : call.used;
}
