// A host in C++ whose functions a kernel calls: one throws, one ends its thread, one walks the stack. Each must lead through
// the functions of a library back to the caller here, which prints what it sees.
//
// Usage: thrown LIBRARY, which exports run, through and make(f: ptr), the last of which returns a function of no parameters.

#include <dlfcn.h>
#include <pthread.h>
#include <unwind.h>

#include <cstdio>
#include <cstdlib>
#include <initializer_list>

#include <tvm/ffi/c_api.h>

namespace {

struct Left {
  ~Left() { std::fputs("left ", stdout); }
};

// The call that a caller makes: a function, its object, and its argument.
struct Call {
  TVMFFISafeCallType function;
  void* object;
  TVMFFIAny argument;
  int32_t count;
};

void* caller(void* call);

void throws() { throw 42; }

void ends() { pthread_exit(nullptr); }

_Unwind_Reason_Code visit(_Unwind_Context* context, void* found) {
  void* at = reinterpret_cast<void*>(_Unwind_GetIP(context) - 1);
  bool is_caller = _Unwind_FindEnclosingFunction(at) == reinterpret_cast<void*>(caller);
  *static_cast<bool*>(found) |= is_caller;
  return is_caller ? _URC_END_OF_STACK : _URC_NO_REASON;
}

void walks() {
  bool found = false;
  _Unwind_Backtrace(visit, &found);
  std::fputs(found ? "found " : "not found ", stdout);
}

void* caller(void* data) {
  Left left;
  Call* call = static_cast<Call*>(data);
  TVMFFIAny result{};
  try {
    std::printf("status %d ", call->function(call->object, &call->argument, call->count, &result));
  } catch (int number) {
    std::printf("caught %d ", number);
  }
  return nullptr;
}

// Calls on a thread of its own.
void on_thread(Call call) {
  pthread_t thread;
  if (pthread_create(&thread, nullptr, caller, &call) || pthread_join(thread, nullptr)) std::exit(1);
  std::puts("");
}

TVMFFIAny address(void (*function)()) {
  TVMFFIAny any{};
  any.type_index = kTVMFFIOpaquePtr;
  any.v_ptr = reinterpret_cast<void*>(function);
  return any;
}

}  // namespace

int main(int, char** arguments) {
  void* library = dlopen(arguments[1], RTLD_NOW);
  if (!library) {
    std::puts(dlerror());
    return 1;
  }
  auto function = [&](const char* name) { return reinterpret_cast<TVMFFISafeCallType>(dlsym(library, name)); };
  for (void (*what)() : {walks, throws, ends}) {
    for (const char* name : {"__tvm_ffi_run", "__tvm_ffi_through"}) on_thread({function(name), nullptr, address(what), 1});
    TVMFFIAny argument = address(what), made{};
    if (function("__tvm_ffi_make")(nullptr, &argument, 1, &made)) return 1;
    on_thread({TVMFFIFunctionGetCellPtr(made.v_obj)->safe_call, made.v_obj, {}, 0});
    TVMFFIObjectDecRef(made.v_obj);
  }
}
