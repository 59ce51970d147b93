/* A program in C that makes a function of TVM FFI in its own process and calls it.
 *
 * It declares `add_one` around a kernel, compiles the declaration, adds one to five numbers, and prints what a wrong call
 * says. To build it, with the Python package installed:
 *
 *     flags="--cxxflags --ldflags --libs"
 *     gcc host.c -o host $(tvm-ffi-config --cflags --ldflags --libs) $(python3 -m tvm_ffi_codegen.config $flags)
 */
#include <stdio.h>
#include <string.h>

#include <tvm/ffi/c_api.h>
#include <tvm_ffi_codegen.h>

static const char* kDeclarations =
    "add_one(x: Tensor([n], float32), y: Tensor([n], float32)) -> None = add_one_kernel(x.data, y.data, n);";

static void add_one_kernel(const float* x, float* y, int64_t n) {
  for (int64_t i = 0; i < n; i++) y[i] = x[i] + 1;
}

/* Prints the error of the call that has failed. */
static int complain(void) {
  TVMFFIAny error;
  if (tvm_ffi_codegen_take_error(&error) != 0) return 1;
  TVMFFIByteArray text = tvm_ffi_codegen_contents(&error);
  printf("%.*s\n", (int)text.size, text.data);
  tvm_ffi_codegen_release(&error);
  return 1;
}

/* Compiles the declarations around the kernel; NULL stands for the default options. */
static int compile(TVMFFIAny* module) {
  TVMFFIAny kernels;
  TVMFFIAny given[] = {tvm_ffi_codegen_text("add_one_kernel"), tvm_ffi_codegen_kernel((void (*)(void))add_one_kernel)};
  if (tvm_ffi_codegen_map(given, 2, &kernels) != 0) return -1;
  int status = tvm_ffi_codegen_jit(kDeclarations, (int64_t)strlen(kDeclarations), kernels.v_obj, NULL, module);
  tvm_ffi_codegen_release(&kernels);
  return status;
}

/* Looks a function up in a module. */
static int look_up(const TVMFFIAny* module, const char* function, TVMFFIAny* found) {
  const TVMFFIByteArray name = {"ffi.ModuleGetFunction", sizeof "ffi.ModuleGetFunction" - 1};
  TVMFFIAny query_imports = {.type_index = kTVMFFIBool};
  TVMFFIAny arguments[] = {*module, tvm_ffi_codegen_text(function), query_imports};
  return tvm_ffi_codegen_call(&name, arguments, 3, found);
}

static TVMFFIAny vector(DLTensor* tensor, float* numbers, int64_t* count) {
  *tensor = (DLTensor){.data = numbers, .device = {kDLCPU, 0}, .ndim = 1, .dtype = {kDLFloat, 32, 1}, .shape = count};
  return (TVMFFIAny){.type_index = kTVMFFIDLTensorPtr, .v_ptr = tensor};
}

int main(void) {
  TVMFFIAny module, add_one, result = {.type_index = kTVMFFINone};
  printf("version %s\n", TVM_FFI_CODEGEN_VERSION);
  if (compile(&module) != 0 || look_up(&module, "add_one", &add_one) != 0) return complain();

  float x[] = {1, 2, 3, 4, 5}, y[5];
  int64_t five = 5, four = 4;
  DLTensor tensors[2];
  TVMFFIAny arguments[] = {vector(&tensors[0], x, &five), vector(&tensors[1], y, &five)};
  if (TVMFFIFunctionCall(add_one.v_obj, arguments, 2, &result) != 0) return complain();
  printf("%g %g %g %g %g\n", y[0], y[1], y[2], y[3], y[4]);

  arguments[1] = vector(&tensors[1], y, &four);
  int status = TVMFFIFunctionCall(add_one.v_obj, arguments, 2, &result);
  printf("status %d\n", status);
  complain();
  tvm_ffi_codegen_release(&add_one);
  tvm_ffi_codegen_release(&module);
  return 0;
}
