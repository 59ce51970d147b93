/* A host in C that sets no allocator: functions allocate tensors all the same, and these outlive the library.
 *
 * Usage: unallocated LIBRARY, which exports iota(n: int64) -> out: Tensor([n], float32). */

#define _GNU_SOURCE
#include <dlfcn.h>
#include <stdio.h>
#include <stdlib.h>
#include <sys/resource.h>
#include <unistd.h>

#include <tvm/ffi/c_api.h>

static TVMFFISafeCallType iota;

static int call(int64_t n, TVMFFIAny *result) {
  TVMFFIAny arg = {.type_index = kTVMFFIInt};
  arg.v_int64 = n;
  *result = (TVMFFIAny){.type_index = kTVMFFINone};
  return iota(NULL, &arg, 1, result);
}

static DLTensor *view(TVMFFIAny *any) { return (DLTensor *)((TVMFFIObject *)any->v_obj + 1); }

static void print(TVMFFIAny *any) {
  for (int i = 0; i < 5; i++) printf("%s%g", i ? " " : "", ((float *)view(any)->data)[i]);
}

static void print_error(void) {
  TVMFFIObjectHandle error = NULL;
  TVMFFIErrorMoveFromRaised(&error);
  if (!error) return (void)puts("no error");
  const TVMFFIErrorCell *cell = (const TVMFFIErrorCell *)((const TVMFFIObject *)error + 1);
  printf("%.*s: %.*s\n", (int)cell->kind.size, cell->kind.data, (int)cell->message.size, cell->message.data);
  TVMFFIObjectDecRef(error);
}

static long resident(void) {
  long size = 0, pages = 0;
  FILE *file = fopen("/proc/self/statm", "r");
  if (!file || fscanf(file, "%ld %ld", &size, &pages) != 2) exit(2);
  fclose(file);
  return pages * sysconf(_SC_PAGESIZE);
}

/* Allocates a gigabyte in an address space without room for it. */
static void run_out(void) {
  struct rlimit before, small = {1 << 29, RLIM_INFINITY};
  TVMFFIAny result;
  getrlimit(RLIMIT_AS, &before);
  small.rlim_max = before.rlim_max;
  setrlimit(RLIMIT_AS, &small);
  printf("no memory: ");
  if (call(1 << 28, &result) == 0) puts("success");
  setrlimit(RLIMIT_AS, &before);
  print_error();
}

int main(int argc, char **argv) {
  if (argc != 2) return 2;
  void *library = dlopen(argv[1], RTLD_NOW);
  if (!library) return fprintf(stderr, "%s\n", dlerror()), 1;
  iota = (TVMFFISafeCallType)dlsym(library, "__tvm_ffi_iota");
  TVMFFIAny kept, result;
  if (call(5, &kept)) return print_error(), 1;
  DLTensor *dl = view(&kept);
  print(&kept);
  printf(", rank %d, extent %ld, stride %ld, aligned %d\n", dl->ndim, (long)dl->shape[0], (long)dl->strides[0],
         (uintptr_t)dl->data % 64 == 0);
  run_out();
  long before = 0;
  for (int i = 0; i < 101000; i++) {
    if (i == 1000) before = resident();
    if (call(1000, &result)) return print_error(), 1;
    TVMFFIObjectDecRef(result.v_obj);
  }
  long grown = resident() - before;
  dlclose(library);
  if (dlopen(argv[1], RTLD_NOW | RTLD_NOLOAD)) puts("the library is still there");
  printf("without the library: ");
  print(&kept);
  TVMFFIObjectDecRef(kept.v_obj);
  printf("\ngrows: %d\n", grown > 1 << 20);
  return 0;
}
