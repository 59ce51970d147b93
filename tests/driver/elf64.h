/* What the stand-ins read of ELF files of 64 bits, by the names of <elf.h>, which systems with other files lack. */

#ifndef ELF64_H
#define ELF64_H

#include <stdint.h>

#define ELFMAG "\177ELF"
enum { SELFMAG = 4, ELFMAG0 = 0x7f, EI_CLASS = 4, EI_ABIVERSION = 8, ELFCLASS64 = 2, PT_NOTE = 4 };

/* The header of a file. */
typedef struct {
  unsigned char e_ident[16];
  uint16_t e_type, e_machine;
  uint32_t e_version;
  uint64_t e_entry, e_phoff, e_shoff;
  uint32_t e_flags;
  uint16_t e_ehsize, e_phentsize, e_phnum, e_shentsize, e_shnum, e_shstrndx;
} Elf64_Ehdr;

/* The header of a section. */
typedef struct {
  uint32_t sh_name, sh_type;
  uint64_t sh_flags, sh_addr, sh_offset, sh_size;
  uint32_t sh_link, sh_info;
  uint64_t sh_addralign, sh_entsize;
} Elf64_Shdr;

/* A symbol. The low half of `st_info` is its kind. */
typedef struct {
  uint32_t st_name;
  unsigned char st_info, st_other;
  uint16_t st_shndx;
  uint64_t st_value, st_size;
} Elf64_Sym;

enum { ELF_SYMBOLS = 2, ELF_DYNAMIC_SYMBOLS = 11, ELF_OBJECT = 1 };

/* The header of a segment. */
typedef struct {
  uint32_t p_type, p_flags;
  uint64_t p_offset, p_vaddr, p_paddr, p_filesz, p_memsz, p_align;
} Elf64_Phdr;

/* The header of a note. */
typedef struct {
  uint32_t n_namesz, n_descsz, n_type;
} Elf64_Nhdr;

#endif
