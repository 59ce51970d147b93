/* Part of the stand-in for HIP: names and texts of the common results. */

#include "hip.h"

/* Number, name and text of each. */
#define ERRORS(ONE)                                                                          \
  ONE(0, hipSuccess, "no error")                                                             \
  ONE(1, hipErrorInvalidValue, "invalid argument")                                           \
  ONE(2, hipErrorOutOfMemory, "out of memory")                                               \
  ONE(3, hipErrorNotInitialized, "initialization error")                                     \
  ONE(4, hipErrorDeinitialized, "driver shutting down")                                      \
  ONE(9, hipErrorInvalidConfiguration, "invalid configuration argument")                     \
  ONE(100, hipErrorNoDevice, "no ROCm-capable device is detected")                           \
  ONE(101, hipErrorInvalidDevice, "invalid device ordinal")                                  \
  ONE(200, hipErrorInvalidImage, "device kernel image is invalid")                           \
  ONE(201, hipErrorInvalidContext, "invalid device context")                                 \
  ONE(209, hipErrorNoBinaryForGpu, "no kernel image is available for execution on the device") \
  ONE(218, hipErrorInvalidKernelFile, "invalid kernel file")                                 \
  ONE(303, hipErrorSharedObjectInitFailed, "shared object initialization failed")            \
  ONE(400, hipErrorInvalidHandle, "invalid resource handle")                                 \
  ONE(401, hipErrorIllegalState, "the operation cannot be performed in the present state")   \
  ONE(500, hipErrorNotFound, "named symbol not found")                                       \
  ONE(600, hipErrorNotReady, "device not ready")                                             \
  ONE(700, hipErrorIllegalAddress, "an illegal memory access was encountered")               \
  ONE(701, hipErrorLaunchOutOfResources, "out of resources required for launch")             \
  ONE(702, hipErrorLaunchTimeOut, "launch timed out and was terminated")                     \
  ONE(709, hipErrorContextIsDestroyed, "context is destroyed")                               \
  ONE(710, hipErrorAssert, "device-side assert triggered")                                   \
  ONE(719, hipErrorLaunchFailure, "unspecified launch failure")                              \
  ONE(720, hipErrorCooperativeLaunchTooLarge, "too many blocks in cooperative launch")       \
  ONE(801, hipErrorNotSupported, "operation not supported")                                  \
  ONE(900, hipErrorStreamCaptureUnsupported, "operation not permitted when stream is capturing") \
  ONE(901, hipErrorStreamCaptureInvalidated, "operation failed due to a previous error during capture") \
  ONE(902, hipErrorStreamCaptureMerge, "operation would result in a merge of separate capture sequences") \
  ONE(903, hipErrorStreamCaptureUnmatched, "capture was not ended in the same stream as it began") \
  ONE(904, hipErrorStreamCaptureUnjoined, "capturing stream has unjoined work")              \
  ONE(905, hipErrorStreamCaptureIsolation, "dependency created on uncaptured work in another stream") \
  ONE(906, hipErrorStreamCaptureImplicit,                                                    \
      "operation would make the legacy stream depend on a capturing blocking stream")        \
  ONE(908, hipErrorStreamCaptureWrongThread,                                                 \
      "attempt to terminate a thread-local capture sequence from another thread")            \
  ONE(999, hipErrorUnknown, "unknown error")

#ifdef HIP_INCLUDE_HIP_HIP_RUNTIME_API_H
#define SAME(number, name, text) _Static_assert((long)name == (long)number, "as in the interface");
#define SAME_ATTRIBUTE(ours, number, name) SAME(number, name, )
ERRORS(SAME)
ATTRIBUTES(SAME_ATTRIBUTE)
SAME(FUNCTION_MAX_THREADS, HIP_FUNC_ATTRIBUTE_MAX_THREADS_PER_BLOCK, )
SAME(FUNCTION_SHARED, HIP_FUNC_ATTRIBUTE_SHARED_SIZE_BYTES, )
SAME(FUNCTION_REGISTERS, HIP_FUNC_ATTRIBUTE_NUM_REGS, )
SAME(FUNCTION_MAX_DYNAMIC, HIP_FUNC_ATTRIBUTE_MAX_DYNAMIC_SHARED_SIZE_BYTES, )
SAME(TO_DEVICE, hipMemcpyHostToDevice, )
SAME(TO_HOST, hipMemcpyDeviceToHost, )
SAME(ON_DEVICE, hipMemcpyDeviceToDevice, )
SAME(BY_ADDRESS, hipMemcpyDefault, )
SAME(EXTRA_BUFFER, HIP_LAUNCH_PARAM_BUFFER_POINTER, )
SAME(EXTRA_SIZE, HIP_LAUNCH_PARAM_BUFFER_SIZE, )
SAME(EXTRA_END, HIP_LAUNCH_PARAM_END, )
#endif

static const struct {
  int status;
  const char *name, *text;
} TABLE[] = {
#define ROW(number, name, text) {number, #name, text},
    ERRORS(ROW)};

/* Returns the index of a result; that of the last, hipErrorUnknown, for other numbers. */
static int find(int status) {
  int i = 0, last = sizeof TABLE / sizeof *TABLE - 1;
  while (i < last && TABLE[i].status != status) i++;
  return i;
}

const char *error_name(CUresult status) { return TABLE[find(status)].name; }

EXPORT const char *hipGetErrorName(hipError_t status) { return TABLE[find((int)status)].name; }

EXPORT const char *hipGetErrorString(hipError_t status) { return TABLE[find((int)status)].text; }
