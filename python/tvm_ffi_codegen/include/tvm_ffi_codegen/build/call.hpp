// Calls of C functions and of functions of the FFI.
#ifndef TVM_FFI_CODEGEN_BUILD_CALL_HPP_
#define TVM_FFI_CODEGEN_BUILD_CALL_HPP_

#include <cstdint>
#include <optional>
#include <string>
#include <string_view>
#include <utility>
#include <vector>

#include "expression.hpp"

namespace tvm_ffi_codegen::build {

/// The error that a status raises; without a number, that of every status without an entry.
struct StatusError {
  std::optional<int32_t> status;
  /// The kind, such as `ValueError`.
  std::string kind;
  std::string message;
};

/// What is called: a name, or an expression: the address of a C function, or a value of type `Function`.
class Callee {
 public:
  template <typename T, detail::IfText<T> = 0>
  Callee(const T& name) : text_(std::string_view(name)), is_name_(true) {}
  Callee(const Expr& value) : text_("(" + detail::inner(value) + ")"), is_name_(false) {}

 private:
  friend class KernelCall;
  friend class FunctionCall;
  std::string text_;
  bool is_name_;
};

class Statement;

/// A call. As a statement it drops the result, which `let` names.
class Call {
 public:
  /// Returns the call as a statement with a source location, as `Statement::at` does.
  Statement at(std::string_view file, uint32_t line, uint32_t column = 0) const;
  /// Returns the canonical text.
  std::string text() const { return detail::finished(text_); }

 protected:
  explicit Call(std::string text) : text_(std::move(text)) {}

 private:
  friend struct detail::Kept;
  std::string text_;
};

/// A call of a C function: `k(x.data, n)`.
class KernelCall : public Call {
 public:
  KernelCall(const Callee& callee, const List<Expr>& args)
      : Call((callee.is_name_ ? detail::c_symbol(callee.text_) : callee.text_) +
             detail::list("(", args, ")")) {}
  /// Makes a call of a function that returns a status.
  KernelCall(const KernelCall& call, const std::vector<StatusError>& errors)
      : Call("try " + detail::Kept::of(call) + errors_text(errors)) {}

 private:
  static std::string errors_text(const std::vector<StatusError>& errors) {
    std::vector<std::string> entries;
    for (const auto& [status, kind, message] : errors) {
      const std::string number = status.has_value() ? std::to_string(*status) : "_";
      const std::string error(detail::kind_of_error(kind));
      entries.push_back(number + ": " + error + " " + detail::quoted_name("a message", message));
    }
    return entries.empty() ? "" : detail::enclosed(" errors { ", entries, " }");
  }
};

/// A call of a function of the FFI: `@relu(t, y)`, `@"blas.matmul"(x, w)` or `@(f)(x)`. Methods return one with clauses in
/// the place of those that it had.
class FunctionCall : public Call {
 public:
  FunctionCall(const Callee& callee, const List<Expr>& args)
      : FunctionCall(plain(callee.is_name_ ? detail::label(callee.text_) : callee.text_, args), "", "") {}
  /// Makes a call of the function of a name in the imports of the library, else in the registry.
  static FunctionCall by_name(std::string_view name, const List<Expr>& args) {
    return FunctionCall(plain(detail::quoted_name("the name of a function", name), args), "", "");
  }
  /// Gives the function tensors to write in the place of those that it would allocate and return.
  FunctionCall into(const List<Expr>& tensors) const {
    return FunctionCall(call_, keys_, tensors.empty() ? "" : detail::list(" into ", tensors, ""));
  }
  /// Keeps the result, an object, under keys: integers, truths, element types, addresses and devices. The call is made only
  /// where no call of the same statement has kept one under equal keys.
  FunctionCall keys(const List<Expr>& values) const {
    return FunctionCall(call_, values.empty() ? "" : detail::list("cached (", values, ") "), into_);
  }

 private:
  FunctionCall(std::string call, std::string keys, std::string into)
      : Call(keys + call + into), call_(std::move(call)), keys_(std::move(keys)), into_(std::move(into)) {}
  static std::string plain(const std::string& function, const List<Expr>& args) {
    return "@" + function + detail::list("(", args, ")");
  }

  std::string call_, keys_, into_;
};

/// Builds a call of the C function of a symbol or at an address, which returns the result, or nothing.
inline KernelCall kernel(const Callee& callee, const List<Expr>& args = {}) { return KernelCall(callee, args); }
/// Builds a call of a C function that returns a status, which is an error unless it is 0, and
/// `{{1, "ValueError", "too small"}}` says which.
inline KernelCall try_kernel(const Callee& callee, const List<Expr>& args = {},
                             const std::vector<StatusError>& errors = {}) {
  return KernelCall(KernelCall(callee, args), errors);
}
/// Builds a call of a function of this library or of another object, or of a value of type `Function`.
inline FunctionCall call(const Callee& callee, const List<Expr>& args = {}) { return FunctionCall(callee, args); }
/// Builds a call of the function of a name in the imports of the library, else in the registry.
inline FunctionCall call_name(std::string_view name, const List<Expr>& args = {}) {
  return FunctionCall::by_name(name, args);
}

}  // namespace tvm_ffi_codegen::build

#endif  // TVM_FFI_CODEGEN_BUILD_CALL_HPP_
