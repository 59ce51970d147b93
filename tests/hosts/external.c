/* A program in C that calls functions of the FFI with plain C types, by their generated header.
 *
 * Usage: external LIBRARY, which exports add_one(x: Tensor([n], float32), y: Tensor([n], float32)). The runtime is
 * that of faults.c: after each call has succeeded, every call of the runtime in it fails once. */

#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include <tvm/ffi/c_api.h>
#include <tvm/ffi/extra/c_env_api.h>

#include "external.h"

void faults_arm(int64_t number, int without_error);
int64_t faults_disarm(void);
int64_t faults_live(void);

/* The kernels. */

static int quiet;

#define SAY(...) (quiet ? 0 : printf(__VA_ARGS__))

void print_scalars(uint8_t b, int8_t i8, int16_t i16, int32_t i32, int64_t i64, uint8_t u8, uint16_t u16,
                   uint32_t u32, uint64_t u64, uint16_t h, uint16_t g, float f, double d, void *p, void *q) {
  SAY("%d %d %d %d %ld %u %u %u %lu %x %x %g %g %s %s\n", b, i8, i16, i32, i64, u8, u16, u32, u64, h, g, f, d,
      p ? "pointer" : "NULL", q ? "stream" : "NULL");
}

void print_optional(int16_t i, uint8_t has_i, uint64_t u, uint8_t has_u, uint16_t h, float f, uint8_t b,
                    uint8_t has_b, uint32_t d, int32_t type, int32_t id, int64_t l) {
  SAY("%d/%d %lu/%d %x %g %d/%d %x %d:%d %ld\n", i, has_i, u, has_u, h, f, b, has_b, d, type, id, l);
}

static void print_span(const char *text, int64_t size) {
  SAY("%ld[", size);
  for (int64_t i = 0; i < size; i++) SAY("%c", text[i] ? text[i] : '0');
  SAY("] ");
}

void print_text(const char *s, int64_t s_size, const char *b, int64_t b_size, const char *o, int64_t o_size,
                uint8_t has_o, const char *c, int64_t c_size, uint8_t has_c, const char *l, int64_t l_size) {
  print_span(s, s_size), print_span(b, b_size);
  if (has_o) print_span(o, o_size);
  if (has_c) print_span(c, c_size);
  print_span(l, l_size), SAY("\n");
}

double sum(void *data, int64_t n) {
  double total = 0;
  for (int64_t i = 0; i < n; i++) total += ((float *)data)[i];
  return total;
}

void fill(void *data, int64_t n) { memset(data, 0, (size_t)n * sizeof(float)); }

/* An allocator of tensors. */

static void delete (DLManagedTensorVersioned *self) { free(self->dl_tensor.data), free(self); }

static int allocate(DLTensor *like, DLManagedTensorVersioned **out, void *context,
                    void (*set_error)(void *, const char *, const char *)) {
  DLManagedTensorVersioned *made = calloc(1, sizeof *made + sizeof(int64_t));
  void *data = malloc(1024);
  if (!made || !data || like->ndim != 1) return set_error(context, "MemoryError", "no memory"), -1;
  *made = (DLManagedTensorVersioned){.version = {1, 0}, .deleter = delete, .dl_tensor = *like};
  made->dl_tensor.data = data;
  made->dl_tensor.shape = memcpy(made + 1, like->shape, sizeof(int64_t));
  made->dl_tensor.strides = NULL;
  return *out = made, 0;
}

/* State of the calls. */

static const char *library;
static float numbers[] = {1, 2, 3, 4}, others[4];
static int64_t four = 4, three = 3;
static DLTensor x, y, short_y;
static TVMFFIAny text, array;
static TVMFFIObject *function;

static int references(TVMFFIObject *object) { return (int)(uint32_t)object->combined_ref_count; }

/* Prints a result and releases it. */
static void show(TVMFFIAny *value) {
  SAY("type index %d", value->type_index);
  if (value->type_index < kTVMFFISmallStr) SAY(", payload %ld", value->v_int64);
  if (value->type_index == kTVMFFISmallStr || value->type_index == kTVMFFISmallBytes)
    SAY(", small, %u bytes", value->small_str_len);
  if (value->type_index == kTVMFFIStr || value->type_index == kTVMFFIBytes)
    SAY(", %zu bytes", ((TVMFFIByteArray *)(value->v_obj + 1))->size);
  if (value->type_index == kTVMFFIShape) SAY(", %zu numbers", ((TVMFFIShapeCell *)(value->v_obj + 1))->size);
  if (value->type_index >= kTVMFFIStaticObjectBegin) {
    SAY(", references: %d", references(value->v_obj));
    TVMFFIObjectDecRef(value->v_obj);
  }
  SAY("\n");
}

#define SCALAR(name, type, format, ...)                       \
  static int call_##name(void) {                              \
    type result;                                              \
    int status = echo_##name(__VA_ARGS__, &result);           \
    if (status == 0) SAY(#name ": " format "\n", result);     \
    return status ? status : echo_##name(__VA_ARGS__, NULL);  \
  }

SCALAR(bool, uint8_t, "%d", 200)
SCALAR(int8, int8_t, "%d", -128)
SCALAR(int16, int16_t, "%d", -32768)
SCALAR(int32, int32_t, "%d", INT32_MIN)
SCALAR(int64, int64_t, "%ld", INT64_MIN)
SCALAR(uint8, uint8_t, "%u", 255)
SCALAR(uint16, uint16_t, "%u", 65535)
SCALAR(uint32, uint32_t, "%u", UINT32_MAX)
SCALAR(uint64, uint64_t, "%lu", INT64_MAX)
SCALAR(float16, uint16_t, "%x", 0x3c01)
SCALAR(bfloat16, uint16_t, "%x", 0xbf81)
SCALAR(float32, float, "%.9g", 0.1f)
SCALAR(float64, double, "%.17g", 0.1)
SCALAR(ptr, void *, "%p", (void *)0x1234)

static int call_too_wide(void) { return echo_uint64((uint64_t)INT64_MAX + 1, NULL); }

#define VALUE(name, function, ...)                       \
  static int call_##name(void) {                         \
    TVMFFIAny result = {.type_index = -7};               \
    int status = function(__VA_ARGS__, &result);         \
    if (status == 0) show(&result);                      \
    else if (result.type_index != -7) SAY("a result\n"); \
    return status ? status : function(__VA_ARGS__, NULL); \
  }

#define LONG "a text that is too long to be small"
static const int64_t extents[65] = {2, 3, 4};
static const uint32_t float32 = kDLFloat | 32 << 8 | 1 << 16;

VALUE(str, echo_str, "a\0b", 3)
VALUE(long_str, echo_str, LONG, sizeof LONG)
VALUE(empty_str, echo_str, NULL, 0)
VALUE(no_str, echo_str, NULL, 1)
VALUE(negative_str, echo_str, "a", -1)
VALUE(huge_str, echo_str, "a", (int64_t)1 << 60)
VALUE(largest_str, echo_str, "a", INT64_MAX)
VALUE(bytes, echo_bytes, "a\0b", 3)
VALUE(long_bytes, echo_bytes, LONG, sizeof LONG)
VALUE(negative_bytes, echo_bytes, "a", INT64_MIN)
VALUE(huge_bytes, echo_bytes, "a", (int64_t)1 << 60)
VALUE(dtype, echo_dtype, float32)
VALUE(device, echo_device, kDLCUDA, 1)
VALUE(shape, echo_shape, extents, 3)
VALUE(empty_shape, echo_shape, NULL, 0)
VALUE(large_shape, echo_shape, extents, 65)
VALUE(no_shape, echo_shape, NULL, 2)
VALUE(negative_shape, echo_shape, extents, -1)
VALUE(some_shape, echo_some_shape, extents, 64)
VALUE(none_shape, echo_some_shape, NULL, 0)
VALUE(any, echo_any, &text)
VALUE(any_none, echo_any, NULL)
VALUE(any_of_union, echo_union, &text)
VALUE(none_of_union, echo_union, NULL)
VALUE(object, echo_object, function)
VALUE(no_object, echo_object, NULL)
VALUE(output, make, 3)
VALUE(no_output, make, -1)
VALUE(outputs, make_two, 3)
VALUE(some, echo_some, function)
VALUE(none, echo_some, NULL)

static int call_scalars(void) {
  return take_scalars(7, -1, -2, -3, -4, 1, 2, 3, 4, 0x3c00, 0x3f80, 0.5f, 0.25, &x, NULL);
}
static int call_optional(void) {
  int16_t i = -5;
  uint64_t u = 6;
  uint16_t h = 0x3c00;
  float f = 1.5f;
  uint8_t b = 2;
  int32_t device[] = {kDLCUDA, 3};
  int64_t l = 2;
  return take_optional(&i, &u, &h, &f, &b, &float32, device, &l);
}
static int call_optional_none(void) { return take_optional(NULL, NULL, NULL, NULL, NULL, NULL, NULL, NULL); }
static int call_optional_wide(void) {
  uint64_t u = UINT64_MAX;
  return take_optional(NULL, &u, NULL, NULL, NULL, NULL, NULL, NULL);
}
static int call_texts(void) {
  return take_text("a\0b", 3, "c\0d", 3, LONG, sizeof LONG - 1, "", 0, "gelu", 4);
}
static int call_texts_none(void) { return take_text("", 0, NULL, 0, NULL, 5, NULL, 0, "relu", 4); }
static int call_texts_wrong(void) { return take_text("", 0, NULL, 0, LONG, 9, NULL, 0, "rely", 4); }
static int call_tensor(void) {
  double result = 0;
  int status = total(&x, &result);
  SAY("total: %g\n", result);
  return status;
}
static int call_no_tensor(void) { return total(NULL, NULL); }
static int call_tensor_or(void) {
  double first = 0, second = 0;
  if (total_or(&x, -1, &first) || total_or(NULL, -1, &second)) return -1;
  SAY("totals: %g %g\n", first, second);
  return 0;
}
static int call_counted(void) {
  int64_t result = 0;
  int status = count(array.v_obj, &result);
  SAY("count: %ld\n", result);
  return status;
}
static int call_not_counted(void) { return count(function, NULL); }
static int call_worded(void) {
  int64_t result = 0;
  int status = words(1, 20, 300, "four", 4, 5000, &result);
  SAY("words: %ld\n", result);
  return status;
}
static int call_reserved(void) {
  int64_t result = 0;
  int status = reserved(100, "four", 4, extents, 2, NULL, 0, 0, &result);
  SAY("reserved: %ld\n", result);
  return status;
}
static int call_reserved_wide(void) { return reserved(UINT64_MAX, "four", 4, extents, 2, NULL, 0, 0, NULL); }
static int call_reserved_negative(void) { return reserved(1, "four", -4, extents, 2, NULL, 0, 0, NULL); }

static int forget_error(void) {
  TVMFFIObjectHandle error = NULL;
  TVMFFIErrorMoveFromRaised(&error);
  TVMFFIObjectDecRef(error);
  SAY(error ? "refused\n" : "no error\n");
  return 0;
}

/* The loader of the guide "Stable C ABI": load a library, get a function, call it. */
static int call_loader(void) {
  int status = load_and_call(library, strlen(library), "add_one", 7, &x, &y);
  for (int i = 0; i < 4 && status == 0; i++) SAY("%g%c", others[i], i < 3 ? ' ' : '\n');
  return status;
}
static int call_loader_without_function(void) { return load_and_call(library, strlen(library), "missing", 7, &x, &y); }
static int call_loader_without_library(void) {
  /* The text of this error is the runtime's own. */
  return load_and_call("/none.so", 8, "add_one", 7, &x, &y) == -1 ? forget_error() : -1;
}
static int call_loader_wrong(void) { return load_and_call(library, strlen(library), "add_one", 7, &x, &short_y); }

/* The main program. */

/* Prints the error in the slot up to the signature, and clears the slot. */
static int print_error(void) {
  TVMFFIObjectHandle error = NULL;
  TVMFFIErrorMoveFromRaised(&error);
  if (!error) return 0;
  const TVMFFIErrorCell *cell = (const TVMFFIErrorCell *)((const TVMFFIObject *)error + 1);
  const char *message = cell->message.data, *end = strstr(message, " when calling: ");
  const char *rest = end ? strstr(end, "`, ") : NULL;
  int length = rest ? (int)(end - message) : (int)strcspn(message, "\n");
  SAY("%.*s: %.*s%s\n", (int)cell->kind.size, cell->kind.data, length, message, rest ? rest + 1 : "");
  TVMFFIObjectDecRef(error);
  return 1;
}

static int64_t faults;

static void run(const char *name, int (*call)(void)) {
  quiet = 0;
  printf("%s: ", name);
  int status = call();
  if (print_error() != (status == -1)) printf("the slot does not fit the status %d\n", status);
  int held = references(function) + references(array.v_obj);
  quiet = 1;
  for (int silent = 0; silent < 2; silent++) {
    for (int64_t fault = 1;; fault++, faults++) {
      faults_arm(fault, silent);
      status = call();
      int64_t calls = faults_disarm();
      if (print_error() != (status == -1)) printf("%s: fault %ld: status %d, and the slot?\n", name, fault, status);
      if (faults_live()) printf("%s: fault %ld: %ld objects are left\n", name, fault, faults_live());
      if (references(function) + references(array.v_obj) != held) printf("%s: fault %ld: references\n", name, fault);
      if (calls < fault) break;
    }
  }
}

static TVMFFIAny from_registry(const char *name, TVMFFIAny *args, int count) {
  TVMFFIByteArray bytes = {name, strlen(name)};
  TVMFFIObjectHandle maker = NULL;
  TVMFFIAny result = {.type_index = kTVMFFINone};
  if (TVMFFIFunctionGetGlobal(&bytes, &maker) || TVMFFIFunctionCall(maker, args, count, &result)) abort();
  if (strcmp(name, "ffi.Array") == 0) function = maker;
  return result;
}

static DLTensor vector(float *data, int64_t *length) {
  DLTensor view = {.data = data, .ndim = 1, .shape = length, .device = {kDLCPU, 0}};
  view.dtype = (DLDataType){kDLFloat, 32, 1};
  return view;
}

#define RUN(name) run(#name, call_##name);

int main(int argc, char **argv) {
  if (argc != 2) return 2;
  library = argv[1];
  x = vector(numbers, &four), y = vector(others, &four), short_y = vector(others, &three);
  TVMFFIAny integers[] = {{.type_index = kTVMFFIInt}, {.type_index = kTVMFFIInt}};
  array = from_registry("ffi.Array", integers, 2);
  TVMFFIByteArray long_text = {LONG, strlen(LONG)};
  if (TVMFFIStringFromByteArray(&long_text, &text)) return 2;
  if (TVMFFIEnvSetDLPackManagedTensorAllocator(allocate, 0, NULL)) return 2;
  RUN(scalars) RUN(optional) RUN(optional_none) RUN(optional_wide) RUN(texts) RUN(texts_none) RUN(texts_wrong)
  RUN(bool) RUN(int8) RUN(int16) RUN(int32) RUN(int64) RUN(uint8) RUN(uint16) RUN(uint32) RUN(uint64)
  RUN(float16) RUN(bfloat16) RUN(float32) RUN(float64) RUN(ptr) RUN(too_wide)
  RUN(str) RUN(long_str) RUN(empty_str) RUN(no_str) RUN(negative_str)
  RUN(huge_str) RUN(largest_str) RUN(huge_bytes)
  RUN(bytes) RUN(long_bytes) RUN(negative_bytes) RUN(dtype) RUN(device)
  RUN(shape) RUN(empty_shape) RUN(large_shape) RUN(no_shape) RUN(negative_shape) RUN(some_shape) RUN(none_shape)
  RUN(any) RUN(any_none) RUN(any_of_union) RUN(none_of_union) RUN(object) RUN(no_object) RUN(some) RUN(none)
  RUN(output) RUN(no_output) RUN(outputs)
  RUN(tensor) RUN(no_tensor) RUN(tensor_or) RUN(counted) RUN(not_counted) RUN(worded)
  RUN(reserved) RUN(reserved_wide) RUN(reserved_negative)
  RUN(loader) RUN(loader_without_function) RUN(loader_without_library) RUN(loader_wrong)
  if (faults < 100) printf("only %ld faults\n", faults);
  return 0;
}
