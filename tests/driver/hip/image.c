/* Part of the stand-in for HIP: the contents of code objects and bundles.
 *
 * A code object is an ELF file whose machine is 224, and the low byte of its flags the architecture. A note of type 32
 * and owner AMDGPU describes its kernels in MessagePack: a map, whose `amdhsa.kernels` is an array of maps. A bundle has
 * a code object for each architecture, and one for the host, which is empty.
 *
 * The runtime does not know the size of an image, and trusts the sizes in it. */

#include "../elf64.h"
#include "hip.h"

#include <stdio.h>
#include <string.h>

enum { MACHINE = 224, METADATA = 32 };

static const char MAGIC[] = "__CLANG_OFFLOAD_BUNDLE__";

/* Numbers of architectures in the flags of ELF files. */
static const struct {
  unsigned flag;
  int arch;
} ARCHITECTURES[] = {{0x2f, 0x906}, {0x30, 0x908}, {0x36, 0x1030}, {0x3f, 0x90a}, {0x40, 0x940},  {0x41, 0x1100},
                     {0x48, 0x1200}, {0x4b, 0x941}, {0x4c, 0x942}, {0x4e, 0x1201}, {0x4f, 0x950}};

const char *arch_text(int arch) {
  static char texts[4][32];
  static unsigned next;
  char *text = texts[next++ % 4];
  snprintf(text, sizeof *texts, "gfx%x", (unsigned)arch);
  return text;
}

/* Reads a big-endian number. */
static uint64_t number(const unsigned char **at, int bytes) {
  uint64_t value = 0;
  while (bytes--) value = value << 8 | *(*at)++;
  return value;
}

/* Reads the head of a value of MessagePack: a number, or the length of what follows. Returns its kind. */
enum kind { NUMBER, TEXT, ARRAY, MAP, OTHER };

static enum kind head(const unsigned char **at, uint64_t *value) {
  unsigned char first = *(*at)++;
  if (first < 0x80) return *value = first, NUMBER;
  if (first < 0x90) return *value = first & 0xf, MAP;
  if (first < 0xa0) return *value = first & 0xf, ARRAY;
  if (first < 0xc0) return *value = first & 0x1f, TEXT;
  switch (first) {
    case 0xcc: case 0xcd: case 0xce: case 0xcf: return *value = number(at, 1 << (first - 0xcc)), NUMBER;
    case 0xd9: case 0xda: case 0xdb: return *value = number(at, 1 << (first - 0xd9)), TEXT;
    case 0xdc: case 0xdd: return *value = number(at, 2 << (first - 0xdc)), ARRAY;
    case 0xde: case 0xdf: return *value = number(at, 2 << (first - 0xde)), MAP;
    /* nil, false and true; the metadata has no other values. */
    default: return OTHER;
  }
}

static void skip(const unsigned char **at) {
  uint64_t length;
  enum kind kind = head(at, &length);
  if (kind == TEXT) *at += length;
  if (kind == ARRAY || kind == MAP) {
    for (uint64_t i = 0; i < length * (kind == MAP ? 2 : 1); i++) skip(at);
  }
}

/* Returns the value of a key in the map at an address; NULL if there is none. */
static const unsigned char *get(const unsigned char *at, const char *key) {
  uint64_t count, length;
  if (!at || head(&at, &count) != MAP) return NULL;
  while (count--) {
    if (head(&at, &length) != TEXT) return NULL;
    int is_key = length == strlen(key) && !memcmp(at, key, length);
    at += length;
    if (is_key) return at;
    skip(&at);
  }
  return NULL;
}

static uint32_t number_at(const unsigned char *at) {
  uint64_t value;
  return at && head(&at, &value) == NUMBER ? (uint32_t)value : 0;
}

static int starts_with(const unsigned char *at, const char *prefix) {
  uint64_t length;
  if (!at || head(&at, &length) != TEXT) return 0;
  return length >= strlen(prefix) && !memcmp(at, prefix, strlen(prefix));
}

/* Reads a kernel. Its hidden parameters are the runtime's own. */
static void read_kernel(const unsigned char *kernel, struct image *image) {
  const unsigned char *name = get(kernel, ".name"), *parameters = get(kernel, ".args");
  uint64_t length, count = 0;
  if (!name || head(&name, &length) != TEXT) return;
  struct entry *entry = image_add(image, (const char *)name, length);
  entry->shared = number_at(get(kernel, ".group_segment_fixed_size"));
  entry->max_threads = number_at(get(kernel, ".max_flat_workgroup_size"));
  if (parameters) head(&parameters, &count);
  for (; count--; skip(&parameters)) {
    if (starts_with(get(parameters, ".value_kind"), "hidden_")) continue;
    struct parameter parameter = {number_at(get(parameters, ".offset")), number_at(get(parameters, ".size"))};
    entry_add(entry, entry->count, parameter);
  }
}

static void read_metadata(const unsigned char *metadata, struct image *image) {
  const unsigned char *kernels = get(metadata, "amdhsa.kernels");
  uint64_t count = 0;
  if (!kernels || head(&kernels, &count) != ARRAY) return;
  for (; count--; skip(&kernels)) read_kernel(kernels, image);
}

static void read_notes(const unsigned char *at, const unsigned char *end, struct image *image) {
  while (end - at >= (long)sizeof(Elf64_Nhdr)) {
    Elf64_Nhdr note;
    memcpy(&note, at, sizeof note);
    const unsigned char *owner = at + sizeof note, *contents = owner + (note.n_namesz + 3) / 4 * 4;
    if (note.n_type == METADATA && note.n_namesz == 7 && !memcmp(owner, "AMDGPU", 7)) read_metadata(contents, image);
    at = contents + (note.n_descsz + 3) / 4 * 4;
  }
}

/* Reads a table of symbols: those that are objects, but no descriptors of kernels, are variables of the device. */
static void read_symbols(const unsigned char *code, const Elf64_Ehdr *header, Elf64_Shdr table, struct image *image) {
  Elf64_Shdr names;
  Elf64_Sym symbol;
  memcpy(&names, code + header->e_shoff + table.sh_link * sizeof names, sizeof names);
  for (uint64_t at = 0; at < table.sh_size; at += sizeof symbol) {
    memcpy(&symbol, code + table.sh_offset + at, sizeof symbol);
    const char *name = (const char *)code + names.sh_offset + symbol.st_name, *end = strrchr(name, '.');
    int is_variable = (symbol.st_info & 0xf) == ELF_OBJECT && symbol.st_shndx && !(end && !strcmp(end, ".kd"));
    if (is_variable) image_add_variable(image, name, symbol.st_size);
  }
}

static CUresult parse_elf(const unsigned char *code, struct image *image) {
  Elf64_Ehdr header;
  memcpy(&header, code, sizeof header);
  if (header.e_ident[EI_CLASS] != ELFCLASS64 || header.e_machine != MACHINE)
    return refuse(INVALID_IMAGE, "an ELF file of another machine");
  for (size_t i = 0; i < sizeof ARCHITECTURES / sizeof *ARCHITECTURES; i++) {
    if (ARCHITECTURES[i].flag == (header.e_flags & 0xff)) image->arch = ARCHITECTURES[i].arch;
  }
  for (int i = 0; i < header.e_phnum; i++) {
    Elf64_Phdr segment;
    memcpy(&segment, code + header.e_phoff + i * sizeof segment, sizeof segment);
    const unsigned char *contents = code + segment.p_offset;
    if (segment.p_type == PT_NOTE) read_notes(contents, contents + segment.p_filesz, image);
  }
  for (int i = 0; i < header.e_shnum; i++) {
    Elf64_Shdr section;
    memcpy(&section, code + header.e_shoff + i * sizeof section, sizeof section);
    if (section.sh_type == ELF_DYNAMIC_SYMBOLS) read_symbols(code, &header, section, image);
  }
  return SUCCESS;
}

/* Reads a number of a bundle's header. */
static uint64_t word(const unsigned char **at) {
  uint64_t value;
  memcpy(&value, *at, sizeof value);
  *at += sizeof value;
  return value;
}

static CUresult parse_bundle(const unsigned char *code, struct image **out) {
  const unsigned char *at = code + strlen(MAGIC);
  for (uint64_t count = word(&at); count--;) {
    uint64_t offset = word(&at), size = word(&at), length = word(&at);
    int is_ours = length > 3 && size && !memcmp(at, "hip", 3);
    at += length;
    CUresult status = is_ours ? parse_elf(code + offset, image_new(out)) : SUCCESS;
    if (status) return status;
  }
  return *out ? SUCCESS : refuse(INVALID_IMAGE, "an empty bundle");
}

CUresult code_parse(const void *code, struct image **out) {
  *out = NULL;
  if (!strncmp(code, "CCOB", 4)) return refuse(INVALID_IMAGE, "this stand-in reads no compressed bundle");
  if (!strncmp(code, MAGIC, strlen(MAGIC))) return parse_bundle(code, out);
  if (!strncmp(code, ELFMAG, SELFMAG)) return parse_elf(code, image_new(out));
  return refuse(INVALID_IMAGE, "neither a code object nor a bundle");
}
