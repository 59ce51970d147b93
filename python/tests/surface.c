/* Calls the functions of tvm_ffi_codegen.h from C: a result, and errors that only C can make. */
#include <stdio.h>
#include <string.h>
#include <tvm/ffi/c_api.h>
#include <tvm_ffi_codegen.h>

/* Prints the status, or the error of the thread. */
static void complain(const char* what, int32_t status) {
  TVMFFIObjectHandle error = NULL;
  TVMFFIErrorMoveFromRaised(&error);
  if (status == 0 || error == NULL) {
    printf("%s: %d\n", what, status);
    return;
  }
  const TVMFFIErrorCell* cell = (const TVMFFIErrorCell*)((const char*)error + sizeof(TVMFFIObject));
  printf("%s: %.*s: %.*s\n", what, (int)cell->kind.size, cell->kind.data, (int)cell->message.size, cell->message.data);
  TVMFFIObjectDecRef(error);
}

int main(void) {
  const char* text = "f(n: int64) -> None = k(n);";
  TVMFFIAny result;
  int32_t status = tvm_ffi_codegen_check(text, (int64_t)strlen(text), &result);
  printf("check: %d, type index %d\n", status, result.type_index);
  if (status == 0) TVMFFIObjectDecRef(result.v_obj);
  complain("dropped", tvm_ffi_codegen_check(text, (int64_t)strlen(text), NULL));
  complain("empty", tvm_ffi_codegen_check(NULL, 0, NULL));
  complain("no options", tvm_ffi_codegen_emit(text, (int64_t)strlen(text), NULL, &result));
  complain("no file", tvm_ffi_codegen_inspect(NULL, &result));
  complain("a negative size", tvm_ffi_codegen_check(text, -1, &result));
  return 0;
}
