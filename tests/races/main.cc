// Calls the functions of libraries in many threads: races host|cuda|hip <driver> <library ...>. The libraries are copies
// of one, whose variables are new in each: there the threads meet at the first calls. The first copy is what the others
// import. tests/sanitize compiles the libraries with a detector of data races, which ends the process with a status of
// its own; the status is 1 if a call has had another outcome than expected.

#include <dlfcn.h>
#include <sched.h>
#include <stdio.h>

#include <atomic>
#include <functional>
#include <initializer_list>
#include <map>
#include <string>
#include <thread>
#include <vector>

#include <tvm/ffi/container/map.h>
#include <tvm/ffi/container/tensor.h>
#include <tvm/ffi/error.h>
#include <tvm/ffi/extra/module.h>
#include <tvm/ffi/function.h>
#include <tvm/ffi/object.h>

namespace {

using namespace tvm::ffi;

constexpr int kThreads = 4;
constexpr int kCalls = 3;

class ThingObj : public Object {
 public:
  TVM_FFI_DECLARE_OBJECT_INFO("races.Thing", ThingObj, Object);
};

std::atomic<int> wrong;

// Notes an outcome that was not expected.
void Expect(bool is_right, const char* what) {
  if (is_right) return;
  wrong = 1;
  fprintf(stderr, "races: %s\n", what);
}

using Functions = std::map<std::string, Function>;

// Finds the functions before there are threads, so that these share no lock of the runtime's look-up.
Functions Find(const Module& module, std::initializer_list<const char*> names) {
  Functions found;
  for (const char* name : names) found.emplace(name, module->GetFunction(name).value());
  return found;
}

// Number of arrivals of threads at meetings, and whether this thread meets others.
std::atomic<int> arrived;
thread_local bool meets = false;

// Waits for the other threads. The detector does not see this program's accesses, so that the threads are in no order.
void Meet() {
  int all = (arrived.fetch_add(1) / kThreads + 1) * kThreads;
  while (arrived.load() < all) sched_yield();
}

// Runs a function in all threads.
void Together(const std::function<void(int)>& run) {
  std::vector<std::thread> threads;
  for (int index = 0; index < kThreads; index++) {
    threads.emplace_back([&, index] {
      meets = true;
      run(index);
    });
  }
  for (std::thread& thread : threads) thread.join();
}

// Calls a function, in all threads at once. It is expected to fail if `fails`.
template <typename... Args>
Any Call(const Functions& functions, const char* name, bool fails, Args... args) {
  if (meets) Meet();
  try {
    Any result = functions.at(name)(args...);
    Expect(!fails, name);
    return result;
  } catch (const Error& error) {
    Expect(fails, error.what());
    return Any();
  }
}

void Host(const Module& module) {
  Functions all = Find(module, {"named", "often", "mapped", "thing", "adder", "pick"});
  ObjectRef thing(make_object<ThingObj>());
  Together([&](int index) {
    Map<String, int64_t> map{{"a", 1}};
    for (int call = 0; call < kCalls; call++) {
      Expect(Call(all, "named", false, call).cast<int>() == call + 2, "named");
      Expect(Call(all, "often", false, call).cast<int>() == call + 2, "often");
      Expect(Call(all, "mapped", false, map).cast<int>() == 2, "mapped");
      for (int key = 0; key < 60; key++) {
        int found = all.at("pick")(call + key).cast<int>();
        Expect(found / 3 == (call + key) / 3 && (found % 3 == 0) == ((call + key) % 3 == 0), "pick");
      }
      Expect(Call(all, "thing", false, thing).cast<int>() == 2, "thing");
      Function own = Call(all, "adder", false, index, thing).cast<Function>();
      Expect(own(call).cast<int>() == index + call + 1, "own");
    }
  });
  Function shared = Call(all, "adder", false, 1, thing).cast<Function>();
  Together([&](int) {
    Meet();
    for (int call = 0; call < kCalls; call++) Expect(shared(call).cast<int>() == call + 2, "shared");
  });
}

void* driver;

// Calls a function of the driver, which succeeds.
template <typename... Args>
void Driver(const char* name, Args... args) {
  auto* function = reinterpret_cast<int (*)(Args...)>(dlsym(driver, name));
  Expect(function && function(args...) == 0, name);
}

// Device memory, which is never freed.
struct Alloc {
  void AllocData(DLTensor* tensor) {
    if (tensor->device.device_type == kDLROCM) {
      Driver("hipSetDevice", tensor->device.device_id);
      Driver("hipMalloc", &tensor->data, GetDataSize(*tensor));
      Driver("hipSetDevice", 0);
      return;
    }
    void* context = nullptr;
    Driver("cuInit", 0);
    Driver("cuDevicePrimaryCtxRetain", &context, tensor->device.device_id);
    Driver("cuCtxPushCurrent_v2", context);
    Driver("cuMemAlloc_v2", &tensor->data, GetDataSize(*tensor));
    Driver("cuCtxPopCurrent_v2", &context);
  }
  void FreeData(DLTensor*) {}
};

void Launches(const Module& module, DLDeviceType type) {
  bool is_cuda = type == kDLCUDA;
  const char* special = is_cuda ? "clusters" : "cooperative";
  Functions all = Find(module, {"prepared", "plain", "threads", "shared", special, "attribute", "filled", "copied",
                                "uploaded", "waited", "submit"});
  if (is_cuda) all.merge(Find(module, {"encoded"}));
  std::vector<Tensor> tensors;
  for (int index = 0; index < kThreads; index++) {
    DLDevice device{type, index % 2};
    tensors.push_back(Tensor::FromNDAlloc(Alloc(), Shape({index + 2, 64}), DLDataType{kDLFloat, 32, 1}, device));
  }
  Together([&](int index) {
    Tensor x = tensors[index];
    Call(all, "prepared", false, index % 2);
    for (int call = 0; call < kCalls; call++) {
      Call(all, "plain", false, x);
      Call(all, "threads", true, x, 2048);
      Call(all, "threads", false, x, 64);
      Call(all, "shared", true, x, 1 << 20);
      Call(all, "shared", false, x, is_cuda ? 65536 : 4096);
      if (is_cuda) Call(all, "clusters", false, x, 16);
      else Call(all, "cooperative", false, x);
      if (is_cuda) Call(all, "encoded", false, x);
      Expect(Call(all, "attribute", false, x).cast<int>() > 8, "attribute");
      for (const char* name : {"filled", "copied", "uploaded", "waited"}) Call(all, name, false, x);
      Function own = Call(all, "submit", false, x).cast<Function>();
      for (int64_t number : {1, 2}) own(number);
    }
  });
  Function shared = Call(all, "submit", false, tensors[0]).cast<Function>();
  Together([&](int) {
    Meet();
    for (int call = 0; call < kCalls; call++) shared(call + 1);
  });
}

}  // namespace

int main(int count, char** args) {
  std::string kind = args[1];
  if (*args[2]) driver = dlopen(args[2], RTLD_NOW);
  ThingObj::RuntimeTypeIndex();
  Function::SetGlobal("races.list", Function::FromTyped([](int64_t a, int64_t b) { return Array<int64_t>{a, b}; }));
  Function::SetGlobal("races.next", Function::FromTyped([](int64_t number) { return number + 1; }));
  Module first = Module::LoadFromFile(args[3]);
  for (int at = 4; at < count; at++) {
    Module module = Module::LoadFromFile(args[at]);
    module->ImportModule(first);
    if (kind == "host") Host(module);
    if (kind == "cuda") Launches(module, kDLCUDA);
    if (kind == "hip") Launches(module, kDLROCM);
  }
  return wrong;
}
