// Every function of tvm_ffi_codegen.hpp, called as a compiler in C++ does, and errors of each.
#include <cstdio>
#include <cstdlib>
#include <cstring>
#include <iostream>
#include <memory>
#include <optional>
#include <sstream>
#include <stdexcept>
#include <string>

#include <tvm/ffi/container/tensor.h>
#include <tvm_ffi_codegen.hpp>
#include <tvm_ffi_codegen/build.hpp>

namespace b = tvm_ffi_codegen::build;
namespace codegen = tvm_ffi_codegen;
namespace ffi = tvm::ffi;

constexpr const char* kText = "double_it(n: int64) -> int64 = k(n);";

int64_t k(int64_t n) { return 2 * n; }

std::string text(const ffi::String& from) { return std::string(from.data(), from.size()); }

bool has(const ffi::String& all, const char* part) { return text(all).find(part) != std::string::npos; }

void expect(bool holds, const char* what) {
  if (holds) return;
  std::fprintf(stderr, "does not hold: %s\n", what);
  std::exit(1);
}
#define EXPECT(condition) expect(condition, #condition)

// The kind and the text of what a call throws.
template <typename Call>
std::string thrown(Call call) {
  try {
    call();
  } catch (const ffi::Error& error) {
    return text(error.kind()) + ": " + text(error.message());
  }
  return "nothing";
}

// Kernels that throw, return a status, return a result, and write one.
void fail(int64_t n) {
  if (n == 1) throw ffi::Error("KeyError", "no such tile", "");
  if (n == 2) throw std::runtime_error("no more tiles");
  if (n == 3) throw 3;
}
int32_t status_of(int64_t n) { return fail(n), n == 4 ? 4 : 0; }
double half_of(int64_t n) { return fail(n), static_cast<double>(n) / 2; }
void write_half(int64_t n, double* half) { *half = half_of(n); }

// The guards have the types that `try` calls.
static_assert(std::is_same_v<decltype(codegen::guarded<fail>), int32_t (*const)(int64_t)>);
static_assert(std::is_same_v<decltype(codegen::guarded<status_of>), int32_t (*const)(int64_t)>);
static_assert(std::is_same_v<decltype(codegen::guarded<half_of>), int32_t (*const)(int64_t, double*)>);
static_assert(std::is_same_v<decltype(codegen::guarded<write_half>), int32_t (*const)(int64_t, double*)>);

// As a library that is linked calls it.
extern "C" int32_t half_kernel(int64_t n, double* half) { return codegen::guarded<half_of>(n, half); }

// Exceptions of kernels reach the caller as errors, and what the host function holds then is released.
void guarded() {
  const char* text = R"(
fails(n: int64) -> None = try fail(n);
has_status(n: int64) -> None = try status_of(n) errors { 4: ValueError "four", _: TypeError "another" };
half(n: int64) -> float64 = try half_of(n);
written(n: int64) -> float64 = try write_half(n);
linked(n: int64) -> float64 = try half_kernel(n);
holds(x: Tensor([n], int8), keep: Function) -> None
    = { let t = alloc Tensor([n], int8); @(keep)(t); try fail(n); };
)";
  codegen::Functions all = codegen::functions(text, {{"fail", codegen::address(codegen::guarded<fail>)},
                                                     {"status_of", codegen::address(codegen::guarded<status_of>)},
                                                     {"half_of", codegen::address(codegen::guarded<half_of>)},
                                                     {"write_half", codegen::address(codegen::guarded<write_half>)},
                                                     {"half_kernel", codegen::address(half_kernel)}});
  for (const char* name : {"fails", "has_status", "half", "written", "linked"}) {
    EXPECT(thrown([&] { all[name](1); }) == "KeyError: no such tile");
    EXPECT(thrown([&] { all[name](2); }) == "InternalError: no more tiles");
    EXPECT(thrown([&] { all[name](3); }) == "InternalError: the kernel has thrown what is no std::exception");
    all[name](0);
  }
  EXPECT(thrown([&] { all["has_status"](4); }).find("ValueError: four when calling: `has_status(") == 0);
  for (const char* name : {"half", "written", "linked"}) EXPECT(all[name](5).cast<double>() == 2.5);

  std::optional<ffi::Tensor> workspace;
  ffi::Function keep = ffi::Function::FromTyped([&](ffi::Tensor tensor) { workspace = tensor; });
  char bytes[1] = {};
  int64_t one = 1;
  DLTensor memory = {bytes, {kDLCPU, 0}, 1, {kDLInt, 8, 1}, &one, &one, 0};
  EXPECT(thrown([&] { all["holds"](&memory, keep); }) == "KeyError: no such tile");
  EXPECT(workspace->use_count() == 1);
}

// Functions own their code, are found by name, and say what they are.
void functions() {
  auto kept = std::make_shared<int>(0);
  ffi::Optional<ffi::Function> last;
  {
    const char* text = "/// Doubles.\ndouble_it(n: int64) -> int64 = k(n);\nnothing() -> None = {};";
    codegen::Functions all = codegen::functions(text, {{"k", codegen::address(k)}}, {{"metadata", true}},
                                                ffi::Function::FromTyped([kept] { return *kept; }));
    EXPECT(all.size() == 2 && all.begin()[1].name == "nothing" && !all.begin()[1].docs.has_value());
    EXPECT(*all.begin()->docs == "Doubles." && has(*all.begin()->metadata, "double_it(n: int64) -> int64"));
    EXPECT(thrown([&] { all["x"]; }) == "AttributeError: no function \"x\": there is double_it, nothing");
    last = all["double_it"];
  }
  EXPECT(kept.use_count() == 2 && last.value()(21).cast<int64_t>() == 42);
  last = {};
  EXPECT(kept.use_count() == 1);
  EXPECT(thrown([] { codegen::functions(kText); }).find("ValueError: undefined: `k`") == 0);
}

// Declarations are texts of any type, and values.
void values() {
  const b::Function three = b::function("three").returns(b::int64).body({b::return_(3)});
  EXPECT(codegen::functions(three)["three"]().cast<int64_t>() == 3);
  EXPECT(codegen::jit(b::Library({three}))->GetFunction("three").value()().cast<int64_t>() == 3);
  EXPECT(codegen::check(three).empty() && has(codegen::describe(three), "three"));
  EXPECT(codegen::emit(std::string(kText)).size() == codegen::emit(ffi::String(kText), std::string("object")).size());
  EXPECT(codegen::emit_text(three, std::string_view("ir")).size() > 0);
}

int main() {
  guarded();
  functions();
  values();
  EXPECT(codegen::command_line({ffi::Bytes("codegen")}, {ffi::Bytes("check"), ffi::Bytes("src/surface.ffi")}) == 0);
  EXPECT(!codegen::take_error().has_value() && tvm_ffi_codegen_emit("f", 1, nullptr, nullptr) == -1);
  EXPECT(has(codegen::take_error().value(), "ValueError: 1:2: expected"));
  EXPECT(codegen::check(kText).empty());
  const char* unused = "f(n: int64) -> None = k();";
  EXPECT(codegen::check(unused).size() == 1 && *codegen::check(unused)[0].name == "unused-parameter");
  EXPECT(codegen::check(unused, {"unused-parameter"}).empty());
  auto found = codegen::check("f(n: int65) -> None = k(n);");
  std::ostringstream printed;
  printed << found.at(0);
  EXPECT(found.size() == 1 && *found[0].line == 1 && *found[0].column == 6 && found[0].source.has_value());
  std::cout << printed.str() << "\n";

  EXPECT(codegen::emit(kText).size() > 64 && std::memcmp(codegen::emit(kText).data(), "\177ELF", 4) == 0);
  EXPECT(has(codegen::emit_text(kText, "ir"), "__tvm_ffi_double_it"));
  EXPECT(has(codegen::emit_text(kText, "header"), "int64_t k(int64_t);"));
  EXPECT(has(codegen::emit_text(kText, "native", {{"backend", "c"}}), "FFI_C int64_t k(int64_t);\n"));
  std::cout << thrown([] { codegen::emit(kText, "elf"); }) << "\n";
  EXPECT(thrown([] { codegen::emit(kText, "header"); }) == "ValueError: form \"header\" is text: use emit_text");
  EXPECT(thrown([] { codegen::emit_text(kText, "object"); }) == "ValueError: form \"object\" is bytes: use emit");
  EXPECT(thrown([] { codegen::emit(kText, "object", {{"form", "shared"}}); }) ==
         "ValueError: form \"object\" is an argument, and no option");
  std::cout << thrown([] { codegen::emit(kText, "object", {{"optimisation", 2}}); }) << "\n";
  std::cout << thrown([] { codegen::emit(kText, "object", {{"cpu", 2}}); }) << "\n";
  std::cout << thrown([] { codegen::emit_text(kText, "native", {{"into", ffi::String("module")}}); }) << "\n";

  ffi::Bytes object = codegen::emit("one() -> int64 = { return 1; };");
  ffi::Bytes library = codegen::link({object}, {{"runtime_dependency", false}});
  EXPECT(has(codegen::inspect(library), "\"one\"") && has(codegen::inspect(object), "\"one\""));
  std::cout << thrown([] { codegen::link({}); }) << "\n";
  std::cout << thrown([] { codegen::inspect(ffi::String("/nowhere")); }) << "\n";

  ffi::Module module = codegen::jit(kText, {{"k", codegen::address(k)}});
  EXPECT(module->GetFunction("double_it").value()(21).cast<int64_t>() == 42);
  EXPECT(has(codegen::describe(kText), "int64_t k(int64_t)"));
  EXPECT(has(codegen::shapes("f(n: int64) -> y: Tensor([n / 2], int8)"), "\"shape\":[[\"/\",\"n\",2]]"));
  EXPECT(text(codegen::version()) == TVM_FFI_CODEGEN_VERSION);
  ffi::Bytes other = codegen::emit("extern g(n: int64) -> int64 = { return n + 1; };");
  const char* text = "f(n: int64) -> int64 = { let a: int64 = k(n); let b: int64 = @g(a); return b; };";
  ffi::Module linked = codegen::jit(text, {{"k", codegen::address(k)}}, {{"link", codegen::Files{other}}});
  EXPECT(linked->GetFunction("f").value()(20).cast<int64_t>() == 41);
  std::cout << thrown([] { codegen::jit(kText, {{"k", nullptr}}); }) << "\n";
  std::cout << thrown([] { codegen::jit(kText); }) << "\n";
  std::cout << thrown([] { codegen::import_triton("{}", "", "x: *fp32[n]", "1"); }) << "\n";
}
