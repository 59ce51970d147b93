/* Part of the stand-in for the CUDA driver: the driver itself, devices, contexts and the stack of them. */

#include "driver.h"

#include <stdio.h>
#include <stdlib.h>
#include <string.h>

__thread struct context *pushed[MAX_PUSHED];
__thread int depth;

static struct context primary[MAX_DEVICES];
/* Contexts that programs have created; destroyed ones stay in the list. */
static struct context *others;
static int made;

struct context *current(void) { return depth ? pushed[depth - 1] : NULL; }

int is_device(CUdevice device) { return device >= 0 && device < knobs.devices; }

static int is_context(const struct context *context) {
  const struct context *other = others;
  while (other && other != context) other = other->next;
  return other || (context >= primary && context < primary + MAX_DEVICES);
}

CUresult context_check(CUcontext context) {
  if (!context) return refuse(INVALID_CONTEXT, "there is no context");
  if (!is_context(context)) return refuse(INVALID_CONTEXT, "it is no context");
  return context->alive ? SUCCESS : refuse(CONTEXT_IS_DESTROYED, "%s is not alive", context_text(context));
}

int64_t contexts_retained(void) {
  int64_t count = 0;
  for (int device = 0; device < MAX_DEVICES; device++) count += primary[device].retained;
  return count;
}

int64_t contexts_pushed(void) { return depth; }

const char *context_text(CUcontext context) {
  static char texts[4][32];
  static unsigned next;
  char *text = texts[next++ % 4];
  if (!context) return "none";
  if (!is_context(context)) return "no-context";
  int is_primary = context >= primary && context < primary + MAX_DEVICES;
  snprintf(text, sizeof *texts, is_primary ? "primary%d" : "ctx%d",
           is_primary ? (int)(context - primary) : context->number);
  return text;
}

CALL(cuInit, (unsigned flags), (flags), "flags=%u", flags) {
  if (flags) return refuse(INVALID_VALUE, "flags are 0");
  if (!knobs.devices) return refuse(NO_DEVICE, "there is no device");
  initialized = 1;
  return SUCCESS;
}

CALL(cuDriverGetVersion, (int *version), (version), NOTHING) {
  if (!version) return refuse(INVALID_VALUE, "NULL");
  yield(" %d", *version = knobs.version);
  return SUCCESS;
}

CALL(cuDeviceGetCount, (int *count), (count), NOTHING) {
  if (!count) return refuse(INVALID_VALUE, "NULL");
  yield(" %d", *count = knobs.devices);
  return SUCCESS;
}

CALL(cuDeviceGet, (CUdevice *device, int ordinal), (device, ordinal), "%d", ordinal) {
  if (!device) return refuse(INVALID_VALUE, "NULL");
  if (!is_device(ordinal)) return refuse(INVALID_DEVICE, "there are %d", knobs.devices);
  yield(" device=%d", *device = ordinal);
  return SUCCESS;
}

CALL(cuDeviceGetName, (char *name, int size, CUdevice device), (name, size, device), "device=%d", device) {
  if (!name || size < 1) return refuse(INVALID_VALUE, "no room");
  if (!is_device(device)) return refuse(INVALID_DEVICE, "there are %d", knobs.devices);
  snprintf(name, size, "Recording Device %d", device);
  yield(" \"%s\"", name);
  return SUCCESS;
}

/* Attributes of an H100, as far as launches ask for them; others are 0. */
int device_attribute(int attribute, CUdevice device) {
  int capability = knobs.capability[device];
  switch (attribute) {
    case 1: return 1024;                        /* threads of a block */
    case 2: return 1024;                        /* a block's width, */
    case 3: return 1024;                        /* height, */
    case 4: return 64;                          /* depth */
    case 5: return 2147483647;                  /* the grid's */
    case 6: return 65535;
    case 7: return 65535;
    case 8: return 49152;                       /* shared memory of a block without opting in */
    case 10: return 32;                         /* threads of a warp */
    case 12: return 65536;                      /* registers of a block */
    case 16: return knobs.multiprocessors;
    case 39: return 2048;                       /* threads of a multiprocessor */
    case 41: return 1;                          /* addresses are the host's too */
    case 75: return capability / 10;
    case 76: return capability % 10;
    case 81: return knobs.shared_optin + 1024;  /* shared memory of a multiprocessor */
    case 95: return 1;                          /* cooperative launches */
    case 97: return knobs.shared_optin;
    case 106: return 32;                        /* blocks of a multiprocessor */
    case 111: return 1024;                      /* shared memory that the driver keeps of every block's */
    case 120: return capability >= 90;          /* clusters */
    case 122: return knobs.wide_operations;     /* operations on memory of 64 bits */
    case 127: return capability >= 90;          /* tensor maps */
    default: return 0;
  }
}

CALL(cuDeviceGetAttribute, (int *value, int attribute, CUdevice device), (value, attribute, device),
     "%d device=%d", attribute, device) {
  if (!value || attribute < 1 || attribute > 200) return refuse(INVALID_VALUE, "no such attribute");
  if (!is_device(device)) return refuse(INVALID_DEVICE, "there are %d", knobs.devices);
  yield(" %d", *value = device_attribute(attribute, device));
  return SUCCESS;
}

CALL(cuDevicePrimaryCtxRetain, (CUcontext * context, CUdevice device), (context, device), "device=%d", device) {
  if (!context) return refuse(INVALID_VALUE, "NULL");
  if (!is_device(device)) return refuse(INVALID_DEVICE, "there are %d", knobs.devices);
  struct context *retained = *context = &primary[device];
  retained->device = device, retained->is_primary = retained->alive = 1;
  yield(" %s retained=%d", context_text(retained), ++retained->retained);
  return SUCCESS;
}

static CUresult primary_release(CUdevice device) {
  if (!is_device(device)) return refuse(INVALID_DEVICE, "there are %d", knobs.devices);
  if (!primary[device].retained) return refuse(INVALID_CONTEXT, "it is not retained");
  primary[device].alive = --primary[device].retained > 0;
  if (!primary[device].alive) functions_unload(&primary[device]);
  yield(" retained=%d", primary[device].retained);
  return SUCCESS;
}

CALL(cuDevicePrimaryCtxRelease_v2, (CUdevice device), (device), "device=%d", device) {
  return primary_release(device);
}

CALL(cuDevicePrimaryCtxRelease, (CUdevice device), (device), "device=%d", device) {
  return primary_release(device);
}

CALL(cuDevicePrimaryCtxGetState, (CUdevice device, unsigned *flags, int *active), (device, flags, active),
     "device=%d", device) {
  if (!flags || !active) return refuse(INVALID_VALUE, "NULL");
  if (!is_device(device)) return refuse(INVALID_DEVICE, "there are %d", knobs.devices);
  *flags = 0;
  yield(" active=%d", *active = primary[device].alive);
  return SUCCESS;
}

static CUresult push(CUcontext context) {
  if (depth == MAX_PUSHED) return refuse(INVALID_VALUE, "more than %d contexts", MAX_PUSHED);
  pushed[depth++] = context;
  return SUCCESS;
}

static CUresult pop(CUcontext *context) {
  if (!depth) return refuse(INVALID_CONTEXT, "there is no context");
  struct context *top = pushed[--depth];
  if (context) *context = top;
  return SUCCESS;
}

static CUresult checked_push(CUcontext context) {
  CUresult status = context_check(context);
  return status ? status : push(context);
}

static CUresult told_pop(CUcontext *context) {
  struct context *top = NULL;
  CUresult status = pop(&top);
  if (status) return status;
  if (context) *context = top;
  yield(" %s", context_text(top));
  return SUCCESS;
}

/* Writes the device to an output parameter. */
static CUresult current_device(CUdevice *device) {
  if (!current()) return INVALID_CONTEXT;
  *device = current()->device;
  return SUCCESS;
}

/* Makes a context and pushes it, as for green contexts and cuCtxCreate. */
static CUresult make(CUcontext *context, CUdevice device) {
  if (!context) return refuse(INVALID_VALUE, "NULL");
  if (!is_device(device)) return refuse(INVALID_DEVICE, "there are %d", knobs.devices);
  struct context *new = calloc(1, sizeof *new);
  if (!new) return OUT_OF_MEMORY;
  *new = (struct context){.device = device, .alive = 1, .number = made++, .next = others};
  *context = others = new;
  yield(" %s", context_text(new));
  return push(new);
}

CALL(cuCtxCreate_v2, (CUcontext * context, unsigned flags, CUdevice device), (context, flags, device),
     "flags=%u device=%d", flags, device) {
  return make(context, device);
}

CALL(cuCtxCreate_v4, (CUcontext * context, void *how, unsigned flags, CUdevice device),
     (context, how, flags, device), "flags=%u device=%d", flags, device) {
  return make(context, device);
}

CALL(cuCtxDestroy_v2, (CUcontext context), (context), "%s", context_text(context)) {
  CUresult status = context_check(context);
  if (status) return status;
  if (context->is_primary) return refuse(INVALID_CONTEXT, "it is a primary context");
  context->alive = 0;
  functions_unload(context);
  return current() == context ? pop(NULL) : SUCCESS;
}

QUICK_CALL(cuCtxPushCurrent_v2, (CUcontext context), (context), push(context), "%s", context_text(context)) {
  return checked_push(context);
}

CALL(cuCtxPushCurrent, (CUcontext context), (context), "%s", context_text(context)) {
  return checked_push(context);
}

QUICK_CALL(cuCtxPopCurrent_v2, (CUcontext * context), (context), pop(context), NOTHING) {
  return told_pop(context);
}

CALL(cuCtxPopCurrent, (CUcontext * context), (context), NOTHING) { return told_pop(context); }

CALL(cuCtxSetCurrent, (CUcontext context), (context), "%s", context_text(context)) {
  CUresult status = context ? context_check(context) : SUCCESS;
  if (status) return status;
  if (depth) pop(NULL);
  return context ? push(context) : SUCCESS;
}

QUICK_CALL(cuCtxGetCurrent, (CUcontext * context), (context), (*context = current(), SUCCESS), NOTHING) {
  if (!context) return refuse(INVALID_VALUE, "NULL");
  yield(" %s", context_text(*context = current()));
  return SUCCESS;
}

QUICK_CALL(cuCtxGetDevice, (CUdevice * device), (device), current_device(device), NOTHING) {
  if (!device) return refuse(INVALID_VALUE, "NULL");
  CUresult status = context_check(current());
  if (status) return status;
  yield(" device=%d", *device = current()->device);
  return SUCCESS;
}

/* CUDA 13: the device of a context, of the current one for NULL. */
CALL(cuCtxGetDevice_v2, (CUdevice * device, CUcontext context), (device, context), "%s", context_text(context)) {
  if (!device) return refuse(INVALID_VALUE, "NULL");
  struct context *asked = context ? context : current();
  CUresult status = context_check(asked);
  if (status) return status;
  yield(" device=%d", *device = asked->device);
  return SUCCESS;
}

CALL(cuCtxSynchronize, (void), (), NOTHING) { return context_check(current()); }
