/* Part of the stand-in for the CUDA driver: launches, which are checked and recorded, but run no kernels. */

#include "driver.h"

#include <string.h>

enum { IGNORE = 0, COOPERATIVE = 2, SYNCHRONIZATION_POLICY = 3, CLUSTER_DIMENSION = 4, PREFERRED_CLUSTER = 11,
       RESERVED = 15, LAST_ATTRIBUTE = 18 };
enum { PORTABLE_CLUSTER = 8, LARGEST_CLUSTER = 16 };
/* Keys in `extra`. */
enum { EXTRA_END = 0, EXTRA_BUFFER = 1, EXTRA_SIZE = 2 };

struct attribute {
  uint32_t id, padding;
  union {
    unsigned char bytes[64];
    int32_t number;
    uint32_t three[3];
  } value;
};

typedef struct {
  uint32_t grid[3], block[3], shared;
  CUstream stream;
  struct attribute *attributes;
  uint32_t count;
} CUlaunchConfig;

_Static_assert(sizeof(struct attribute) == 72 && offsetof(struct attribute, value) == 8, "as in the interface");
_Static_assert(sizeof(CUlaunchConfig) == 56 && offsetof(CUlaunchConfig, stream) == 32, "as in the interface");
_Static_assert(offsetof(CUlaunchConfig, attributes) == 40 && offsetof(CUlaunchConfig, count) == 48, "likewise");

/* A launch: kernel, context, configuration. */
struct launch {
  const CUlaunchConfig *config;
  struct kernel *kernel;
  const struct entry *entry;
  struct context *context;
  struct function *function;
};

static void say_launch(const CUlaunchConfig *config, CUfunction handle) {
  say("%s", kernel_text(handle));
  if (!config) return say(" config=NULL");
  const uint32_t *grid = config->grid, *block = config->block;
  say(" grid=%u,%u,%u block=%u,%u,%u", grid[0], grid[1], grid[2], block[0], block[1], block[2]);
  say(" shared=%u stream=%s attributes=[", config->shared, stream_text(config->stream));
  for (uint32_t i = 0; config->attributes && i < config->count; i++) {
    const struct attribute *attribute = &config->attributes[i];
    size_t size = sizeof attribute->value;
    while (size && !attribute->value.bytes[size - 1]) size--;
    say("%s%u:", i ? ", " : "", attribute->id);
    say_bytes(attribute->value.bytes, size);
  }
  say("]");
}

/* Returns the last attribute of a kind, which is the effective one. */
static const struct attribute *attribute_of(const CUlaunchConfig *config, uint32_t id) {
  for (uint32_t i = config->count; i-- > 0;) {
    if (config->attributes[i].id == id) return &config->attributes[i];
  }
  return NULL;
}

static CUresult check_attributes(const CUlaunchConfig *config) {
  if (config->count && !config->attributes) return refuse(INVALID_VALUE, "no attributes");
  for (uint32_t i = 0; i < config->count; i++) {
    uint32_t id = config->attributes[i].id;
    if (id > LAST_ATTRIBUTE || id == RESERVED || id == SYNCHRONIZATION_POLICY)
      return refuse(INVALID_VALUE, "%u is no attribute of launches", id);
  }
  return SUCCESS;
}

static CUresult check_sizes(const struct launch *launch) {
  CUdevice device = launch->context->device;
  const uint32_t *grid = launch->config->grid, *block = launch->config->block, *exact = launch->entry->exact_block;
  for (int i = 0; i < 3; i++) {
    if (!grid[i] || grid[i] > (uint32_t)device_attribute(5 + i, device))
      return refuse(INVALID_VALUE, "the grid is %u,%u,%u", grid[0], grid[1], grid[2]);
    if (!block[i] || block[i] > (uint32_t)device_attribute(2 + i, device) || (exact[i] && block[i] != exact[i]))
      return refuse(INVALID_VALUE, "the block is %u,%u,%u", block[0], block[1], block[2]);
  }
  int most = kernel_attribute(launch->kernel, launch->entry, FUNCTION_MAX_THREADS, device);
  if ((uint64_t)block[0] * block[1] * block[2] > (uint64_t)most)
    return refuse(INVALID_VALUE, "more than %d threads", most);
  int shared = kernel_attribute(launch->kernel, launch->entry, FUNCTION_MAX_DYNAMIC, device);
  if (launch->config->shared > (uint32_t)shared) return refuse(INVALID_VALUE, "shared memory above %d", shared);
  return SUCCESS;
}

/* Checks clusters: they must divide the grid, and have at most 8 blocks, 16 if the kernel allows it. */
static CUresult check_cluster(const struct launch *launch) {
  CUdevice device = launch->context->device;
  const struct attribute *given = attribute_of(launch->config, CLUSTER_DIMENSION);
  const struct attribute *preferred = attribute_of(launch->config, PREFERRED_CLUSTER);
  const uint32_t *required = launch->entry->cluster, *grid = launch->config->grid;
  if (launch->entry->needs_cluster && !given) return refuse(INVALID_CLUSTER_SIZE, "the kernel needs clusters");
  const uint32_t *cluster = given ? given->value.three : required;
  if (!given && !required[0]) return SUCCESS;
  uint64_t blocks = 1;
  for (int i = 0; i < 3; i++) {
    int divides = cluster[i] && grid[i] % cluster[i] == 0;
    int as_required = !required[0] || required[i] == cluster[i];
    uint32_t wish = preferred ? preferred->value.three[i] : cluster[i];
    int wish_fits = wish && cluster[i] && wish % cluster[i] == 0 && grid[i] % wish == 0;
    if (!divides || !as_required || !wish_fits)
      return refuse(INVALID_CLUSTER_SIZE, "clusters of %u,%u,%u", cluster[0], cluster[1], cluster[2]);
    blocks *= cluster[i];
  }
  if (blocks > 1 && knobs.capability[device] < 90)
    return refuse(INVALID_CLUSTER_SIZE, "the device has no clusters");
  int is_large = kernel_attribute(launch->kernel, launch->entry, FUNCTION_NON_PORTABLE_CLUSTER, device);
  if (blocks > (is_large ? LARGEST_CLUSTER : PORTABLE_CLUSTER))
    return refuse(INVALID_CLUSTER_SIZE, "clusters of %u blocks", (unsigned)blocks);
  return SUCCESS;
}

/* Checks a cooperative launch, whose blocks must all fit at a time: on each multiprocessor at most 32, 2048 threads,
 * and as many as its shared memory has room for, each with the 1 KiB of the driver. Registers are not counted. */
static CUresult check_cooperative(const struct launch *launch) {
  const CUlaunchConfig *config = launch->config;
  const struct attribute *asked = attribute_of(config, COOPERATIVE);
  if (!asked || !asked->value.number) return SUCCESS;
  CUdevice device = launch->context->device;
  uint64_t threads = (uint64_t)config->block[0] * config->block[1] * config->block[2];
  uint64_t shared = config->shared + launch->entry->shared + device_attribute(111, device);
  uint64_t blocks = device_attribute(106, device), by_threads = device_attribute(39, device) / threads;
  uint64_t by_shared = device_attribute(81, device) / shared;
  if (by_threads < blocks) blocks = by_threads;
  if (by_shared < blocks) blocks = by_shared;
  blocks *= knobs.multiprocessors;
  /* No product of three extents within their limits is beyond 64 bits. */
  if ((uint64_t)config->grid[0] * config->grid[1] * config->grid[2] <= blocks) return SUCCESS;
  return refuse(COOPERATIVE_LAUNCH_TOO_LARGE, "more than %u blocks", (unsigned)blocks);
}

/* Finds the kernel and the context of a launch. */
static CUresult find(struct launch *launch, CUfunction handle) {
  struct context *own;
  if (!(launch->kernel = kernel_of(handle, &own))) return refuse(INVALID_HANDLE, "it is no kernel");
  CUresult status = stream_context(launch->config->stream, &launch->context);
  if (status) return status;
  if (own && own != launch->context) return refuse(INVALID_HANDLE, "the function is of another context");
  status = function_in(launch->kernel, launch->context, &launch->function);
  launch->entry = status ? NULL : kernel_entry(launch->kernel, launch->context->device);
  return status;
}

/* Reads `extra`: all parameters in one buffer; NULL if there is none. */
static CUresult read_extra(void **extra, const unsigned char **buffer, size_t *size) {
  *buffer = NULL, *size = 0;
  for (; extra && (uintptr_t)*extra != EXTRA_END; extra += 2) {
    uintptr_t what = (uintptr_t)extra[0];
    if (what == EXTRA_BUFFER) *buffer = extra[1];
    else if (what == EXTRA_SIZE) *size = *(const size_t *)extra[1];
    else return refuse(INVALID_VALUE, "%u in extra", (unsigned)what);
  }
  return SUCCESS;
}

/* Checks that all parameters are present; reads no more than the image declares. */
static CUresult check_parameters(const struct entry *entry, void **parameters, void **extra) {
  const unsigned char *buffer;
  size_t size;
  CUresult status = read_extra(extra, &buffer, &size);
  if (status) return status;
  if (parameters && extra) return refuse(INVALID_VALUE, "parameters in two ways");
  if (entry->count && !parameters && !buffer) return refuse(INVALID_VALUE, "no parameters");
  for (uint32_t i = 0; i < entry->count; i++) {
    if (buffer ? entry->parameters[i].offset + entry->parameters[i].size > size : !parameters[i])
      return refuse(INVALID_VALUE, "no parameter %u", i);
  }
  return SUCCESS;
}

static void yield_parameters(const struct entry *entry, void **parameters, void **extra) {
  const unsigned char *buffer;
  size_t size;
  read_extra(extra, &buffer, &size);
  yield(" parameters=[");
  for (uint32_t i = 0; i < entry->count; i++) {
    if (i) yield(", ");
    yield_bytes(buffer ? buffer + entry->parameters[i].offset : parameters[i], entry->parameters[i].size);
  }
  yield("]");
}

static CUresult do_launch(const CUlaunchConfig *config, CUfunction handle, void **parameters, void **extra) {
  struct launch launch = {.config = config};
  int captured;
  if (!config) return refuse(INVALID_VALUE, "NULL");
  CUresult status = check_attributes(config);
  if (!status) status = find(&launch, handle);
  if (!status) status = check_sizes(&launch);
  if (!status) status = check_cluster(&launch);
  if (!status) status = check_cooperative(&launch);
  if (!status) status = check_parameters(launch.entry, parameters, extra);
  if (!status) status = function_load(launch.function);
  if (!status) status = capture_launch(config->stream, launch.context, &captured);
  if (status) return status;
  yield(" device=%d context=%s", launch.context->device, context_text(launch.context));
  yield_parameters(launch.entry, parameters, extra);
  if (captured) yield(" captured");
  return SUCCESS;
}

static CUresult max_cluster(int *size, CUfunction handle, const CUlaunchConfig *config) {
  struct launch launch = {.config = config};
  if (!size || !config) return refuse(INVALID_VALUE, "NULL");
  CUresult status = find(&launch, handle);
  if (status) return status;
  CUdevice device = launch.context->device;
  int is_large = kernel_attribute(launch.kernel, launch.entry, FUNCTION_NON_PORTABLE_CLUSTER, device);
  yield(" %d", *size = is_large ? LARGEST_CLUSTER : PORTABLE_CLUSTER);
  return SUCCESS;
}

CALL(cuOccupancyMaxPotentialClusterSize, (int *size, CUfunction kernel, const CUlaunchConfig *config),
     (size, kernel, config), "%s", kernel_text(kernel)) {
  return max_cluster(size, kernel, config);
}

static CUresult launch(const char *name, const CUlaunchConfig *config, CUfunction function, void **parameters,
                       void **extra) {
  CUresult status = begin(name);
  say_launch(config, function);
  return end(status ? status : do_launch(config, function, parameters, extra));
}

/* Converts a stream of the form in which NULL is the stream of the thread. */
static CUstream of_thread(CUstream stream) { return stream ? stream : (CUstream)STREAM_PER_THREAD; }

EXPORT CUresult cuLaunchKernelEx(const CUlaunchConfig *config, CUfunction function, void **parameters,
                                 void **extra) {
  if (__atomic_load_n(&quiet, __ATOMIC_RELAXED)) return SUCCESS;
  return launch("cuLaunchKernelEx", config, function, parameters, extra);
}

EXPORT CUresult cuLaunchKernelEx_ptsz(const CUlaunchConfig *config, CUfunction function, void **parameters,
                                      void **extra) {
  if (__atomic_load_n(&quiet, __ATOMIC_RELAXED)) return SUCCESS;
  if (!config) return launch("cuLaunchKernelEx", NULL, function, parameters, extra);
  CUlaunchConfig copy = *config;
  copy.stream = of_thread(copy.stream);
  return launch("cuLaunchKernelEx", &copy, function, parameters, extra);
}

EXPORT CUresult cuLaunchKernel(CUfunction function, unsigned grid_x, unsigned grid_y, unsigned grid_z,
                               unsigned block_x, unsigned block_y, unsigned block_z, unsigned shared,
                               CUstream stream, void **parameters, void **extra) {
  if (__atomic_load_n(&quiet, __ATOMIC_RELAXED)) return SUCCESS;
  CUlaunchConfig config = {{grid_x, grid_y, grid_z}, {block_x, block_y, block_z}, shared, stream, NULL, 0};
  return launch("cuLaunchKernel", &config, function, parameters, extra);
}

EXPORT CUresult cuLaunchKernel_ptsz(CUfunction function, unsigned grid_x, unsigned grid_y, unsigned grid_z,
                                    unsigned block_x, unsigned block_y, unsigned block_z, unsigned shared,
                                    CUstream stream, void **parameters, void **extra) {
  if (__atomic_load_n(&quiet, __ATOMIC_RELAXED)) return SUCCESS;
  stream = of_thread(stream);
  CUlaunchConfig config = {{grid_x, grid_y, grid_z}, {block_x, block_y, block_z}, shared, stream, NULL, 0};
  return launch("cuLaunchKernel", &config, function, parameters, extra);
}
