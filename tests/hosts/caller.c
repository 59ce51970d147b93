/* A host in C: loads a library through libtvm_ffi, calls a function on tensors, and prints the error
 * of a wrong call. After the guide "Stable C ABI" of apache/tvm-ffi.
 *
 * Usage: caller LIBRARY, which exports add_one(x: Tensor([n], float32), y: Tensor([n], float32)). */

#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include <tvm/ffi/c_api.h>

/* Prints the error in the thread's slot. */
static void print_error(void) {
  TVMFFIObjectHandle error = NULL;
  TVMFFIErrorMoveFromRaised(&error);
  if (!error) {
    puts("no error");
    return;
  }
  const TVMFFIErrorCell *cell =
      (const TVMFFIErrorCell *)((const TVMFFIObject *)error + 1);
  printf("%.*s: %.*s\n", (int)cell->kind.size, cell->kind.data, (int)cell->message.size, cell->message.data);
  TVMFFIObjectDecRef(error);
}

static void check(int status) {
  if (status == 0) return;
  print_error();
  exit(1);
}

static TVMFFIAny string(const char *text) {
  TVMFFIAny any = {.type_index = kTVMFFIRawStr};
  any.v_c_str = text;
  return any;
}

static TVMFFIAny tensor(DLTensor *view) {
  TVMFFIAny any = {.type_index = kTVMFFIDLTensorPtr};
  any.v_ptr = view;
  return any;
}

/* Calls a global function; the caller owns the object that it returns. */
static TVMFFIAny call_global(const char *name, TVMFFIAny *args, int32_t count) {
  TVMFFIByteArray bytes = {name, strlen(name)};
  TVMFFIObjectHandle function = NULL;
  TVMFFIAny result = {.type_index = kTVMFFINone};
  check(TVMFFIFunctionGetGlobal(&bytes, &function));
  check(TVMFFIFunctionCall(function, args, count, &result));
  TVMFFIObjectDecRef(function);
  return result;
}

static DLTensor vector(float *data, int64_t *length) {
  DLTensor view = {.data = data, .ndim = 1, .shape = length};
  view.device.device_type = kDLCPU;
  view.dtype = (DLDataType){kDLFloat, 32, 1};
  return view;
}

int main(int argc, char **argv) {
  if (argc != 2) return 2;
  TVMFFIAny path[] = {string(argv[1]), string("")};
  TVMFFIAny module = call_global("ffi.Module.load_from_file.so", path, 2);
  TVMFFIAny query[] = {module, string("add_one"), {.type_index = kTVMFFIBool}};
  TVMFFIAny function = call_global("ffi.ModuleGetFunction", query, 3);

  float x[] = {1, 2, 3, 4, 5}, y[5] = {0};
  int64_t five = 5, four = 4;
  DLTensor input = vector(x, &five), output = vector(y, &five);
  TVMFFIAny args[] = {tensor(&input), tensor(&output)}, result = {.type_index = kTVMFFINone};
  check(TVMFFIFunctionCall(function.v_obj, args, 2, &result));
  for (int i = 0; i < 5; i++) printf("%g%c", y[i], i < 4 ? ' ' : '\n');
  printf("result: type index %d\n", result.type_index);

  output.shape = &four;
  if (TVMFFIFunctionCall(function.v_obj, args, 2, &result) == 0) puts("success");
  print_error();
  TVMFFIObjectDecRef(function.v_obj);
  TVMFFIObjectDecRef(module.v_obj);
  return 0;
}
