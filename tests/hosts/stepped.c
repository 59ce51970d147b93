/* Steps through calls of a library, one instruction at a time, and asks the unwinder at each new one of the library for the
 * frame of `call` here, with the registers that it keeps: they must be those that it finds at the first instruction.
 * The unwinder runs in a signal handler on the same stack, which writes over memory that no function owns any more.
 *
 * Usage: stepped LIBRARY, which exports wide and deep; prints how many instructions there were, and each wrong one. For
 * Linux on x86-64. */

#define _GNU_SOURCE
#include <dlfcn.h>
#include <link.h>
#include <signal.h>
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <ucontext.h>
#include <unwind.h>

#include <tvm/ffi/c_api.h>

enum { WIDE = 600, CODE = 1 << 20, TRAP = 0x100, KEPT = 6 };

/* DWARF's numbers of rbx, rbp, r12, r13, r14 and r15. */
static const int kept[KEPT] = {3, 6, 12, 13, 14, 15};

/* A frame as the unwinder sees it: its end and registers; no end, if it was not found. */
struct frame {
  uintptr_t end, registers[KEPT];
};

static const char *path;
static uintptr_t start, end;
static char seen[CODE];
static volatile int steps;
static struct frame expected;
static int checked, wrong;

static __attribute__((noinline)) int call(TVMFFISafeCallType function, const TVMFFIAny *args, int32_t count);

/* Notes the code of the library. */
static int find(struct dl_phdr_info *object, size_t size, void *data) {
  (void)size, (void)data;
  if (strcmp(object->dlpi_name, path)) return 0;
  for (int i = 0; i < object->dlpi_phnum; i++) {
    const ElfW(Phdr) *segment = &object->dlpi_phdr[i];
    if (segment->p_type != PT_LOAD || !(segment->p_flags & PF_X)) continue;
    start = object->dlpi_addr + segment->p_vaddr;
    end = start + segment->p_memsz;
  }
  return 1;
}

static _Unwind_Reason_Code visit(struct _Unwind_Context *context, void *data) {
  if (_Unwind_GetRegionStart(context) != (uintptr_t)call) return _URC_NO_REASON;
  struct frame *frame = data;
  frame->end = _Unwind_GetCFA(context);
  for (int i = 0; i < KEPT; i++) frame->registers[i] = _Unwind_GetGR(context, kept[i]);
  return _URC_END_OF_STACK;
}

static void on_trap(int number, siginfo_t *info, void *context) {
  (void)number, (void)info;
  greg_t *registers = ((ucontext_t *)context)->uc_mcontext.gregs;
  if (!steps) {
    registers[REG_EFL] &= ~TRAP;
    return;
  }
  registers[REG_EFL] |= TRAP;
  uintptr_t at = registers[REG_RIP];
  if (at < start || at >= end || seen[at - start]++) return;
  struct frame found = {0};
  _Unwind_Backtrace(visit, &found);
  checked++;
  if (!expected.end) expected = found;
  if (found.end && !memcmp(&found, &expected, sizeof found)) return;
  wrong++;
  printf("%#lx: the caller is %s\n", (unsigned long)(at - start), found.end ? "another" : "not found");
}

/* Makes a call instruction by instruction; returns its status. */
static int call(TVMFFISafeCallType function, const TVMFFIAny *args, int32_t count) {
  TVMFFIAny result = {.type_index = kTVMFFINone};
  memset(&expected, 0, sizeof expected);
  steps = 1;
  raise(SIGTRAP);
  int status = function(NULL, args, count, &result);
  steps = 0;
  raise(SIGTRAP);
  if (result.type_index >= kTVMFFIStaticObjectBegin) TVMFFIObjectDecRef(result.v_obj);
  TVMFFIObjectHandle error = NULL;
  TVMFFIErrorMoveFromRaised(&error);
  if (error) TVMFFIObjectDecRef(error);
  return status;
}

int main(int count, char **arguments) {
  path = count > 1 ? arguments[1] : "";
  void *library = dlopen(path, RTLD_NOW);
  if (!library || !dl_iterate_phdr(find, NULL) || end - start > CODE) {
    printf("no library %s\n", path);
    return 1;
  }
  struct sigaction action = {.sa_sigaction = on_trap, .sa_flags = SA_SIGINFO};
  sigaction(SIGTRAP, &action, NULL);
  TVMFFISafeCallType wide = (TVMFFISafeCallType)dlsym(library, "__tvm_ffi_wide");
  TVMFFISafeCallType deep = (TVMFFISafeCallType)dlsym(library, "__tvm_ffi_deep");
  static TVMFFIAny args[WIDE];
  for (int i = 0; i < WIDE; i++) args[i] = (TVMFFIAny){.type_index = kTVMFFIInt, .v_int64 = i};
  int failed = call(wide, args, WIDE) || call(deep, args + 3, 1);
  args[WIDE - 1].type_index = kTVMFFIFloat;
  failed |= !call(wide, args, WIDE) || !call(wide, args, WIDE - 1) || !call(deep, args, 2);
  printf("%d of %d instructions are wrong\n", wrong, checked);
  return failed || wrong;
}
