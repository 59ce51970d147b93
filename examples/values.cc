// A compiler whose declarations are values of tvm_ffi_codegen/build.hpp: lines such as `t = mul x w` become calls of
// kernels of C++, with memory for what lies between them. Nothing is pasted: names that the language reserves, parentheses
// and indentation are the business of the header, and errors say which line of the source they are about.
//
//     flags="--cxxflags --ldflags --libs"
//     g++ values.cc -o values $(tvm-ffi-config $flags) $(python3 -m tvm_ffi_codegen.config $flags)
#include <algorithm>
#include <cstdint>
#include <cstdlib>
#include <cstring>
#include <iostream>
#include <sstream>
#include <string>
#include <vector>

#include <tvm/ffi/container/tensor.h>
#include <tvm_ffi_codegen.hpp>
#include <tvm_ffi_codegen/build.hpp>

namespace b = tvm_ffi_codegen::build;
namespace codegen = tvm_ffi_codegen;
namespace ffi = tvm::ffi;

// A line of the source: `name = operation left right`. A number may stand on the right.
struct Line {
  std::string name, operation, left, right;
};

std::vector<Line> parse(const std::string& source) {
  std::vector<Line> lines;
  std::istringstream in(source);
  std::string text, assign;
  while (std::getline(in, text)) {
    Line line;
    std::istringstream(text) >> line.name >> assign >> line.operation >> line.left >> line.right;
    lines.push_back(line);
  }
  return lines;
}

// Declares the function of a program. What no line defines is a parameter, and the last line defines the result.
b::Function declaration(const std::string& file, const std::string& name, const std::vector<Line>& lines) {
  const b::Symbol n = "n";
  const b::Tensor floats = b::tensor({n}, b::float32);
  std::vector<std::string> known;
  std::vector<b::Param> params;
  b::Block body;
  const auto operand = [&](const std::string& word) -> b::Expr {
    if (std::isdigit(word[0])) return std::stod(word);
    if (std::find(known.begin(), known.end(), word) == known.end()) {
      params.push_back(b::param(word, floats).docs("Read."));
      known.push_back(word);
    }
    return b::symbol(word).data();
  };
  for (uint32_t number = 1; number <= lines.size(); ++number) {
    const Line& line = lines[number - 1];
    const std::vector<b::Expr> args = {operand(line.left), operand(line.right), b::symbol(line.name).data(), n};
    if (number < lines.size()) body.push_back(b::alloc(line.name, floats).at(file, number));
    body.push_back(b::kernel(line.operation, args).at(file, number));
    known.push_back(line.name);
  }
  const b::Output result = b::output(lines.back().name, floats);
  return b::function(name).params(params).returns(result).where(n > 0).body(body).at(file, 1);
}

void mul(const float* x, const float* y, float* out, int64_t n) {
  for (int64_t i = 0; i < n; ++i) out[i] = x[i] * y[i];
}
void add(const float* x, const float* y, float* out, int64_t n) {
  for (int64_t i = 0; i < n; ++i) out[i] = x[i] + y[i];
}

ffi::Tensor tensor(const std::vector<float>& numbers) {
  struct Memory {
    void AllocData(DLTensor* t) { t->data = std::malloc(ffi::GetDataSize(*t)); }
    void FreeData(DLTensor* t) { std::free(t->data); }
  };
  ffi::Tensor made = ffi::Tensor::FromNDAlloc(Memory(), {static_cast<int64_t>(numbers.size())}, {kDLFloat, 32, 1}, {kDLCPU, 0});
  std::memcpy(made.data_ptr(), numbers.data(), numbers.size() * sizeof(float));
  return made;
}

int main() try {
  const codegen::Kernels kernels = {{"mul", codegen::address(mul)}, {"add", codegen::address(add)}};
  const b::Library library({declaration("net.mt", "net", parse("t = mul x stream\nu = add t x\ny = mul u t"))});
  std::cout << library;
  const ffi::Function net = codegen::functions(library, kernels)["net"];
  ffi::Tensor out = net(tensor({1, 2, 3}), tensor({2, 2, 4})).cast<ffi::Tensor>();
  for (int i = 0; i < 3; ++i) std::cout << static_cast<const float*>(out.data_ptr())[i] << (i < 2 ? " " : "\n");

  // A kernel has one prototype, which the second line contradicts.
  const b::Library wrong({declaration("bad.mt", "bad", parse("t = mul x x\ny = mul t 2"))});
  for (const codegen::Diagnostic& one : codegen::check(wrong)) std::cout << one << "\n";
  net(tensor({1}), tensor({1, 2}));
  return 1;
} catch (const ffi::Error& error) {
  std::cout << error.kind() << ": " << error.message() << "\n";
}
