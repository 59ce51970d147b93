/* Functions of the CUDA driver that Triton's launcher needs beyond the stand-in of tests/driver, with which this is
 * compiled: modules, which are libraries whose kernels are functions of the current context. */

#include "../../driver/driver.h"

EXPORT CUresult cuLibraryLoadData(CUlibrary *out, const void *code, void *jit, void **jit_values, unsigned jit_count,
                                  void *options, void **values, unsigned count);
EXPORT CUresult cuLibraryGetKernel(CUkernel *out, CUlibrary library, const char *name);
EXPORT CUresult cuLibraryUnload(CUlibrary library);
EXPORT CUresult cuKernelGetFunction(CUfunction *out, CUkernel kernel);

EXPORT CUresult cuModuleLoadData(CUlibrary *out, const void *code) {
  return cuLibraryLoadData(out, code, NULL, NULL, 0, NULL, NULL, 0);
}

EXPORT CUresult cuModuleGetFunction(CUfunction *out, CUlibrary module, const char *name) {
  CUkernel kernel;
  CUresult status = cuLibraryGetKernel(&kernel, module, name);
  return status ? status : cuKernelGetFunction(out, kernel);
}

EXPORT CUresult cuModuleUnload(CUlibrary module) { return cuLibraryUnload(module); }

/* Every address is one of the device. */
EXPORT CUresult cuPointerGetAttribute(void *out, int attribute, CUdeviceptr address) {
  *(CUdeviceptr *)out = address;
  return SUCCESS;
}

EXPORT CUresult cuFuncSetCacheConfig(CUfunction function, int config) { return SUCCESS; }
EXPORT CUresult cuCtxGetLimit(size_t *out, int limit) { return *out = 0, SUCCESS; }
EXPORT CUresult cuCtxSetLimit(int limit, size_t value) { return SUCCESS; }
