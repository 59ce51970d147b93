/* A host in C for other machines: reads calls from its input, makes each, and prints its outcome on a line.
 *
 * Usage: cross LIBRARY [DRIVER], with the name of a stand-in for the CUDA driver. The input is
 *   call NAME COUNT THERE ARGUMENT...     calls a function with THERE arguments, and says that they are COUNT
 *   submit NAME HELD THERE ARGUMENT...    calls a function with the first HELD of THERE arguments, and what it returns
 *                                         with the others
 *   stream DEVICE STREAM                  sets the stream of a GPU: a number, or `own`, one that is made here
 *   allocator kernels|none                sets the allocator of tensors
 * where only the first two print a line, and an argument is one of
 *   any TYPE_INDEX LENGTH BITS            the words of the argument
 *   text SIZE CODE...                     a `const char*`
 *   bytes SIZE CODE...                    a `TVMFFIByteArray*`
 *   string TYPE_INDEX SIZE CODE...        an object with text
 *   object TYPE_INDEX COUNT WORD...       an object whose cell starts with these words
 *   class COUNT KEY...                    an object of a class, with its key and those of its ancestors, nearest first
 *   shape SIZE EXTENT...                  a shape
 *   integer SIZE CODE...                  an integer, as bytes from the lowest one
 *   symbol NAME                           the address of a function of the runtime
 *   tensor OBJECT CODE BITS LANES DEVICE_TYPE DEVICE_ID NDIM OFFSET DATA DIMS DIMS
 *                                         a tensor, as an object or not; DATA is a number or `null`, and DIMS a number
 *                                         of integers and these, or `null`
 *   sequence TYPE_INDEX SIZE ARGUMENT...  an array or a list
 *   map MAKER SIZE ARGUMENT...            keys and values, made by a function of the runtime
 *   slot none, slot some ARGUMENT         the address of a slot with an object or NULL
 *   function, module, error, opaque       objects that only the runtime makes */

#include "cross.h"

#include <inttypes.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include <tvm/ffi/extra/c_env_api.h>

enum { DEVICES = 2, CUDA = 2, NON_BLOCKING = 1 };

static void *library, *driver;
/* A stream of each GPU. */
static void *own[DEVICES];

void stop(const char *reason) {
  printf("%s\n", reason);
  exit(1);
}

/* A function of the stand-in. */
#define ENTRY(name, ...) ((int (*)(__VA_ARGS__))(uintptr_t)system_find(driver, name))

/* Loads the stand-in and makes a stream of each GPU. */
static void load_driver(const char *name) {
  driver = system_load(name);
  int status = ENTRY("cuInit", unsigned)(0);
  for (int id = 0; id < DEVICES; id++) {
    void *context = NULL;
    status |= ENTRY("cuDevicePrimaryCtxRetain", void **, int)(&context, id);
    status |= ENTRY("cuCtxPushCurrent_v2", void *)(context);
    status |= ENTRY("cuStreamCreate", void **, unsigned)(&own[id], NON_BLOCKING);
    status |= ENTRY("cuCtxPopCurrent_v2", void **)(&context);
  }
  if (status) stop("a GPU has no stream");
  ENTRY("fake_cuda_reset", void)();
}

/* Prints the calls of the driver, and forgets them. */
static void print_record(void) {
  if (!driver) return;
  size_t (*log)(char *, size_t) = (size_t (*)(char *, size_t))(uintptr_t)system_find(driver, "fake_cuda_log");
  size_t size = log(NULL, 0);
  char *text = malloc(size + 1);
  if (!text) stop("no room");
  log(text, size + 1);
  if (size > 0) printf(" | ");
  print_text(text, size);
  free(text);
  int64_t live[6];
  ENTRY("fake_cuda_live", int64_t *)(live);
  if (live[1] != 0) stop("a context is left pushed");
  ENTRY("fake_cuda_reset", void)();
}

static void set_stream(void) {
  int32_t id = (int32_t)number();
  if (id < 0 || id >= DEVICES) stop("no such device");
  const char *text = word();
  void *stream = strcmp(text, "own") == 0 ? own[id] : (void *)(uintptr_t)strtoull(text, NULL, 10);
  TVMFFIEnvSetStream(CUDA, id, stream, NULL);
}

static TVMFFISafeCallType find(const char *name) {
  static char symbol[8300];
  snprintf(symbol, sizeof symbol, "__tvm_ffi_%s", name);
  return (TVMFFISafeCallType)(uintptr_t)system_find(library, symbol);
}

/* Returns the pointer that a function of the kernels returns. */
static void *pointer_of(const char *name) {
  TVMFFIAny result = {0};
  if (find(name)(NULL, NULL, 0, &result)) stop("a function of the kernels fails");
  return result.v_ptr;
}

static void set_allocator(void) {
  void *kernels = strcmp(word(), "kernels") == 0 ? pointer_of("allocator") : NULL;
  if (TVMFFIEnvSetDLPackManagedTensorAllocator((DLPackManagedTensorAllocator)(uintptr_t)kernels, 0, NULL))
    stop("the allocator is not set");
}

/* Contents of a result before a call: no object, and no value that a callee would write. */
static const TVMFFIAny NOISE = {.type_index = -0x5a5a5a5b, .small_str_len = 0xa5a5a5a5, .v_int64 = -0x5a5a5a5a5a5a5a5b};

static void print_end(int status, TVMFFIAny *result) {
  if (status == 0) print_result(result);
  else if (memcmp(result, &NOISE, sizeof NOISE) != 0) stop("an error, but there is a result");
  else print_error(status);
}

/* Calls a function of the library, or with `submits` what it returns for the first arguments. */
static void call(int submits) {
  arguments_begin();
  int32_t count = (int32_t)number(), there = (int32_t)number();
  /* The rest of the line: any text is a name. */
  static char name[8192];
  if (getchar() != ' ' || scanf("%8191[^\n]", name) != 1) stop("no name of a function");
  TVMFFIAny *args = take((size_t)there * sizeof *args + 8, 8), result = NOISE;
  for (int32_t i = 0; i < there; i++) args[i] = argument();
  arguments_ready();
  pointer_of("recorded");
  int status = find(name)(NULL, there ? args : NULL, count, &result);
  if (submits && status == 0) {
    TVMFFIAny function = result;
    if (function.type_index != kTVMFFIFunction) stop("no function");
    result = NOISE;
    status = TVMFFIFunctionCall(function.v_obj, args + count, there - count, &result);
    TVMFFIObjectDecRef(function.v_obj);
  }
  printf("%s [%s] ", name, (const char *)pointer_of("recorded"));
  for (int times = times_called(); times > 0; times--) printf("called ");
  print_end(status, &result);
  print_record();
  puts("");
  // Whoever looks for a crash sees the calls before it.
  fflush(stdout);
  arguments_end();
}

int main(int argc, char **argv) {
  if (argc != 2 && argc != 3) stop("a library, and a driver or none");
  system_begin();
  library = system_load(argv[1]);
  if (argc == 3) load_driver(argv[2]);
  char next[16];
  while (scanf("%15s", next) == 1) {
    if (strcmp(next, "call") == 0) call(0);
    else if (strcmp(next, "submit") == 0) call(1);
    else if (strcmp(next, "stream") == 0) set_stream();
    else if (strcmp(next, "allocator") == 0) set_allocator();
    else stop("no such command");
  }
  return 0;
}
