/* Declarations that the files of the stand-in for HIP share; device.c describes it.
 *
 * Types are those of the real interface under its own names, so that the files compile with its header before this one
 * too; a definition that differs from a declaration there is then an error. */

#ifndef HIP_H
#define HIP_H

#include "../driver.h"

#ifndef HIP_INCLUDE_HIP_HIP_RUNTIME_API_H
typedef enum { hipSuccess } hipError_t;
typedef enum { hipMemcpyHostToHost } hipMemcpyKind;
typedef enum { hipStreamCaptureModeGlobal } hipStreamCaptureMode;
typedef enum { hipStreamCaptureStatusNone } hipStreamCaptureStatus;
typedef enum { hipDeviceAttributeFirst } hipDeviceAttribute_t;
typedef enum { HIP_FUNC_ATTRIBUTE_FIRST } hipFunction_attribute;
typedef int hipDevice_t;
typedef void *hipDeviceptr_t;
typedef struct ihipStream_t *hipStream_t;
typedef struct ihipEvent_t *hipEvent_t;
typedef struct ihipGraph *hipGraph_t;
typedef struct ihipModule_t *hipModule_t;
typedef struct ihipModuleSymbol_t *hipFunction_t;
#endif

/* Defines an entry point, as in driver.h. */
#define HIP_CALL(...) ENTRY_POINT(hipError_t, __VA_ARGS__)
#define HIP_QUICK_CALL(...) QUICK_ENTRY_POINT(hipError_t, __VA_ARGS__)

/* Attributes of devices: our name, the number, HIP's name. */
#define ATTRIBUTES(ONE)                                                                 \
  ONE(COOPERATIVE_LAUNCHES, 10, hipDeviceAttributeCooperativeLaunch)                    \
  ONE(MAJOR, 23, hipDeviceAttributeComputeCapabilityMajor)                              \
  ONE(BLOCKS_OF_MULTIPROCESSOR, 25, hipDeviceAttributeMaxBlocksPerMultiProcessor)       \
  ONE(BLOCK_X, 26, hipDeviceAttributeMaxBlockDimX)                                      \
  ONE(BLOCK_Y, 27, hipDeviceAttributeMaxBlockDimY)                                      \
  ONE(BLOCK_Z, 28, hipDeviceAttributeMaxBlockDimZ)                                      \
  ONE(GRID_X, 29, hipDeviceAttributeMaxGridDimX)                                        \
  ONE(GRID_Y, 30, hipDeviceAttributeMaxGridDimY)                                        \
  ONE(GRID_Z, 31, hipDeviceAttributeMaxGridDimZ)                                        \
  ONE(BLOCK_THREADS, 56, hipDeviceAttributeMaxThreadsPerBlock)                          \
  ONE(MULTIPROCESSOR_THREADS, 57, hipDeviceAttributeMaxThreadsPerMultiProcessor)        \
  ONE(MINOR, 61, hipDeviceAttributeComputeCapabilityMinor)                              \
  ONE(MULTIPROCESSORS, 63, hipDeviceAttributeMultiprocessorCount)                       \
  ONE(BLOCK_REGISTERS, 71, hipDeviceAttributeMaxRegistersPerBlock)                      \
  ONE(BLOCK_SHARED, 74, hipDeviceAttributeMaxSharedMemoryPerBlock)                      \
  ONE(BLOCK_SHARED_OPTIN, 75, hipDeviceAttributeSharedMemPerBlockOptin)                 \
  ONE(UNIFIED_ADDRESSES, 85, hipDeviceAttributeUnifiedAddressing)                       \
  ONE(WARP, 87, hipDeviceAttributeWarpSize)                                             \
  ONE(MULTIPROCESSOR_SHARED, 10002, hipDeviceAttributeMaxSharedMemoryPerMultiprocessor)

#define NUMBER(ours, number, name) ours = number,
enum { ATTRIBUTES(NUMBER) };
#undef NUMBER

/* Directions of copies; keys in `extra`. */
enum { TO_DEVICE = 1, TO_HOST = 2, ON_DEVICE = 3, BY_ADDRESS = 4 };
enum { EXTRA_BUFFER = 1, EXTRA_SIZE = 2, EXTRA_END = 3 };

/* A kernel of a module. */
struct ihipModuleSymbol_t {
  hipModule_t module;
  const struct entry *entry;
  struct ihipModuleSymbol_t *next;
};

/* A variable of a module that has been asked for. */
struct placed {
  const struct variable *variable;
  CUdeviceptr address;
  struct placed *next;
};

/* A module, which belongs to a device. */
struct ihipModule_t {
  CUdevice device;
  struct image *images;
  /* That of the device. */
  const struct image *image;
  hipFunction_t functions;
  struct placed *placed;
  int number;
  struct ihipModule_t *next;
};

/* image.c: the contents of code objects and bundles. */
CUresult code_parse(const void *code, struct image **out);
/* Returns the name of an architecture, for example gfx90a for 0x90a. */
const char *arch_text(int arch);

/* module.c */
const char *function_text(hipFunction_t handle);
/* Returns true for the handle of a kernel. */
int is_function(hipFunction_t handle);

/* Functions of shared files. */
CUresult do_cuStreamCreate(CUstream *out, unsigned flags);
CUresult do_cuStreamDestroy(CUstream stream);
CUresult do_cuStreamGetDevice(CUstream stream, CUdevice *out);
CUresult do_cuStreamSynchronize(CUstream stream);
CUresult do_cuStreamBeginCapture_v2(CUstream stream, int mode);
CUresult do_cuStreamEndCapture(CUstream stream, CUgraph *out);
CUresult do_cuStreamIsCapturing(CUstream stream, int *out);
CUresult do_cuThreadExchangeStreamCaptureMode(int *mode);
CUresult do_cuGraphDestroy(CUgraph graph);
CUresult do_cuEventCreate(CUevent *out, unsigned flags);
CUresult do_cuEventDestroy_v2(CUevent event);
CUresult do_cuEventRecord(CUevent event, CUstream stream);
CUresult do_cuStreamWaitEvent(CUstream stream, CUevent event, unsigned flags);
CUresult do_cuMemAlloc_v2(CUdeviceptr *out, size_t size);
CUresult do_cuMemFree_v2(CUdeviceptr address);
CUresult do_cuMemcpyHtoD_v2(CUdeviceptr to, const void *from, size_t size);
CUresult do_cuMemcpyDtoH_v2(void *to, CUdeviceptr from, size_t size);
CUresult do_cuMemsetD8Async(CUdeviceptr to, unsigned char value, size_t size, CUstream stream);
CUresult do_cuMemsetD32Async(CUdeviceptr to, unsigned value, size_t count, CUstream stream);
CUresult do_cuMemcpyAsync(CUdeviceptr to, CUdeviceptr from, size_t size, CUstream stream);

#endif
