/* A stand-in for HIP, `libamdhip64.so.6`, on machines without a GPU. It is the stand-in for the CUDA driver with
 * another face: cuda.c describes the record and what tests call, here named `fake_hip_…`. Beside the shared files:
 *
 *   device.c   the runtime and devices
 *   module.c   modules and their kernels
 *   launch.c   launches
 *   stream.c   streams, captures, events, memory: entry points of what the stand-ins share
 *   image.c    code objects (ELF) and bundles: kernels, their parameters, their static shared memory
 *   errors.c   names and texts of results
 *
 * build makes the images that tests launch; the program in check/ tries the stand-in itself.
 *
 * Each thread has a current device, at first 0, instead of contexts; what would be the context of a device is named
 * `device1`, and what tests read as the number of contexts pushed is the current device. Nothing must be initialized
 * first. Settings that differ: `version` is 60443484, `capability` the number of the architecture in hexadecimal,
 * 0x942, `shared_optin` the shared memory of a block, 65536, `multiprocessors` 304. Settings about entry points of CUDA
 * do nothing. */

#include "hip.h"

#include <stdio.h>

static struct context devices[MAX_DEVICES];
static __thread int chosen;

struct context *current(void) { return &devices[chosen]; }

int is_device(CUdevice device) { return device >= 0 && device < knobs.devices; }

CUresult context_check(CUcontext context) { return context ? SUCCESS : INVALID_CONTEXT; }

int64_t contexts_retained(void) { return 0; }

int64_t contexts_pushed(void) { return chosen; }

const char *context_text(CUcontext context) {
  static char texts[4][32];
  static unsigned next;
  char *text = texts[next++ % 4];
  snprintf(text, sizeof *texts, "device%d", context->device);
  return text;
}

static __attribute__((constructor)) void begin_devices(void) {
  for (int device = 0; device < MAX_DEVICES; device++) devices[device] = (struct context){.device = device, .alive = 1};
  initialized = 1;
}

HIP_CALL(hipInit, (unsigned flags), (flags), "flags=%u", flags) {
  if (flags) return refuse(INVALID_VALUE, "flags are 0");
  return knobs.devices ? SUCCESS : refuse(NO_DEVICE, "there is no device");
}

static CUresult version(int *out) {
  if (!out) return refuse(INVALID_VALUE, "NULL");
  yield(" %d", *out = knobs.version);
  return SUCCESS;
}

HIP_CALL(hipDriverGetVersion, (int *out), (out), NOTHING) { return version(out); }

HIP_CALL(hipRuntimeGetVersion, (int *out), (out), NOTHING) { return version(out); }

HIP_CALL(hipGetDeviceCount, (int *count), (count), NOTHING) {
  if (!count) return refuse(INVALID_VALUE, "NULL");
  yield(" %d", *count = knobs.devices);
  return knobs.devices ? SUCCESS : refuse(NO_DEVICE, "there is no device");
}

HIP_QUICK_CALL(hipGetDevice, (int *out), (out), (*out = chosen, SUCCESS), NOTHING) {
  if (!out) return refuse(INVALID_VALUE, "NULL");
  yield(" %d", *out = chosen);
  return SUCCESS;
}

static CUresult choose(int device) {
  if (!knobs.devices) return refuse(NO_DEVICE, "there is no device");
  if (!is_device(device)) return refuse(INVALID_DEVICE, "there are %d", knobs.devices);
  chosen = device;
  return SUCCESS;
}

HIP_QUICK_CALL(hipSetDevice, (int device), (device), choose(device), "%d", device) { return choose(device); }

/* Attributes of an MI300X, as far as launches ask for them; others are 0. */
int device_attribute(int attribute, CUdevice device) {
  switch (attribute) {
    case COOPERATIVE_LAUNCHES: return 1;
    case MAJOR: return knobs.capability[device] >> 8;
    case MINOR: return knobs.capability[device] >> 4 & 0xf;
    case BLOCKS_OF_MULTIPROCESSOR: return 32;
    case BLOCK_X: return 1024;
    case BLOCK_Y: return 1024;
    case BLOCK_Z: return 1024;
    case GRID_X: return 2147483647;
    case GRID_Y: return 65535;
    case GRID_Z: return 65535;
    case BLOCK_THREADS: return 1024;
    case MULTIPROCESSOR_THREADS: return 2048;
    case MULTIPROCESSORS: return knobs.multiprocessors;
    case BLOCK_REGISTERS: return 131072;
    case BLOCK_SHARED: return knobs.shared_optin;
    case BLOCK_SHARED_OPTIN: return knobs.shared_optin;
    case UNIFIED_ADDRESSES: return 1;
    case WARP: return 64;
    case MULTIPROCESSOR_SHARED: return knobs.shared_optin;
    default: return 0;
  }
}

HIP_CALL(hipDeviceGetAttribute, (int *value, hipDeviceAttribute_t attribute, int device), (value, attribute, device),
         "%d device=%d", (int)attribute, device) {
  if (!value) return refuse(INVALID_VALUE, "NULL");
  if (!is_device(device)) return refuse(INVALID_DEVICE, "there are %d", knobs.devices);
  if ((int)attribute < 0 || (int)attribute > 20000) return refuse(INVALID_VALUE, "no such attribute");
  yield(" %d", *value = device_attribute((int)attribute, device));
  return SUCCESS;
}

HIP_CALL(hipDeviceSynchronize, (void), (), NOTHING) { return capture_forbids("a wait for the device"); }
