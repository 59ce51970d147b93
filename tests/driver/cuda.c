/* A stand-in for the CUDA driver, `libcuda.so.1`, on machines without a GPU: it records calls,
 * refuses invalid ones as the real one does, and runs no kernels. It contains nothing of the real driver.
 *
 * Compiled with the soname `libcuda.so.1`; a program finds it through LD_LIBRARY_PATH, or, since a library that is
 * loaded is found by its soname, by loading it under any path before. It is several files:
 *
 *   cuda.c     the record, failures on demand, what tests set and ask
 *   errors.c   names and texts of results
 *   context.c  the driver, devices, contexts
 *   stream.c   streams, captures of graphs; event.c events
 *   memory.c   memory (which is the host's), and commands that fill, copy and write it
 *   entry.c    images and their kernels, as far as they are read
 *   image.c    cubins (ELF) and fatbins, ptx.c PTX: kernels, their parameters, their static shared memory
 *   library.c  libraries, kernels and functions, loaded at first use
 *   launch.c   launches, tensormap.c the encoding of tensor maps
 *   lookup.c   cuGetProcAddress
 *
 * build makes the images that tests launch; the program in check/ tries the stand-in itself. hip/ is a second one, for HIP,
 * which shares this file and others.
 *
 * The record. One line per call (one is broken here): its name, what it was given, then what it yields or how it
 * failed and why. Handles have names that do not depend on addresses (`primary0`, `ctx1`, `stream2`, `lib0`),
 * numbered as they are made.
 *
 *   cuCtxGetDevice() -> device=0
 *   cuLaunchKernelEx(lib0."axpy_kernel" grid=4,1,1 block=128,1,1 shared=0 stream=null attributes=[6:01]) -> \
 *       device=0 context=primary0 parameters=[00c0…, 0000803f]
 *   cuLaunchKernelEx(…) = 1 CUDA_ERROR_INVALID_VALUE (the grid is 0,1,1)
 *
 * Parameters are their bytes as they lie in memory, in hex, as many as the image says; attributes are as given,
 * the number and the 64 bytes of the value without zeros at the end. A launch on a captured stream ends in `
 * captured`. The forms of entry points in which NULL is the stream of the thread (`…_ptsz`) are recorded without
 * the ending. cuGetErrorName, cuGetErrorString and cuGetProcAddress are neither recorded (unless `lookups` is set)
 * nor counted.
 *
 * What tests call (each is safe in any thread):
 *
 *   size_t fake_cuda_log(char *out, size_t capacity)   the record, cut and ended by NUL; its full size
 *   int64_t fake_cuda_calls(void)                      calls since the start or the last reset
 *   void fake_cuda_fail_at(int64_t n, int status)      the n-th call from now on does nothing and fails so; 0: none
 *   void fake_cuda_reset(void)                         forgets record, count and failure; handles stay what they are
 *   const char *fake_cuda_stream_text(CUstream stream) the name of a stream in the record, valid until the next call
 *   void fake_cuda_destroy_events(void)                destroys all events
 *   void fake_cuda_replay(CUgraph graph)               runs the commands that a capture has kept
 *   void fake_cuda_live(int64_t out[6])                libraries, contexts pushed by this thread, streams, pieces of
 *                                                      memory, retained primary contexts, events
 *   void fake_cuda_quiet(int on)                       records and counts nothing, and launches, tensor maps and the
 *                                                      stack of contexts check nothing either: for benchmarks
 *   void fake_cuda_defaults(void)                      a reset, and everything below as it was; not quiet
 *   int fake_cuda_set(const char *name, int64_t value) -1 if there is no such name:
 *     version             of the driver, 12080; entry points that are newer are not found
 *     devices             2, or what FAKE_CUDA_DEVICES says; at most 8
 *     capability          of every device, 90; `capability:1` of one
 *     shared_optin        bytes of shared memory that a block may have if it opts in, 232448
 *     multiprocessors     132
 *     param_info          1; with 0 there is no cuKernelGetParamInfo, whatever the version
 *     operations          1; with 0 cuStreamBatchMemOp is not supported
 *     wide_operations     1; with 0 it writes no 64 bits
 *     late_arch           0; with 1 an image for other devices is loaded, and its kernels fail at first use
 *     missing_is_success  0; with 1 cuGetProcAddress yields NULL for what is missing and succeeds, as is documented
 *     lookups             0; with 1 cuGetProcAddress is recorded */

#include "driver.h"

#include <pthread.h>
#include <stdarg.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

/* Growing text. */
struct text {
  char *bytes;
  size_t size, capacity;
};

#ifdef HIP
enum { VERSION = 60443484, SHARED = 65536, MULTIPROCESSORS = 304, CAPABILITY = 0x942 };
#else
enum { VERSION = 12080, SHARED = 232448, MULTIPROCESSORS = 132, CAPABILITY = 90 };
#endif

#define DEFAULTS                                                                                             \
  {.version = VERSION, .devices = 2, .shared_optin = SHARED, .multiprocessors = MULTIPROCESSORS,      \
   .param_info = 1, .operations = 1, .wide_operations = 1, .capability = {[0 ... MAX_DEVICES - 1] = CAPABILITY}}

struct knobs knobs = DEFAULTS;
int quiet;
int initialized;

static pthread_mutex_t mutex = PTHREAD_MUTEX_INITIALIZER;
static int64_t calls;
/* Calls until the failing one, inclusive; 0 for none. */
static int64_t until_failure;
static CUresult failure;
/* The record, and parts of the line that is being written: arguments, results, reason of a refusal. */
static struct text record, given, yielded, reason;
/* True if the line is recorded. */
static int records;

static void append(struct text *text, const char *format, va_list arguments) {
  va_list again;
  va_copy(again, arguments);
  int size = vsnprintf(NULL, 0, format, arguments);
  if (text->size + size + 1 > text->capacity) {
    text->capacity = 2 * (text->size + size + 1);
    text->bytes = realloc(text->bytes, text->capacity);
    if (!text->bytes) abort();
  }
  vsnprintf(text->bytes + text->size, size + 1, format, again);
  va_end(again);
  text->size += size;
}

#define APPEND(text, format)        \
  va_list arguments;                \
  va_start(arguments, format);      \
  append(text, format, arguments);  \
  va_end(arguments)

static void write_to(struct text *text, const char *format, ...) { APPEND(text, format); }

void say(const char *format, ...) {
  if (!records) return;
  APPEND(&given, format);
}

void yield(const char *format, ...) {
  if (!records) return;
  APPEND(&yielded, format);
}

CUresult refuse(CUresult status, const char *format, ...) {
  if (!records) return status;
  reason.size = 0;
  APPEND(&reason, format);
  return status;
}

void yield_bytes(const void *bytes, size_t size) {
  for (size_t i = 0; i < size; i++) yield("%02x", ((const unsigned char *)bytes)[i]);
}

void say_bytes(const void *bytes, size_t size) {
  for (size_t i = 0; i < size; i++) say("%02x", ((const unsigned char *)bytes)[i]);
}

/* Returns true for the few calls that work before cuInit. */
static int needs_nothing(const char *name) {
  return !strcmp(name, "cuInit") || !strcmp(name, "cuDriverGetVersion");
}

/* Begins a line, which is recorded if it is wanted. */
static void begin_line(const char *name, int is_wanted) {
  pthread_mutex_lock(&mutex);
  records = is_wanted && !quiet;
  given.size = yielded.size = reason.size = 0;
  say("%s(", name);
}

void lookup_begin(const char *name) { begin_line(name, knobs.lookups); }

CUresult begin(const char *name) {
  begin_line(name, 1);
  if (records) calls++;
  if (records && until_failure && --until_failure == 0) return refuse(failure, "as told");
  if (!initialized && !needs_nothing(name)) return refuse(NOT_INITIALIZED, "there was no cuInit");
  return SUCCESS;
}

CUresult end(CUresult status) {
  if (records) {
    write_to(&record, "%.*s)", (int)given.size, given.bytes);
    if (status) write_to(&record, " = %d %s", status, error_name(status));
    if (status && reason.size) write_to(&record, " (%.*s)", (int)reason.size, reason.bytes);
    if (!status && yielded.size) write_to(&record, " ->%.*s", (int)yielded.size, yielded.bytes);
    write_to(&record, "\n");
  }
  pthread_mutex_unlock(&mutex);
  return status;
}

EXPORT size_t FAKE(log)(char *out, size_t capacity) {
  pthread_mutex_lock(&mutex);
  size_t size = record.size, copied = size < capacity ? size : capacity ? capacity - 1 : 0;
  if (copied) memcpy(out, record.bytes, copied);
  if (capacity) out[copied] = 0;
  pthread_mutex_unlock(&mutex);
  return size;
}

EXPORT int64_t FAKE(calls)(void) {
  pthread_mutex_lock(&mutex);
  int64_t count = calls;
  pthread_mutex_unlock(&mutex);
  return count;
}

EXPORT void FAKE(fail_at)(int64_t n, int status) {
  pthread_mutex_lock(&mutex);
  until_failure = n, failure = status;
  pthread_mutex_unlock(&mutex);
}

EXPORT void FAKE(reset)(void) {
  pthread_mutex_lock(&mutex);
  record.size = 0, calls = 0, until_failure = 0;
  pthread_mutex_unlock(&mutex);
}

EXPORT void FAKE(live)(int64_t out[6]) {
  pthread_mutex_lock(&mutex);
  int64_t live[6] = {libraries_live(), contexts_pushed(), streams_live(), memory_live(), contexts_retained(), events_live()};
  memcpy(out, live, sizeof live);
  pthread_mutex_unlock(&mutex);
}

EXPORT void FAKE(quiet)(int on) {
  pthread_mutex_lock(&mutex);
  __atomic_store_n(&quiet, on, __ATOMIC_RELAXED);
  pthread_mutex_unlock(&mutex);
}

/* Returns the variable of a setting; NULL if there is none of that name. */
static int *knob(const char *name) {
  struct {
    const char *name;
    int *value;
  } all[] = {
      {"version", &knobs.version},
      {"devices", &knobs.devices},
      {"shared_optin", &knobs.shared_optin},
      {"multiprocessors", &knobs.multiprocessors},
      {"param_info", &knobs.param_info},
      {"operations", &knobs.operations},
      {"wide_operations", &knobs.wide_operations},
      {"late_arch", &knobs.late_arch},
      {"missing_is_success", &knobs.missing_is_success},
      {"lookups", &knobs.lookups},
  };
  for (size_t i = 0; i < sizeof all / sizeof *all; i++) {
    if (!strcmp(name, all[i].name)) return all[i].value;
  }
  int device = -1, end = 0;
  int is_one = sscanf(name, "capability:%d%n", &device, &end) == 1 && !name[end];
  return is_one && device >= 0 && device < MAX_DEVICES ? &knobs.capability[device] : NULL;
}

EXPORT int FAKE(set)(const char *name, int64_t value) {
  pthread_mutex_lock(&mutex);
  int *place = knob(name), is_all = !strcmp(name, "capability");
  if (place == &knobs.devices && (value < 0 || value > MAX_DEVICES)) place = NULL;
  if (place) *place = (int)value;
  for (int device = 0; is_all && device < MAX_DEVICES; device++) knobs.capability[device] = (int)value;
  pthread_mutex_unlock(&mutex);
  return place || is_all ? 0 : -1;
}

/* Sets the initial state. */
EXPORT __attribute__((constructor)) void FAKE(defaults)(void) {
  const char *devices = getenv("FAKE_CUDA_DEVICES");
  pthread_mutex_lock(&mutex);
  knobs = (struct knobs)DEFAULTS;
  pthread_mutex_unlock(&mutex);
  if (devices) FAKE(set)("devices", atoi(devices));
  FAKE(quiet)(0);
  FAKE(reset)();
}
