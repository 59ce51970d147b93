/* Calls the functions of tvm_ffi_codegen.h from C: a result, and errors that only C can make. */
#include <stdio.h>
#include <string.h>
#include <tvm/ffi/c_api.h>
#include <tvm_ffi_codegen.h>

/* Prints the status, and the error of the thread if there is one. */
static void complain(const char* what, int32_t status) {
  TVMFFIAny error;
  if (tvm_ffi_codegen_take_error(&error) != 0) return;
  TVMFFIByteArray text = tvm_ffi_codegen_contents(&error);
  printf("%s: %d, %.*s\n", what, status, (int)text.size, text.data == NULL ? "" : text.data);
  tvm_ffi_codegen_release(&error);
}

/* Makes options and an array, and calls with them. */
static void with_options(const char* text) {
  TVMFFIAny form[] = {tvm_ffi_codegen_text("form"), tvm_ffi_codegen_text("ir")}, options, files, result;
  printf("map: %d\n", tvm_ffi_codegen_map(form, 2, &options));
  printf("array: %d\n", tvm_ffi_codegen_array(form, 2, &files));
  printf("emit: %d\n", tvm_ffi_codegen_emit(text, (int64_t)strlen(text), options.v_obj, &result));
  printf("ir: %.6s\n", tvm_ffi_codegen_contents(&result).data);
  tvm_ffi_codegen_release(&result);
  complain("link", tvm_ffi_codegen_link(files.v_obj, options.v_obj, &result));
  printf("odd: %d\n", tvm_ffi_codegen_map(form, 1, &result));
  complain("left", tvm_ffi_codegen_take_error(NULL));
  tvm_ffi_codegen_release(&files);
  tvm_ffi_codegen_release(&options);
}

int main(void) {
  const char* text = "f(n: int64) -> None = k(n);";
  TVMFFIAny result;
  int32_t status = tvm_ffi_codegen_check(text, (int64_t)strlen(text), NULL, &result);
  printf("check: %d, type index %d\n", status, result.type_index);
  if (status == 0) TVMFFIObjectDecRef(result.v_obj);
  complain("dropped", tvm_ffi_codegen_check(text, (int64_t)strlen(text), NULL, NULL));
  complain("empty", tvm_ffi_codegen_check(NULL, 0, NULL, NULL));
  status = tvm_ffi_codegen_emit(text, (int64_t)strlen(text), NULL, &result);
  printf("no options: %d, %d\n", status, tvm_ffi_codegen_contents(&result).size > 1000);
  tvm_ffi_codegen_release(&result);
  complain("no kernels", tvm_ffi_codegen_jit(text, (int64_t)strlen(text), NULL, NULL, &result));
  complain("no files", tvm_ffi_codegen_link(NULL, NULL, &result));
  complain("no file", tvm_ffi_codegen_inspect(NULL, &result));
  complain("a negative size", tvm_ffi_codegen_check(text, -1, NULL, &result));
  with_options(text);
  status = tvm_ffi_codegen_version(&result);
  printf("version: %d, %d\n", status, strcmp(tvm_ffi_codegen_contents(&result).data, TVM_FFI_CODEGEN_VERSION));
  tvm_ffi_codegen_release(&result);
  return 0;
}
