/* Part of the stand-in for HIP: launches, which are checked and recorded, but run no kernels. They are checked as
 * hip_module.cpp of ROCm 6 does, with the documented rule that kernel, stream and thread have one device. */

#include "hip.h"

struct launch {
  hipFunction_t function;
  uint32_t grid[3], block[3], shared;
  CUstream stream;
  void **parameters, **extra;
  int is_cooperative;
};

static void say_launch(const struct launch *launch) {
  const uint32_t *grid = launch->grid, *block = launch->block;
  say("%s grid=%u,%u,%u block=%u,%u,%u", function_text(launch->function), grid[0], grid[1], grid[2], block[0],
      block[1], block[2]);
  say(" shared=%u stream=%s", launch->shared, stream_text(launch->stream));
}

/* Checks the extents: of the grid, of a block, and of both together, in threads. */
static CUresult check_extents(const struct launch *launch, CUdevice device) {
  const uint32_t *grid = launch->grid, *block = launch->block;
  for (int i = 0; i < 3; i++) {
    int is_beyond = !launch->is_cooperative && grid[i] > (uint32_t)device_attribute(GRID_X + i, device);
    if (!grid[i] || is_beyond) return refuse(INVALID_VALUE, "the grid is %u,%u,%u", grid[0], grid[1], grid[2]);
    if (!block[i])
      return refuse(INVALID_CONFIGURATION, "the block is %u,%u,%u", block[0], block[1], block[2]);
    if ((uint64_t)grid[i] * block[i] > UINT32_MAX)
      return refuse(INVALID_CONFIGURATION, "extent %d has 2^32 threads or more", i);
  }
  return SUCCESS;
}

/* Checks the size of a block and its shared memory. */
static CUresult check_block(const struct launch *launch, CUdevice device) {
  const struct entry *entry = launch->function->entry;
  const uint32_t *block = launch->block;
  uint64_t plane = (uint64_t)block[0] * block[1], most = (uint64_t)device_attribute(BLOCK_THREADS, device);
  uint64_t threads = plane > most ? plane : plane * block[2];
  if (threads > most) return refuse(INVALID_VALUE, "more than %u threads", (unsigned)most);
  if (threads > entry->max_threads) return refuse(LAUNCH_FAILED, "the kernel has at most %u threads", entry->max_threads);
  uint64_t shared = (uint64_t)launch->shared + entry->shared;
  if (shared > (uint64_t)knobs.shared_optin) return refuse(INVALID_VALUE, "shared memory above %d", knobs.shared_optin);
  return SUCCESS;
}

/* Checks that all blocks fit at a time: on each multiprocessor as many as its threads and its shared memory have room
 * for. Registers are not counted. */
static CUresult check_cooperative(const struct launch *launch, CUdevice device) {
  const uint32_t *grid = launch->grid, *block = launch->block;
  uint64_t threads = (uint64_t)block[0] * block[1] * block[2], shared = launch->shared + launch->function->entry->shared;
  uint64_t blocks = device_attribute(BLOCKS_OF_MULTIPROCESSOR, device);
  uint64_t by_threads = device_attribute(MULTIPROCESSOR_THREADS, device) / threads;
  uint64_t by_shared = shared ? knobs.shared_optin / shared : blocks;
  if (by_threads < blocks) blocks = by_threads;
  if (by_shared < blocks) blocks = by_shared;
  blocks *= knobs.multiprocessors;
  uint64_t wanted = (uint64_t)grid[0] * grid[1];
  if (wanted <= blocks && wanted * grid[2] <= blocks) return SUCCESS;
  return refuse(COOPERATIVE_LAUNCH_TOO_LARGE, "more than %u blocks", (unsigned)blocks);
}

/* Returns the buffer with all parameters; NULL if there is none of the right form. */
static const unsigned char *buffer_of(void **extra) {
  int is_whole = extra && (uintptr_t)extra[0] == EXTRA_BUFFER && (uintptr_t)extra[2] == EXTRA_SIZE &&
                 (uintptr_t)extra[4] == EXTRA_END;
  return is_whole ? extra[1] : NULL;
}

/* Checks that all parameters are present; reads no more than the image declares. */
static CUresult check_parameters(const struct launch *launch) {
  const struct entry *entry = launch->function->entry;
  void **parameters = launch->parameters, **extra = launch->extra;
  if (parameters && extra) return refuse(INVALID_VALUE, "parameters in two ways");
  if (entry->count && !parameters && !extra) return refuse(INVALID_VALUE, "no parameters");
  if (extra && !buffer_of(extra)) return refuse(INVALID_VALUE, "extra has another form");
  for (uint32_t i = 0; parameters && i < entry->count; i++) {
    if (!parameters[i]) return refuse(INVALID_VALUE, "no parameter %u", i);
  }
  return SUCCESS;
}

static void yield_parameters(const struct launch *launch) {
  const struct entry *entry = launch->function->entry;
  const unsigned char *buffer = buffer_of(launch->extra);
  yield(" parameters=[");
  for (uint32_t i = 0; i < entry->count; i++) {
    struct parameter parameter = entry->parameters[i];
    if (i) yield(", ");
    yield_bytes(buffer ? buffer + parameter.offset : launch->parameters[i], parameter.size);
  }
  yield("]");
}

/* Finds the device of a launch, which is that of the stream, the kernel and the thread. */
static CUresult find_device(const struct launch *launch, struct context **context) {
  if (stream_context(launch->stream, context)) return refuse(INVALID_VALUE, "it is no stream");
  if (!is_function(launch->function)) return refuse(INVALID_HANDLE, "it is no kernel");
  CUdevice device = (*context)->device, own = launch->function->module->device;
  if (device != own) return refuse(INVALID_DEVICE, "the kernel is of device %d, the stream of %d", own, device);
  if (device != current()->device)
    return refuse(INVALID_DEVICE, "the stream is of device %d, the thread of %d", device, current()->device);
  return SUCCESS;
}

static CUresult do_launch(const struct launch *launch) {
  struct context *context;
  int captured;
  CUresult status = find_device(launch, &context);
  if (!status) status = check_extents(launch, context->device);
  if (!status) status = check_block(launch, context->device);
  if (!status && launch->is_cooperative) status = check_cooperative(launch, context->device);
  if (!status) status = check_parameters(launch);
  if (!status) status = capture_launch(launch->stream, context, &captured);
  if (status) return status;
  yield(" device=%d", context->device);
  yield_parameters(launch);
  if (captured) yield(" captured");
  return SUCCESS;
}

static hipError_t begin_launch(const char *name, const struct launch *launch) {
  CUresult status = begin(name);
  say_launch(launch);
  return (hipError_t)end(status ? status : do_launch(launch));
}

EXPORT hipError_t hipModuleLaunchKernel(hipFunction_t function, unsigned grid_x, unsigned grid_y, unsigned grid_z,
                                        unsigned block_x, unsigned block_y, unsigned block_z, unsigned shared,
                                        hipStream_t stream, void **parameters, void **extra) {
  if (__atomic_load_n(&quiet, __ATOMIC_RELAXED)) return hipSuccess;
  return begin_launch("hipModuleLaunchKernel",
                      &(struct launch){function, {grid_x, grid_y, grid_z}, {block_x, block_y, block_z}, shared,
                                       (CUstream)stream, parameters, extra, 0});
}

EXPORT hipError_t hipModuleLaunchCooperativeKernel(hipFunction_t function, unsigned grid_x, unsigned grid_y,
                                                   unsigned grid_z, unsigned block_x, unsigned block_y,
                                                   unsigned block_z, unsigned shared, hipStream_t stream,
                                                   void **parameters) {
  if (__atomic_load_n(&quiet, __ATOMIC_RELAXED)) return hipSuccess;
  return begin_launch("hipModuleLaunchCooperativeKernel",
                      &(struct launch){function, {grid_x, grid_y, grid_z}, {block_x, block_y, block_z}, shared,
                                       (CUstream)stream, parameters, NULL, 1});
}
