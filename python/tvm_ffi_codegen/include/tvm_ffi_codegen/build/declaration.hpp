// Signatures, functions, closures, images and libraries.
#ifndef TVM_FFI_CODEGEN_BUILD_DECLARATION_HPP_
#define TVM_FFI_CODEGEN_BUILD_DECLARATION_HPP_

#include <algorithm>
#include <cstddef>
#include <cstdint>
#include <string>
#include <string_view>
#include <type_traits>
#include <utility>
#include <vector>

#include "launch.hpp"

namespace tvm_ffi_codegen::build {

namespace detail {

/// Returns documentation as the text has it, each line on one of its own.
inline std::string docs_text(std::string_view docs, std::string_view margin) {
  std::string text;
  for (size_t start = 0; !utf8(docs).empty() && start <= docs.size();) {
    const size_t end = std::min(docs.find('\n', start), docs.size());
    const std::string_view line = docs.substr(start, end - start);
    if (has_control(line, "\t")) fail("documentation has no control characters, as " + quoted(line) + " has");
    text.append(margin).append(line.empty() ? "///" : "/// ").append(line).append("\n");
    start = end + 1;
  }
  return text;
}

}  // namespace detail

/// A parameter: its name, as which it is an expression, and what it accepts. Methods return one with a default or with
/// documentation.
class Param : public Symbol {
 public:
  Param(const Symbol& name, const Type& type) : Symbol(name), declared_(name.text() + ": " + detail::inner(type)) {}
  /// Makes the last parameter of a function that takes any number of further arguments.
  static Param rest(const Symbol& name) {
    Param param(name, "Any");
    param.declared_ = "*" + param.declared_;
    return param;
  }
  /// Sets the value of an omitted argument.
  Param or_default(const Literal& value) const {
    Param copy = *this;
    copy.default_ = " = " + value.text();
    return copy;
  }
  /// Sets the documentation, of any number of lines.
  Param docs(std::string_view docs) const {
    Param copy = *this;
    copy.docs_ = detail::docs_text(docs, "    ");
    return copy;
  }

 private:
  friend class Signature;
  std::string declared_, default_, docs_;
};

/// A tensor that is allocated for the kernel and returned: its name, as which it is an expression, and its type.
class Output : public Symbol {
 public:
  Output(const Symbol& name, const Tensor& tensor)
      : Symbol(name), declared_(name.text() + ": " + detail::inner<Type>(tensor)) {}

 private:
  friend class Result;
  std::string declared_;
};

/// Makes a parameter.
inline Param param(const Symbol& name, const Type& type) { return Param(name, type); }
/// Makes the last parameter of a function that takes any number of further arguments.
inline Param rest(const Symbol& name) { return Param::rest(name); }
/// Makes a tensor that is allocated for the kernel.
inline Output output(const Symbol& name, const Tensor& tensor) { return Output(name, tensor); }

/// A result: nothing, a type, or tensors that are allocated for the kernel.
class Result {
 public:
  Result() : text_("None") {}
  Result(None) : Result() {}
  template <typename T, std::enable_if_t<std::is_convertible_v<T, Type>, int> = 0>
  Result(const T& type) : text_(detail::inner(Type(type))) {}
  Result(const Output& output) : text_(output.declared_) {}
  Result(const std::vector<Output>& outputs) {
    std::vector<std::string> entries;
    for (const Output& output : outputs) entries.push_back(output.declared_);
    text_ = outputs.size() == 1 ? entries[0] : detail::enclosed("(", entries, ")");
  }

 private:
  friend class Signature;
  std::string text_;
};

/// A condition that must hold: `n % 4 == 0 else "n must be a multiple of 4"`.
class Constraint {
 public:
  template <typename T, std::enable_if_t<detail::kIsOperand<T>, int> = 0>
  Constraint(const T& condition) : text_(detail::inner(Expr(condition))) {}
  Constraint(const Expr& condition, std::string_view message)
      : text_(detail::inner(condition) + " else " + detail::quoted_name("a message", message)) {}
  /// Returns the canonical text.
  std::string text() const { return detail::finished(text_); }

 private:
  friend struct detail::Kept;
  std::string text_;
};

/// Makes a condition with the message of its error.
inline Constraint constraint(const Expr& condition, std::string_view message) { return Constraint(condition, message); }

/// What functions and closures have in common: parameters, result and constraints.
class Signature {
 public:
  explicit Signature(std::string name) : name_(std::move(name)) {}
  /// Adds parameters.
  void add(const std::vector<Param>& params) { params_.insert(params_.end(), params.begin(), params.end()); }
  /// Adds conditions.
  void add(const List<Constraint>& constraints) {
    for (const Constraint& one : constraints) constraints_.push_back(detail::Kept::of(one));
  }
  void set(const Result& result) { result_ = result.text_; }

  /// Returns the canonical text, in which constraints stand after `before_where`. Documentation of parameters is left out
  /// of a single line.
  std::string text(std::string_view before_where, bool on_one_line) const {
    std::string text = name_ + params_text(on_one_line) + " -> " + result_;
    if (constraints_.empty()) return text;
    return text.append(before_where).append(detail::enclosed("where ", constraints_, ""));
  }

 private:
  std::string params_text(bool on_one_line) const {
    std::vector<std::string> lines, entries;
    bool has_docs = false;
    for (const Param& param : params_) {
      entries.push_back(param.declared_ + param.default_);
      lines.push_back(param.docs_ + "    " + entries.back());
      has_docs = has_docs || !param.docs_.empty();
    }
    const bool is_one_line = on_one_line || !has_docs;
    return is_one_line ? detail::enclosed("(", entries, ")") : detail::enclosed("(\n", lines, "\n)", ",\n");
  }

  std::string name_, result_ = "None";
  std::vector<Param> params_;
  std::vector<std::string> constraints_;
};

/// A declaration. Methods return one with more: parameters, a result, conditions, and a body, one call or statements.
class Function {
 public:
  explicit Function(std::string_view name) : signature_(detail::label(name)) {}

  /// Adds parameters.
  Function params(const std::vector<Param>& params) const {
    return with([&](Function& one) { one.signature_.add(params); });
  }
  /// Sets the result; without one the function returns nothing.
  Function returns(const Result& result) const {
    return with([&](Function& one) { one.signature_.set(result); });
  }
  /// Adds conditions: `where(n % 4 == 0, constraint(m > 0, "m is not positive"))`.
  template <typename... Conditions,
            std::enable_if_t<(std::is_convertible_v<const Conditions&, Constraint> && ...), int> = 0>
  Function where(const Conditions&... conditions) const {
    return with([&](Function& one) { one.signature_.add(std::vector<Constraint>{conditions...}); });
  }
  /// Adds conditions of a list.
  Function where(const List<Constraint>& conditions) const {
    return with([&](Function& one) { one.signature_.add(conditions); });
  }
  /// Makes the call of a C function the body.
  Function kernel(const Callee& callee, const List<Expr>& args = {}) const {
    return calls(build::kernel(callee, args));
  }
  /// Makes the call of a C function that returns a status the body.
  Function try_kernel(const Callee& callee, const List<Expr>& args = {},
                      const std::vector<StatusError>& errors = {}) const {
    return calls(build::try_kernel(callee, args, errors));
  }
  /// Makes a call the body.
  Function calls(const KernelCall& call) const {
    return with([&](Function& one) { one.body_ = detail::inner<Call>(call); });
  }
  /// Makes statements the body.
  Function body(const Block& statements) const {
    return with([&](Function& one) { one.body_ = block_text(statements); });
  }
  /// Sets the documentation, of any number of lines.
  Function docs(std::string_view docs) const {
    return with([&](Function& one) { one.docs_ = detail::docs_text(docs, ""); });
  }
  /// Sets the source location, of which messages, backtraces and debuggers speak. Line and column are counted from 1; a
  /// column of 0 is not known.
  Function at(std::string_view file, uint32_t line, uint32_t column = 0) const {
    return with([&](Function& one) { one.location_ = detail::location(file, line, column) + "\n"; });
  }
  /// Adds a C function of the same name: `extern`.
  Function external() const {
    return with([](Function& one) { one.external_ = "extern "; });
  }

  /// Returns the canonical text, which `jit`, `emit` and `check` take.
  std::string text() const {
    const std::string head = docs_ + location_ + external_ + signature_.text("\n    ", false);
    return detail::finished(head + "\n    = " + detail::indented(body_, detail::kStep) + ";");
  }

 private:
  template <typename Change>
  Function with(Change change) const {
    Function copy = *this;
    change(copy);
    return copy;
  }

  Signature signature_;
  std::string docs_, location_, external_, body_ = "{}";
};

/// Makes a function, which returns nothing and does nothing until its methods say more.
inline Function function(std::string_view name) { return Function(name); }

/// Builds `function(i: int64) -> None { … }`: a function object that holds what its body names of the outside.
inline Expr closure(const std::vector<Param>& params, const Block& body, const Result& result = none,
                    const List<Constraint>& where = {}) {
  Signature signature("function");
  signature.add(params);
  signature.set(result);
  signature.add(where);
  return Expr::printed(signature.text(" ", true) + " " + block_text(body));
}

/// Functions and images, in the order in which they are added.
class Library {
 public:
  Library() = default;
  explicit Library(std::vector<Function> functions) : functions_(std::move(functions)) {}
  /// Adds a function.
  Library& add(Function function) {
    functions_.push_back(std::move(function));
    return *this;
  }
  /// Adds an image, from which launches take GPU kernels, and expressions device variables.
  Library& image(std::string_view name) {
    images_.append("image ").append(detail::image_name(name)).append(";\n");
    return *this;
  }
  /// Adds an image, after whose loading on a device the function `on_load` is called.
  Library& image(std::string_view name, std::string_view on_load) {
    const std::string event = " on load @" + detail::quoted_name("the name of a function", on_load);
    images_.append("image ").append(detail::image_name(name)).append(event).append(";\n");
    return *this;
  }
  /// Returns the canonical text, which `jit`, `emit` and `check` take.
  std::string text() const {
    std::string text = images_;
    for (const Function& function : functions_) text += (text.empty() ? "" : "\n") + function.text() + "\n";
    return text;
  }

 private:
  std::string images_;
  std::vector<Function> functions_;
};

}  // namespace tvm_ffi_codegen::build

#endif  // TVM_FFI_CODEGEN_BUILD_DECLARATION_HPP_
