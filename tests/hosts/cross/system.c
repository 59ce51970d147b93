/* Part of the host for other machines: the functions of their systems. */

#define _GNU_SOURCE
#include "cross.h"

#include <stdio.h>

/* Checks that a symbol was found. */
static void *known(void *found, const char *name) {
  if (found) return found;
  printf("%s: ", name);
  stop("no such symbol");
}

#ifdef _WIN32

#include <fcntl.h>
#include <io.h>
#include <windows.h>

void system_begin(void) {
  // Lines end as elsewhere.
  _setmode(_fileno(stdin), _O_BINARY);
  _setmode(_fileno(stdout), _O_BINARY);
}

void *system_load(const char *name) {
  HMODULE library = LoadLibraryA(name);
  if (library) return library;
  printf("%s: error %lu: ", name, GetLastError());
  stop("no such library");
}

void *system_find(void *library, const char *name) {
  if (!library) library = (void *)GetModuleHandleA("tvm_ffi.dll");
  return known((void *)(uintptr_t)GetProcAddress(library, name), name);
}

void *system_room(void *place, size_t size) {
  return VirtualAlloc(place, size, MEM_RESERVE | MEM_COMMIT, PAGE_READWRITE);
}

#else

#include <dlfcn.h>
#include <sys/mman.h>

void system_begin(void) {}

#ifdef MACH_O

void *system_load(const char *name) { return mach_o_load(name); }

void *system_find(void *library, const char *name) {
  return known(library ? mach_o_find(library, name) : dlsym(RTLD_DEFAULT, name), name);
}

#else

void *system_load(const char *name) {
  void *library = dlopen(name, RTLD_NOW);
  if (!library) stop(dlerror());
  return library;
}

void *system_find(void *library, const char *name) {
  return known(dlsym(library ? library : RTLD_DEFAULT, name), name);
}

#endif

void *system_room(void *place, size_t size) {
  int flags = MAP_PRIVATE | MAP_ANONYMOUS | MAP_FIXED_NOREPLACE;
  void *room = mmap(place, size, PROT_READ | PROT_WRITE, flags, -1, 0);
  return room == MAP_FAILED ? NULL : room;
}

#endif
