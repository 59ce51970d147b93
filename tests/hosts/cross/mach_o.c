/* Part of the host for other machines: a loader of libraries for macOS, on Linux. It maps segments, rebases pointers, and
 * binds each name to the function of this process that has it without the underscore of macOS. The layouts are those of
 * <mach-o/loader.h>, the operations of the two small machines those of `BIND_OPCODE_…` and `REBASE_OPCODE_…`. */

#define _GNU_SOURCE
#include "cross.h"

#include <dlfcn.h>
#include <stdarg.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/mman.h>

enum {
  MAGIC = 0xfeedfacf,
  SYMTAB = 2,
  SEGMENT = 0x19,
  DYLD_INFO = 0x22,
  PAGE = 1 << 16,
  POINTER = 8,
  /* Flags of symbols: stabs and private ones, the kind, and that of a section. */
  HIDDEN = 0xf0,
  KIND = 0x0e,
  IN_SECTION = 0x0e,
  WEAK_IMPORT = 1,
};

struct header {
  uint32_t magic, cpu, subcpu, type, commands, size, flags, reserved;
};
struct command {
  uint32_t kind, size;
};
struct segment {
  struct command command;
  char name[16];
  uint64_t address, room, offset, size;
};
struct symtab {
  struct command command;
  uint32_t offset, count, strings, strings_size;
};
struct symbol {
  uint32_t name;
  uint8_t type, section;
  uint16_t description;
  uint64_t value;
};
struct part {
  uint32_t offset, size;
};
struct info {
  struct command command;
  struct part rebase, bind, weak_bind, lazy_bind, exports;
};

/* A library: its file, where it is mapped, and the addresses of its segments. */
struct library {
  const uint8_t *file;
  uint8_t *place;
  uint64_t segments[16];
  const struct symtab *symtab;
};

static uint64_t unsigned_of(const uint8_t **at) {
  uint64_t value = 0;
  for (int shift = 0;; shift += 7) {
    uint8_t byte = *(*at)++;
    value |= (uint64_t)(byte & 127) << shift;
    if (byte < 128) return value;
  }
}

#ifdef __aarch64__
/* `vsnprintf` for arguments as macOS passes them: all on the stack. */
static int print_arguments(char *text, size_t size, const char *format, char *stack) {
  va_list list = {.__stack = stack, .__gr_offs = 0, .__vr_offs = 0};
  return vsnprintf(text, size, format, list);
}
#else
#define print_arguments vsnprintf
#endif

/* Stands for the function that would bind others on their first call. */
static void stub_binder(void) { stop("every function is bound, and yet one is not"); }

/* Returns the address of a function of this process; NULL if a weak one is missing. */
static void *function(const char *name, int is_weak) {
  if (strcmp(name, "dyld_stub_binder") == 0) return (void *)(uintptr_t)stub_binder;
  if (strcmp(name, "_vsnprintf") == 0) return (void *)(uintptr_t)print_arguments;
  void *found = name[0] == '_' ? dlsym(RTLD_DEFAULT, name + 1) : NULL;
  if (found || is_weak) return found;
  printf("%s: ", name);
  stop("nothing has this name");
}

static void add(struct library *library, uint64_t address, uint64_t value) {
  uint64_t pointer;
  memcpy(&pointer, library->place + address, POINTER);
  pointer += value;
  memcpy(library->place + address, &pointer, POINTER);
}

/* Adds the address of the library to the pointers into it. */
static void rebase(struct library *library, struct part part) {
  const uint8_t *at = library->file + part.offset, *end = at + part.size;
  uint64_t address = 0, count, skip;
  while (at < end) {
    uint8_t operation = *at & 0xf0, small = *at++ & 15;
    count = 0;
    skip = 0;
    switch (operation) {
      case 0x00: return;
      case 0x10: break;
      case 0x20: address = library->segments[small] + unsigned_of(&at); break;
      case 0x30: address += unsigned_of(&at); break;
      case 0x40: address += (uint64_t)small * POINTER; break;
      case 0x50: count = small; break;
      case 0x60: count = unsigned_of(&at); break;
      case 0x70:
        count = 1;
        skip = unsigned_of(&at);
        break;
      case 0x80:
        count = unsigned_of(&at);
        skip = unsigned_of(&at);
        break;
      default: stop("an unknown way to rebase");
    }
    for (; count > 0; count--, address += POINTER + skip) add(library, address, (uint64_t)(uintptr_t)library->place);
  }
}

/* Writes the addresses of functions of this process. Those that would be bound on their first call are bound, too. */
static void bind(struct library *library, struct part part, int is_lazy) {
  const uint8_t *at = library->file + part.offset, *end = at + part.size;
  const char *name = "";
  uint64_t address = 0, count, skip;
  int is_weak = 0;
  while (at < end) {
    uint8_t operation = *at & 0xf0, small = *at++ & 15;
    count = 0;
    skip = 0;
    switch (operation) {
      case 0x00:
        if (!is_lazy) return;
        break;
      case 0x10:
      case 0x30:
      case 0x50: break;
      case 0x20: unsigned_of(&at); break;
      case 0x40:
        name = (const char *)at;
        is_weak = small & WEAK_IMPORT;
        at += strlen(name) + 1;
        break;
      case 0x70: address = library->segments[small] + unsigned_of(&at); break;
      case 0x80: address += unsigned_of(&at); break;
      case 0x90: count = 1; break;
      case 0xa0:
        count = 1;
        skip = unsigned_of(&at);
        break;
      case 0xb0:
        count = 1;
        skip = (uint64_t)small * POINTER;
        break;
      case 0xc0:
        count = unsigned_of(&at);
        skip = unsigned_of(&at);
        break;
      default: stop("an unknown way to bind");
    }
    for (; count > 0; count--, address += POINTER + skip) {
      void *found = function(name, is_weak);
      memcpy(library->place + address, &found, POINTER);
    }
  }
}

static const uint8_t *contents(const char *path) {
  FILE *file = fopen(path, "rb");
  if (!file || fseek(file, 0, SEEK_END)) stop("no such library");
  long size = ftell(file);
  rewind(file);
  uint8_t *all = malloc((size_t)size + 1);
  if (!all || fread(all, 1, (size_t)size, file) != (size_t)size) stop("the library cannot be read");
  fclose(file);
  return all;
}

/* Calls a function for each command of a kind. */
static void each(struct library *library, uint32_t kind, void (*visit)(struct library *, const void *)) {
  struct header header;
  memcpy(&header, library->file, sizeof header);
  const uint8_t *at = library->file + sizeof header;
  for (uint32_t i = 0; i < header.commands; i++) {
    struct command command;
    memcpy(&command, at, sizeof command);
    // The highest bit asks loaders that do not know the kind to fail.
    if ((command.kind & 0x7fffffff) == kind) visit(library, at);
    at += command.size;
  }
}

static uint64_t room;
static int segments;

static void measure(struct library *library, const void *command) {
  const struct segment *segment = command;
  (void)library;
  uint64_t end = segment->address + segment->room;
  if (end > room) room = end;
}

static void copy(struct library *library, const void *command) {
  const struct segment *segment = command;
  library->segments[segments++] = segment->address;
  memcpy(library->place + segment->address, library->file + segment->offset, segment->size);
}

static void note_symbols(struct library *library, const void *command) { library->symtab = command; }

static void resolve(struct library *library, const void *command) {
  const struct info *info = command;
  rebase(library, info->rebase);
  bind(library, info->bind, 0);
  bind(library, info->lazy_bind, 1);
}

void *mach_o_load(const char *path) {
  struct library *library = calloc(1, sizeof *library);
  if (!library) stop("no room");
  library->file = contents(path);
  uint32_t magic;
  memcpy(&magic, library->file, sizeof magic);
  if (magic != MAGIC) stop("no library for macOS");
  each(library, SEGMENT, measure);
  int protection = PROT_READ | PROT_WRITE | PROT_EXEC;
  uint8_t *place = mmap(NULL, room + PAGE, protection, MAP_PRIVATE | MAP_ANONYMOUS, -1, 0);
  if (place == MAP_FAILED) stop("no room");
  library->place = place + (PAGE - (uintptr_t)place % PAGE) % PAGE;
  each(library, SEGMENT, copy);
  each(library, SYMTAB, note_symbols);
  each(library, DYLD_INFO, resolve);
  if (!library->symtab) stop("the library has no symbols");
  __builtin___clear_cache((char *)library->place, (char *)library->place + room);
  return library;
}

void *mach_o_find(void *handle, const char *name) {
  const struct library *library = handle;
  const struct symtab *symtab = library->symtab;
  const char *strings = (const char *)library->file + symtab->strings;
  for (uint32_t i = 0; i < symtab->count; i++) {
    struct symbol symbol;
    memcpy(&symbol, library->file + symtab->offset + i * sizeof symbol, sizeof symbol);
    int is_shown = (symbol.type & HIDDEN) == 0 && (symbol.type & KIND) == IN_SECTION;
    const char *found = strings + symbol.name;
    if (is_shown && found[0] == '_' && strcmp(found + 1, name) == 0) return library->place + symbol.value;
  }
  return NULL;
}
