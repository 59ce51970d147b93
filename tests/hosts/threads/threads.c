/* Calls every function of program.ffi from several threads at once, for a tool that finds data races.
 *
 * Each function is called for the first time by all threads: what is loaded, looked up and cached at first calls is what
 * they race for. A failing call ends the program with its error. With -DMAPPED there is cuda.ffi too. */

#include <pthread.h>
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include <tvm/ffi/c_api.h>
#include <tvm/ffi/extra/c_env_api.h>

enum { THREADS = 4, TURNS = 8 };

#define FUNCTION(name) int __tvm_ffi_##name(void *, const TVMFFIAny *, int32_t, TVMFFIAny *);
FUNCTION(launched)
FUNCTION(multiprocessors)
FUNCTION(by_name)
FUNCTION(instance)
FUNCTION(closure)
FUNCTION(called)
#ifdef MAPPED
FUNCTION(mapped)
#endif

typedef int (*Function)(void *, const TVMFFIAny *, int32_t, TVMFFIAny *);

static pthread_barrier_t barrier;
static TVMFFIObject thing;
static TVMFFIAny shared_closure;

static void fail(const char *name) {
  TVMFFIObjectHandle object = NULL;
  TVMFFIErrorMoveFromRaised(&object);
  const TVMFFIErrorCell *error = object ? (const TVMFFIErrorCell *)((const TVMFFIObject *)object + 1) : NULL;
  fprintf(stderr, "%s: %.*s\n", name, error ? (int)error->message.size : 0, error ? error->message.data : "");
  exit(1);
}

static TVMFFIAny call(const char *name, Function function, const TVMFFIAny *args, int32_t count) {
  TVMFFIAny result = {0};
  if (function(NULL, args, count, &result)) fail(name);
  return result;
}

#define CALL(name, ...)                                                            \
  call(#name, __tvm_ffi_##name, (TVMFFIAny[]){__VA_ARGS__},                         \
       (int32_t)(sizeof((TVMFFIAny[]){__VA_ARGS__}) / sizeof(TVMFFIAny)))

static int there(void *self, const TVMFFIAny *args, int32_t count, TVMFFIAny *result) {
  (void)self, (void)count;
  *result = (TVMFFIAny){.type_index = kTVMFFIInt, .v_int64 = args[0].v_int64 + 1};
  return 0;
}

/* A tensor of a thread; its address is one of the device. */
typedef struct {
  int64_t shape[2];
  DLTensor tensor;
} Fake;

static TVMFFIAny fake(Fake *of, int rank, uintptr_t data) {
  of->shape[0] = 8, of->shape[1] = 128;
  of->tensor = (DLTensor){(void *)data, {DEVICE, 0}, rank, {kDLFloat, 32, 1}, of->shape, NULL, 0};
  return (TVMFFIAny){.type_index = kTVMFFIDLTensorPtr, .v_ptr = &of->tensor};
}

/* A tensor object, which a closure can hold. */
static void no_deleter(void *object, int flags) { (void)object, (void)flags; }

static void *work(void *number) {
  uintptr_t at = (uintptr_t)number;
  Fake rows, matrix;
  TVMFFIAny x = fake(&rows, 1, 0x10000), a = {.type_index = kTVMFFIFloat, .v_float64 = 2.5};
  TVMFFIAny y = fake(&matrix, 2, 0x20000 * (1 + at % 2));
  TVMFFIAny one = {.type_index = kTVMFFIInt, .v_int64 = (int64_t)at};
  TVMFFIAny object = {.type_index = thing.type_index, .v_obj = &thing};
  pthread_barrier_wait(&barrier);
  for (int turn = 0; turn < TURNS; turn++) {
    CALL(launched, x, x, a);
    CALL(multiprocessors, x);
#ifdef MAPPED
    CALL(mapped, y);
#else
    (void)y;
#endif
    if (CALL(by_name, one).v_int64 != one.v_int64 + 1) exit(2);
    CALL(instance, object);
    if (CALL(called, shared_closure, one).v_int64 != one.v_int64 + 1) exit(3);
  }
  return NULL;
}

int main(void) {
  TVMFFIByteArray key = {"test.Thing", 10}, child = {"test.Child", 10}, name = {"tests.there", 11};
  int32_t parent = TVMFFITypeGetOrAllocIndex(&key, -1, 1, 0, 1, kTVMFFIObject);
  thing.type_index = TVMFFITypeGetOrAllocIndex(&child, -1, 2, 0, 1, parent);
  thing.combined_ref_count = (uint64_t)1 << 32 | 1;
  thing.deleter = no_deleter;
  TVMFFIObjectHandle function = NULL;
  if (TVMFFIFunctionCreate(NULL, there, NULL, &function) || TVMFFIFunctionSetGlobal(&name, function, 0)) fail("set up");
  struct {
    TVMFFIObject header;
    DLTensor tensor;
  } held = {{.combined_ref_count = (uint64_t)1 << 32 | 1, .type_index = kTVMFFITensor, .deleter = no_deleter}, {0}};
  Fake rows;
  fake(&rows, 1, 0x10000);
  held.tensor = rows.tensor;
  TVMFFIAny x = {.type_index = kTVMFFITensor, .v_obj = &held.header};
  shared_closure = CALL(closure, x, {.type_index = kTVMFFIFloat, .v_float64 = 2.5});
  pthread_barrier_init(&barrier, NULL, THREADS);
  pthread_t threads[THREADS];
  for (uintptr_t at = 0; at < THREADS; at++) pthread_create(&threads[at], NULL, work, (void *)at);
  for (int at = 0; at < THREADS; at++) pthread_join(threads[at], NULL);
  TVMFFIObjectDecRef(shared_closure.v_obj);
  TVMFFIObjectDecRef(function);
  return 0;
}
