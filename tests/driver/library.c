/* Part of the stand-in for the CUDA driver: libraries, kernels and functions.
 *
 * Loading is lazy, as it is by default: a library belongs to no context, a kernel has a function in each context
 * that asks for one, and the function is loaded by cuFuncLoad or the first launch. Those steps, and attributes of
 * a kernel that is not loaded, are refused while graphs are captured. An image that fits no device is refused when
 * the library is loaded; one that fits some is refused on the others when a kernel is used there (`late_arch`
 * makes the first case like the second). */

#include "driver.h"

#include <stdio.h>
#include <stdlib.h>
#include <string.h>

static struct library *libraries;
static int made;

int is_library(const struct library *handle) {
  const struct library *library = libraries;
  while (library && library != handle) library = library->next;
  return library != NULL;
}

int64_t libraries_live(void) {
  int64_t count = 0;
  for (struct library *library = libraries; library; library = library->next) count++;
  return count;
}

/* Returns the kernel of a handle, and the function if the handle is one. */
static struct kernel *find(const void *handle, struct function **function) {
  *function = NULL;
  for (struct library *library = libraries; library; library = library->next) {
    for (struct kernel *kernel = library->kernels; kernel; kernel = kernel->next) {
      if (handle == kernel) return kernel;
      for (*function = kernel->functions; *function; *function = (*function)->next) {
        if (handle == *function) return kernel;
      }
    }
  }
  return NULL;
}

static int is_kernel(const void *handle) {
  struct function *function;
  return find(handle, &function) && !function;
}

struct kernel *kernel_of(CUfunction handle, struct context **context) {
  struct function *function;
  struct kernel *kernel = find(handle, &function);
  *context = function ? function->context : NULL;
  return kernel;
}

const char *kernel_text(CUfunction handle) {
  static char text[256];
  struct context *context;
  struct kernel *kernel = kernel_of(handle, &context);
  if (!kernel) return "no-kernel";
  int size = snprintf(text, sizeof text, "lib%d.\"%s\"", kernel->library->number, kernel->name);
  if (context && size < (int)sizeof text)
    snprintf(text + size, sizeof text - size, "@%s", context_text(context));
  return text;
}

const struct entry *kernel_entry(const struct kernel *kernel, CUdevice device) {
  return image_entry(image_for(kernel->library->images, knobs.capability[device]), kernel->name);
}

/* Returns a kernel as the first device that can run it does. */
static const struct entry *any_entry(const struct kernel *kernel) {
  for (CUdevice device = 0; device < knobs.devices; device++) {
    const struct entry *entry = kernel_entry(kernel, device);
    if (entry) return entry;
  }
  return NULL;
}

static CUresult no_binary(CUdevice device) {
  return refuse(NO_BINARY_FOR_GPU, "device %d has the architecture %d", device, knobs.capability[device]);
}

CUresult function_in(struct kernel *kernel, struct context *context, struct function **out) {
  for (*out = kernel->functions; *out; *out = (*out)->next) {
    if ((*out)->context == context) return SUCCESS;
  }
  if (!kernel_entry(kernel, context->device)) return no_binary(context->device);
  CUresult status = capture_forbids("a kernel new to its context");
  if (status) return status;
  if (!(*out = calloc(1, sizeof **out))) return OUT_OF_MEMORY;
  **out = (struct function){kernel, context, 0, kernel->functions};
  kernel->functions = *out;
  return SUCCESS;
}

CUresult function_load(struct function *function) {
  if (function->loaded) return SUCCESS;
  CUresult status = capture_forbids("loading of a kernel");
  function->loaded = !status;
  return status;
}

void functions_unload(const struct context *context) {
  for (struct library *library = libraries; library; library = library->next) {
    for (struct kernel *kernel = library->kernels; kernel; kernel = kernel->next) {
      for (struct function *function = kernel->functions; function; function = function->next) {
        if (function->context == context) function->loaded = 0;
      }
    }
  }
}

static void yield_images(const struct image *images) {
  for (const struct image *image = images; image; image = image->next)
    yield(" %s%d%s", image->is_text ? "compute_" : "sm_", image->arch, image->only ? "a" : "");
}

CALL(cuLibraryLoadData,
     (CUlibrary * out, const void *code, int *jit_options, void **jit_values, unsigned jit_count, int *options,
      void **values, unsigned count),
     (out, code, jit_options, jit_values, jit_count, options, values, count), "jit_options=%u options=%u",
     jit_count, count) {
  struct image *images;
  if (!out || !code) return refuse(INVALID_VALUE, "NULL");
  CUresult status = capture_forbids("loading of a library");
  if (status) return status;
  status = image_parse(code, &images);
  int fits = knobs.late_arch;
  for (CUdevice device = 0; device < knobs.devices; device++) fits |= !!image_for(images, knobs.capability[device]);
  if (!status && !fits) status = no_binary(0);
  if (status) return image_free(images), status;
  struct library *library = calloc(1, sizeof *library);
  if (!library) return image_free(images), OUT_OF_MEMORY;
  *library = (struct library){.images = images, .number = made++, .next = libraries};
  *out = libraries = library;
  yield(" lib%d", library->number);
  yield_images(images);
  return SUCCESS;
}

static void free_kernels(struct kernel *kernel) {
  while (kernel) {
    struct kernel *next = kernel->next;
    for (struct function *function = kernel->functions, *after; function; function = after) {
      after = function->next;
      free(function);
    }
    free(kernel->name), free(kernel);
    kernel = next;
  }
}

CALL(cuLibraryUnload, (CUlibrary library), (library), "lib%d", is_library(library) ? library->number : -1) {
  if (!is_library(library)) return refuse(INVALID_HANDLE, "it is no library");
  CUresult status = capture_forbids("unloading of a library");
  if (status) return status;
  struct library **place = &libraries;
  while (*place != library) place = &(*place)->next;
  *place = library->next;
  free_kernels(library->kernels);
  placed_free(library);
  image_free(library->images);
  free(library);
  return SUCCESS;
}

CALL(cuLibraryGetKernel, (CUkernel * out, CUlibrary library, const char *name), (out, library, name),
     "lib%d \"%s\"", is_library(library) ? library->number : -1, name ? name : "NULL") {
  if (!out || !name) return refuse(INVALID_VALUE, "NULL");
  if (!is_library(library)) return refuse(INVALID_HANDLE, "it is no library");
  *out = NULL;
  for (struct kernel *kernel = library->kernels; kernel; kernel = kernel->next) {
    if (!strcmp(kernel->name, name)) *out = kernel;
  }
  const struct image *image = library->images;
  while (image && !image_entry(image, name)) image = image->next;
  if (!image) return refuse(NOT_FOUND, "the library has no such kernel");
  if (*out) return SUCCESS;
  struct kernel *kernel = calloc(1, sizeof *kernel);
  if (!kernel || !(kernel->name = strdup(name))) return free(kernel), OUT_OF_MEMORY;
  kernel->library = library, kernel->next = library->kernels;
  *out = library->kernels = kernel;
  return SUCCESS;
}

CALL(cuKernelGetFunction, (CUfunction * out, CUkernel kernel), (out, kernel), "%s", kernel_text(kernel)) {
  struct function *function;
  if (!out) return refuse(INVALID_VALUE, "NULL");
  if (!is_kernel(kernel)) return refuse(INVALID_HANDLE, "it is no kernel");
  CUresult status = context_check(current());
  if (!status) status = function_in(kernel, current(), &function);
  if (status) return status;
  *out = function;
  yield(" %s", kernel_text(function));
  return SUCCESS;
}

static CUresult parameter_info(const struct kernel *kernel, size_t index, size_t *offset, size_t *size) {
  const struct entry *entry = any_entry(kernel);
  if (!entry) return no_binary(0);
  if (!offset || index >= entry->count) return refuse(INVALID_VALUE, "it has %u parameters", entry->count);
  *offset = entry->parameters[index].offset;
  if (size) *size = entry->parameters[index].size;
  yield(" offset=%u size=%u", entry->parameters[index].offset, entry->parameters[index].size);
  return SUCCESS;
}

CALL(cuKernelGetParamInfo, (CUkernel kernel, size_t index, size_t *offset, size_t *size),
     (kernel, index, offset, size), "%s %zu", kernel_text(kernel), index) {
  if (!is_kernel(kernel)) return refuse(INVALID_HANDLE, "it is no kernel");
  return parameter_info(kernel, index, offset, size);
}

CALL(cuFuncGetParamInfo, (CUfunction handle, size_t index, size_t *offset, size_t *size),
     (handle, index, offset, size), "%s %zu", kernel_text(handle), index) {
  struct function *function;
  struct kernel *kernel = find(handle, &function);
  if (!function) return refuse(INVALID_HANDLE, "it is no function");
  return parameter_info(kernel, index, offset, size);
}

int kernel_attribute(const struct kernel *kernel, const struct entry *entry, int attribute, CUdevice device) {
  if (kernel->is_set[device][attribute]) return kernel->attributes[device][attribute];
  switch (attribute) {
    case FUNCTION_MAX_THREADS: return entry->max_threads ? (int)entry->max_threads : 1024;
    case FUNCTION_SHARED: return entry->shared;
    /* The number of registers is not read from images. */
    case FUNCTION_REGISTERS: return 32;
    case FUNCTION_PTX: return knobs.capability[device];
    case FUNCTION_BINARY: return knobs.capability[device];
    case FUNCTION_MAX_DYNAMIC: return 49152 - (int)entry->shared;
    case FUNCTION_CLUSTER_WIDTH: return entry->cluster[0];
    case FUNCTION_CLUSTER_WIDTH + 1: return entry->cluster[1];
    case FUNCTION_CLUSTER_WIDTH + 2: return entry->cluster[2];
    default: return 0;
  }
}

static CUresult get_attribute(int *out, int attribute, const struct kernel *kernel, CUdevice device) {
  if (!out || attribute < 0 || attribute >= FUNCTION_ATTRIBUTES) return refuse(INVALID_VALUE, "no such attribute");
  if (!is_device(device)) return refuse(INVALID_DEVICE, "there are %d", knobs.devices);
  const struct entry *entry = kernel_entry(kernel, device);
  if (!entry) return no_binary(device);
  yield(" %d", *out = kernel_attribute(kernel, entry, attribute, device));
  return SUCCESS;
}

static int is_loaded(const struct kernel *kernel, CUdevice device) {
  const struct function *function = kernel->functions;
  while (function && !(function->loaded && function->context->device == device)) function = function->next;
  return function != NULL;
}

/* Sets an attribute; those below 8 are read-only. Shared memory must fit beside the kernel's static memory. */
static CUresult set_attribute(struct kernel *kernel, int attribute, int value, CUdevice device) {
  if (attribute < FUNCTION_MAX_DYNAMIC || attribute >= FUNCTION_ATTRIBUTES)
    return refuse(INVALID_VALUE, "no such attribute to set");
  if (!is_device(device)) return refuse(INVALID_DEVICE, "there are %d", knobs.devices);
  const struct entry *entry = kernel_entry(kernel, device);
  if (!entry) return no_binary(device);
  CUresult status = is_loaded(kernel, device) ? SUCCESS : capture_forbids("an attribute of a kernel not loaded");
  if (status) return status;
  int most = knobs.shared_optin - (int)entry->shared;
  if (attribute == FUNCTION_MAX_DYNAMIC && (value < 0 || value > most))
    return refuse(INVALID_VALUE, "at most %d bytes", most);
  kernel->attributes[device][attribute] = value, kernel->is_set[device][attribute] = 1;
  return SUCCESS;
}

CALL(cuKernelGetAttribute, (int *out, int attribute, CUkernel kernel, CUdevice device),
     (out, attribute, kernel, device), "%s %d device=%d", kernel_text(kernel), attribute, device) {
  if (!is_kernel(kernel)) return refuse(INVALID_HANDLE, "it is no kernel");
  return get_attribute(out, attribute, kernel, device);
}

CALL(cuKernelSetAttribute, (int attribute, int value, CUkernel kernel, CUdevice device),
     (attribute, value, kernel, device), "%s %d=%d device=%d", kernel_text(kernel), attribute, value, device) {
  if (!is_kernel(kernel)) return refuse(INVALID_HANDLE, "it is no kernel");
  return set_attribute(kernel, attribute, value, device);
}

CALL(cuFuncGetAttribute, (int *out, int attribute, CUfunction handle), (out, attribute, handle), "%s %d",
     kernel_text(handle), attribute) {
  struct function *function;
  struct kernel *kernel = find(handle, &function);
  if (!function) return refuse(INVALID_HANDLE, "it is no function");
  return get_attribute(out, attribute, kernel, function->context->device);
}

CALL(cuFuncSetAttribute, (CUfunction handle, int attribute, int value), (handle, attribute, value), "%s %d=%d",
     kernel_text(handle), attribute, value) {
  struct function *function;
  struct kernel *kernel = find(handle, &function);
  if (!function) return refuse(INVALID_HANDLE, "it is no function");
  return set_attribute(kernel, attribute, value, function->context->device);
}

CALL(cuFuncLoad, (CUfunction handle), (handle), "%s", kernel_text(handle)) {
  struct function *function;
  find(handle, &function);
  return function ? function_load(function) : refuse(INVALID_HANDLE, "it is no function");
}

CALL(cuFuncIsLoaded, (int *out, CUfunction handle), (out, handle), "%s", kernel_text(handle)) {
  struct function *function;
  find(handle, &function);
  if (!function || !out) return refuse(INVALID_HANDLE, "it is no function");
  yield(" %d", *out = function->loaded);
  return SUCCESS;
}
