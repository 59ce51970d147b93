/* Part of the host for other machines: the arguments of a call, as main.c lists them. Their memory has the same
 * addresses on every machine. */

#include "cross.h"

#include <stdio.h>
#include <stdlib.h>
#include <string.h>

/* Bytes of the memory of a call; elements of a tensor before its address, and after it; the largest cell, that of an
 * integer; the number of references that can be counted. */
enum { ROOM = 1 << 24, MIDDLE = 1024, CELL = 33, MOST = 1 << 14 };

static char *arena;
static size_t used;

/* An object of this host, which lives as long as the call. */
struct instance {
  TVMFFIObject header;
  uint64_t cell[CELL];
};

/* An object and its references when all arguments were built. */
static struct count {
  TVMFFIObject *object;
  uint64_t references;
} counts[MOST];
static size_t counted;

/* References to objects of the runtime, which this host owns. */
static TVMFFIObject *held[MOST];
static size_t holds;

/* Slots that rvalue references point at, with their initial contents. */
static struct slot {
  TVMFFIObject *now, *before;
} *slots[MOST];
static size_t slotted;

static int times;

const char *word(void) {
  static char text[256];
  if (scanf("%255s", text) != 1) stop("the input ends");
  return text;
}

int64_t number(void) { return (int64_t)strtoll(word(), NULL, 10); }

void *take(size_t size, size_t align) {
  used = (used + align - 1) / align * align;
  void *start = arena + used;
  used += size;
  if (used > ROOM) stop("no room");
  return start;
}

void arguments_begin(void) {
  void *place = (void *)0x200000000000;
  if (!arena) arena = system_room(place, ROOM);
  if (arena != place) stop("the place of arguments is taken");
  used = counted = holds = slotted = 0;
}

static void count(TVMFFIObject *object) {
  if (counted == MOST) stop("too many objects");
  counts[counted++].object = object;
}

static int is_held(const TVMFFIObject *object) {
  for (size_t i = 0; i < holds; i++)
    if (held[i] == object) return 1;
  return 0;
}

/* Takes over a reference. */
static void hold(TVMFFIObject *object) {
  if (holds == MOST) stop("too many references");
  held[holds++] = object;
}

/* Takes over a value that the runtime has made. */
static TVMFFIAny made(TVMFFIAny any) {
  if (any.type_index >= kTVMFFIStaticObjectBegin) hold(any.v_obj), count(any.v_obj);
  return any;
}

static TVMFFIAny made_object(int status, const TVMFFIObjectHandle *object) {
  if (status || !*object) stop("the runtime makes no object");
  return made((TVMFFIAny){.type_index = ((TVMFFIObject *)*object)->type_index, .v_obj = *object});
}

static TVMFFIAny pointer(int32_t index, const void *to) { return (TVMFFIAny){.type_index = index, .v_ptr = (void *)to}; }

static void released(void *self, int flags) {
  (void)self, (void)flags;
  stop("a callee has released an argument");
}

/* Makes an object whose cell starts with the given words. */
static TVMFFIAny object(int32_t index, const void *cell, size_t size) {
  struct instance *instance = take(sizeof *instance, 16);
  memset(instance, 0, sizeof *instance);
  instance->header.combined_ref_count = (uint64_t)1 << 32 | 1;
  instance->header.type_index = index;
  instance->header.deleter = released;
  if (size > sizeof instance->cell) stop("too large a cell");
  memcpy(instance->cell, cell, size);
  count(&instance->header);
  return pointer(index, instance);
}

/* Reads bytes by their number and their codes; a NUL follows them. */
static TVMFFIByteArray bytes(void) {
  size_t size = (size_t)number();
  char *start = take(size + 1, 1);
  for (size_t i = 0; i < size; i++) start[i] = (char)number();
  start[size] = 0;
  return (TVMFFIByteArray){start, size};
}

/* Reads integers by their number. */
static int64_t *integers(size_t count) {
  int64_t *all = take(count * 8 + 8, 8);
  for (size_t i = 0; i < count; i++) all[i] = number();
  return all;
}

static int64_t *dims(void) {
  const char *text = word();
  return strcmp(text, "null") == 0 ? NULL : integers((size_t)strtoull(text, NULL, 10));
}

/* Fills elements of type float32 that count up from 0 at the address. */
static void *buffer(int64_t at) {
  float *start = take(2 * MIDDLE * sizeof(float), 256);
  for (int i = 0; i < 2 * MIDDLE; i++) start[i] = (float)(i - MIDDLE);
  return (char *)(start + MIDDLE) + at;
}

static TVMFFIAny tensor(void) {
  DLTensor view = {0};
  int is_object = (int)number();
  view.dtype.code = (uint8_t)number(), view.dtype.bits = (uint8_t)number();
  view.dtype.lanes = (uint16_t)number();
  view.device.device_type = (DLDeviceType)number(), view.device.device_id = (int32_t)number();
  view.ndim = (int32_t)number(), view.byte_offset = (uint64_t)number();
  const char *data = word();
  view.data = strcmp(data, "null") == 0 ? NULL : buffer(strtoll(data, NULL, 10));
  view.shape = dims();
  view.strides = dims();
  if (is_object) return object(kTVMFFITensor, &view, sizeof view);
  DLTensor *copy = take(sizeof *copy, 8);
  *copy = view;
  return pointer(kTVMFFIDLTensorPtr, copy);
}

/* Reads an argument for a place that owns a reference. */
static TVMFFIAny owned(void) {
  TVMFFIAny any = argument();
  if (any.type_index < kTVMFFIStaticObjectBegin || !any.v_obj) return any;
  TVMFFIObjectIncRef(any.v_obj);
  if (is_held(any.v_obj)) hold(any.v_obj);
  return any;
}

/* Reads an array or a list: data, size, capacity, deleter. */
static TVMFFIAny sequence(void) {
  int32_t index = (int32_t)number();
  size_t size = (size_t)number();
  TVMFFIAny *elements = take(size * sizeof *elements + 8, 8);
  for (size_t i = 0; i < size; i++) elements[i] = owned();
  uint64_t cell[] = {(uintptr_t)elements, size, size};
  return object(index, cell, sizeof cell);
}

/* Calls a function of the runtime by its name. */
static TVMFFIAny call_global(const char *name, const TVMFFIAny *args, size_t count) {
  TVMFFIByteArray text = {name, strlen(name)};
  TVMFFIObjectHandle function = NULL;
  TVMFFIAny result = {0};
  if (TVMFFIFunctionGetGlobal(&text, &function) || !function) stop("the runtime lacks a function");
  if (TVMFFIFunctionCall(function, (TVMFFIAny *)args, (int32_t)count, &result)) stop("a function of the runtime fails");
  TVMFFIObjectDecRef(function);
  return result;
}

/* Reads a map, whose maker takes references of its own. */
static TVMFFIAny map(void) {
  char maker[256];
  snprintf(maker, sizeof maker, "%s", word());
  size_t count = 2 * (size_t)number();
  TVMFFIAny *entries = take(count * sizeof *entries + 8, 8);
  for (size_t i = 0; i < count; i++) entries[i] = argument();
  return made(call_global(maker, entries, count));
}

static TVMFFIAny slot(void) {
  struct slot *slot = take(sizeof *slot, 8);
  slot->before = strcmp(word(), "none") == 0 ? NULL : owned().v_obj;
  slot->now = slot->before;
  if (slotted == MOST) stop("too many slots");
  slots[slotted++] = slot;
  return pointer(kTVMFFIObjectRValueRef, &slot->now);
}

/* Reads the keys of a class and its ancestors, nearest first, and registers what is new. */
static int32_t class(int64_t depth) {
  if (depth == 0) return kTVMFFIObject;
  char key[256];
  snprintf(key, sizeof key, "%s", word());
  int32_t parent = class(depth - 1);
  TVMFFIByteArray text = {key, strlen(key)};
  return TVMFFITypeGetOrAllocIndex(&text, -1, (int32_t)depth, 0, 1, parent);
}

static int note(void *self, const TVMFFIAny *args, int32_t count, TVMFFIAny *result) {
  (void)self, (void)args;
  times++;
  *result = (TVMFFIAny){.type_index = kTVMFFIInt, .v_int64 = count};
  return 0;
}

int times_called(void) {
  int so_far = times;
  times = 0;
  return so_far;
}

static void forget(void *self) { (void)self; }

/* Makes the object of a kind that only the runtime makes. */
static TVMFFIAny of_runtime(const char *kind) {
  TVMFFIObjectHandle object = NULL;
  if (strcmp(kind, "function") == 0) return made_object(TVMFFIFunctionCreate(NULL, note, NULL, &object), &object);
  if (strcmp(kind, "module") == 0) return made(call_global("ffi.SystemLib", NULL, 0));
  if (strcmp(kind, "error") == 0) {
    TVMFFIByteArray name = {"ValueError", 10}, message = {"an argument", 11}, none = {"", 0};
    return made_object(TVMFFIErrorCreate(&name, &message, &none, &object), &object);
  }
  if (strcmp(kind, "opaque") == 0)
    return made_object(TVMFFIObjectCreateOpaque(&times, kTVMFFIOpaquePyObject, forget, &object), &object);
  printf("%s: ", kind);
  stop("no such argument");
}

TVMFFIAny argument(void) {
  char kind[256];
  snprintf(kind, sizeof kind, "%s", word());
  if (strcmp(kind, "any") == 0) {
    int32_t index = (int32_t)number();
    uint32_t length = (uint32_t)number();
    return (TVMFFIAny){.type_index = index, .small_str_len = length, .v_int64 = number()};
  }
  if (strcmp(kind, "text") == 0) return pointer(kTVMFFIRawStr, bytes().data);
  if (strcmp(kind, "bytes") == 0) {
    TVMFFIByteArray *array = take(sizeof *array, 8);
    *array = bytes();
    return pointer(kTVMFFIByteArrayPtr, array);
  }
  if (strcmp(kind, "string") == 0) {
    int32_t index = (int32_t)number();
    TVMFFIByteArray cell = bytes();
    return object(index, &cell, sizeof cell);
  }
  if (strcmp(kind, "object") == 0) {
    int32_t index = (int32_t)number();
    size_t words = (size_t)number();
    return object(index, integers(words), words * 8);
  }
  if (strcmp(kind, "class") == 0) return object(class(number()), NULL, 0);
  if (strcmp(kind, "shape") == 0) {
    size_t size = (size_t)number();
    uint64_t cell[] = {(uintptr_t)integers(size), size};
    return object(kTVMFFIShape, cell, sizeof cell);
  }
  if (strcmp(kind, "integer") == 0) {
    TVMFFIByteArray words = bytes();
    TVMFFIAny any = {0};
    if (TVMFFIBigIntFromByteArray(&words, &any)) stop("the runtime makes no integer");
    return made(any);
  }
  if (strcmp(kind, "symbol") == 0) return pointer(kTVMFFIOpaquePtr, system_find(NULL, word()));
  if (strcmp(kind, "tensor") == 0) return tensor();
  if (strcmp(kind, "sequence") == 0) return sequence();
  if (strcmp(kind, "map") == 0) return map();
  if (strcmp(kind, "slot") == 0) return slot();
  return of_runtime(kind);
}

static uint64_t references(const TVMFFIObject *object) {
  return __atomic_load_n(&object->combined_ref_count, __ATOMIC_RELAXED);
}

void arguments_ready(void) {
  for (size_t i = 0; i < counted; i++) counts[i].references = references(counts[i].object);
}

/* Returns the number of slots that a callee has emptied of an object, and so took over. */
static uint64_t moved(const TVMFFIObject *object) {
  uint64_t emptied = 0;
  for (size_t i = 0; i < slotted; i++) emptied += slots[i]->before == object && !slots[i]->now;
  return emptied;
}

void arguments_end(void) {
  for (size_t i = 0; i < slotted; i++)
    if (slots[i]->now && slots[i]->now != slots[i]->before) stop("a slot has another object");
  for (size_t i = 0; i < counted; i++)
    if (references(counts[i].object) + moved(counts[i].object) != counts[i].references)
      stop("a callee has kept or lost a reference");
  for (size_t i = 0; i < slotted; i++) {
    if (!slots[i]->before || slots[i]->now) continue;
    size_t at = 0;
    while (at < holds && held[at] != slots[i]->before) at++;
    if (at < holds) held[at] = held[--holds];
  }
  while (holds > 0) TVMFFIObjectDecRef(held[--holds]);
}
