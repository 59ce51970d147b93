/* A function by name, whose handle is cached. */
#include "programs.h"

static TVMFFIObjectHandle number;

COLD TVMFFIObjectHandle look_up(void) {
  TVMFFIByteArray name = {"bench.number", 12};
  TVMFFIObjectHandle found = NULL, expected = NULL;
  if (TVMFFIFunctionGetGlobal(&name, &found) != 0) return NULL;
  if (found == NULL) {
    fail("RuntimeError", "no function bench.number");
  } else if (!__atomic_compare_exchange_n(&number, &expected, found, false, __ATOMIC_ACQ_REL, __ATOMIC_ACQUIRE)) {
    TVMFFIObjectDecRef(found);
    found = expected;
  }
  return found;
}

EXPORT(by_name) {
  COUNT(2);
  const DLTensor *x, *y;
  if (check_matrices(args, &x, &y) != 0) return -1;
  TVMFFIObjectHandle callee = __atomic_load_n(&number, __ATOMIC_ACQUIRE);
  if (callee == NULL && (callee = look_up()) == NULL) return -1;
  TVMFFIAny given[2], made = {.type_index = kTVMFFINone};
  memcpy(given, args, sizeof given);
  int status = TVMFFIFunctionCall(callee, given, 2, &made);
  return status != 0 ? status : pass_on(&made, result);
}
