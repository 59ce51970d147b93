/* Plays XLA: calls handlers with call frames of its own, and prints what they answer. The structs are those of XLA's
   C API, xla/ffi/api/c_api.h; tests/systems/jax has the real one. With UNLOADED the handlers are in a library that the
   program loads and unloads while tensors and states of theirs live. */
#include <inttypes.h>
#include <pthread.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include <tvm/ffi/extra/c_env_api.h>

typedef struct { size_t struct_size; int type; void* next; } Extension;
typedef struct { size_t struct_size; void* extensions; int major, minor; } Version;
typedef struct { size_t struct_size; Version version; uint32_t traits; int64_t state; } Metadata;
typedef struct { Extension base; Metadata* metadata; } MetadataExtension;
typedef struct { size_t struct_size; void* extensions; int dtype; void* data; int64_t rank; int64_t* dims; } Buffer;
typedef struct { const char* ptr; size_t len; } Span;
typedef struct { int dtype; void* value; } Scalar;
typedef struct { int dtype; size_t size; const void* data; } Array;
typedef struct { size_t struct_size; void* extensions; int64_t size; int* types; void** items; } List;
typedef struct { size_t struct_size; void* extensions; int64_t size; int* types; Span** names; void** items; } Attrs;
typedef struct { size_t struct_size; void* extensions; const void* subject; union { int code; void* stream; int ordinal; }; } Request;
typedef struct { int code; char* text; } Error;
typedef struct { size_t struct_size; void* extensions; Version version; void* internal; Error* (*of[18])(Request*); } Api;
typedef struct {
  size_t struct_size; Extension* extensions; const Api* api; void* ctx; int stage; List args, rets; Attrs attrs; void* future;
} Frame;
typedef Error* Handler(Frame*);

#ifdef UNLOADED
#include <dlfcn.h>
static Handler *xla_work, *xla_held, *xla_held_instantiate;
#else
extern Handler xla_add_one, xla_scale, xla_bump, xla_on_device, xla_work, xla_fill, xla_nothing;
extern Handler xla_lists, xla_plan, xla_plan_instantiate, xla_held, xla_held_instantiate;
#endif

/* Kernels. */
void add_one(const float* x, float* y, int64_t n) { while (n--) y[n] = x[n] + 1; }
void scale_kernel(double a, const float* x, int64_t k, _Bool up, const char* mode, int64_t mode_size, _Bool tagged,
                  const char* tag, int64_t tag_size, float* y, int64_t n) {
  printf("  scale: a=%g k=%" PRId64 " up=%d mode=%.*s tag=%.*s", a, k, up, (int)mode_size, mode, (int)(tagged ? tag_size : 4),
         tagged ? tag : "none");
  while (n--) y[n] = (float)(a * x[n] + (double)k);
}
void bump(const float* x, float* w, float* z, int64_t n) { while (n--) { w[n] *= 2; z[n] = x[n] + w[n]; } }
int on_device(const int* x, int* y, int64_t n, void* stream, int32_t type, int32_t id) {
  printf("  on_device: stream=%p thread's=%p device=%d:%d", stream, TVMFFIEnvGetStream(type, id), type, id);
  if (n == 0) return 7;
  while (n--) y[n] = x[n] + id;
  return 0;
}
void fill(double* y, double value) { *y = value; }
void nothing(const char* flag, int64_t size) { printf("  nothing: %.*s", (int)size, flag); }

void plan_kernel(int64_t k, const char* tag, int64_t size) { printf("  plan: k=%" PRId64 " tag=%.*s", k, (int)size, tag); }
void planned(const float* x, float* y, int64_t n, int64_t m, double b, const char* mode, int64_t mode_size, const char* tag,
             int64_t tag_size) {
  printf("  planned: m=%" PRId64 " b=%g mode=%.*s tag=%.*s", m, b, (int)mode_size, mode, (int)tag_size, tag);
  for (int64_t i = 0; i < n * (m / 2); ++i) y[i] = x[i / (m / 2)] + (float)b;
}
void held_kernel(int32_t* t, int64_t size) { memset(t, 0, (size_t)(4 * size)); }

void lists_number(int64_t number, int64_t m) { printf("  %" PRId64 " of %" PRId64, number, m); }
void lists_float(double number) { printf("  %g", number); }
void lists_truth(_Bool truth, int64_t size) { printf("  %d of %" PRId64, truth, size); }

/* Memory of the device, of which XLA has some. */
typedef struct { size_t struct_size; void* extensions; const void* ctx; size_t size, alignment; void* data; } Allocation;
typedef struct { size_t struct_size; void* extensions; const void* ctx; size_t size; void* data; } Release;
static int blocks, exhausted;
static _Alignas(64) char memory[1024];
static size_t taken;

/* A tensor that a kernel has kept. */
static TVMFFIObjectHandle kept;
static int inner(void);

/* Allocates a tensor as a kernel does, and releases it. */
static void more(DLDevice device, int64_t extent) {
  int64_t dims[1] = {extent};
  DLTensor like = {NULL, device, 1, {kDLInt, 32, 1}, dims, NULL, 0};
  TVMFFIObjectHandle tensor = NULL, error = NULL;
  if (TVMFFIEnvTensorAlloc(&like, &tensor) == 0) {
    DLTensor* made = (DLTensor*)((char*)tensor + sizeof(TVMFFIObject));
    int is_lent = (char*)made->data >= memory && (char*)made->data < memory + sizeof memory;
    printf(" %s", is_lent ? "lent" : made->data == NULL ? "nothing" : "the host's");
    TVMFFIObjectDecRef(tensor);
    return;
  }
  TVMFFIErrorMoveFromRaised(&error);
  TVMFFIErrorCell* cell = (TVMFFIErrorCell*)((char*)error + sizeof(TVMFFIObject));
  printf(" (%.*s: %.*s)", (int)cell->kind.size, cell->kind.data, (int)cell->message.size, cell->message.data);
  TVMFFIObjectDecRef(error);
}

/* Allocates three tensors and releases them in another order than the last first. */
static void crossed(DLDevice device) {
  int64_t dims[1] = {4};
  DLTensor like = {NULL, device, 1, {kDLInt, 32, 1}, dims, NULL, 0};
  TVMFFIObjectHandle made[3] = {NULL, NULL, NULL};
  for (int i = 0; i < 3; ++i) if (TVMFFIEnvTensorAlloc(&like, &made[i]) != 0) printf(" refused");
  for (int i = 0; i < 3; ++i) {
    TVMFFIObjectDecRef(made[(i + 1) % 3]);
    printf(" %d", blocks);
  }
}

/* Releases a tensor on another thread than that of the call. */
static void* released(void* tensor) {
  TVMFFIObjectDecRef(tensor);
  return NULL;
}
static int elsewhere(DLDevice device) {
  int64_t dims[1] = {4};
  DLTensor like = {NULL, device, 1, {kDLInt, 32, 1}, dims, NULL, 0};
  TVMFFIObjectHandle tensor = NULL;
  pthread_t thread;
  if (TVMFFIEnvTensorAlloc(&like, &tensor) != 0) return 1;
  if (pthread_create(&thread, NULL, released, tensor) != 0) return 1;
  return pthread_join(thread, NULL);
}

int work(int* y, int64_t n, int64_t how, DLTensor* t, TVMFFIObjectHandle object, DLTensor* u) {
  printf("  work: %d:%d rank=%d %" PRId64 " blocks=%d cpu=%d", t->device.device_type, t->device.device_id, t->ndim,
         t->shape[1], blocks, u->device.device_type);
  memset(t->data, 1, (size_t)(4 * n));
  memset(u->data, 2, (size_t)n);
  for (int64_t i = 0; i < n; ++i) y[i] = ((int16_t*)t->data)[n + i] + ((char*)u->data)[i];
  if (how == 1) {
    more(t->device, 5), more(t->device, 0), more((DLDevice){kDLCPU, 0}, 3), more((DLDevice){kDLCUDA, 4}, 3);
    more(t->device, INT64_MAX), more((DLDevice){kDLCPU, 0}, INT64_MAX);
    crossed(t->device);
  }
  if (how == 2) TVMFFIObjectIncRef(kept = object);
  if (how == 3) return inner();
  if (how == 6) return elsewhere(t->device);
  return how == 4 ? 9 : 0;
}

/* What XLA does. */
static int errors;
static Error* create(Request* request) {
  Error* error = malloc(sizeof *error);
  error->code = *(int*)((char*)request + 24);
  error->text = strdup(request->subject);
  if (request->struct_size != 28) printf("  size of XLA_FFI_Error_Create_Args: %zu", request->struct_size);
  ++errors;
  return error;
}
static Error* refuse(Request* request) {
  Request made = {28, NULL, "no stream here", {13}};
  (void)request;
  return create(&made);
}
static Error* stream(Request* request) {
  if (request->struct_size != 32) printf("  size of XLA_FFI_Stream_Get_Args: %zu", request->struct_size);
  request->stream = (void*)0x50;
  return request->subject == (void*)0xc0 ? NULL : refuse(request);
}
static Error* ordinal(Request* request) {
  if (request->struct_size != 28) printf("  size of XLA_FFI_DeviceOrdinal_Get_Args: %zu", request->struct_size);
  request->ordinal = 3;
  return NULL;
}
static Error* message(Request* request) {
  if (request->struct_size != 32) printf("  size of XLA_FFI_Error_GetMessage_Args: %zu", request->struct_size);
  request->stream = ((Error*)request->subject)->text;
  return NULL;
}
static Error* destroy(Request* request) {
  if (request->struct_size != 24) printf("  size of XLA_FFI_Error_Destroy_Args: %zu", request->struct_size);
  Error* error = (Error*)request->subject;
  free(error->text);
  free(error);
  --errors;
  return NULL;
}
static Error* allocate(Request* request) {
  Allocation* asked = (Allocation*)request;
  if (asked->struct_size != 48) printf("  size of XLA_FFI_DeviceMemory_Allocate_Args: %zu", asked->struct_size);
  Request made = {28, NULL, "the device is full", {8}};
  if (exhausted || asked->ctx != (void*)0xc0 || asked->alignment > 16) return create(&made);
  asked->data = memory + taken;
  taken += (asked->size + 63) / 64 * 64;
  ++blocks;
  return NULL;
}
static Error* release(Request* request) {
  Release* given = (Release*)request;
  if (given->struct_size != 40) printf("  size of XLA_FFI_DeviceMemory_Free_Args: %zu", given->struct_size);
  if (given->ctx != (void*)0xc0 || given->size == 0) printf("  freed otherwise than allocated");
  --blocks;
  return NULL;
}

/* The types of states that are registered, and the state of the program, which XLA owns. */
typedef struct { size_t struct_size; void* extensions; void (*deleter)(void*); } Info;
typedef struct { size_t struct_size; void* extensions; Span name; int64_t* number; Info* info; } Type;
typedef struct { size_t struct_size; void* extensions; const void* ctx; int stage; int64_t* number; void* state; } State;
static Info of_states;
static int64_t number_of_states;
static void* state;
static Error* refuse_state(const char* text) {
  Request made = {28, NULL, text, {13}};
  return create(&made);
}
static Error* register_type(Request* request) {
  Type* type = (Type*)request;
  if (type->struct_size != 48 || type->info->struct_size != 24) printf("  sizes of a type: %zu %zu", type->struct_size, type->info->struct_size);
  if (number_of_states == 0) printf("  type %.*s", (int)type->name.len, type->name.ptr);
  if (number_of_states != 0 && number_of_states != *type->number) return refuse_state("another type has this name");
  if (*type->number < 1 << 20) return refuse_state("another type may have this number");
  number_of_states = *type->number;
  of_states = *type->info;
  return NULL;
}
static Error* set_state(Request* request) {
  State* asked = (State*)request;
  if (asked->struct_size != 48 || asked->stage != 0) printf("  size and stage of a state: %zu %d", asked->struct_size, asked->stage);
  if (asked->ctx != (void*)0xc0 || *asked->number != number_of_states) return refuse_state("no such type");
  if (state != NULL) return refuse_state("the state is already set");
  state = asked->state;
  return NULL;
}
static Error* get_state(Request* request) {
  State* asked = (State*)request;
  if (asked->struct_size != 48 || asked->stage != 0) printf("  size and stage of a state: %zu %d", asked->struct_size, asked->stage);
  if (state == NULL || *asked->number != number_of_states) return refuse_state("the state is not set");
  asked->state = state;
  return NULL;
}
static void end_program(void) {
  of_states.deleter(state);
  state = NULL;
}

static const Api api = {192, NULL, {24, NULL, 0, 3}, NULL, {[0] = create, message, destroy, [4] = stream, register_type, [7] = set_state, get_state, allocate, release,
                        [17] = ordinal}};
static const Api deaf = {192, NULL, {24, NULL, 0, 3}, NULL, {[0] = create, [4] = refuse, [17] = ordinal}};

static int buffer_types[8] = {1, 1, 1, 1, 1, 1, 1, 1};
static Scalar scalars[16];
static Span names[16], texts[16];
static Span* name_places[16];
static void* values[16];
static int kinds[16];
static int64_t count;

static Buffer of(int dtype, void* data, int64_t rank, int64_t* dims) { return (Buffer){48, NULL, dtype, data, rank, dims}; }
static void attribute(const char* name, int kind, void* value) {
  names[count] = (Span){name, strlen(name)};
  name_places[count] = &names[count];
  kinds[count] = kind;
  values[count++] = value;
}
static void number(const char* name, int dtype, void* value) {
  scalars[count] = (Scalar){dtype, value};
  attribute(name, 3, &scalars[count]);
}
/* Only the bytes count: what follows is no NUL. */
static void text(const char* name, const char* bytes, size_t len) {
  texts[count] = (Span){bytes, len};
  attribute(name, 4, &texts[count]);
}
static void array(const char* name, int dtype, size_t size, const void* data) {
  static Array arrays[16];
  arrays[count] = (Array){dtype, size, data};
  attribute(name, 1, &arrays[count]);
}
static Frame frame(int64_t args, Buffer** arg, int64_t rets, Buffer** ret) {
  Frame made = {176, NULL, &api, (void*)0xc0, 3, {40, NULL, args, buffer_types, (void**)arg},
                {40, NULL, rets, buffer_types, (void**)ret}, {48, NULL, count, kinds, name_places, values}, NULL};
  count = 0;
  return made;
}
static int call(const char* title, Handler* handler, Frame frame) {
  printf("%s:", title);
  Error* error = handler(&frame);
  if (error != NULL) {
    char* signature = strstr(error->text, " when calling: `");
    char* end = signature == NULL ? NULL : strrchr(signature, '`');
    if (end == NULL) printf("  %d %s\n", error->code, error->text);
    else printf("  %d %.*s%s\n", error->code, (int)(signature - error->text), error->text, end + 1);
    free(error->text);
    free(error);
    --errors;
    return 0;
  }
  return 1;
}
static void show(const float* values, int64_t n) {
  for (int64_t i = 0; i < n; ++i) printf(" %g", values[i]);
  printf("\n");
}

/* A call within a call, which has memory of its own. */
static int inner(void) {
  int in[1] = {7}, out[1] = {0};
  int64_t one[1] = {1}, how = 0;
  Buffer bi = of(4, in, 1, one), bo = of(4, out, 1, one);
  Buffer *pi[1] = {&bi}, *po[1] = {&bo};
  number("how", 5, &how);
  int done = call(" within", xla_work, frame(1, pi, 1, po));
  printf(" %d", out[0]);
  more((DLDevice){kDLCUDA, 3}, 2);
  return !done;
}

/* The allocator of a host, which has nothing. */
static int refuse_all(DLTensor* like, DLManagedTensorVersioned** out, void* context,
                      void (*tell)(void* context, const char* kind, const char* message)) {
  (void)out;
  tell(context, "MemoryError", like->device.device_type == kDLCPU ? "the host is full" : "asked for a device");
  return -1;
}

#ifdef UNLOADED
int main(int count, char** words) {
  if (count != 2) return 2;
  void* library = dlopen(words[1], RTLD_NOW);
  if (library == NULL) return 3;
  xla_work = (Handler*)dlsym(library, "xla_work");
  xla_held = (Handler*)dlsym(library, "xla_held"), xla_held_instantiate = (Handler*)dlsym(library, "xla_held_instantiate");
  int ints[2] = {1, 2}, out[2] = {0};
  int64_t two[1] = {2}, k = 2, how = 2;
  Buffer bi = of(4, ints, 1, two), bo = of(4, out, 1, two);
  Buffer *pi[1] = {&bi}, *po[1] = {&bo};
  number("how", 5, &how);
  if (!call("a tensor that is kept", xla_work, frame(1, pi, 1, po))) return 4;
  number("k", 5, &k);
  if (!call("\na program", xla_held_instantiate, frame(0, NULL, 0, NULL))) return 5;
  number("k", 5, &k);
  if (!call("\nits call", xla_held, frame(1, pi, 1, po))) return 6;
  if (dlclose(library) != 0 || dlopen(words[1], RTLD_NOW | RTLD_NOLOAD) != NULL) return 7;
  TVMFFIObjectDecRef(kept);
  end_program();
  printf("\nboth are released after the library: blocks %d, errors %d\n", blocks, errors);
  return 0;
}
#else
static void scale(const char* title, Buffer** x, Buffer** y, float* out) {
  if (call(title, xla_scale, frame(1, x, 1, y))) show(out, 2);
}

int main(void) {
  Metadata metadata = {48, {0, NULL, -1, -1}, 9, 0};
  MetadataExtension asked = {{32, 1, NULL}, &metadata};
  Extension other = {24, 77, &asked};
  Frame query = frame(0, NULL, 0, NULL);
  query.extensions = &other;
  if (call("metadata", xla_add_one, query))
    printf("  %zu %d.%d traits=%u\n", metadata.version.struct_size, metadata.version.major, metadata.version.minor, metadata.traits);

  float x[3] = {1, 2, 3}, w[3] = {10, 20, 30}, y[3], z[3];
  int64_t three[1] = {3}, two[1] = {2}, pair[2] = {1, 2}, turned[2] = {2, 1}, none[1] = {0};
  Buffer bx = of(11, x, 1, three), by = of(11, y, 1, three), bw = of(11, w, 1, three), bz = of(11, z, 1, three);
  Buffer *px[2] = {&bx, &bw}, *py[2] = {&by, &bz}, *pwz[2] = {&bw, &bz};
  if (call("add_one", xla_add_one, frame(1, px, 1, py))) show(y, 3);
  Frame extended = frame(1, px, 1, py);
  other.next = NULL;
  extended.extensions = &other;
  if (call("an extension that nobody knows", xla_add_one, extended)) show(y, 3);
  if (call("bump", xla_bump, frame(2, px, 2, pwz))) show(w, 3), show(z, 3);

  Buffer bm = of(11, x, 2, pair), bt = of(11, y, 2, turned);
  Buffer *pm[1] = {&bm}, *pt[1] = {&bt};
  double a = 2.5;
  float half = 0.5f;
  int8_t minus = -3;
  uint8_t u8 = 200;
  uint16_t u16 = 60000;
  int16_t i16 = -300;
  int32_t i32 = -70000;
  uint32_t u32 = 4000000000u;
  uint64_t large = UINT64_MAX, small = 5;
  int64_t i64 = INT64_MIN;
  _Bool yes = 1;
  number("a", 12, &a);
  scale("scale, defaults", pm, pt, y);
  number("a", 11, &half), number("k", 2, &minus), text("mode", "slowly", 4), text("tag", "a\0b", 1), number("up", 1, &yes);
  scale("scale, all attributes", pm, pt, y);
  struct { const char* title; int dtype; void* value; } integers[] = {
      {"int16", 3, &i16}, {"int32", 4, &i32}, {"int64", 5, &i64}, {"uint8", 6, &u8}, {"uint16", 7, &u16},
      {"uint32", 8, &u32}, {"uint64", 9, &small}, {"uint64, too large", 9, &large}, {"bool", 1, &yes}, {"complex64", 15, &a}};
  for (size_t i = 0; i < sizeof integers / sizeof *integers; ++i) {
    number("a", 12, &a), number("k", integers[i].dtype, integers[i].value);
    scale(integers[i].title, pm, pt, y);
  }
  number("a", 4, &i32);
  scale("an integer for a float", pm, pt, y);
  scale("no attribute", pm, pt, y);
  text("a", "2.5", 3);
  scale("text for a float", pm, pt, y);
  number("a", 12, &a), text("mode", "a text of more than seven bytes", 31), attribute("k", 1, &a);
  scale("an array", pm, pt, y);
  number("a", 12, &a), number("mod", 12, &a);
  scale("an unknown name", pm, pt, y);
  number("a", 12, &a), text("tag", "", 0);
  scale("no bytes", pm, pt, y);
  number("a", 12, &a);
  scale("a wrong result", pm, py, y);

  if (call("too few operands", xla_bump, frame(1, px, 2, pwz))) return 1;
  if (call("too many results", xla_add_one, frame(1, px, 2, py))) return 1;
  Frame cut = frame(1, px, 1, py);
  cut.struct_size = 120;
  if (call("a short frame", xla_add_one, cut)) return 1;
  by.dims = two;
  if (call("another extent", xla_add_one, frame(1, px, 1, py))) return 1;
  by.dims = three;
  int numbers[] = {-1, 0, 1, 2, 3, 4, 5, 6, 7, 8, 9, 10, 12, 13, 15, 16, 17, 18, 19, 20, 21, 23, 24, 25, 28, 29, 32, 33, 34, 63, 64, 1 << 30};
  for (size_t i = 0; i < sizeof numbers / sizeof *numbers; ++i) {
    char title[32];
    snprintf(title, sizeof title, "type %d", numbers[i]);
    bx.dtype = numbers[i];
    if (call(title, xla_add_one, frame(1, px, 1, py))) return 1;
  }
  bx.dtype = 11;

  int ints[3] = {1, 2, 3}, out[3];
  Buffer bi = of(4, ints, 1, three), bo = of(4, out, 1, three);
  Buffer *pi[1] = {&bi}, *po[1] = {&bo};
  void* before;
  TVMFFIEnvSetStream(kDLCUDA, 3, (void*)0x77, &before);
  if (call("on a device", xla_on_device, frame(1, pi, 1, po))) printf(" %d %d %d\n", out[0], out[1], out[2]);
  bi.dims = bo.dims = none;
  call("a kernel's status", xla_on_device, frame(1, pi, 1, po));
  Frame silent = frame(1, pi, 1, po);
  silent.api = &deaf;
  call("no stream", xla_on_device, silent);
  printf("stream after: %p\n", TVMFFIEnvGetStream(kDLCUDA, 3));

  bi.dims = bo.dims = three;
  const char* titles[] = {"workspace", "more of it", "a tensor that is kept", "a call within", "a status", "nothing more",
                          "one that another thread releases"};
  for (int64_t how = 0; how < 7; ++how) {
    number("how", 5, &how);
    taken = 0;
    if (call(titles[how], xla_work, frame(1, pi, 1, po))) printf(" %d %d %d\n", out[0], out[1], out[2]);
    printf("  blocks that are left: %d\n", blocks);
    if (how == 2) TVMFFIObjectDecRef(kept), --blocks;
  }
  exhausted = 1;
  number("how", 5, &small);
  if (call("no memory", xla_work, frame(1, pi, 1, po))) return 1;
  exhausted = 0;
  TVMFFIEnvSetDLPackManagedTensorAllocator(refuse_all, 0, NULL);
  number("how", 5, &small);
  if (call("a host with an allocator", xla_work, frame(1, pi, 1, po))) return 1;
  printf("allocator after: %s, slot %p, blocks %d\n", TVMFFIEnvGetDLPackManagedTensorAllocator() == refuse_all ? "the host's" : "another",
         TVMFFIEnvGetStream(kDLExtDev, 0), blocks);
  TVMFFIEnvSetDLPackManagedTensorAllocator(NULL, 0, NULL);

  /* Arrays. */
  static const int64_t extents[] = {2, 3};
  static const int8_t bytes[] = {-1, 2, 3};
  static const uint64_t huge[] = {1, UINT64_MAX};
  static const float floats[] = {0.5f, -2};
  static const _Bool truths[] = {1, 0};
  int64_t longs[3];
  Buffer bl = of(5, longs, 1, three);
  Buffer* pl[1] = {&bl};
  array("s", 5, 2, extents), array("a", 2, 3, bytes);
  if (call("arrays", xla_lists, frame(0, NULL, 1, pl))) printf("\n");
  array("b", 1, 2, truths), array("f", 11, 2, floats), array("a", 5, 0, NULL), array("s", 5, 2, extents);
  if (call("an empty one", xla_lists, frame(0, NULL, 1, pl))) printf("\n");
  array("s", 5, 2, extents), array("a", 9, 2, huge);
  if (call("a number that is too large", xla_lists, frame(0, NULL, 1, pl))) return 1;
  array("s", 5, 2, extents), array("a", 11, 2, floats);
  if (call("floats for integers", xla_lists, frame(0, NULL, 1, pl))) return 1;
  array("s", 11, 2, floats), array("a", 2, 3, bytes);
  if (call("floats for a shape", xla_lists, frame(0, NULL, 1, pl))) return 1;
  array("s", 5, 1, extents), array("a", 2, 3, bytes);
  if (call("a short shape", xla_lists, frame(0, NULL, 1, pl))) return 1;
  array("s", 5, 2, extents), array("a", 10, 2, extents);
  if (call("half floats", xla_lists, frame(0, NULL, 1, pl))) return 1;
  array("s", 5, 2, extents), number("a", 12, &a);
  if (call("a number for an array", xla_lists, frame(0, NULL, 1, pl))) return 1;
  array("s", 5, 2, extents);
  if (call("no array", xla_lists, frame(0, NULL, 1, pl))) return 1;

  /* Programs with closures. */
  float wide[6];
  int64_t k = 2, over = -1, none_of[2] = {0, 2};
  int64_t by_two[2] = {3, 2};
  Buffer bwide = of(11, wide, 2, by_two);
  Buffer* pwide[1] = {&bwide};
  metadata.version.minor = -1;
  query.extensions = &asked.base;
  if (call("metadata of a stage", xla_plan_instantiate, query)) printf("  %d.%d\n", metadata.version.major, metadata.version.minor);
  if (call("no program", xla_plan, frame(1, px, 1, pwide))) return 1;
  number("k", 5, &k), number("b", 12, &a), text("tag", "a text of more than seven bytes", 31);
  Frame made = frame(0, NULL, 0, NULL);
  made.stage = 0;
  if (call("a program", xla_plan_instantiate, made)) printf("\n");
  for (int times = 0; times < 2; ++times) {
    number("k", 5, &k), number("b", 12, &a), text("tag", "a text of more than seven bytes", 31);
    if (call("its call", xla_plan, frame(1, px, 1, pwide))) show(wide, 6);
  }
  number("k", 5, &k), text("mode", "neither", 7);
  if (call("a wrong text for the closure", xla_plan, frame(1, px, 1, pwide))) return 1;
  bwide.dims = none_of;
  number("k", 5, &k), text("mode", "down", 4);
  if (call("a wrong result of the closure", xla_plan, frame(1, px, 1, pwide))) return 1;
  number("k", 5, &k);
  if (call("too many operands of the closure", xla_plan, frame(2, px, 1, pwide))) return 1;
  number("k", 5, &k);
  if (call("a second state", xla_plan_instantiate, frame(0, NULL, 0, NULL))) return 1;
  end_program();
  number("b", 12, &a);
  if (call("no number for the program", xla_plan_instantiate, frame(0, NULL, 0, NULL))) return 1;
  number("k", 5, &k), attribute("b", 1, &a);
  if (call("an array for the closure", xla_plan_instantiate, frame(0, NULL, 0, NULL))) return 1;
  number("k", 5, &k), number("c", 12, &a);
  if (call("an unknown name for the program", xla_plan_instantiate, frame(0, NULL, 0, NULL))) return 1;
  number("k", 5, &over);
  if (call("an error of the program", xla_held_instantiate, frame(0, NULL, 0, NULL))) return 1;
  number("k", 5, &k);
  if (call("a program on a device", xla_held_instantiate, frame(0, NULL, 0, NULL))) printf("\n");
  number("k", 5, &k);
  if (call("its call", xla_held, frame(1, pi, 1, po))) printf(" %d %d %d\n", out[0], out[1], out[2]);
  number("k", 5, &k);
  silent = frame(1, pi, 1, po);
  Api mute = api;
  mute.of[4] = refuse;
  silent.api = &mute;
  call("no stream", xla_held, silent);
  end_program();
  printf("blocks %d\n", blocks);

  double value;
  Buffer bv = of(12, &value, 0, NULL);
  Buffer* pv[1] = {&bv};
  if (call("fill", xla_fill, frame(0, NULL, 1, pv))) printf(" %g\n", value);
  number("value", 12, &a);
  if (call("fill with", xla_fill, frame(0, NULL, 1, pv))) printf(" %g\n", value);
  text("flag", "on", 2);
  if (call("nothing", xla_nothing, frame(0, NULL, 0, NULL))) printf("\n");
  text("flag", "neither\t\"", 9);
  call("another text", xla_nothing, frame(0, NULL, 0, NULL));
  printf("errors that are left: %d\n", errors);
  return 0;
}
#endif
