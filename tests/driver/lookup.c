/* Part of the stand-in for the CUDA driver: cuGetProcAddress, which finds an entry point by its name and the
 * version of the interface that a caller was written for. */

#include "driver.h"

#include <string.h>

enum { PER_THREAD_STREAM = 2 };
/* Reports beside the result. */
enum { FOUND = 0, NO_SUCH_NAME = 1, OLDER_VERSION = 2 };

/* Entry points, oldest first, with the version that brought each; those that take streams also in the form in
 * which NULL is the stream of the thread. */
#define ENTRY_POINTS(ONE, STREAM)                 \
  ONE(cuInit, , 2000)                             \
  ONE(cuDriverGetVersion, , 2020)                 \
  ONE(cuDeviceGet, , 2000)                        \
  ONE(cuDeviceGetCount, , 2000)                   \
  ONE(cuDeviceGetName, , 2000)                    \
  ONE(cuDeviceGetAttribute, , 2000)               \
  ONE(cuDevicePrimaryCtxRetain, , 7000)           \
  ONE(cuDevicePrimaryCtxRelease, , 7000)          \
  ONE(cuDevicePrimaryCtxRelease, _v2, 11000)      \
  ONE(cuDevicePrimaryCtxGetState, , 7000)         \
  ONE(cuCtxCreate, _v2, 3020)                     \
  ONE(cuCtxCreate, _v4, 12050)                    \
  ONE(cuCtxDestroy, _v2, 4000)                    \
  ONE(cuCtxPushCurrent, , 2000)                   \
  ONE(cuCtxPushCurrent, _v2, 4000)                \
  ONE(cuCtxPopCurrent, , 2000)                    \
  ONE(cuCtxPopCurrent, _v2, 4000)                 \
  ONE(cuCtxSetCurrent, , 4000)                    \
  ONE(cuCtxGetCurrent, , 4000)                    \
  ONE(cuCtxGetDevice, , 2000)                     \
  ONE(cuCtxGetDevice, _v2, 13000)                 \
  ONE(cuCtxSynchronize, , 2000)                   \
  ONE(cuStreamCreate, , 2000)                     \
  ONE(cuStreamDestroy, , 2000)                    \
  ONE(cuStreamDestroy, _v2, 4000)                 \
  STREAM(cuStreamGetCtx, , 9020)                  \
  STREAM(cuStreamGetDevice, , 12080)              \
  STREAM(cuStreamSynchronize, , 2000)             \
  ONE(cuStreamBeginCapture, , 10000)              \
  STREAM(cuStreamBeginCapture, _v2, 10010)        \
  STREAM(cuStreamEndCapture, , 10000)             \
  STREAM(cuStreamIsCapturing, , 10000)            \
  ONE(cuThreadExchangeStreamCaptureMode, , 10010) \
  ONE(cuGraphDestroy, , 10000)                    \
  STREAM(cuMemsetD8Async, , 3020)                 \
  STREAM(cuMemsetD32Async, , 3020)                \
  STREAM(cuMemcpyAsync, , 4000)                   \
  ONE(cuStreamBatchMemOp, _v2, 11070)             \
  ONE(cuEventCreate, , 2000)                      \
  STREAM(cuEventRecord, , 2000)                   \
  ONE(cuEventDestroy, _v2, 4000)                  \
  STREAM(cuStreamWaitEvent, , 3020)               \
  ONE(cuOccupancyMaxPotentialClusterSize, , 11080) \
  ONE(cuMemAlloc, _v2, 3020)                      \
  ONE(cuMemFree, _v2, 3020)                       \
  ONE(cuMemcpyHtoD, _v2, 3020)                    \
  ONE(cuMemcpyDtoH, _v2, 3020)                    \
  ONE(cuLibraryLoadData, , 12000)                 \
  ONE(cuLibraryUnload, , 12000)                   \
  ONE(cuLibraryGetKernel, , 12000)                \
  ONE(cuLibraryGetGlobal, , 12000)                \
  ONE(cuLibraryGetModule, , 12000)                \
  ONE(cuKernelGetFunction, , 12000)               \
  ONE(cuKernelGetAttribute, , 12000)              \
  ONE(cuKernelSetAttribute, , 12000)              \
  ONE(cuKernelGetParamInfo, , 12040)              \
  ONE(cuFuncGetParamInfo, , 12040)                \
  ONE(cuFuncGetAttribute, , 2020)                 \
  ONE(cuFuncSetAttribute, , 9000)                 \
  ONE(cuFuncLoad, , 12040)                        \
  ONE(cuFuncIsLoaded, , 12040)                    \
  STREAM(cuLaunchKernel, , 4000)                  \
  STREAM(cuLaunchKernelEx, , 11060)               \
  ONE(cuTensorMapEncodeTiled, , 12000)            \
  ONE(cuTensorMapEncodeIm2col, , 12000)           \
  ONE(cuGetErrorName, , 6000)                     \
  ONE(cuGetErrorString, , 6000)

/* Only addresses matter here. */
#define DECLARE(name, suffix, version) extern void name##suffix(void);
#define DECLARE_STREAM(name, suffix, version) DECLARE(name, suffix, version) extern void name##suffix##_ptsz(void);
ENTRY_POINTS(DECLARE, DECLARE_STREAM)

/* The form before version 12. */
EXPORT CUresult cuGetProcAddress(const char *name, void **out, int version, uint64_t flags);
EXPORT CUresult cuGetProcAddress_v2(const char *name, void **out, int version, uint64_t flags, int *result);

static const struct point {
  const char *name;
  int version;
  void *function, *of_thread;
} POINTS[] = {
#define ROW(name, suffix, version) {#name, version, (void *)name##suffix, NULL},
#define STREAM_ROW(name, suffix, version) {#name, version, (void *)name##suffix, (void *)name##suffix##_ptsz},
    ENTRY_POINTS(ROW, STREAM_ROW)
    {"cuGetProcAddress", 11030, (void *)cuGetProcAddress, NULL},
    {"cuGetProcAddress", 12000, (void *)cuGetProcAddress_v2, NULL},
};

/* Returns the newest entry point of a name that both the driver and the caller know. */
static const struct point *find(const char *name, int version, int *result) {
  const struct point *found = NULL;
  *result = NO_SUCH_NAME;
  if (!knobs.param_info && !strcmp(name, "cuKernelGetParamInfo")) return NULL;
  for (size_t i = 0; i < sizeof POINTS / sizeof *POINTS; i++) {
    if (strcmp(POINTS[i].name, name) || POINTS[i].version > knobs.version) continue;
    if (*result == NO_SUCH_NAME) *result = OLDER_VERSION;
    if (POINTS[i].version <= version) found = &POINTS[i], *result = FOUND;
  }
  return found;
}

static CUresult look_up(const char *name, void **out, int version, uint64_t flags, int *result) {
  int found;
  if (!name || !out) return refuse(INVALID_VALUE, "NULL");
  *out = NULL;
  const struct point *point = find(name, version, &found);
  if (result) *result = found;
  if (version > knobs.version) return refuse(INVALID_VALUE, "the driver is of version %d", knobs.version);
  if (!point && knobs.missing_is_success) return SUCCESS;
  if (!point) return refuse(NOT_FOUND, found == OLDER_VERSION ? "not in that version" : "no such name");
  *out = flags & PER_THREAD_STREAM && point->of_thread ? point->of_thread : point->function;
  return SUCCESS;
}

EXPORT CUresult cuGetProcAddress_v2(const char *name, void **out, int version, uint64_t flags, int *result) {
  lookup_begin("cuGetProcAddress");
  say("\"%s\" %d flags=%u", name ? name : "NULL", version, (unsigned)flags);
  return end(look_up(name, out, version, flags, result));
}

EXPORT CUresult cuGetProcAddress(const char *name, void **out, int version, uint64_t flags) {
  return cuGetProcAddress_v2(name, out, version, flags, NULL);
}
