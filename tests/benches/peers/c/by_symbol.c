/* A function of the same library by its symbol. */
#include "programs.h"

EXPORT(number) {
  COUNT(2);
  const DLTensor *x, *y;
  if (check_matrices(args, &x, &y) != 0) return -1;
  return give(result, pair_kernel(address(x), address(y), x->shape[0] * x->shape[1]));
}

EXPORT(by_symbol) {
  COUNT(2);
  const DLTensor *x, *y;
  if (check_matrices(args, &x, &y) != 0) return -1;
  TVMFFIAny given[2], made = {.type_index = kTVMFFINone};
  memcpy(given, args, sizeof given);
  int status = __tvm_ffi_number(NULL, given, 2, &made);
  return status != 0 ? status : pass_on(&made, result);
}
