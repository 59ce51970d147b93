/* Part of the stand-in for the CUDA driver: the contents of cubins and fatbins.
 *
 * A cubin is an ELF file whose machine is 190. Each kernel has a section `.nv.info.<kernel>` of records: a format,
 * an attribute and two bytes more, which for format 4 are the size of the payload. The static shared memory is the
 * size of `.nv.shared.<kernel>`, which from architecture 90 on begins with 1 KiB of the driver's.
 *
 * The driver does not know the size of an image, and trusts the sizes in it. */

#include "driver.h"
#include "elf64.h"

#include <stdlib.h>
#include <string.h>

enum { MACHINE = 190, INFO_VALUE = 4, MAX_THREADS = 0x05, EXACT_THREADS = 0x10, PARAMETER = 0x17, CLUSTER = 0x3d,
       NEEDS_CLUSTER = 0x3e, LARGE_PARAMETER = 0x45, RESERVED_SHARED = 1024 };
/* An attribute of `.nv.compat`. */
enum { ONLY_HERE = 0x09 };
enum { FATBIN_WRAPPER = 0x466243b1, FATBIN = 0xba55ed50, FATBIN_PTX = 1, FATBIN_ELF = 2, COMPRESSED = 0xf000 };

/* The header that nvcc puts before a fatbin in a host's object. */
struct wrapper {
  uint32_t magic, version;
  const void *fatbin, *unused;
};

struct fatbin {
  uint32_t magic;
  uint16_t version, header_size;
  uint64_t size;
};

/* The header of each image of a fatbin. */
struct fatbin_entry {
  uint16_t kind, version;
  uint32_t header_size;
  uint64_t size;
  uint32_t compressed_size, options_offset;
  uint16_t minor, major;
  uint32_t arch, name_offset, name_size;
  uint64_t flags;
};

/* Machine code runs on its own architecture and later ones of the same major version, PTX on any later one. */
static int fits(const struct image *image, int capability) {
  if (image->only) return image->arch == capability;
  return image->arch <= capability && (image->is_text || image->arch / 10 == capability / 10);
}

const struct image *image_for(const struct image *images, int capability) {
  const struct image *best = NULL;
  for (const struct image *image = images; image; image = image->next) {
    if (!fits(image, capability)) continue;
    /* Machine code is better than PTX, and a nearer architecture than a farther one. */
    int better = !best || best->is_text > image->is_text ||
                 (best->is_text == image->is_text && best->arch < image->arch);
    if (better) best = image;
  }
  return best;
}

/* Reads a record of `.nv.info`, whose payload may be unaligned. */
static void read_info(struct entry *entry, int attribute, const unsigned char *payload) {
  uint32_t words[3];
  memcpy(words, payload, sizeof words);
  switch (attribute) {
    /* An unused word; ordinal and offset; the size, which PARAMETER has in the upper bits. */
    case PARAMETER:
    case LARGE_PARAMETER:
      words[2] >>= attribute == PARAMETER ? 18 : 0;
      entry_add(entry, words[1] & 0xffff, (struct parameter){words[1] >> 16, words[2]});
      return;
    case MAX_THREADS: entry->max_threads = words[0] * words[1] * words[2]; return;
    case EXACT_THREADS: memcpy(entry->exact_block, words, sizeof words); return;
    case CLUSTER: memcpy(entry->cluster, words, sizeof words); return;
    default: return;
  }
}

static void read_infos(struct entry *entry, const unsigned char *at, const unsigned char *end) {
  while (end - at >= 4) {
    uint16_t size = at[2] | at[3] << 8;
    int has_value = at[0] == INFO_VALUE;
    if (has_value && size >= 12 && end - at >= 16) read_info(entry, at[1], at + 4);
    if (at[1] == NEEDS_CLUSTER) entry->needs_cluster = 1;
    at += 4 + (has_value ? size : 0);
  }
}

/* Returns the text after a prefix; NULL if the text has another start. */
static const char *after(const char *text, const char *prefix) {
  size_t size = strlen(prefix);
  return strncmp(text, prefix, size) ? NULL : text + size;
}

/* Returns true if a cubin of a toolkit from 13 on is for its architecture alone. */
static int read_compat(const unsigned char *at, const unsigned char *end) {
  for (; end - at >= 4; at += 4 + (at[0] == INFO_VALUE ? at[2] | at[3] << 8 : 0)) {
    if (at[1] == ONLY_HERE) return at[2] == 1;
  }
  return 0;
}

/* Reads a section that defines a kernel. */
static void read_section(const char *name, const unsigned char *at, uint64_t size, struct image *image) {
  const char *kernel = after(name, ".nv.info.");
  if (kernel) read_infos(image_add(image, kernel, strlen(kernel)), at, at + size);
  if (!strcmp(name, ".nv.compat")) image->only = read_compat(at, at + size);
}

/* Reads a section that adds to a known kernel. */
static void read_shared(const char *name, uint64_t size, struct image *image) {
  const char *kernel = after(name, ".nv.shared.");
  struct entry *entry = kernel ? (struct entry *)image_entry(image, kernel) : NULL;
  uint64_t reserved = image->arch >= 90 && size >= RESERVED_SHARED ? RESERVED_SHARED : 0;
  if (entry) entry->shared = size - reserved;
}

/* Kernels of tiles know their number of threads: launches state one. Their cubins have a section for the driver. */
static void read_tiles(const char *name, struct image *image) {
  if (strcmp(name, ".nv.host")) return;
  for (size_t i = 0; i < image->count; i++) memcpy(image->entries[i].exact_block, (uint32_t[]){1, 1, 1}, 12);
}

/* Reads the symbols of a cubin: those that are objects and defined are variables of the device. */
static void read_symbols(const unsigned char *code, const Elf64_Ehdr *header, Elf64_Shdr table, struct image *image) {
  Elf64_Shdr names;
  Elf64_Sym symbol;
  memcpy(&names, code + header->e_shoff + table.sh_link * sizeof names, sizeof names);
  for (uint64_t at = 0; at < table.sh_size; at += sizeof symbol) {
    memcpy(&symbol, code + table.sh_offset + at, sizeof symbol);
    if ((symbol.st_info & 0xf) != ELF_OBJECT || !symbol.st_shndx) continue;
    image_add_variable(image, (const char *)code + names.sh_offset + symbol.st_name, symbol.st_size);
  }
}

static void read_sections(const unsigned char *code, const Elf64_Ehdr *header, struct image *image) {
  Elf64_Shdr names, section;
  memcpy(&names, code + header->e_shoff + header->e_shstrndx * sizeof names, sizeof names);
  for (int i = 0; i < 2 * header->e_shnum; i++) {
    memcpy(&section, code + header->e_shoff + i % header->e_shnum * sizeof section, sizeof section);
    const char *name = (const char *)code + names.sh_offset + section.sh_name;
    if (i < header->e_shnum && section.sh_type == ELF_SYMBOLS) read_symbols(code, header, section, image);
    if (i < header->e_shnum) read_section(name, code + section.sh_offset, section.sh_size, image);
    else read_shared(name, section.sh_size, image), read_tiles(name, image);
  }
}

static CUresult parse_elf(const unsigned char *code, struct image *image) {
  Elf64_Ehdr header;
  memcpy(&header, code, sizeof header);
  if (header.e_ident[EI_CLASS] != ELFCLASS64 || header.e_machine != MACHINE)
    return refuse(INVALID_IMAGE, "an ELF file of another machine");
  if (header.e_shentsize != sizeof(Elf64_Shdr) || header.e_shstrndx >= header.e_shnum)
    return refuse(INVALID_IMAGE, "an ELF file without sections");
  /* Toolkits from 13 on write the architecture elsewhere, and a section tells whether no other will do. */
  int is_new = header.e_ident[EI_ABIVERSION] >= 8;
  image->arch = header.e_flags >> (is_new ? 8 : 0) & 0xff;
  image->only = !is_new && header.e_flags & 0x800;
  read_sections(code, &header, image);
  return SUCCESS;
}

static CUresult parse_fatbin(const unsigned char *code, struct image **out) {
  struct fatbin header;
  struct fatbin_entry entry;
  memcpy(&header, code, sizeof header);
  const unsigned char *at = code + header.header_size, *last = at + header.size;
  while (at < last) {
    memcpy(&entry, at, sizeof entry);
    const unsigned char *body = at + entry.header_size;
    if (entry.header_size < sizeof entry) return refuse(INVALID_IMAGE, "a fatbin with a short entry");
    if (entry.flags & COMPRESSED) return refuse(INVALID_IMAGE, "this stand-in reads no compressed fatbin");
    CUresult status = SUCCESS;
    if (entry.kind == FATBIN_ELF) status = parse_elf(body, image_new(out));
    if (entry.kind == FATBIN_PTX) status = ptx_parse((const char *)body, image_new(out));
    if (status) return status;
    at = body + entry.size;
  }
  return *out ? SUCCESS : refuse(INVALID_IMAGE, "an empty fatbin");
}

CUresult image_parse(const void *code, struct image **out) {
  uint32_t magic;
  *out = NULL;
  /* Text may be shorter than a number. */
  if (strnlen(code, sizeof magic) < sizeof magic && *(const char *)code != ELFMAG0) magic = 0;
  else memcpy(&magic, code, sizeof magic);
  if (magic == FATBIN_WRAPPER) {
    struct wrapper wrapper;
    memcpy(&wrapper, code, sizeof wrapper);
    code = wrapper.fatbin;
    memcpy(&magic, code, sizeof magic);
  }
  if (magic == FATBIN) return parse_fatbin(code, out);
  if (!memcmp(&magic, ELFMAG, SELFMAG)) return parse_elf(code, image_new(out));
  return ptx_parse(code, image_new(out));
}
