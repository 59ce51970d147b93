/* A host in C for other machines: reads calls from its input, makes each, and
 * prints its outcome on a line.
 *
 * Usage: cross LIBRARY. A call is `call NAME COUNT ARGUMENTS` and that many of
 *   any TYPE_INDEX LENGTH BITS
 *   text BYTES CODE...
 *   tensor CODE BITS LANES DEVICE_TYPE DEVICE_ID NDIM OFFSET DATA DIMS DIMS
 * where DATA is a number or `null`, and DIMS a number of integers and these, or `null`.
 *
 * Memory of arguments has the same addresses on every machine. */

#define _GNU_SOURCE
#include <dlfcn.h>
#include <sys/mman.h>

#include <inttypes.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include <tvm/ffi/c_api.h>
#include <tvm/ffi/extra/c_env_api.h>

enum { ROOM = 1 << 20, MIDDLE = 1024, MOST = 2048 };
static char *arena;
static size_t used;

static void stop(const char *reason) {
  printf("%s\n", reason);
  exit(1);
}

/* Allocates memory until the next call. */
static void *take(size_t size, size_t align) {
  used = (used + align - 1) / align * align;
  void *start = arena + used;
  used += size;
  if (used > ROOM) stop("no room");
  return start;
}

static const char *word(void) {
  static char text[256];
  if (scanf("%255s", text) != 1) stop("the input ends");
  return text;
}

static int is_null(const char *text) { return strcmp(text, "null") == 0; }

static int64_t number(void) { return (int64_t)strtoll(word(), NULL, 10); }

/* Fills elements of type float32 that count up from 0 at the address. */
static void *buffer(int64_t at) {
  float *start = take(2 * MIDDLE * sizeof(float), 256);
  for (int i = 0; i < 2 * MIDDLE; i++) start[i] = (float)(i - MIDDLE);
  return (char *)(start + MIDDLE) + at;
}

static int64_t *dims(void) {
  const char *text = word();
  if (is_null(text)) return NULL;
  int64_t count = strtoll(text, NULL, 10), *all = take((size_t)count * 8 + 8, 8);
  for (int64_t i = 0; i < count; i++) all[i] = number();
  return all;
}

static void *tensor(void) {
  DLTensor *view = take(sizeof *view, 8);
  view->dtype.code = (uint8_t)number(), view->dtype.bits = (uint8_t)number();
  view->dtype.lanes = (uint16_t)number();
  view->device.device_type = (DLDeviceType)number(), view->device.device_id = (int32_t)number();
  view->ndim = (int32_t)number(), view->byte_offset = (uint64_t)number();
  const char *data = word();
  view->data = is_null(data) ? NULL : buffer(strtoll(data, NULL, 10));
  view->shape = dims();
  view->strides = dims();
  return view;
}

static const char *text_of(int64_t size) {
  char *start = take((size_t)size + 1, 1);
  for (int64_t i = 0; i < size; i++) start[i] = (char)number();
  start[size] = 0;
  return start;
}

static TVMFFIAny argument(void) {
  const char *kind = word();
  TVMFFIAny any = {0};
  if (strcmp(kind, "tensor") == 0) {
    any.type_index = kTVMFFIDLTensorPtr, any.v_ptr = tensor();
  } else if (strcmp(kind, "text") == 0) {
    any.type_index = kTVMFFIRawStr, any.v_c_str = text_of(number());
  } else {
    any.type_index = (int32_t)number(), any.small_str_len = (uint32_t)number(), any.v_int64 = number();
  }
  return any;
}

static void print_error(int status) {
  TVMFFIObjectHandle object = NULL;
  TVMFFIErrorMoveFromRaised(&object);
  if (!object) return (void)printf("status %d without an error\n", status);
  const TVMFFIErrorCell *error = (const TVMFFIErrorCell *)((const TVMFFIObject *)object + 1);
  printf("status %d, %.*s: %.*s\n", status, (int)error->kind.size, error->kind.data, (int)error->message.size,
         error->message.data);
  TVMFFIObjectDecRef(object);
}

static void print_tensor(const DLTensor *view) {
  printf("tensor (%d, %d, %d), aligned %d,", view->dtype.code, view->dtype.bits, view->dtype.lanes,
         (uintptr_t)view->data % 64 == 0);
  for (int32_t i = 0; i < view->ndim; i++) printf(" %" PRId64 ":%" PRId64, view->shape[i], view->strides[i]);
}

static void print_result(const TVMFFIAny *result) {
  printf("type index %d, ", result->type_index);
  if (result->type_index == kTVMFFITensor) print_tensor((const DLTensor *)(result->v_obj + 1));
  if (result->type_index < kTVMFFIStaticObjectBegin) {
    printf("length %u, bits %" PRId64, result->small_str_len, result->v_int64);
  } else {
    TVMFFIObjectDecRef(result->v_obj);
  }
  puts("");
}

static TVMFFISafeCallType find(void *library, const char *name) {
  char symbol[300];
  snprintf(symbol, sizeof symbol, "__tvm_ffi_%s", name);
  void *found = dlsym(library, symbol);
  if (!found) stop(dlerror());
  return (TVMFFISafeCallType)(uintptr_t)found;
}

static void call(void *library) {
  used = 0;
  char name[256];
  snprintf(name, sizeof name, "%s", word());
  int32_t count = (int32_t)number(), there = (int32_t)number();
  if (there > MOST) stop("too many arguments");
  TVMFFIAny *args = take((size_t)there * sizeof *args + 8, 8), result = {0}, noted = {0};
  for (int32_t i = 0; i < there; i++) args[i] = argument();
  TVMFFISafeCallType recorded = find(library, "recorded");
  recorded(NULL, NULL, 0, &noted);
  int status = find(library, name)(NULL, args, count, &result);
  recorded(NULL, NULL, 0, &noted);
  printf("%s [%s] ", name, noted.v_c_str);
  if (status == 0) print_result(&result);
  else print_error(status);
}

int main(int argc, char **argv) {
  void *library = argc == 2 ? dlopen(argv[1], RTLD_NOW) : NULL;
  if (!library) stop(argc == 2 ? dlerror() : "one argument");
  void *place = (void *)0x200000000000;
  arena = mmap(place, ROOM, PROT_READ | PROT_WRITE, MAP_PRIVATE | MAP_ANONYMOUS | MAP_FIXED_NOREPLACE, -1, 0);
  if (arena != place) stop("the place of arguments is taken");
  for (int32_t id = 0; id < 2; id++) TVMFFIEnvSetStream(2, id, (void *)(uintptr_t)(0x5000 + id), NULL);
  char next[8];
  while (scanf("%7s", next) == 1) call(library);
  return 0;
}
