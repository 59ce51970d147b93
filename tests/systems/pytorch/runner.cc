// A process with libtorch and without Python. `runner LIBRARY MODEL` loads a library of operators and runs a model that
// AOTInductor has packaged with them; `runner LIBRARY LIBRARY OPERATOR OPERATOR` measures calls of two operators of three
// vectors, in nanoseconds, in turns.
#include <ATen/ATen.h>
#include <ATen/core/dispatch/Dispatcher.h>
#include <dlfcn.h>
#include <torch/csrc/inductor/aoti_package/model_package_loader.h>

#include <algorithm>
#include <chrono>
#include <cstdio>

static void load(const char* library) {
  if (dlopen(library, RTLD_NOW) == nullptr) {
    std::printf("%s\n", dlerror());
    std::exit(1);
  }
}

static double measure(const char* name) {
  auto operation = c10::Dispatcher::singleton().findSchemaOrThrow(name, "");
  auto x = at::zeros({4}), y = at::zeros({4}), z = at::zeros({4});
  const int calls = 200000;
  auto start = std::chrono::steady_clock::now();
  for (int call = 0; call < calls; ++call) {
    torch::jit::Stack stack{x, y, z};
    operation.callBoxed(&stack);
  }
  return std::chrono::duration<double, std::nano>(std::chrono::steady_clock::now() - start).count() / calls;
}

int main(int count, char** words) {
  load(words[1]);
  if (count == 3) {
    torch::inductor::AOTIModelPackageLoader model(words[2]);
    auto results = model.run({at::arange(5, at::kFloat)});
    std::printf("%g\n", results.at(0).sum().item<double>());
    return 0;
  }
  load(words[2]);
  double best[2] = {1e9, 1e9};
  for (int turn = 0; turn < 9; ++turn) {
    for (int which = 0; which < 2; ++which) best[which] = std::min(best[which], measure(words[3 + which]));
  }
  std::printf("%.1f %.1f\n", best[0], best[1]);
  return 0;
}
