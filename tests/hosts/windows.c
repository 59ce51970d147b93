/* A host in C for Windows: lets the runtime load each library, calls the functions of `tests/suite/windows.rs` and prints
 * each result.
 *
 * Usage: windows LIBRARY..., where @PREFIX is a library that is linked into this program. */

#include <inttypes.h>
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include <tvm/ffi/c_api.h>
#include <tvm/ffi/extra/c_env_api.h>

enum { WIDE = 600 };

static TVMFFIByteArray text(const char *words) { return (TVMFFIByteArray){words, strlen(words)}; }

static TVMFFIAny string(const char *words) { return (TVMFFIAny){.type_index = kTVMFFIRawStr, .v_c_str = words}; }

static void print_error(void) {
  TVMFFIObjectHandle object = NULL;
  TVMFFIErrorMoveFromRaised(&object);
  if (!object) return (void)puts("no error");
  const TVMFFIErrorCell *error = (const TVMFFIErrorCell *)((const TVMFFIObject *)object + 1);
  printf("%.*s: %.*s\n", (int)error->kind.size, error->kind.data, (int)error->message.size, error->message.data);
  TVMFFIObjectDecRef(object);
}

/* Calls a function of the runtime, which must not fail. */
static TVMFFIAny call_global(const char *name, const TVMFFIAny *args, int32_t count) {
  TVMFFIByteArray bytes = text(name);
  TVMFFIObjectHandle function = NULL;
  TVMFFIAny result = {0};
  if (TVMFFIFunctionGetGlobal(&bytes, &function) || !function) printf("there is no %s\n", name), exit(1);
  if (TVMFFIFunctionCall(function, (TVMFFIAny *)args, count, &result)) print_error(), exit(1);
  TVMFFIObjectDecRef(function);
  return result;
}

/* Calls a function of the runtime with known numbers in the registers that callees keep: 1 in RBX, 2 in RBP and so on. */
int call_kept(TVMFFIObjectHandle function, TVMFFIAny *args, int32_t count, TVMFFIAny *result);

__asm__(
    ".text\n"
    ".globl call_kept\n"
    ".seh_proc call_kept\n"
    "call_kept:\n"
    "  push %rbx\n .seh_pushreg %rbx\n"
    "  push %rbp\n .seh_pushreg %rbp\n"
    "  push %rsi\n .seh_pushreg %rsi\n"
    "  push %rdi\n .seh_pushreg %rdi\n"
    "  push %r12\n .seh_pushreg %r12\n"
    "  push %r13\n .seh_pushreg %r13\n"
    "  push %r14\n .seh_pushreg %r14\n"
    "  push %r15\n .seh_pushreg %r15\n"
    "  sub $40, %rsp\n .seh_stackalloc 40\n"
    ".seh_endprologue\n"
    "  mov $1, %ebx\n mov $2, %ebp\n mov $3, %esi\n mov $4, %edi\n"
    "  mov $5, %r12d\n mov $6, %r13d\n mov $7, %r14d\n mov $8, %r15d\n"
    "  call TVMFFIFunctionCall\n"
    "  add $40, %rsp\n"
    "  pop %r15\n pop %r14\n pop %r13\n pop %r12\n pop %rdi\n pop %rsi\n pop %rbp\n pop %rbx\n"
    "  ret\n"
    ".seh_endproc\n");

/* Calls a function of a library and prints the number that it returns, or its error. */
static __attribute__((noinline)) void call(TVMFFIAny library, const char *name, int32_t count, TVMFFIAny *args) {
  TVMFFIAny wanted[] = {library, string(name), {.type_index = kTVMFFIBool}}, result = {0};
  TVMFFIAny function = call_global("ffi.ModuleGetFunction", wanted, 3);
  printf("%s: ", name);
  if (function.type_index != kTVMFFIFunction) return (void)puts("not exported");
  if (call_kept(function.v_obj, args, count, &result)) print_error();
  else if (result.type_index == kTVMFFIFloat) printf("%g\n", result.v_float64);
  else printf("%" PRId64 "\n", result.v_int64);
  TVMFFIObjectDecRef(function.v_obj);
}

/* The function of an imported module. */
static int imported(void *self, const TVMFFIAny *args, int32_t count, TVMFFIAny *result) {
  (void)self;
  *result = (TVMFFIAny){.type_index = kTVMFFIInt, .v_int64 = 10 * args[0].v_int64 + count};
  return 0;
}

/* Returns a library by the name of its file, or by the prefix of what is linked into this program. */
static TVMFFIAny open_library(const char *name) {
  int is_here = name[0] == '@';
  TVMFFIAny text = string(name + is_here);
  return call_global(is_here ? "ffi.SystemLib" : "ffi.ModuleLoadFromFile", &text, 1);
}

/* The functions of this program that belong to no library. */
static TVMFFIAny own;

/* Loads a module from bytes: those functions. */
static int load(void *self, const TVMFFIAny *args, int32_t count, TVMFFIAny *result) {
  (void)self, (void)args, (void)count;
  TVMFFIObjectIncRef(own.v_obj);
  *result = own;
  return 0;
}

int main(int argc, char **argv) {
  TVMFFIByteArray loader = text("ffi.Module.load_from_bytes.of_host");
  TVMFFIObjectHandle function = NULL;
  if (TVMFFIFunctionCreate(NULL, load, NULL, &function) || TVMFFIFunctionSetGlobal(&loader, function, 0) ||
      TVMFFIEnvModRegisterSystemLibSymbol("__tvm_ffi_imported", (void *)(uintptr_t)imported))
    print_error(), exit(1);
  // Loaders run while the runtime makes a library.
  own = call_global("ffi.SystemLib", NULL, 0);
  float data[4] = {1, 2, 3, 4};
  int64_t shape = 4, stride = 1;
  DLTensor x = {data, {kDLCPU, 0}, 1, {kDLFloat, 32, 1}, &shape, &stride, 0}, y = x;
  y.device.device_type = kDLCUDA;
  TVMFFIAny here = {.type_index = kTVMFFIDLTensorPtr, .v_ptr = &x}, there = here, all[WIDE];
  there.v_ptr = &y;
  TVMFFIAny self = {.type_index = kTVMFFIOpaquePtr, .v_ptr = (void *)(uintptr_t)call_kept};
  for (int i = 0; i < WIDE; i++) all[i] = (TVMFFIAny){.type_index = kTVMFFIInt, .v_int64 = i};
  for (int i = 1; i < argc; i++) {
    TVMFFIAny library = open_library(argv[i]);
    call(library, "walked", 1, &self);
    call(library, "wide", WIDE, all);
    call(library, "passed", WIDE, all);
    call(library, "sum", 1, &here);
    call(library, "through", 1, &all[7]);
    call(library, "also", 1, &all[8]);
    call(library, "launched", 1, &there);
    TVMFFIObjectDecRef(library.v_obj);
  }
  return 0;
}
