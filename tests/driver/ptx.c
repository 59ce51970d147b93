/* Part of the stand-in for the CUDA driver: what PTX says of its kernels. It is not compiled: only the version,
 * the target, kernels, their parameters, limits on blocks, shared variables and those of the device are read, after comments are taken
 * out. Parameters lie as in a structure of C; the assembler differs where one is aligned to more than 16 bytes. */

#include "driver.h"

#include <ctype.h>
#include <stdlib.h>
#include <string.h>

/* Removes comments and puts spaces between words. */
static char *plain(const char *text) {
  char *out = malloc(3 * strlen(text) + 1), *to = out;
  if (!out) abort();
  while (*text) {
    const char *line = strncmp(text, "//", 2) ? NULL : strchr(text, '\n');
    const char *block = strncmp(text, "/*", 2) ? NULL : strstr(text, "*/");
    if (!strncmp(text, "//", 2) && !line) break;
    if (line || block) {
      text = line ? line : block + 2;
      *to++ = ' ';
    } else if (strchr("(){}[],;", *text)) {
      *to++ = ' ', *to++ = *text++, *to++ = ' ';
    } else {
      *to++ = isspace((unsigned char)*text) ? ' ' : *text, text++;
    }
  }
  *to = 0;
  return out;
}

/* Returns the next word, ended by NUL in place; NULL at the end. */
static char *word(char **at) {
  char *start = *at + strspn(*at, " "), *end = start + strcspn(start, " ");
  if (!*start) return NULL;
  *at = *end ? end + 1 : end;
  *end = 0;
  return start;
}

static int is(const char *text, const char *other) { return text && !strcmp(text, other); }

/* Returns the bytes of a type such as `.u64` or `.b8`; 0 for other words. */
static uint32_t type_size(const char *type) {
  if (!type || type[0] != '.' || !strchr("bufs", type[1]) || !isdigit((unsigned char)type[2])) return 0;
  char *end;
  long bits = strtol(type + 2, &end, 10);
  return *end ? 0 : bits / 8;
}

/* Parses a variable after the name of its space: bytes, alignment and name. Stops after its name and count. */
static uint32_t variable(char **at, uint32_t *align, char **name) {
  uint32_t size = 0;
  for (*align = 0; !size;) {
    char *next = word(at);
    if (!next) return 0;
    if (is(next, ".align")) *align = (next = word(at)) ? strtoul(next, NULL, 10) : 0;
    else size = type_size(next);
  }
  if (!*align) *align = size;
  *name = word(at);
  const char *open = *at + strspn(*at, " ");
  if (!*name || *open != '[') return size;
  word(at);
  char *count = word(at);
  return count && *count != ']' ? size * strtoul(count, NULL, 10) : size;
}

static uint32_t round_up(uint32_t size, uint32_t align) {
  return align ? (size + align - 1) / align * align : size;
}

/* Parses the parameters, up to the closing parenthesis; ignores `.ptr` and its kind of memory. */
static void read_parameters(char **at, struct entry *entry) {
  uint32_t offset = 0, align;
  char *name;
  for (char *next = word(at); next && !is(next, ")"); next = word(at)) {
    if (!is(next, ".param")) continue;
    uint32_t size = variable(at, &align, &name);
    offset = round_up(offset, align);
    entry_add(entry, entry->count, (struct parameter){offset, size});
    offset += size;
  }
}

/* Parses three numbers separated by commas; missing ones are 1. */
static void read_three(char **at, uint32_t out[3]) {
  out[0] = out[1] = out[2] = 1;
  for (int i = 0; i < 3; i++) {
    char *number = word(at), *next = *at + strspn(*at, " ");
    out[i] = number ? strtoul(number, NULL, 10) : 1;
    if (*next != ',') return;
    word(at);
  }
}

/* Parses a kernel from its name to the end of its body. */
static void read_entry(char **at, struct image *image) {
  uint32_t align, three[3];
  int braces = 0;
  char *name = word(at);
  if (!name) return;
  struct entry *entry = image_add(image, name, strlen(name));
  for (char *next = word(at); next; next = word(at)) {
    if (is(next, "(") && !braces) read_parameters(at, entry);
    if (is(next, ".reqntid")) read_three(at, entry->exact_block);
    if (is(next, ".reqnctapercluster")) read_three(at, entry->cluster);
    if (is(next, ".explicitcluster")) entry->needs_cluster = 1;
    if (is(next, ".maxntid")) read_three(at, three), entry->max_threads = three[0] * three[1] * three[2];
    if (is(next, ".shared") && braces) {
      uint32_t size = variable(at, &align, &name);
      entry->shared = round_up(entry->shared, align) + size;
    }
    braces += is(next, "{") - is(next, "}");
    if (is(next, "}") && !braces) return;
  }
}

static void read_variable(char **at, struct image *image) {
  uint32_t align;
  char *name = NULL;
  uint32_t size = variable(at, &align, &name);
  if (name) image_add_variable(image, name, size);
}

CUresult ptx_parse(const char *text, struct image *image) {
  const char *start = text + strspn(text, " \t\r\n");
  image->is_text = 1;
  if (strncmp(start, "//", 2) && strncmp(start, "/*", 2) && strncmp(start, ".version", 8))
    return refuse(INVALID_IMAGE, "neither cubin nor fatbin nor PTX");
  char *copy = plain(text), *at = copy, *end = NULL;
  for (char *next = word(&at); next; next = word(&at)) {
    if (is(next, ".entry")) read_entry(&at, image);
    if (is(next, ".global") || is(next, ".const")) read_variable(&at, image);
    if (!is(next, ".target")) continue;
    char *target = word(&at);
    if (!target || strncmp(target, "sm_", 3)) break;
    image->arch = strtol(target + 3, &end, 10);
    image->only = *end == 'a';
  }
  free(copy);
  return image->arch ? SUCCESS : refuse(INVALID_IMAGE, "PTX without a target");
}
