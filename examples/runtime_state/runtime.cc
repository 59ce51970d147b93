// The runtime library of a language: state that all its compiled libraries share in a process. It is built once, as a
// shared library next to `mylang/__init__.py`; compiled libraries do not link to it, they look the state up by name.

#include <tvm/ffi/function.h>
#include <tvm/ffi/reflection/registry.h>

#include "state.h"

namespace {

// Creates the state at the first request and never destroys it: threads may use it until the end.
mylang_state* Global() {
  static mylang_state* state = new mylang_state();
  return state;
}

TVM_FFI_STATIC_INIT_BLOCK() {
  namespace refl = tvm::ffi::reflection;
  refl::GlobalDef()
      .def("mylang.get_global_state",
           []() -> void* {
             mylang_state* state = Global();
             ++state->asked;
             return state;
           })
      .def("mylang.calls", []() -> int64_t { return Global()->calls.load(); })
      .def("mylang.elements", []() -> int64_t { return Global()->elements.load(); })
      .def("mylang.asked", []() -> int64_t { return Global()->asked.load(); });
}

}  // namespace
