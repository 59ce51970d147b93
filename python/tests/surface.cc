// Every function of tvm_ffi_codegen.hpp, called as a compiler in C++ does, and errors of each.
#include <cstdio>
#include <cstdlib>
#include <cstring>
#include <iostream>
#include <sstream>
#include <string>

#include <tvm_ffi_codegen.hpp>

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

int main() {
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
