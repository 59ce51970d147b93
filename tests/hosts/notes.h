/* Notes of kernels about their arguments, in the form of the test table, but with lists in parentheses. This file and
 * the kernels are compiled without the runtime's headers. */

#include <inttypes.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

/* `DLTensor` of dlpack.h. */
struct tensor {
  void *data;
  int32_t device_type, device_id, ndim;
  uint8_t code, bits;
  uint16_t lanes;
  int64_t *shape, *strides;
  uint64_t byte_offset;
};

/* `TVMFFIAny`, and objects that it may point at. */
struct any {
  int32_t type_index;
  uint32_t length;
  union {
    int64_t integer;
    double number;
    const void *pointer;
    const char *text;
    const struct object *object;
    uint32_t dtype;
    int32_t device[2];
    char bytes[8];
  } value;
};
struct bytes {
  const char *data;
  size_t size;
};
struct object {
  uint64_t references;
  int32_t type_index;
  uint32_t padding;
  void (*deleter)(void *, int);
  union {
    struct bytes bytes;
    struct {
      const int64_t *data;
      size_t size;
    } shape;
    struct {
      const struct any *data;
      int64_t size;
    } sequence;
    struct {
      int (*call)(void *, const struct any *, int32_t, struct any *);
    } function;
  } cell;
};

static char text[1024];
static size_t length;
/* True if the next entry is the first of its list. */
static int first;
static int taken = 1;

static void begin(void) {
  text[0] = 0;
  length = 0;
  first = 1;
  taken = 0;
}

/* Appends to the notes; cuts off text that does not fit. */
static void append(const char *format, ...) {
  va_list args;
  va_start(args, format);
  length += (size_t)vsnprintf(text + length, sizeof text - length, format, args);
  va_end(args);
  if (length >= sizeof text) length = sizeof text - 1;
}

/* Separates entries. */
static void next(void) {
  if (!first) append(", ");
  first = 0;
}

static void open_list(const char *name) {
  next();
  append("%s(", name);
  first = 1;
}

static void close_list(void) {
  append(")");
  first = 0;
}

#define put(...) (next(), append(__VA_ARGS__))

static void put_int(int64_t value) { put("%" PRId64, value); }
static void put_float(double value) { put("%.17g", value); }
static void put_pointer(const void *pointer) { put(pointer ? "pointer" : "null"); }

static void put_text(const char *data, int64_t size) {
  if (!data) {
    put("null");
    return;
  }
  put("\"");
  for (int64_t i = 0; i < size; i++) {
    unsigned char c = (unsigned char)data[i];
    if (c == '"' || c == '\\') append("\\%c", c);
    else if (c < ' ' || c == 127 || c == ']') append("\\x%02x", c);
    else append("%c", c);
  }
  append("\"");
}

static void put_ints(const char *name, const int64_t *data, int64_t size) {
  if (!data) {
    put("null");
    return;
  }
  open_list(name);
  for (int64_t i = 0; i < size; i++) put_int(data[i]);
  close_list();
}

static void put_dtype(uint32_t bits) {
  put("dtype(%u, %u, %u)", bits & 255, bits >> 8 & 255, bits >> 16);
}

static void put_bytes(const char *data, int64_t size) {
  open_list("bytes");
  put_text(data, size);
  close_list();
}

static void put_values(const char *name, const struct any *values, int64_t count);

static void put_object(const struct object *object) {
  if (!object) {
    put("null");
    return;
  }
  switch (object->type_index) {
    case 65: put_text(object->cell.bytes.data, (int64_t)object->cell.bytes.size); break;
    case 66: put_bytes(object->cell.bytes.data, (int64_t)object->cell.bytes.size); break;
    case 69: put_ints("shape", object->cell.shape.data, (int64_t)object->cell.shape.size); break;
    case 71: put_values("array", object->cell.sequence.data, object->cell.sequence.size); break;
    case 75: put_values("list", object->cell.sequence.data, object->cell.sequence.size); break;
    default:
      if (object->type_index >= 128) put("object");
      else put("object(%d)", object->type_index);
  }
}

static size_t c_length(const char *data) {
  size_t size = 0;
  while (data[size]) size++;
  return size;
}

static void put_value(const struct any *value) {
  if (!value) {
    put("null");
    return;
  }
  const struct bytes *bytes = value->value.pointer;
  switch (value->type_index) {
    case 0: put("none"); break;
    case 1: put_int(value->value.integer); break;
    case 2: put(value->value.integer ? "true" : "false"); break;
    case 3: put_float(value->value.number); break;
    case 4: put("ptr(%" PRId64 ")", value->value.integer); break;
    case 5: put_dtype(value->value.dtype); break;
    case 6: put("device(%d, %d)", value->value.device[0], value->value.device[1]); break;
    case 7: put("tensor"); break;
    case 8: put_text(value->value.text, (int64_t)c_length(value->value.text)); break;
    case 9: put_bytes(bytes->data, (int64_t)bytes->size); break;
    case 10: put("rvalue"); break;
    case 11: put_text(value->value.bytes, value->length); break;
    case 12: put_bytes(value->value.bytes, value->length); break;
    default:
      if (value->type_index >= 64) put_object(value->value.object);
      else put("any(%d, %" PRId64 ")", value->type_index, value->value.integer);
  }
}

static void put_values(const char *name, const struct any *values, int64_t count) {
  open_list(name);
  for (int64_t i = 0; i < count; i++) put_value(values + i);
  close_list();
}
