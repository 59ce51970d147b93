/* Shared parts of the functions that call others: two matrices of one shape, and the callee's result. */
#ifndef PROGRAMS_H
#define PROGRAMS_H

#include "checks.h"

INLINE int check_matrices(const TVMFFIAny* args, const DLTensor** x, const DLTensor** y) {
  *x = tensor(&args[0]);
  if (check_shape(*x, 2) != 0 || check_layout(*x, 2) != 0) return -1;
  *y = tensor(&args[1]);
  if (check_shape(*y, 2) != 0) return -1;
  REQUIRE((*y)->shape[0] == (*x)->shape[0], "ValueError", "expected y.shape[0] == x.shape[0]");
  REQUIRE((*y)->shape[1] == (*x)->shape[1], "ValueError", "expected y.shape[1] == x.shape[1]");
  return check_layout(*y, 2);
}

COLD int no_number(const TVMFFIAny* made) {
  if (made->type_index >= kTVMFFIStaticObjectBegin) TVMFFIObjectDecRef(made->v_obj);
  return fail("TypeError", "expected int64");
}

/* Passes a number on, and releases anything else. */
INLINE int pass_on(const TVMFFIAny* made, TVMFFIAny* result) {
  if (!is_int(made)) return no_number(made);
  return give(result, made->v_int64);
}

#endif
