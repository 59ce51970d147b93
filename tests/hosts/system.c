/* A program with libraries linked into it. For each argument `prefix:function:number` it calls the function of the
 * system library of that prefix, and prints the result and whether the library has metadata of the function. */

#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include <tvm/ffi/c_api.h>

static void check(int status) {
  if (status == 0) return;
  TVMFFIObjectHandle error = NULL;
  TVMFFIErrorMoveFromRaised(&error);
  const TVMFFIErrorCell *cell = (const TVMFFIErrorCell *)((const TVMFFIObject *)error + 1);
  printf("%.*s: %.*s\n", (int)cell->kind.size, cell->kind.data, (int)cell->message.size, cell->message.data);
  exit(1);
}

static TVMFFIAny string(const char *text) {
  TVMFFIAny any = {.type_index = kTVMFFIRawStr};
  any.v_c_str = text;
  return any;
}

static TVMFFIAny call_global(const char *name, TVMFFIAny *args, int32_t count) {
  TVMFFIByteArray bytes = {name, strlen(name)};
  TVMFFIObjectHandle function = NULL;
  TVMFFIAny result = {.type_index = kTVMFFINone};
  check(TVMFFIFunctionGetGlobal(&bytes, &function));
  check(TVMFFIFunctionCall(function, args, count, &result));
  TVMFFIObjectDecRef(function);
  return result;
}

int main(int argc, char **argv) {
  for (int i = 1; i < argc; i++) {
    char *name = strchr(argv[i], ':'), *number = strrchr(argv[i], ':');
    *name++ = *number++ = 0;
    TVMFFIAny prefix = string(argv[i]);
    TVMFFIAny query[] = {call_global("ffi.SystemLib", &prefix, 1), string(name), {.type_index = kTVMFFIBool}};
    TVMFFIAny function = call_global("ffi.ModuleGetFunction", query, 3);
    if (function.type_index != kTVMFFIFunction) {
      printf("%s has no %s\n", argv[i], name);
      continue;
    }
    TVMFFIAny argument = {.type_index = kTVMFFIInt}, result = {.type_index = kTVMFFINone};
    argument.v_int64 = atoi(number);
    check(TVMFFIFunctionCall(function.v_obj, &argument, 1, &result));
    TVMFFIAny metadata = call_global("ffi.ModuleGetFunctionMetadata", query, 3);
    printf("%d%s\n", (int)result.v_int64, metadata.type_index == kTVMFFIStr ? ", metadata" : "");
  }
  return 0;
}
