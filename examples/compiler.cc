// A compiler in C++ in one file: formulas become functions of TVM FFI. It knows LLVM's text and nothing of the ABI;
// arguments, checks and errors are the business of libtvm_ffi_codegen.so.
//
//     compiler [clang]
//
// It compiles `name(x, y) = formula` for vectors of float32, links, loads, calls, and shows what a wrong call says. To
// build it, with the Python package installed:
//
//     flags="--cxxflags --ldflags --libs"
//     g++ compiler.cc -o compiler $(tvm-ffi-config $flags) $(python3 -m tvm_ffi_codegen.config $flags)
#include <unistd.h>

#include <cstdio>
#include <cstdlib>
#include <cstring>
#include <fstream>
#include <iostream>
#include <sstream>
#include <string>
#include <vector>

#include <tvm/ffi/container/tensor.h>
#include <tvm/ffi/extra/module.h>
#include <tvm/ffi/function.h>
#include <tvm_ffi_codegen.hpp>
#include <tvm_ffi_codegen/build.hpp>

namespace b = tvm_ffi_codegen::build;
namespace codegen = tvm_ffi_codegen;
namespace ffi = tvm::ffi;

// The front end: compiles sums and products of numbers and vectors to LLVM's instructions, in the order of execution.
class Formula {
 public:
  Formula(const std::string& text, std::vector<std::string> vectors) : in_(text), vectors_(std::move(vectors)) {
    for (const std::string& vector : vectors_) {
      code_ << "  %p." << vector << " = getelementptr float, ptr %" << vector << ", i64 %i\n"
            << "  %v." << vector << " = load float, ptr %p." << vector << "\n";
    }
    result_ = sum();
  }
  std::string code() const { return code_.str(); }
  std::string result() const { return result_; }

 private:
  std::string sum() {
    std::string left = product();
    while ((in_ >> std::ws).peek() == '+') left = (in_.get(), binary("fadd", left, product()));
    return left;
  }
  std::string product() {
    std::string left = atom();
    while ((in_ >> std::ws).peek() == '*') left = (in_.get(), binary("fmul", left, atom()));
    return left;
  }
  std::string atom() {
    std::string word;
    for (in_ >> std::ws; std::isalnum(in_.peek()) || in_.peek() == '.';) word += static_cast<char>(in_.get());
    for (const std::string& vector : vectors_) {
      if (word == vector) return "%v." + vector;
    }
    if (word.empty() || !std::isdigit(word[0])) throw std::runtime_error("no vector and no number: " + word);
    char bits[19];  // LLVM writes floats as the bits of a double.
    double number = static_cast<float>(std::stod(word));
    uint64_t image;
    std::memcpy(&image, &number, sizeof image);
    std::snprintf(bits, sizeof bits, "0x%016llX", static_cast<unsigned long long>(image));
    return bits;
  }
  std::string binary(const char* op, const std::string& left, const std::string& right) {
    std::string name = "%t" + std::to_string(count_++);
    code_ << "  " << name << " = " << op << " float " << left << ", " << right << "\n";
    return name;
  }
  std::istringstream in_;
  std::vector<std::string> vectors_;
  std::ostringstream code_;
  int count_ = 0;
  std::string result_;
};

// The kernel: a loop around the formula.
std::string kernel(const std::string& name, const std::vector<std::string>& vectors, const std::string& text) {
  Formula formula(text, vectors);
  std::ostringstream out;
  out << "define void @" << name << "(";
  for (const std::string& vector : vectors) out << "ptr %" << vector << ", ";
  out << "ptr %out, i64 %n) {\nentry:\n  br label %head\nhead:\n"
      << "  %i = phi i64 [ 0, %entry ], [ %next, %body ]\n  %more = icmp slt i64 %i, %n\n"
      << "  br i1 %more, label %body, label %done\nbody:\n"
      << formula.code() << "  %to = getelementptr float, ptr %out, i64 %i\n"
      << "  store float " << formula.result() << ", ptr %to\n"
      << "  %next = add i64 %i, 1\n  br label %head\ndone:\n  ret void\n}\n";
  return out.str();
}

// The declaration: the function as callers see it. The compiler says nothing else about the ABI.
b::Function declaration(const std::string& name, const std::vector<std::string>& vectors) {
  const b::Symbol n = "n";
  const b::Tensor floats = b::tensor({n}, b::float32);
  const b::Output out = b::output("out", floats);
  std::vector<b::Param> params;
  std::vector<b::Expr> args;
  for (const std::string& vector : vectors) {
    params.push_back(b::param(vector, floats));
    args.push_back(params.back().data());
  }
  args.insert(args.end(), {out.data(), n});
  return b::function(name).params(params).returns(out).kernel(name + "_kernel", args);
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

int main(int argc, char** argv) try {
  const std::string clang = argc > 1 ? argv[1] : "clang";
  char folder[] = "/tmp/compiler-XXXXXX";
  if (mkdtemp(folder) == nullptr) return std::perror(folder), 1;
  const std::string file = std::string(folder) + "/blend";
  const std::string declared = declaration("blend", {"x", "y"}).text();
  for (const codegen::Diagnostic& one : codegen::check(declared)) std::cerr << one << "\n";

  std::ofstream(file + ".ll") << kernel("blend_kernel", {"x", "y"}, "x * 0.75 + y * 0.25 + 1");
  if (std::system((clang + " -w -O2 -fPIC -c " + file + ".ll -o " + file + ".o").c_str()) != 0) return 1;
  ffi::Bytes library = codegen::emit(declared, "shared", {{"link", codegen::Files{ffi::String(file + ".o")}}});
  std::ofstream(file + ".so", std::ios::binary).write(library.data(), static_cast<std::streamsize>(library.size()));
  std::cout << declared << "\n";

  ffi::Function blend = ffi::Module::LoadFromFile(file + ".so")->GetFunction("blend").value();
  ffi::Tensor out = blend(tensor({1, 2, 3, 4}), tensor({8, 4, 0, -4})).cast<ffi::Tensor>();
  for (int i = 0; i < 4; ++i) std::cout << static_cast<const float*>(out.data_ptr())[i] << (i < 3 ? " " : "\n");
  for (const char* end : {".ll", ".o", ".so"}) std::remove((file + end).c_str());
  rmdir(folder);
  blend(tensor({1}), tensor({1, 2}));
  return 1;
} catch (const ffi::Error& error) {
  std::cout << error.kind() << ": " << error.message() << "\n";
}
