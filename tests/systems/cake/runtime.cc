// Stand-in for the CUDA runtime, as far as the hosts of the wheel call it: each function does what NVIDIA's does with
// the driver, here the stand-in of tests/driver, which records and checks. It contains nothing of the real runtime.
//
// Kernels are addresses without code: `cake_register` says which kernel of which image stands at an address.

#include <cuda.h>
#include <cuda_runtime_api.h>
#include <dlfcn.h>
#include <string.h>

#include <map>
#include <string>
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
// The function that is to fail, and its calls until it does.
std::string failing;
int until_failure = 0;
bool is_each = false;
thread_local cudaError_t last = cudaSuccess;

// Calls a function of the driver, of this type and name; looks it up late, since the stand-in need not have all.
template <typename... Types, typename... Values>
CUresult call(CUresult (*)(Types...), const char* name, Values... values) {
  const auto found = reinterpret_cast<CUresult (*)(Types...)>(dlsym(RTLD_NEXT, name));
  return found ? found(values...) : CUDA_ERROR_NOT_SUPPORTED;
}

#define WORDS_(name) #name
#define WORDS(name) WORDS_(name)
// A name in cuda.h may be a macro for one with an ending.
#define DRIVER(function, ...) call(static_cast<decltype(&function)>(nullptr), WORDS(function), __VA_ARGS__)

// Returns true if a call is to fail.
bool fails(const char* name) { return failing == name && (is_each || --until_failure == 0); }

#define MAY_FAIL(function) \
  if (fails(#function)) return done(CUDA_ERROR_UNKNOWN)

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
  const auto kernel = reinterpret_cast<CUfunction>(found->second.handle);
  return done(DRIVER(cuLaunchKernelEx, &config, kernel, arguments, nullptr));
}

}  // namespace

// What kernels with code read, which nobody runs.
extern const uint3 threadIdx{}, blockIdx{};
extern const dim3 blockDim{}, gridDim{};

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

// Makes the n-th call from now on of a function of this name fail, or each for 0.
EXPORT void cake_fail(const char* name, int nth) { failing = name, until_failure = nth, is_each = nth == 0; }

cudaError_t cudaGetDevice(int* out) {
  MAY_FAIL(cudaGetDevice);
  *out = device;
  return cudaSuccess;
}

cudaError_t cudaSetDevice(int wanted) {
  MAY_FAIL(cudaSetDevice);
  CUresult status = bind(wanted);
  if (!status) device = wanted;
  return done(status);
}

cudaError_t cudaGetDeviceCount(int* out) {
  MAY_FAIL(cudaGetDeviceCount);
  CUresult status = DRIVER(cuInit, 0u);
  return done(status ? status : DRIVER(cuDeviceGetCount, out));
}

cudaError_t cudaDeviceGetAttribute(int* out, cudaDeviceAttr attribute, int of) {
  MAY_FAIL(cudaDeviceGetAttribute);
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
  MAY_FAIL(cudaGetKernel);
  const auto found = kernels.find(function);
  if (found == kernels.end()) return done(CUDA_ERROR_INVALID_HANDLE);
  *out = reinterpret_cast<cudaKernel_t>(found->second.handle);
  return cudaSuccess;
}

cudaError_t cudaKernelSetAttributeForDevice(cudaKernel_t kernel, cudaFuncAttribute attribute, int value, int of) {
  MAY_FAIL(cudaKernelSetAttributeForDevice);
  const auto driver = static_cast<CUfunction_attribute>(attribute);
  return done(DRIVER(cuKernelSetAttribute, driver, value, reinterpret_cast<CUkernel>(kernel), of));
}

cudaError_t cudaFuncSetAttribute(const void* function, cudaFuncAttribute attribute, int value) {
  MAY_FAIL(cudaFuncSetAttribute);
  cudaKernel_t kernel;
  cudaError_t error = cudaGetKernel(&kernel, function);
  return error ? error : cudaKernelSetAttributeForDevice(kernel, attribute, value, device);
}

// Attributes of a launch have the layout and the numbers of the driver's.
static_assert(sizeof(cudaLaunchAttribute) == sizeof(CUlaunchAttribute), "as in the driver");

cudaError_t cudaLaunchKernelExC(const cudaLaunchConfig_t* given, const void* function, void** arguments) {
  MAY_FAIL(cudaLaunchKernelExC);
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
  MAY_FAIL(cudaLaunchKernel);
  cudaLaunchConfig_t config{};
  config.gridDim = grid, config.blockDim = block, config.dynamicSmemBytes = shared, config.stream = stream;
  return cudaLaunchKernelExC(&config, function, arguments);
}

cudaError_t cudaStreamIsCapturing(cudaStream_t stream, cudaStreamCaptureStatus* out) {
  MAY_FAIL(cudaStreamIsCapturing);
  return done(DRIVER(cuStreamIsCapturing, stream, reinterpret_cast<CUstreamCaptureStatus*>(out)));
}

cudaError_t cudaEventCreateWithFlags(cudaEvent_t* out, unsigned flags) {
  MAY_FAIL(cudaEventCreateWithFlags);
  if (CUresult status = bind(device)) return done(status);
  return done(DRIVER(cuEventCreate, out, flags));
}

cudaError_t cudaEventRecord(cudaEvent_t event, cudaStream_t stream) {
  MAY_FAIL(cudaEventRecord);
  if (CUresult status = bind(device)) return done(status);
  return done(DRIVER(cuEventRecord, event, stream));
}

cudaError_t cudaEventDestroy(cudaEvent_t event) {
  MAY_FAIL(cudaEventDestroy);
  return done(DRIVER(cuEventDestroy, event));
}

cudaError_t cudaStreamWaitEvent(cudaStream_t stream, cudaEvent_t event, unsigned flags) {
  MAY_FAIL(cudaStreamWaitEvent);
  if (CUresult status = bind(device)) return done(status);
  return done(DRIVER(cuStreamWaitEvent, stream, event, flags));
}

cudaError_t cudaMemcpyAsync(void* to, const void* from, size_t bytes, cudaMemcpyKind, cudaStream_t stream) {
  MAY_FAIL(cudaMemcpyAsync);
  if (CUresult status = bind(device)) return done(status);
  const auto target = reinterpret_cast<CUdeviceptr>(to), source = reinterpret_cast<CUdeviceptr>(from);
  return done(DRIVER(cuMemcpyAsync, target, source, bytes, stream));
}

cudaError_t cudaMemsetAsync(void* at, int value, size_t bytes, cudaStream_t stream) {
  MAY_FAIL(cudaMemsetAsync);
  if (CUresult status = bind(device)) return done(status);
  const auto target = reinterpret_cast<CUdeviceptr>(at);
  return done(DRIVER(cuMemsetD8Async, target, static_cast<unsigned char>(value), bytes, stream));
}

// Functions of the driver that originals call themselves. Those of ours find the stand-in's by its handle.

CUresult cuTensorMapEncodeTiled(CUtensorMap* map, CUtensorMapDataType type, cuuint32_t rank, void* address,
                                const cuuint64_t* dims, const cuuint64_t* strides, const cuuint32_t* box,
                                const cuuint32_t* steps, CUtensorMapInterleave interleave, CUtensorMapSwizzle swizzle,
                                CUtensorMapL2promotion promotion, CUtensorMapFloatOOBfill fill) {
  if (fails("cuTensorMapEncodeTiled")) return CUDA_ERROR_UNKNOWN;
  (void)DRIVER(cuInit, 0u);
  // Variables of a thread in a library that is loaded late may lie anywhere, here as with the real driver.
  CUtensorMap aligned;
  CUresult status = DRIVER(cuTensorMapEncodeTiled, map ? &aligned : nullptr, type, rank, address, dims, strides, box,
                           steps, interleave, swizzle, promotion, fill);
  if (!status) memcpy(map, &aligned, sizeof aligned);
  return status;
}

// One operation, as which ours writes a word too.
CUresult cuStreamWriteValue32(CUstream stream, CUdeviceptr to, cuuint32_t value, unsigned flags) {
  if (fails("cuStreamWriteValue32")) return CUDA_ERROR_UNKNOWN;
  CUstreamBatchMemOpParams operation{};
  operation.writeValue.operation = CU_STREAM_MEM_OP_WRITE_VALUE_32;
  operation.writeValue.address = to;
  operation.writeValue.value = value;
  operation.writeValue.flags = flags;
  return DRIVER(cuStreamBatchMemOp, stream, 1u, &operation, 0u);
}
