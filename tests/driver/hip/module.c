/* Part of the stand-in for HIP: modules, their kernels and variables. A module belongs to the device that is current when it is
 * loaded, and must fit it; nothing is loaded later. Captures of graphs do not forbid it. */

#include "hip.h"

#include <stdio.h>
#include <stdlib.h>
#include <string.h>

static hipModule_t modules;
static int made;

static int is_module(hipModule_t handle) {
  hipModule_t module = modules;
  while (module && module != handle) module = module->next;
  return module != NULL;
}

static int number_of(hipModule_t handle) { return is_module(handle) ? handle->number : -1; }

int64_t libraries_live(void) {
  int64_t count = 0;
  for (hipModule_t module = modules; module; module = module->next) count++;
  return count;
}

int is_function(hipFunction_t handle) {
  for (hipModule_t module = modules; module; module = module->next) {
    for (hipFunction_t function = module->functions; function; function = function->next) {
      if (function == handle) return 1;
    }
  }
  return 0;
}

const char *function_text(hipFunction_t handle) {
  static char text[256];
  if (!is_function(handle)) return "no-kernel";
  snprintf(text, sizeof text, "mod%d.\"%s\"", handle->module->number, handle->entry->name);
  return text;
}

static const struct image *image_of(const struct image *images, int arch) {
  while (images && images->arch != arch) images = images->next;
  return images;
}

HIP_CALL(hipModuleLoadData, (hipModule_t * out, const void *code), (out, code), NOTHING) {
  struct image *images;
  if (!out || !code) return refuse(INVALID_VALUE, "NULL");
  CUresult status = code_parse(code, &images);
  CUdevice device = current()->device;
  const struct image *image = status ? NULL : image_of(images, knobs.capability[device]);
  if (!status && !image)
    status = refuse(NO_BINARY_FOR_GPU, "device %d is a %s", device, arch_text(knobs.capability[device]));
  hipModule_t module = status ? NULL : calloc(1, sizeof *module);
  if (!module) return image_free(images), status ? status : OUT_OF_MEMORY;
  *module = (struct ihipModule_t){device, images, image, NULL, NULL, made++, modules};
  *out = modules = module;
  yield(" mod%d device=%d", module->number, device);
  for (; images; images = images->next) yield(" %s", arch_text(images->arch));
  return SUCCESS;
}

HIP_CALL(hipModuleUnload, (hipModule_t module), (module), "mod%d", number_of(module)) {
  if (!module) return refuse(INVALID_HANDLE, "NULL");
  if (!is_module(module)) return refuse(NOT_FOUND, "it is no module");
  hipModule_t *place = &modules;
  while (*place != module) place = &(*place)->next;
  *place = module->next;
  for (hipFunction_t function = module->functions, next; function; function = next) {
    next = function->next;
    free(function);
  }
  for (struct placed *placed = module->placed, *next; placed; placed = next) {
    next = placed->next;
    memory_release(placed->address);
    free(placed);
  }
  image_free(module->images);
  free(module);
  return SUCCESS;
}

HIP_CALL(hipModuleGetFunction, (hipFunction_t * out, hipModule_t module, const char *name), (out, module, name),
         "mod%d \"%s\"", number_of(module), name ? name : "NULL") {
  if (!out || !name || !*name) return refuse(INVALID_VALUE, "NULL, or no name");
  if (!module) return refuse(INVALID_HANDLE, "NULL");
  if (!is_module(module)) return refuse(NOT_FOUND, "it is no module");
  /* The real one ends the program. */
  if (module->device != current()->device) return refuse(INVALID_DEVICE, "the module is of device %d", module->device);
  const struct entry *entry = image_entry(module->image, name);
  if (!entry) return refuse(NOT_FOUND, "the module has no such kernel");
  for (*out = module->functions; *out; *out = (*out)->next) {
    if ((*out)->entry == entry) return SUCCESS;
  }
  if (!(*out = calloc(1, sizeof **out))) return OUT_OF_MEMORY;
  **out = (struct ihipModuleSymbol_t){module, entry, module->functions};
  module->functions = *out;
  return SUCCESS;
}

HIP_CALL(hipModuleGetGlobal, (hipDeviceptr_t * out, size_t *size, hipModule_t module, const char *name),
         (out, size, module, name), "mod%d \"%s\"", number_of(module), name ? name : "NULL") {
  if (!out || !size || !name) return refuse(INVALID_VALUE, "NULL, or no name");
  if (!is_module(module)) return refuse(NOT_FOUND, "it is no module");
  const struct variable *variable = image_variable(module->image, name);
  if (!variable) return refuse(NOT_FOUND, "the module has no such variable");
  struct placed *placed = module->placed;
  while (placed && placed->variable != variable) placed = placed->next;
  if (!placed) {
    if (!(placed = malloc(sizeof *placed))) return OUT_OF_MEMORY;
    *placed = (struct placed){variable, memory_of_variable(variable->size), module->placed};
    module->placed = placed;
  }
  *out = (hipDeviceptr_t)(uintptr_t)placed->address, *size = variable->size;
  yield(" size=%zu", variable->size);
  return SUCCESS;
}

/* Registers are not read from images. */
static CUresult attribute_of(hipFunction_t function, int attribute, int *out) {
  const struct entry *entry = function->entry;
  switch (attribute) {
    case FUNCTION_MAX_THREADS: *out = (int)entry->max_threads; break;
    case FUNCTION_SHARED: *out = (int)entry->shared; break;
    case FUNCTION_REGISTERS: *out = 32; break;
    case FUNCTION_MAX_DYNAMIC: *out = knobs.shared_optin - (int)entry->shared; break;
    default: return refuse(INVALID_VALUE, "no such attribute");
  }
  yield(" %d", *out);
  return SUCCESS;
}

HIP_CALL(hipFuncGetAttribute, (int *out, hipFunction_attribute attribute, hipFunction_t function),
         (out, attribute, function), "%s %d", function_text(function), (int)attribute) {
  if (!out) return refuse(INVALID_VALUE, "NULL");
  if (!is_function(function)) return refuse(INVALID_HANDLE, "it is no kernel");
  return attribute_of(function, (int)attribute, out);
}
