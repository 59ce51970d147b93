/* Part of the stand-in for HIP: entry points for streams, captures, events and memory, which do what those of the
 * stand-in for the CUDA driver do. */

#include "hip.h"

static CUstream of(hipStream_t stream) { return (CUstream)stream; }

static CUdeviceptr address(const void *pointer) { return (uintptr_t)pointer; }

HIP_CALL(hipStreamCreateWithFlags, (hipStream_t * out, unsigned flags), (out, flags), "flags=%u", flags) {
  return do_cuStreamCreate((CUstream *)out, flags);
}

HIP_CALL(hipStreamDestroy, (hipStream_t stream), (stream), "%s", stream_text(of(stream))) {
  return do_cuStreamDestroy(of(stream));
}

HIP_CALL(hipStreamGetDevice, (hipStream_t stream, hipDevice_t *out), (stream, out), "%s", stream_text(of(stream))) {
  return do_cuStreamGetDevice(of(stream), out);
}

HIP_CALL(hipStreamSynchronize, (hipStream_t stream), (stream), "%s", stream_text(of(stream))) {
  return do_cuStreamSynchronize(of(stream));
}

HIP_CALL(hipStreamBeginCapture, (hipStream_t stream, hipStreamCaptureMode mode), (stream, mode), "%s mode=%d",
         stream_text(of(stream)), (int)mode) {
  return do_cuStreamBeginCapture_v2(of(stream), (int)mode);
}

HIP_CALL(hipStreamEndCapture, (hipStream_t stream, hipGraph_t *out), (stream, out), "%s", stream_text(of(stream))) {
  return do_cuStreamEndCapture(of(stream), (CUgraph *)out);
}

HIP_CALL(hipStreamIsCapturing, (hipStream_t stream, hipStreamCaptureStatus *out), (stream, out), "%s",
         stream_text(of(stream))) {
  return do_cuStreamIsCapturing(of(stream), (int *)out);
}

HIP_CALL(hipThreadExchangeStreamCaptureMode, (hipStreamCaptureMode * mode), (mode), "%d", mode ? (int)*mode : -1) {
  return do_cuThreadExchangeStreamCaptureMode((int *)mode);
}

HIP_CALL(hipGraphDestroy, (hipGraph_t graph), (graph), NOTHING) { return do_cuGraphDestroy((CUgraph)graph); }

HIP_CALL(hipEventCreateWithFlags, (hipEvent_t * out, unsigned flags), (out, flags), "flags=%u", flags) {
  return do_cuEventCreate((CUevent *)out, flags);
}

HIP_CALL(hipEventDestroy, (hipEvent_t event), (event), NOTHING) { return do_cuEventDestroy_v2((CUevent)event); }

HIP_CALL(hipEventRecord, (hipEvent_t event, hipStream_t stream), (event, stream), "%s", stream_text(of(stream))) {
  return do_cuEventRecord((CUevent)event, of(stream));
}

/* The real one takes no flags unless the event is captured. */
HIP_CALL(hipStreamWaitEvent, (hipStream_t stream, hipEvent_t event, unsigned flags), (stream, event, flags), "%s",
         stream_text(of(stream))) {
  if (flags) return refuse(INVALID_VALUE, "no such flags");
  return do_cuStreamWaitEvent(of(stream), (CUevent)event, flags);
}

HIP_CALL(hipMalloc, (void **out, size_t size), (out, size), "%zu", size) {
  CUdeviceptr found = 0;
  CUresult status = do_cuMemAlloc_v2(out ? &found : NULL, size);
  if (!status) *out = (void *)(uintptr_t)found;
  return status;
}

HIP_CALL(hipFree, (void *pointer), (pointer), NOTHING) { return do_cuMemFree_v2(address(pointer)); }

HIP_CALL(hipMemcpy, (void *to, const void *from, size_t size, hipMemcpyKind kind), (to, from, size, kind), "%zu kind=%d",
         size, (int)kind) {
  if ((int)kind == TO_DEVICE) return do_cuMemcpyHtoD_v2(address(to), from, size);
  if ((int)kind == TO_HOST) return do_cuMemcpyDtoH_v2(to, address(from), size);
  return refuse(INVALID_VALUE, "this stand-in copies to and from the host");
}

HIP_CALL(hipMemcpyAsync, (void *to, const void *from, size_t size, hipMemcpyKind kind, hipStream_t stream),
         (to, from, size, kind, stream), "%s %s %zu kind=%d %s", memory_text(address(to)), memory_text(address(from)),
         size, (int)kind, stream_text(of(stream))) {
  if ((int)kind != ON_DEVICE && (int)kind != BY_ADDRESS)
    return refuse(INVALID_VALUE, "this stand-in copies on the device");
  return do_cuMemcpyAsync(address(to), address(from), size, of(stream));
}

HIP_CALL(hipMemsetAsync, (void *to, int value, size_t size, hipStream_t stream), (to, value, size, stream),
         "%s %d %zu %s", memory_text(address(to)), value, size, stream_text(of(stream))) {
  return do_cuMemsetD8Async(address(to), (unsigned char)value, size, of(stream));
}

HIP_CALL(hipMemsetD8Async, (hipDeviceptr_t to, unsigned char value, size_t size, hipStream_t stream),
         (to, value, size, stream), "%s %u %zu %s", memory_text(address(to)), value, size, stream_text(of(stream))) {
  return do_cuMemsetD8Async(address(to), value, size, of(stream));
}

HIP_CALL(hipMemsetD32Async, (hipDeviceptr_t to, int value, size_t count, hipStream_t stream), (to, value, count, stream),
         "%s %08x %zu %s", memory_text(address(to)), (unsigned)value, count, stream_text(of(stream))) {
  return do_cuMemsetD32Async(address(to), (unsigned)value, count, of(stream));
}
