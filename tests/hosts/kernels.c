/* The kernels of the test table. Kernels named `record…` note their arguments; `recorded` returns the notes. The others
 * compute something from their arguments. */

#include "notes.h"

/* Returns the notes of the last kernel since the previous call. */
const char *recorded(void) {
  if (taken) text[0] = 0;
  taken = 1;
  return text;
}

/* Scalars, returned unchanged. */

#define ECHO(name, type) \
  type echo_##name(type value) { return value; }
ECHO(bool, uint8_t)
ECHO(int8, int8_t)
ECHO(int16, int16_t)
ECHO(int32, int32_t)
ECHO(int64, int64_t)
ECHO(uint8, uint8_t)
ECHO(uint16, uint16_t)
ECHO(uint32, uint32_t)
ECHO(uint64, uint64_t)
ECHO(float16, uint16_t)
ECHO(bfloat16, uint16_t)
ECHO(float32, float)
ECHO(float64, double)
ECHO(ptr, void *)

/* Results narrower than the register, whose upper bits callers must ignore. */

int8_t negate_int8(int8_t value) { return (int8_t)-value; }
int16_t negate_int16(int16_t value) { return (int16_t)-value; }
uint8_t next_uint8(uint8_t value) { return (uint8_t)(value + 1); }
uint16_t next_uint16(uint16_t value) { return (uint16_t)(value + 1); }
uint8_t is_odd(int8_t value) { return value & 1; }

/* Bits of scalars, which show the rounding. */

int64_t bits_of_bool(uint8_t value) { return value; }
int64_t bits_of_half(uint16_t value) { return value; }
int64_t bits_of_float16(_Float16 value) {
  union { _Float16 value; uint16_t bits; } u = {value};
  return u.bits;
}
/* GCC has `__bf16` since version 13; it is passed as `_Float16` is. */
int64_t bits_of_bfloat16(_Float16 value) { return bits_of_float16(value); }
int64_t bits_of_float32(float value) {
  union { float value; uint32_t bits; } u = {value};
  return u.bits;
}
int64_t bits_of_float64(double value) {
  union { double value; int64_t bits; } u = {value};
  return u.bits;
}

/* Results from bits, declared narrower: callers must ignore the upper bits of the register. */

#define NOISY(name) \
  int64_t noisy_##name(int64_t bits) { return bits; }
NOISY(bool)
NOISY(int8)
NOISY(int16)
NOISY(int32)
NOISY(int64)
NOISY(uint8)
NOISY(uint16)
NOISY(uint32)
NOISY(uint64)
NOISY(float16)
NOISY(bfloat16)
NOISY(ptr)
float float32_of_bits(int64_t bits) {
  union { uint32_t bits; float value; } u = {(uint32_t)bits};
  return u.value;
}
double float64_of_bits(int64_t bits) {
  union { int64_t bits; double value; } u = {bits};
  return u.value;
}

/* Reads a narrow argument as if it were wide. The x86-64 convention leaves the upper half of a register
 * undefined, but compilers extend to 32 bits, and code compiled with clang relies on it. */
int64_t extended_int8(int32_t value) { return value; }
int64_t extended_uint8(int32_t value) { return value; }
int64_t extended_int16(int32_t value) { return value; }
int64_t extended_uint16(int32_t value) { return value; }
int64_t extended_bool(int32_t value) { return value; }

/* Kernels that note scalars. */

void record_0(void) {
  begin();
  put("called");
}
/* Does nothing with what it may write. */
void touch(void *address) { (void)address; }
void record_1(int64_t a) {
  begin();
  put_int(a);
}
void record_2(int64_t a, int64_t b) {
  begin();
  put_int(a), put_int(b);
}
void record_3(int64_t a, int64_t b, int64_t c) {
  begin();
  put_int(a), put_int(b), put_int(c);
}
void record_4(int64_t a, int64_t b, int64_t c, int64_t d) {
  begin();
  put_int(a), put_int(b), put_int(c), put_int(d);
}
void record_6(int64_t a, int64_t b, int64_t c, int64_t d, int64_t e, int64_t f) {
  begin();
  put_int(a), put_int(b), put_int(c), put_int(d), put_int(e), put_int(f);
}
void record_float(double a) {
  begin();
  put_float(a);
}
void record_float_2(double a, double b) {
  begin();
  put_float(a), put_float(b);
}
void record_pointer(const void *a) {
  begin();
  put_pointer(a);
}
void record_int32(int32_t a, int64_t b) {
  begin();
  put_int(a), put_int(b);
}

/* More arguments than registers, of every width. */
void record_all(uint8_t a, int8_t b, int16_t c, int32_t d, int64_t e, uint8_t f, uint16_t g, uint32_t h,
                uint64_t i, uint16_t j, uint16_t k, float l, double m, const void *n) {
  begin();
  put_int(a), put_int(b), put_int(c), put_int(d), put_int(e), put_int(f), put_int(g), put_int(h);
  put("%" PRIu64, i);
  put("0x%04x", j), put("0x%04x", k);
  put_float(l), put_float(m), put_pointer(n);
}
void record_many_floats(double a, float b, double c, float d, double e, float f, double g, float h, double i,
                        float j, int64_t k) {
  begin();
  put_float(a), put_float(b), put_float(c), put_float(d), put_float(e);
  put_float(f), put_float(g), put_float(h), put_float(i), put_float(j);
  put_int(k);
}

/* Notes the distance of the first element from the pointer that the caller passed. */
void record_data(const char *data, const struct tensor *x) {
  begin();
  put_int(data - (const char *)x->data);
}
void record_tensor(const struct tensor *x) {
  begin();
  put_int(x->ndim), put_int(x->device_type), put_int(x->device_id);
  for (int32_t i = 0; i < x->ndim; i++) put_int(x->shape[i]);
}
void record_stream(const void *stream) {
  begin();
  put_int((int64_t)(intptr_t)stream);
}

static void put_bits(double value) {
  if (value != value) put("nan");
  else put("%016" PRIx64, bits_of_float64(value));
}

/* The kernel of the property tests: arguments of all kinds, with an address and its tensor. */
void record_property(int64_t a, int64_t b, int64_t c, int64_t d, double e, double f, const char *data,
                     const struct tensor *x) {
  begin();
  put_int(a), put_int(b), put_int(c), put_int(d);
  put_bits(e), put_bits(f);
  put_int(data - (const char *)(x ? x->data : NULL));
}

/* Notes an integer after what earlier kernels have noted. */
void note_1(int64_t a) {
  if (taken) begin();
  put_int(a);
}

/* Texts and bytes, lists of integers, objects and values of any type. */

void record_text(const char *a, int64_t a_size) {
  begin();
  put_text(a, a_size);
}
void record_text_2(const char *a, int64_t a_size, const char *b, int64_t b_size) {
  begin();
  put_text(a, a_size), put_text(b, b_size);
}
void record_text_int(const char *a, int64_t a_size, int64_t b) {
  begin();
  put_text(a, a_size), put_int(b);
}
/* Returns true if a NUL follows, as in every text of the runtime. */
uint8_t ends_with_nul(const char *a, int64_t a_size) { return a[a_size] == 0; }
void record_ints(const int64_t *a, int64_t a_size) {
  begin();
  put_ints("", a, a_size);
}
void record_ints_int(const int64_t *a, int64_t a_size, int64_t b) {
  begin();
  put_ints("", a, a_size), put_int(b);
}
void record_object(const struct object *a) {
  begin();
  put_object(a);
}
void record_object_2(const struct object *a, const struct object *b) {
  begin();
  put_object(a), put_object(b);
}
void record_any(const struct any *a) {
  begin();
  put_value(a);
}
void record_any_2(const struct any *a, const struct any *b) {
  begin();
  put_value(a), put_value(b);
}
void record_anys(const struct any *a, int64_t count) {
  begin();
  put_values("", a, count);
}
void record_int_anys(int64_t a, const struct any *b, int64_t count) {
  begin();
  put_int(a), put_values("", b, count);
}
void record_dtype(uint32_t a) {
  begin();
  put_dtype(a);
}
void record_device(int32_t type, int32_t id) {
  begin();
  put_int(type), put_int(id);
}
void record_pointer_2(const void *a, const void *b) {
  begin();
  put_pointer(a), put_pointer(b);
}

/* Optional values and their flags. */

void record_flag(uint8_t a) {
  begin();
  put_int(a);
}
void record_flag_int(uint8_t a, int64_t b) {
  begin();
  put_int(a), put_int(b);
}
void record_flag_int32(uint8_t a, int32_t b) {
  begin();
  put_int(a), put_int(b);
}
void record_flag_bool(uint8_t a, uint8_t b) {
  begin();
  put_int(a), put_int(b);
}
void record_flag_float(uint8_t a, double b) {
  begin();
  put_int(a), put_float(b);
}
void record_flag_text(uint8_t a, const char *b, int64_t b_size) {
  begin();
  put_int(a), put_text(b, b_size);
}
void record_flag_pointer(uint8_t a, const void *b) {
  begin();
  put_int(a), put_pointer(b);
}
void record_flag_object(uint8_t a, const struct object *b) {
  begin();
  put_int(a), put_object(b);
}
void record_flag_data(uint8_t a, const float *data, int64_t n) {
  begin();
  put_int(a), put_pointer(data), put_int(n);
}

void record_taken(int8_t n, double f, uint8_t b, int64_t size, uint8_t some, int64_t other) {
  begin();
  put_int(n), put_float(f), put_int(b), put_int(size), put_int(some), put_int(other);
}

/* Calls a function with one argument, and passes its error on. */
int32_t call(struct object *function, int64_t a) {
  struct any argument = {.type_index = 1, .value = {.integer = a}}, result = {.type_index = 0};
  int status = function->cell.function.call(function, &argument, 1, &result);
  begin();
  if (status == 0) put_value(&result);
  else put("failed");
  return status;
}

/* Floats of 16 bits among others, and after as many as there are registers. */
int64_t halves_between(_Float16 a, int64_t n, double x, _Float16 b) {
  begin();
  put_int(bits_of_float16(a)), put_int(n), put_int(bits_of_float16(b));
  return x != 0.5;
}
int64_t halves_after(double a, double b, double c, double d, double e, double f, double g, double h, _Float16 x,
                     _Float16 y) {
  begin();
  put_int(bits_of_float16(x)), put_int(bits_of_float16(y));
  return a + b + c + d + e + f + g + h != 36;
}

/* Computation on real data. */

static void put_floats(const float *data, int64_t size) {
  open_list("");
  for (int64_t i = 0; i < size; i++) put_float(data[i]);
  close_list();
}

/* Notes both tensors after the call: the numbers would differ if the tensors were one, or exchanged. */
void add_one(const float *x, float *y, int64_t n) {
  for (int64_t i = 0; i < n; i++) y[i] = x[i] + 1;
  begin();
  put_floats(x, n), put_floats(y, n);
}
double sum(const float *x, int64_t n, int64_t stride) {
  double total = 0;
  for (int64_t i = 0; i < n; i++) total += x[i * stride];
  return total;
}

/* Statuses. `raise` is the address of TVMFFIErrorSetRaisedFromCStr. */

int32_t status(int64_t code) {
  begin();
  put_int(code);
  return (int32_t)code;
}
int32_t status_and_error(int64_t code, void (*raise)(const char *, const char *)) {
  begin();
  put_int(code);
  if (code) raise("KeyError", "the kernel's own words");
  return (int32_t)code;
}

/* Results that a kernel writes, as its arguments say. */

void write_raw(int64_t type_index, int64_t length, int64_t payload, struct any *result) {
  result->type_index = (int32_t)type_index;
  result->length = (uint32_t)length;
  result->value.integer = payload;
}
/* Writes nothing, and notes the initial contents of the result. */
void write_nothing(const struct any *result) {
  begin();
  put_value(result);
}
int32_t write_status(int64_t code, int64_t payload, struct any *result) {
  begin();
  put_int(code);
  write_raw(1, 0, payload, result);
  return (int32_t)code;
}

/* Returns a status, and writes the low `size` bytes of a scalar unless it fails. */
int32_t store(int64_t code, int64_t bits, int64_t size, void *result) {
  begin();
  put_int(code);
  if (!(int32_t)code) memcpy(result, &bits, (size_t)size);
  return (int32_t)code;
}
/* Writes eight bytes and one. */
int32_t store_2(int64_t code, int64_t first, int64_t second, void *x, uint8_t *y) {
  begin();
  put_int(code);
  memcpy(x, &first, 8), *y = (uint8_t)second;
  return (int32_t)code;
}

/* Objects of the kernels, and the number of live ones. */

static int64_t objects;

static void drop(struct any value);
static void drop_object(void *self, int flags) {
  struct object *object = self;
  (void)flags;
  for (int64_t i = 0; object->type_index == 71 && i < object->cell.sequence.size; i++)
    drop(object->cell.sequence.data[i]);
  if (object->type_index != 78) free((void *)object->cell.sequence.data);
  free(object);
  objects--;
}
static void drop(struct any value) {
  if (value.type_index >= 64) drop_object((void *)value.value.object, 3);
}
static struct object *make_object(int64_t type_index, int64_t size) {
  struct object *object = calloc(1, sizeof *object + 64);
  object->references = (1LL << 32) | 1;
  object->type_index = (int32_t)type_index;
  object->deleter = drop_object;
  object->cell.sequence.data = calloc(4, sizeof(struct any));
  object->cell.sequence.size = size;
  objects++;
  return object;
}
/* Writes an object whose header has another class than the value. */
void write_object(int64_t type_index, int64_t header, struct any *result) {
  write_raw(type_index, 0, (int64_t)(intptr_t)make_object(header, 0), result);
}
int32_t write_object_status(int64_t code, int64_t type_index, struct any *result) {
  begin();
  put_int(code);
  write_object(type_index, type_index, result);
  return (int32_t)code;
}
/* Writes text as an object. */
void write_text(const char *from, int64_t size, struct any *result) {
  struct object *object = make_object(65, size);
  free((void *)object->cell.bytes.data);
  char *data = calloc(1, (size_t)size + 1);
  memcpy(data, from, (size_t)size);
  object->cell.bytes.data = data;
  write_raw(65, 0, (int64_t)(intptr_t)object, result);
}
/* Writes an integer of two words, the lower one first. */
void write_big(int64_t low, int64_t high, struct any *result) {
  struct object *object = make_object(78, 0);
  free((void *)object->cell.sequence.data);
  int64_t cell[] = {2, low, high};
  memcpy(&object->cell, cell, sizeof cell);
  write_raw(78, 0, (int64_t)(intptr_t)object, result);
}
/* Writes an array of up to two elements: 7, or new objects. */
void write_array(int64_t first_index, int64_t second_index, int64_t size, struct any *result) {
  struct object *array = make_object(71, size);
  struct any *elements = (struct any *)array->cell.sequence.data;
  int64_t indices[] = {first_index, second_index};
  for (int64_t i = 0; i < size; i++) {
    int64_t index = indices[i % 2];
    if (index >= 64) write_object(index, index, &elements[i]);
    else write_raw(index, 0, index == 1 ? 7 : 0, &elements[i]);
  }
  write_raw(71, 0, (int64_t)(intptr_t)array, result);
}
int64_t live_objects(void) { return objects; }

/* An allocator of tensors, and the number of live ones. The first extent selects a mistake. */

struct managed {
  uint32_t version[2];
  void *context;
  void (*deleter)(struct managed *);
  uint64_t flags;
  struct tensor tensor;
};

enum fault { NO_MEMORY = 1001, STATUS_ALONE, NO_TENSOR, MISALIGNED, STRIDED, NO_DATA };

static int64_t tensors;

static void drop_tensor(struct managed *self) {
  free(self->context);
  free(self->tensor.shape);
  free(self);
  tensors--;
}
static int allocate(struct tensor *prototype, struct managed **out, void *context,
                    void (*set_error)(void *, const char *, const char *)) {
  int64_t rank = prototype->ndim, fault = rank ? prototype->shape[0] : 0, size = 16;
  for (int64_t i = 0; i < rank; i++) size *= prototype->shape[i];
  if (fault == NO_MEMORY || size > 1 << 20) return set_error(context, "MemoryError", "none is left"), -1;
  if (fault == STATUS_ALONE) return 9;
  *out = NULL;
  if (fault == NO_TENSOR) return 0;
  struct managed *managed = calloc(1, sizeof *managed);
  managed->deleter = drop_tensor;
  managed->context = malloc((size_t)size + 512);
  managed->tensor = *prototype;
  char *aligned = (char *)(((uintptr_t)managed->context + 255) / 256 * 256);
  managed->tensor.data = fault == NO_DATA ? NULL : aligned + (fault == MISALIGNED);
  managed->tensor.shape = calloc(2 * (size_t)rank + 1, sizeof(int64_t));
  memcpy(managed->tensor.shape, prototype->shape, (size_t)rank * sizeof(int64_t));
  managed->tensor.strides = fault == STRIDED ? managed->tensor.shape + rank : NULL;
  *out = managed;
  tensors++;
  return 0;
}
const void *allocator(void) { return (const void *)(uintptr_t)allocate; }
int64_t live_tensors(void) { return tensors; }

/* Kernels that fill tensors. */

void fill(float *out, int64_t n) {
  begin();
  put_int(n);
  for (int64_t i = 0; i < n; i++) out[i] = (float)i;
}
int32_t fill_status(float *out, int64_t n, int64_t code) {
  fill(out, n);
  return (int32_t)code;
}
void fill_2(float *values, int32_t *indices, int64_t n) {
  begin();
  put_int(n);
  for (int64_t i = 0; i < n; i++) values[i] = (float)i, indices[i] = (int32_t)(n - i);
}
int32_t fill_2_status(float *values, int32_t *indices, int64_t n, int64_t code) {
  fill_2(values, indices, n);
  return (int32_t)code;
}
void record_stream_tensor(const void *stream, const struct tensor *x) {
  record_tensor(x);
  put_int((int64_t)(intptr_t)stream);
}

/* Returns the address of a kernel by its number from 1, else NULL. */
void *kernel_at(int64_t number) {
  typedef void any_function(void);
  any_function *const all[] = {
      (any_function *)echo_int64, (any_function *)status,     (any_function *)negate_int8,
      (any_function *)record_1,   (any_function *)write_text, (any_function *)echo_float32,
  };
  int known = number > 0 && (uint64_t)number <= sizeof all / sizeof *all;
  union { any_function *function; void *address; } u = {known ? all[number - 1] : 0};
  return u.address;
}
