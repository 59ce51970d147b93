/* Part of the stand-in for the CUDA driver: variables of the device, and the modules of libraries. A library has a module in
 * each context that asks for one, and each has its own variables, which are zero at first. */

#include "driver.h"

#include <stdlib.h>
#include <string.h>

/* A module of a library in a context. */
struct module {
  const struct library *library;
  const struct context *context;
  struct module *next;
};

/* A variable of a library in a context. */
struct placed {
  const struct variable *variable;
  const struct context *context;
  CUdeviceptr address;
  struct placed *next;
};

void placed_free(struct library *library) {
  for (struct module *module = library->modules, *next; module; module = next) next = module->next, free(module);
  for (struct placed *placed = library->placed, *next; placed; placed = next) {
    next = placed->next;
    memory_release(placed->address);
    free(placed);
  }
}

/* Returns the image of a library for the current context. */
static CUresult image_here(const struct library *library, const struct image **image) {
  CUresult status = context_check(current());
  if (status) return status;
  CUdevice device = current()->device;
  *image = image_for(library->images, knobs.capability[device]);
  return *image ? SUCCESS : refuse(NO_BINARY_FOR_GPU, "device %d has the architecture %d", device, knobs.capability[device]);
}

static int number_of(CUlibrary library) { return is_library(library) ? library->number : -1; }

CALL(cuLibraryGetGlobal, (CUdeviceptr * out, size_t *size, CUlibrary library, const char *name),
     (out, size, library, name), "lib%d \"%s\"", number_of(library), name ? name : "NULL") {
  const struct image *image;
  if (!name) return refuse(INVALID_VALUE, "NULL");
  if (!is_library(library)) return refuse(INVALID_HANDLE, "it is no library");
  CUresult status = image_here(library, &image);
  if (status) return status;
  const struct variable *variable = image_variable(image, name);
  if (!variable) return refuse(NOT_FOUND, "the library has no such variable");
  struct placed *placed = library->placed;
  while (placed && (placed->variable != variable || placed->context != current())) placed = placed->next;
  if (!placed) {
    if ((status = capture_forbids("a variable new to its context"))) return status;
    if (!(placed = malloc(sizeof *placed))) return OUT_OF_MEMORY;
    *placed = (struct placed){variable, current(), memory_of_variable(variable->size), library->placed};
    library->placed = placed;
  }
  if (out) *out = placed->address;
  if (size) *size = variable->size;
  yield(" size=%zu context=%s", variable->size, context_text(current()));
  return SUCCESS;
}

CALL(cuLibraryGetModule, (CUmodule * out, CUlibrary library), (out, library), "lib%d", number_of(library)) {
  const struct image *image;
  if (!out) return refuse(INVALID_VALUE, "NULL");
  if (!is_library(library)) return refuse(INVALID_HANDLE, "it is no library");
  CUresult status = image_here(library, &image);
  if (status) return status;
  struct module *module = library->modules;
  while (module && module->context != current()) module = module->next;
  if (!module) {
    if ((status = capture_forbids("a module new to its context"))) return status;
    if (!(module = malloc(sizeof *module))) return OUT_OF_MEMORY;
    *module = (struct module){library, current(), library->modules};
    library->modules = module;
  }
  *out = module;
  yield(" lib%d@%s", library->number, context_text(current()));
  return SUCCESS;
}
