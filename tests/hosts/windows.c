/* A host in C for Windows: calls the functions of `tests/suite/windows.rs` and prints each outcome on a line.
 *
 * Usage: windows LIBRARY */

#include <windows.h>

#include <inttypes.h>
#include <stdio.h>

#include <tvm/ffi/c_api.h>

static HMODULE library;

static void print_error(void) {
  TVMFFIObjectHandle object = NULL;
  TVMFFIErrorMoveFromRaised(&object);
  if (!object) return (void)puts("no error");
  const TVMFFIErrorCell *error = (const TVMFFIErrorCell *)((const TVMFFIObject *)object + 1);
  printf("%.*s: %.*s\n", (int)error->kind.size, error->kind.data, (int)error->message.size, error->message.data);
  TVMFFIObjectDecRef(object);
}

static void print_result(const TVMFFIAny *result) {
  if (result->type_index == kTVMFFITensor) {
    const DLTensor *tensor = (const DLTensor *)(result->v_obj + 1);
    const float *data = tensor->data;
    printf("tensor of %" PRId64 ", the last is %g\n", tensor->shape[0], data[tensor->shape[0] - 1]);
  } else if (result->type_index == kTVMFFIFloat) {
    printf("%g\n", result->v_float64);
  } else {
    printf("%d: %" PRId64 "\n", result->type_index, result->v_int64);
  }
  if (result->type_index >= kTVMFFIStaticObjectBegin) TVMFFIObjectDecRef(result->v_obj);
}

static void call(const char *name, int32_t count, const TVMFFIAny *args) {
  char symbol[100];
  snprintf(symbol, sizeof symbol, "__tvm_ffi_%s", name);
  TVMFFISafeCallType function = (TVMFFISafeCallType)(void *)GetProcAddress(library, symbol);
  printf("%s: ", name);
  if (!function) return (void)puts("not exported");
  TVMFFIAny result = {0};
  if (function(NULL, args, count, &result) == 0) print_result(&result);
  else print_error();
}

static TVMFFIAny integer(int64_t value) { return (TVMFFIAny){.type_index = kTVMFFIInt, .v_int64 = value}; }

static TVMFFIAny number(double value) { return (TVMFFIAny){.type_index = kTVMFFIFloat, .v_float64 = value}; }

static TVMFFIAny view(DLTensor *tensor) { return (TVMFFIAny){.type_index = kTVMFFIDLTensorPtr, .v_ptr = tensor}; }

int main(int argc, char **argv) {
  library = argc == 2 ? LoadLibraryA(argv[1]) : NULL;
  if (!library) return printf("cannot load: %lu\n", GetLastError()), 1;
  float data[4] = {1, 2, 3, 4};
  int64_t shape = 4, stride = 1, wide = 2;
  DLTensor x = {data, {kDLCPU, 0}, 1, {kDLFloat, 32, 1}, &shape, &stride, 0}, strided = x, big = x;
  strided.strides = &wide, big.ndim = 2;
  call("twice", 1, (TVMFFIAny[]){integer(21)});
  call("twice", 1, (TVMFFIAny[]){number(1.5)});
  call("twice", 0, NULL);
  call("narrow", 1, (TVMFFIAny[]){integer(-3)});
  call("narrow", 1, (TVMFFIAny[]){integer(300)});
  call("many", 6, (TVMFFIAny[]){integer(1), number(0.5), integer(2), number(0.25), integer(3), number(0.125)});
  call("sum", 1, (TVMFFIAny[]){view(&x)});
  call("sum", 1, (TVMFFIAny[]){view(&strided)});
  call("sum", 1, (TVMFFIAny[]){view(&big)});
  call("sum", 1, (TVMFFIAny[]){view(NULL)});
  call("grown", 1, (TVMFFIAny[]){view(&x)});
  call("loops", 1, (TVMFFIAny[]){integer(10)});
  call("loops", 1, (TVMFFIAny[]){integer(-1)});
  call("tried", 1, (TVMFFIAny[]){integer(0)});
  call("tried", 1, (TVMFFIAny[]){integer(7)});
  TVMFFIAny all[600];
  for (int i = 0; i < 600; i++) all[i] = integer(i);
  call("wide", 600, all);
  return 0;
}
