// Stand-in for the CUDA runtime, as far as the hosts of the wheel call it: each function does what NVIDIA's does with
// the driver, here the stand-in of tests/driver, which records and checks. It contains nothing of the real runtime.
//
// Kernels are addresses without code: `cake_register` says which kernel of which image stands at an address.

#include <cuda.h>
#include <cuda_runtime_api.h>
#include <dlfcn.h>

#include <map>
#include <vector>

// Functions that Python calls; those of the runtime are declared so by its header.
#define EXPORT extern "C"

namespace {

struct Kernel {
  const char* name;
  CUkernel handle;
};

std::map<const void*, Kernel> kernels;
thread_local int device = 0;
thread_local cudaError_t last = cudaSuccess;

// Calls a function of the driver, of this type and name; looks it up late, since the stand-in need not have all.
template <typename... Types, typename... Values>
CUresult call(CUresult (*)(Types...), const char* name, Values... values) {
  const auto found = reinterpret_cast<CUresult (*)(Types...)>(dlsym(RTLD_DEFAULT, name));
  return found ? found(values...) : CUDA_ERROR_NOT_SUPPORTED;
}

#define WORDS_(name) #name
#define WORDS(name) WORDS_(name)
// A name in cuda.h may be a macro for one with an ending.
#define DRIVER(function, ...) call(static_cast<decltype(&function)>(nullptr), WORDS(function), __VA_ARGS__)

// Numbers of errors are those of the driver.
cudaError_t done(CUresult status) {
  if (status != CUDA_SUCCESS) last = static_cast<cudaError_t>(status);
  return static_cast<cudaError_t>(status);
}

// Makes the primary context of a device current, which the runtime retains for ever.
CUresult bind(int wanted) {
  static thread_local std::vector<CUcontext> contexts;
  if (wanted < 0) return CUDA_ERROR_INVALID_DEVICE;
  if (contexts.size() <= static_cast<size_t>(wanted)) contexts.resize(wanted + 1);
  CUresult status = DRIVER(cuInit, 0u);
  if (!status && !contexts[wanted]) status = DRIVER(cuDevicePrimaryCtxRetain, &contexts[wanted], wanted);
  return status ? status : DRIVER(cuCtxSetCurrent, contexts[wanted]);
}

cudaError_t launch(const CUlaunchConfig& config, const void* function, void** arguments) {
  const auto found = kernels.find(function);
  if (found == kernels.end()) return done(CUDA_ERROR_INVALID_HANDLE);
  CUresult status = config.hStream ? CUDA_SUCCESS : bind(device);
  if (status) return done(status);
  return done(DRIVER(cuLaunchKernelEx, &config, reinterpret_cast<CUfunction>(found->second.handle), arguments, nullptr));
}

}  // namespace

// Says that the kernel of this name in this image stands at an address.
EXPORT int cake_register(const void* address, const char* image, const char* name) {
  CUlibrary library;
  CUkernel kernel;
  CUresult status = DRIVER(cuInit, 0u);
  if (!status) status = DRIVER(cuLibraryLoadData, &library, image, nullptr, nullptr, 0u, nullptr, nullptr, 0u);
  if (!status) status = DRIVER(cuLibraryGetKernel, &kernel, library, name);
  if (!status) kernels[address] = {name, kernel};
  return status;
}

// Begins anew, as a thread that has called nothing yet.
EXPORT void cake_forget() {
  device = 0;
  last = cudaSuccess;
}

cudaError_t cudaGetDevice(int* out) {
  *out = device;
  return cudaSuccess;
}

cudaError_t cudaSetDevice(int wanted) {
  CUresult status = bind(wanted);
  if (!status) device = wanted;
  return done(status);
}

cudaError_t cudaGetDeviceCount(int* out) {
  CUresult status = DRIVER(cuInit, 0u);
  return done(status ? status : DRIVER(cuDeviceGetCount, out));
}

cudaError_t cudaDeviceGetAttribute(int* out, cudaDeviceAttr attribute, int of) {
  CUresult status = DRIVER(cuInit, 0u);
  return done(status ? status : DRIVER(cuDeviceGetAttribute, out, static_cast<CUdevice_attribute>(attribute), of));
}

cudaError_t cudaGetLastError() {
  cudaError_t was = last;
  last = cudaSuccess;
  return was;
}

const char* cudaGetErrorName(cudaError_t error) {
  const char* text = "unknown error";
  (void)DRIVER(cuGetErrorName, static_cast<CUresult>(error), &text);
  return text;
}

const char* cudaGetErrorString(cudaError_t error) {
  const char* text = "unknown error";
  (void)DRIVER(cuGetErrorString, static_cast<CUresult>(error), &text);
  return text;
}

// A kernel of the runtime is one of the driver.
cudaError_t cudaGetKernel(cudaKernel_t* out, const void* function) {
  const auto found = kernels.find(function);
  if (found == kernels.end()) return done(CUDA_ERROR_INVALID_HANDLE);
  *out = reinterpret_cast<cudaKernel_t>(found->second.handle);
  return cudaSuccess;
}

cudaError_t cudaKernelSetAttributeForDevice(cudaKernel_t kernel, cudaFuncAttribute attribute, int value, int of) {
  const auto driver = static_cast<CUfunction_attribute>(attribute);
  return done(DRIVER(cuKernelSetAttribute, driver, value, reinterpret_cast<CUkernel>(kernel), of));
}

cudaError_t cudaFuncSetAttribute(const void* function, cudaFuncAttribute attribute, int value) {
  cudaKernel_t kernel;
  cudaError_t error = cudaGetKernel(&kernel, function);
  return error ? error : cudaKernelSetAttributeForDevice(kernel, attribute, value, device);
}

// Attributes of a launch have the layout and the numbers of the driver's.
static_assert(sizeof(cudaLaunchAttribute) == sizeof(CUlaunchAttribute), "as in the driver");

cudaError_t cudaLaunchKernelExC(const cudaLaunchConfig_t* given, const void* function, void** arguments) {
  CUlaunchConfig config{};
  config.gridDimX = given->gridDim.x, config.gridDimY = given->gridDim.y, config.gridDimZ = given->gridDim.z;
  config.blockDimX = given->blockDim.x, config.blockDimY = given->blockDim.y, config.blockDimZ = given->blockDim.z;
  config.sharedMemBytes = static_cast<unsigned>(given->dynamicSmemBytes);
  config.hStream = given->stream;
  config.attrs = reinterpret_cast<CUlaunchAttribute*>(given->attrs);
  config.numAttrs = given->numAttrs;
  return launch(config, function, arguments);
}

cudaError_t cudaLaunchKernel(const void* function, dim3 grid, dim3 block, void** arguments, size_t shared,
                             cudaStream_t stream) {
  cudaLaunchConfig_t config{};
  config.gridDim = grid, config.blockDim = block, config.dynamicSmemBytes = shared, config.stream = stream;
  return cudaLaunchKernelExC(&config, function, arguments);
}

cudaError_t cudaStreamIsCapturing(cudaStream_t stream, cudaStreamCaptureStatus* out) {
  return done(DRIVER(cuStreamIsCapturing, stream, reinterpret_cast<CUstreamCaptureStatus*>(out)));
}

cudaError_t cudaEventCreateWithFlags(cudaEvent_t* out, unsigned flags) {
  return done(DRIVER(cuEventCreate, out, flags));
}

cudaError_t cudaEventRecord(cudaEvent_t event, cudaStream_t stream) {
  return done(DRIVER(cuEventRecord, event, stream));
}

cudaError_t cudaEventDestroy(cudaEvent_t event) { return done(DRIVER(cuEventDestroy, event)); }

cudaError_t cudaStreamWaitEvent(cudaStream_t stream, cudaEvent_t event, unsigned flags) {
  return done(DRIVER(cuStreamWaitEvent, stream, event, flags));
}

cudaError_t cudaMemcpyAsync(void* to, const void* from, size_t bytes, cudaMemcpyKind, cudaStream_t stream) {
  return done(DRIVER(cuMemcpyAsync, reinterpret_cast<CUdeviceptr>(to), reinterpret_cast<CUdeviceptr>(from), bytes, stream));
}

cudaError_t cudaMemsetAsync(void* at, int value, size_t bytes, cudaStream_t stream) {
  return done(DRIVER(cuMemsetD8Async, reinterpret_cast<CUdeviceptr>(at), static_cast<unsigned char>(value), bytes, stream));
}
