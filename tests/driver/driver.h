/* Declarations that the files of the stand-in for the CUDA driver share; cuda.c describes it.
 *
 * Types and numbers are those of the real interface, as far as callers can see them: handles are pointers,
 * structures have its layout, constants its values. HIP's numbers are the same where both have a result. The stand-in
 * for HIP shares cuda.c, memory.c, stream.c, event.c and entry.c, which are then compiled with HIP defined. */

#ifndef DRIVER_H
#define DRIVER_H

#include <stddef.h>
#include <stdint.h>

/* What a library exports, and a function like printf with the formats of C: Windows has formats of its own. */
#ifdef _WIN32
#define EXPORT __declspec(dllexport)
#define PRINTS(...) __attribute__((format(gnu_printf, __VA_ARGS__)))
#else
#define EXPORT __attribute__((visibility("default")))
#define PRINTS(...) __attribute__((format(printf, __VA_ARGS__)))
#endif

/* Results of calls. */
typedef enum {
  SUCCESS = 0,
  INVALID_VALUE = 1,
  OUT_OF_MEMORY = 2,
  NOT_INITIALIZED = 3,
  /* HIP alone. */
  INVALID_CONFIGURATION = 9,
  NO_DEVICE = 100,
  INVALID_DEVICE = 101,
  INVALID_IMAGE = 200,
  INVALID_CONTEXT = 201,
  NO_BINARY_FOR_GPU = 209,
  INVALID_HANDLE = 400,
  NOT_FOUND = 500,
  CONTEXT_IS_DESTROYED = 709,
  LAUNCH_FAILED = 719,
  COOPERATIVE_LAUNCH_TOO_LARGE = 720,
  NOT_SUPPORTED = 801,
  STREAM_CAPTURE_UNSUPPORTED = 900,
  STREAM_CAPTURE_INVALIDATED = 901,
  STREAM_CAPTURE_MERGE = 902,
  STREAM_CAPTURE_UNMATCHED = 903,
  STREAM_CAPTURE_UNJOINED = 904,
  STREAM_CAPTURE_ISOLATION = 905,
  STREAM_CAPTURE_IMPLICIT = 906,
  STREAM_CAPTURE_WRONG_THREAD = 908,
  INVALID_CLUSTER_SIZE = 912,
} CUresult;

typedef int CUdevice;
typedef uint64_t CUdeviceptr;
typedef struct context *CUcontext;
typedef struct stream *CUstream;
typedef struct library *CUlibrary;
typedef struct kernel *CUkernel;
typedef struct module *CUmodule;
/* A `struct function` of one context, or a kernel in its place. */
typedef void *CUfunction;
typedef struct graph *CUgraph;
typedef struct event *CUevent;

/* Special streams: that of the context, its other name, that of the thread. */
enum { STREAM_NULL = 0, STREAM_LEGACY = 1, STREAM_PER_THREAD = 2 };

/* Attributes of kernels; each number below the last is one. */
enum {
  FUNCTION_MAX_THREADS = 0,
  FUNCTION_SHARED = 1,
  FUNCTION_REGISTERS = 4,
  FUNCTION_PTX = 5,
  FUNCTION_BINARY = 6,
  FUNCTION_MAX_DYNAMIC = 8,
  FUNCTION_CLUSTER_WIDTH = 11,
  FUNCTION_NON_PORTABLE_CLUSTER = 14,
  FUNCTION_ATTRIBUTES = 18
};

enum { MAX_DEVICES = 8, MAX_PUSHED = 16 };

/* Offset and size of a kernel's parameter, in bytes. */
struct parameter {
  uint32_t offset, size;
};

/* A kernel in an image. */
struct entry {
  char *name;
  struct parameter *parameters;
  uint32_t count;
  /* Static shared memory of a block, in bytes. */
  uint32_t shared;
  /* Declared sizes of a block and a cluster; 0 if the kernel declares none. */
  uint32_t max_threads, exact_block[3], cluster[3];
  /* True if a launch must state the size of its clusters. */
  int needs_cluster;
};

/* A variable of the device in an image. */
struct variable {
  char *name;
  size_t size;
};

/* Code of an image for one architecture: machine code, or PTX. */
struct image {
  int is_text;
  /* 10 * major + minor, and whether no other architecture will do. */
  int arch, only;
  struct entry *entries;
  size_t count;
  struct variable *variables;
  size_t variable_count;
  struct image *next;
};

struct context {
  CUdevice device;
  /* A primary context lives while it is retained, another one until it is destroyed. */
  int is_primary, retained, alive, number;
  struct context *next;
};

struct command;

struct stream {
  struct context *context;
  unsigned flags;
  int number;
  /* Status of the capture, its mode, the thread that began it, and its launches. */
  int capture, mode, launches;
  uintptr_t thread;
  /* The stream whose capture this one belongs to, itself if it began one; whether that waits for it yet; and the
   * commands of a capture that it began. */
  struct stream *origin;
  int unjoined;
  struct command *commands;
  struct stream *next;
};

struct library {
  struct image *images;
  struct kernel *kernels;
  /* Its modules in contexts, and its variables there. */
  struct module *modules;
  struct placed *placed;
  int number;
  struct library *next;
};

struct kernel {
  struct library *library;
  char *name;
  struct function *functions;
  /* Attributes by device, and whether each is set. */
  int attributes[MAX_DEVICES][FUNCTION_ATTRIBUTES];
  unsigned char is_set[MAX_DEVICES][FUNCTION_ATTRIBUTES];
  struct kernel *next;
};

struct function {
  struct kernel *kernel;
  struct context *context;
  int loaded;
  struct function *next;
};

/* cuda.c: the record, and the settings. */
struct knobs {
  int version, devices, shared_optin, multiprocessors, param_info, operations, wide_operations, late_arch, missing_is_success, lookups;
  int capability[MAX_DEVICES];
};
extern struct knobs knobs;
extern int quiet;
extern int initialized;

/* Begins the line of a call; a result other than 0 is the failure of the call. */
CUresult begin(const char *name);
/* Begins the line of a look-up, which is not counted and does not fail on demand. */
void lookup_begin(const char *name);
/* Adds an argument to the line. */
void say(const char *format, ...) PRINTS(1, 2);
void say_bytes(const void *bytes, size_t size);
/* Adds a result to the line. */
void yield(const char *format, ...) PRINTS(1, 2);
void yield_bytes(const void *bytes, size_t size);
/* Records the reason of a failure. */
CUresult refuse(CUresult status, const char *format, ...) PRINTS(2, 3);
/* Ends the line. */
CUresult end(CUresult status);
const char *error_name(CUresult status);

/* Format of a call without arguments. */
#define NOTHING "%s", ""

/* Defines an entry point, whose code follows. While the driver is quiet, it only runs `quick`. */
#define QUICK_ENTRY_POINT(result, name, parameters, arguments, quick, ...) \
  static CUresult do_##name parameters;                                   \
  EXPORT result name parameters {                                         \
    if (__atomic_load_n(&quiet, __ATOMIC_RELAXED)) return (result)(quick); \
    CUresult status = begin(#name);                                       \
    say(__VA_ARGS__);                                                     \
    return (result)end(status ? status : do_##name arguments);            \
  }                                                                       \
  static CUresult do_##name parameters

/* Defines an entry point without a quick form. */
#define ENTRY_POINT(result, name, parameters, arguments, ...)  \
  static CUresult do_##name parameters;                        \
  EXPORT result name parameters {                              \
    CUresult status = begin(#name);                            \
    say(__VA_ARGS__);                                          \
    return (result)end(status ? status : do_##name arguments); \
  }                                                            \
  static CUresult do_##name parameters

#ifdef HIP
/* The entry points of shared files are functions that those of hip/ call. */
#define FAKE(name) fake_hip_##name
#define QUICK_CALL(name, parameters, arguments, quick, ...) CUresult do_##name parameters
#define CALL(name, parameters, arguments, ...) CUresult do_##name parameters
#define STREAM_CALL(name, parameters, arguments, ...) CUresult do_##name parameters
#else
/* The name of a function for tests. */
#define FAKE(name) fake_cuda_##name
#define QUICK_CALL(...) QUICK_ENTRY_POINT(CUresult, __VA_ARGS__)
#define CALL(...) ENTRY_POINT(CUresult, __VA_ARGS__)

/* Defines an entry point whose parameter `stream` may be NULL for the context's stream, and its other form. */
#define STREAM_CALL(name, parameters, arguments, ...)           \
  EXPORT CUresult name parameters;                              \
  EXPORT CUresult name##_ptsz parameters {                      \
    if (!stream) stream = (CUstream)(uintptr_t)STREAM_PER_THREAD; \
    return name arguments;                                      \
  }                                                             \
  CALL(name, parameters, arguments, __VA_ARGS__)
#endif

/* entry.c: images, their kernels and variables. */
struct image *image_new(struct image **out);
struct entry *image_add(struct image *image, const char *name, size_t length);
void entry_add(struct entry *entry, uint32_t ordinal, struct parameter parameter);
void image_free(struct image *image);
const struct entry *image_entry(const struct image *image, const char *name);
void image_add_variable(struct image *image, const char *name, size_t size);
const struct variable *image_variable(const struct image *image, const char *name);

/* image.c, ptx.c: parsers of cubins, fatbins and PTX. */
CUresult image_parse(const void *code, struct image **out);
CUresult ptx_parse(const char *text, struct image *image);
/* Returns the image that a device of a capability runs. */
const struct image *image_for(const struct image *images, int capability);

/* context.c */
extern __thread struct context *pushed[MAX_PUSHED] __attribute__((tls_model("initial-exec")));
extern __thread int depth __attribute__((tls_model("initial-exec")));
struct context *current(void);
int is_device(CUdevice device);
/* Checks that a handle is a usable context; records why not. */
CUresult context_check(CUcontext context);
int64_t contexts_retained(void);
/* Returns the number of contexts that the thread has pushed; through HIP, its device. */
int64_t contexts_pushed(void);
/* Returns the name of a context in the record. */
const char *context_text(CUcontext context);
/* Returns an attribute of a device. */
int device_attribute(int attribute, CUdevice device);

/* stream.c */
const char *stream_text(CUstream stream);
/* Returns the context of work on a stream. */
CUresult stream_context(CUstream stream, struct context **out);
/* Refuses a call, and invalidates the captures, if a capture forbids the call. */
CUresult capture_forbids(const char *what);
/* Adds a launch to the capture of a stream, if there is one. */
CUresult capture_launch(CUstream stream, struct context *context, int *captured);
/* Refuses work on a context's own stream while a stream that synchronizes with it is captured. */
CUresult capture_implicit(const struct context *context);
/* Returns the capture that work on a stream belongs to, and the stream in it; NULL if there is none. */
CUresult capture_mark(CUstream stream, struct stream **origin, struct stream **branch);
/* Makes a stream wait for marked work: it joins the capture of that work. */
CUresult capture_join(CUstream stream, struct stream *origin, struct stream *branch);
/* Runs a command, or adds it to the capture of a stream. */
CUresult submit(CUstream stream, const struct command *command);
int64_t streams_live(void);

/* memory.c: commands on memory. */
enum { COMMAND_FILL, COMMAND_COPY, COMMAND_WRITE };
struct command {
  int kind;
  CUdeviceptr to, from;
  size_t size;
  uint32_t value;
  /* The operations of a write. */
  const void *bytes;
  struct command *next;
};
void command_run(const struct command *command);
struct command *command_copy(const struct command *command);
void commands_free(struct command *commands);
int64_t memory_live(void);
/* Makes and releases memory of a variable, which is zero at first and counts as none that is live. */
CUdeviceptr memory_of_variable(size_t size);
void memory_release(CUdeviceptr address);
/* Returns the name of an address in the record. */
const char *memory_text(CUdeviceptr address);

/* event.c */
int64_t events_live(void);

/* variable.c: forgets the modules and variables of a library. */
void placed_free(struct library *library);

/* library.c */
int64_t libraries_live(void);
int is_library(const struct library *handle);
const char *kernel_text(CUfunction handle);
/* Returns a kernel, or the kernel and context of a function; NULL for other handles. */
struct kernel *kernel_of(CUfunction handle, struct context **context);
/* Returns a kernel's function in a context, creating it if necessary. */
CUresult function_in(struct kernel *kernel, struct context *context, struct function **out);
CUresult function_load(struct function *function);
/* Unloads all functions of a destroyed context. */
void functions_unload(const struct context *context);
const struct entry *kernel_entry(const struct kernel *kernel, CUdevice device);
int kernel_attribute(const struct kernel *kernel, const struct entry *entry, int attribute, CUdevice device);

#endif
