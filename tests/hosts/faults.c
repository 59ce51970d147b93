/* A stand-in for the runtime: its functions forward to those of libtvm_ffi, until they are told to fail.
 *
 * While it is armed it counts the calls that generated code makes, lets one of them fail, and tracks the
 * objects that the others have made. It must be visible to libraries before libtvm_ffi is: then it also
 * gets the calls of libtvm_ffi to itself, which are passed on as they are. */

#define _GNU_SOURCE
#include <dlfcn.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include <tvm/ffi/c_api.h>
#include <tvm/ffi/extra/c_env_api.h>

static int armed;
/* Depth of calls inside of the runtime. */
static int depth;
static int64_t calls;
/* Number of the failing call; 0 for none. */
static int64_t fault;
/* True if the failing call leaves no error, as only a broken runtime does. */
static int silent;

/* A live object that was made while armed, and its original deleter. */
struct object {
  TVMFFIObject *object;
  void (*deleter)(void *, int);
};
static struct object objects[4096];
static size_t live;

/* Makes the fault-th call from now on fail. */
void faults_arm(int64_t number, int without_error) {
  armed = 1, calls = 0, fault = number, silent = without_error;
}

/* Disarms; returns the number of calls since the arming. */
int64_t faults_disarm(void) {
  armed = 0;
  return calls;
}

/* Returns the number of live objects that were made while armed. */
int64_t faults_live(void) { return (int64_t)live; }

/* Forgets these objects, so that a leak is reported once. */
void faults_forget(void) {
  for (size_t i = 0; i < live; i++) objects[i].object->deleter = objects[i].deleter;
  live = 0;
}

static void *real(const char *name) {
  void *function = dlsym(RTLD_NEXT, name);
  if (!function) fprintf(stderr, "libtvm_ffi has no %s\n", name), abort();
  return function;
}

#define REAL(name)                       \
  static __typeof__(name) *forward;      \
  if (!forward) forward = real(#name)

static void delete(void *self, int flags) {
  size_t i = 0;
  while (i < live && objects[i].object != self) i++;
  if (i == live) fprintf(stderr, "an object is freed twice\n"), abort();
  void (*deleter)(void *, int) = objects[i].deleter;
  if (flags & kTVMFFIObjectDeleterFlagBitMaskWeak) objects[i] = objects[--live];
  deleter(self, flags);
}

/* Watches an object that has one reference, and so is new. */
static void watch(void *handle) {
  TVMFFIObject *object = handle;
  if (!armed || depth || !object || (uint32_t)object->combined_ref_count != 1) return;
  if (object->deleter == delete) return;
  if (live == sizeof objects / sizeof *objects) fprintf(stderr, "too many objects\n"), abort();
  objects[live++] = (struct object){object, object->deleter};
  object->deleter = delete;
}

static void watch_value(const TVMFFIAny *value) {
  if (value->type_index >= kTVMFFIStaticObjectBegin) watch(value->v_obj);
}

static void raise(const char *name) {
  static __typeof__(TVMFFIErrorCreate) *create;
  static __typeof__(TVMFFIErrorSetRaised) *set;
  if (!create) create = real("TVMFFIErrorCreate"), set = real("TVMFFIErrorSetRaised");
  TVMFFIByteArray kind = {"MemoryError", 11}, message = {name, strlen(name)}, none = {"", 0};
  TVMFFIObjectHandle error = NULL;
  create(&kind, &message, &none, &error);
  watch(error);
  set(error);
  TVMFFIObjectDecRef(error);
}

/* Counts a call; returns true if it is the failing one. */
static int fails(const char *name, int may_be_silent) {
  if (!armed || depth || ++calls != fault) return 0;
  if (!silent || !may_be_silent) raise(name);
  return 1;
}

/* Defines a function that returns a status, with the object that it makes. */
#define FALLIBLE(name, parameters, arguments, made) \
  int name parameters {                             \
    REAL(name);                                     \
    if (fails(#name, 1)) return -1;                 \
    depth++;                                        \
    int status = forward arguments;                 \
    depth--;                                        \
    if (status == 0) made;                          \
    return status;                                  \
  }

#define NOTHING ((void)0)

FALLIBLE(TVMFFIObjectCreateOpaque,
         (void *handle, int32_t type_index, void (*deleter)(void *), TVMFFIObjectHandle *out),
         (handle, type_index, deleter, out), watch(*out))
FALLIBLE(TVMFFITypeKeyToIndex, (const TVMFFIByteArray *key, int32_t *out), (key, out), NOTHING)
FALLIBLE(TVMFFIFunctionCreate,
         (void *self, TVMFFISafeCallType call, void (*deleter)(void *), TVMFFIObjectHandle *out),
         (self, call, deleter, out), watch(*out))
FALLIBLE(TVMFFIAnyViewToOwnedAny, (const TVMFFIAny *view, TVMFFIAny *out), (view, out), watch_value(out))
FALLIBLE(TVMFFIFunctionCall,
         (TVMFFIObjectHandle function, TVMFFIAny *args, int32_t count, TVMFFIAny *result),
         (function, args, count, result), watch_value(result))
FALLIBLE(TVMFFITensorFromDLPack,
         (DLManagedTensor *from, int32_t alignment, int32_t contiguous, TVMFFIObjectHandle *out),
         (from, alignment, contiguous, out), watch(*out))
FALLIBLE(TVMFFITensorFromDLPackVersioned,
         (DLManagedTensorVersioned *from, int32_t alignment, int32_t contiguous, TVMFFIObjectHandle *out),
         (from, alignment, contiguous, out), watch(*out))
FALLIBLE(TVMFFITensorCreateUnsafeView,
         (TVMFFIObjectHandle source, const DLTensor *prototype, TVMFFIObjectHandle *out),
         (source, prototype, out), watch(*out))
FALLIBLE(TVMFFIStringFromByteArray, (const TVMFFIByteArray *text, TVMFFIAny *out), (text, out),
         watch_value(out))
FALLIBLE(TVMFFIBytesFromByteArray, (const TVMFFIByteArray *bytes, TVMFFIAny *out), (bytes, out),
         watch_value(out))
FALLIBLE(TVMFFIDataTypeFromString, (const TVMFFIByteArray *text, DLDataType *out), (text, out), NOTHING)
FALLIBLE(TVMFFIDataTypeToString, (const DLDataType *dtype, TVMFFIAny *out), (dtype, out), watch_value(out))
FALLIBLE(TVMFFIEnvTensorAlloc, (DLTensor *prototype, TVMFFIObjectHandle *out), (prototype, out), watch(*out))
FALLIBLE(TVMFFIEnvModLookupFromImports,
         (TVMFFIObjectHandle context, const char *name, TVMFFIObjectHandle *out), (context, name, out),
         NOTHING)
FALLIBLE(TVMFFIHandleInitOnce, (void **slot, int (*init)(void **)), (slot, init), NOTHING)

/* If it fails there is no error to raise: the runtime raises one itself. */
int TVMFFIErrorCreate(const TVMFFIByteArray *kind, const TVMFFIByteArray *message,
                      const TVMFFIByteArray *backtrace, TVMFFIObjectHandle *out) {
  REAL(TVMFFIErrorCreate);
  if (fails("TVMFFIErrorCreate", 0)) return -1;
  depth++;
  int status = forward(kind, message, backtrace, out);
  depth--;
  if (status == 0) watch(*out);
  return status;
}

/* A missing function is no error: the result is NULL. */
int TVMFFIFunctionGetGlobal(const TVMFFIByteArray *name, TVMFFIObjectHandle *out) {
  REAL(TVMFFIFunctionGetGlobal);
  if (fails("TVMFFIFunctionGetGlobal", 1)) {
    *out = NULL;
    return silent ? 0 : -1;
  }
  depth++;
  int status = forward(name, out);
  depth--;
  return status;
}
