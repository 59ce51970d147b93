/* Part of both stand-ins: images, and the kernels and variables in them. */

#include "driver.h"

#include <stdlib.h>
#include <string.h>

/* Appends an image to a list. */
struct image *image_new(struct image **out) {
  while (*out) out = &(*out)->next;
  *out = calloc(1, sizeof **out);
  if (!*out) abort();
  return *out;
}

struct entry *image_add(struct image *image, const char *name, size_t length) {
  image->entries = realloc(image->entries, (image->count + 1) * sizeof *image->entries);
  if (!image->entries) abort();
  struct entry *entry = &image->entries[image->count++];
  *entry = (struct entry){.name = calloc(1, length + 1)};
  if (!entry->name) abort();
  memcpy(entry->name, name, length);
  return entry;
}

void entry_add(struct entry *entry, uint32_t ordinal, struct parameter parameter) {
  if (ordinal >= entry->count) {
    entry->parameters = realloc(entry->parameters, (ordinal + 1) * sizeof parameter);
    if (!entry->parameters) abort();
    memset(entry->parameters + entry->count, 0, (ordinal + 1 - entry->count) * sizeof parameter);
    entry->count = ordinal + 1;
  }
  entry->parameters[ordinal] = parameter;
}

void image_free(struct image *image) {
  while (image) {
    struct image *next = image->next;
    for (size_t i = 0; i < image->count; i++) free(image->entries[i].name), free(image->entries[i].parameters);
    for (size_t i = 0; i < image->variable_count; i++) free(image->variables[i].name);
    free(image->entries), free(image->variables), free(image);
    image = next;
  }
}

const struct entry *image_entry(const struct image *image, const char *name) {
  for (size_t i = 0; image && i < image->count; i++) {
    if (!strcmp(image->entries[i].name, name)) return &image->entries[i];
  }
  return NULL;
}

void image_add_variable(struct image *image, const char *name, size_t size) {
  image->variables = realloc(image->variables, (image->variable_count + 1) * sizeof *image->variables);
  char *copy = strdup(name);
  if (!image->variables || !copy) abort();
  image->variables[image->variable_count++] = (struct variable){copy, size};
}

const struct variable *image_variable(const struct image *image, const char *name) {
  for (size_t i = 0; image && i < image->variable_count; i++) {
    if (!strcmp(image->variables[i].name, name)) return &image->variables[i];
  }
  return NULL;
}
