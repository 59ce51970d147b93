/* Functions of HIP that Triton's launcher needs beyond the stand-in of tests/driver/hip, with which this is compiled,
 * after ROCm's header. */

#include "../../driver/hip/hip.h"

#include <string.h>

EXPORT hipError_t hipModuleLoadData(hipModule_t *out, const void *code);

EXPORT hipError_t hipModuleLoadDataEx(hipModule_t *out, const void *code, unsigned count, hipJitOption *options,
                                      void **values) {
  return hipModuleLoadData(out, code);
}

/* Properties that Triton compiles by. */
EXPORT hipError_t hipGetDeviceProperties(hipDeviceProp_t *out, int device) {
  *out = (hipDeviceProp_t){.sharedMemPerBlock = (size_t)device_attribute(BLOCK_SHARED, device),
                           .regsPerBlock = device_attribute(BLOCK_REGISTERS, device),
                           .multiProcessorCount = device_attribute(MULTIPROCESSORS, device),
                           .warpSize = device_attribute(WARP, device),
                           .cooperativeLaunch = device_attribute(COOPERATIVE_LAUNCHES, device)};
  strcpy(out->gcnArchName, arch_text(knobs.capability[device]));
  return hipSuccess;
}

/* Every address is one of the device. */
EXPORT hipError_t hipPointerGetAttribute(void *out, hipPointer_attribute attribute, hipDeviceptr_t address) {
  *(hipDeviceptr_t *)out = address;
  return hipSuccess;
}

EXPORT hipError_t hipGetLastError(void) { return hipSuccess; }
EXPORT const char *hipGetErrorString(hipError_t error);

/* What Triton looks up under the name of the first version. */
EXPORT hipError_t hipGetProcAddress(const char *name, void **out, int version, uint64_t flags,
                                    hipDriverProcAddressQueryResult *found) {
#define ONE(name) {#name, (void *)name}
  static const struct {
    const char *name;
    void *function;
  } functions[] = {{"hipGetDeviceProperties", (void *)hipGetDeviceProperties},
                   ONE(hipModuleLoadDataEx),
                   ONE(hipModuleUnload),
                   ONE(hipModuleGetFunction),
                   ONE(hipFuncGetAttribute),
                   ONE(hipModuleLaunchKernel),
                   ONE(hipModuleLaunchCooperativeKernel),
                   ONE(hipPointerGetAttribute),
                   ONE(hipGetLastError),
                   ONE(hipGetErrorString)};
#undef ONE
  for (size_t i = 0; i < sizeof functions / sizeof *functions; i++) {
    if (!strcmp(functions[i].name, name)) {
      *out = functions[i].function;
      *found = HIP_GET_PROC_ADDRESS_SUCCESS;
      return hipSuccess;
    }
  }
  *out = NULL;
  *found = HIP_GET_PROC_ADDRESS_SYMBOL_NOT_FOUND;
  return hipErrorInvalidValue;
}
