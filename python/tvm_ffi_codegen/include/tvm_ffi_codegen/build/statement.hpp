// Statements of bodies.
#ifndef TVM_FFI_CODEGEN_BUILD_STATEMENT_HPP_
#define TVM_FFI_CODEGEN_BUILD_STATEMENT_HPP_

#include <cstdint>
#include <string>
#include <string_view>
#include <utility>
#include <vector>

#include "call.hpp"
#include "type.hpp"

namespace tvm_ffi_codegen::build {

namespace detail {

/// Returns the text of a place in a source file. Line and column are counted from 1; a column of 0 is not known.
inline std::string location(std::string_view file, uint32_t line, uint32_t column) {
  const std::string place = "@" + quoted_name("the name of a file", file) + ":" + std::to_string(line);
  return column == 0 ? place : place + ":" + std::to_string(column);
}

}  // namespace detail

/// A statement. A call is one; its result is dropped.
class Statement {
 public:
  Statement(const Call& call) : text_(detail::Kept::of(call) + ";") {}

  /// Makes a statement of its canonical text at the margin 0, which is not checked.
  static Statement printed(std::string text) { return Statement(std::move(text)); }
  /// Returns the statement with a source location, of which messages, backtraces and debuggers speak. Line and column are
  /// counted from 1; a column of 0 is not known.
  Statement at(std::string_view file, uint32_t line, uint32_t column = 0) const {
    Statement copy = *this;
    copy.location_ = detail::location(file, line, column) + "\n";
    return copy;
  }
  /// Returns the canonical text, as it stands in the body of a function.
  std::string text() const { return detail::finished(detail::indented(text_, detail::kMargin)); }

 protected:
  explicit Statement(std::string text) : text_(std::move(text)) {}
  std::string text_;

 private:
  friend struct detail::Kept;
  friend std::string block_text(const std::vector<Statement>& statements);
  std::string location_;
};

inline Statement Call::at(std::string_view file, uint32_t line, uint32_t column) const {
  return Statement(*this).at(file, line, column);
}

using Block = std::vector<Statement>;

/// Returns the text of statements in braces, at the margin 0.
inline std::string block_text(const Block& statements) {
  if (statements.empty()) return "{}";
  std::string text = "{";
  for (const Statement& one : statements) text += "\n" + one.location_ + one.text_;
  return detail::indented(text, detail::kStep) + "\n}";
}

/// Builds `let v = e;`: names a number, a truth, an address or a function, or gives a value in scope a second name.
inline Statement let(const Symbol& name, const Expr& value) {
  return Statement::printed("let " + name.text() + " = " + detail::Kept::of(value) + ";");
}
/// Builds `let v = call;` of a function of the same library, which declares the type.
inline Statement let(const Symbol& name, const FunctionCall& call) {
  return Statement::printed("let " + name.text() + " = " + detail::Kept::of<Call>(call) + ";");
}
/// Builds `let v: T = call;`.
inline Statement let(const Symbol& name, const Call& call, const Type& type) {
  return Statement::printed("let " + name.text() + ": " + detail::Kept::of(type) + " = " + detail::Kept::of(call) + ";");
}
/// Builds `let t = alloc Tensor([n], float32);`: workspace, on the device of the first tensor of its type.
inline Statement alloc(const Symbol& name, const Tensor& tensor) {
  return Statement::printed("let " + name.text() + " = alloc " + detail::inner<Type>(tensor) + ";");
}
/// Builds `let t = alloc Tensor([n], float32) on x;`: workspace, on the device of another tensor.
inline Statement alloc(const Symbol& name, const Tensor& tensor, const Expr& on) {
  const std::string memory = detail::inner<Type>(tensor) + " on " + detail::inner(on);
  return Statement::printed("let " + name.text() + " = alloc " + memory + ";");
}

/// A branch: `if c { … } else if d { … } else { … }`.
class If : public Statement {
 public:
  If(const Expr& condition, const Block& body)
      : Statement("if " + detail::inner(condition) + " " + block_text(body)) {}
  /// Returns the statement with one more branch.
  If elif_(const Expr& condition, const Block& body) const {
    if (ends_) detail::fail("`elif_` stands before `else_`");
    return with(" else if " + detail::inner(condition) + " " + block_text(body));
  }
  /// Returns the statement with what runs if no condition holds.
  If else_(const Block& body) const {
    if (ends_) detail::fail("`else_` stands once");
    If copy = with(body.empty() ? "" : " else " + block_text(body));
    copy.ends_ = true;
    return copy;
  }

 private:
  If with(const std::string& text) const {
    If copy = *this;
    copy.text_ += text;
    return copy;
  }
  bool ends_ = false;
};

/// Builds `if c { … }`; `elif_` and `else_` of it add branches.
inline If if_(const Expr& condition, const Block& body) { return If(condition, body); }
/// Builds `for i in a..b { … }`: `i` is an int64 from `a` to below `b`.
inline Statement for_(const Symbol& name, const Expr& start, const Expr& end, const Block& body) {
  const std::string range = detail::inner(start) + ".." + detail::inner(end);
  return Statement::printed("for " + name.text() + " in " + range + " " + block_text(body));
}

/// What runs if the value of a `match` has a type: `name: type => { … }`.
class Arm {
 public:
  Arm(const Symbol& name, const Type& type, const Block& body) : text_(typed(name.text(), type, body)) {}
  /// Makes the arm of a type whose value needs no name.
  Arm(const Type& type, const Block& body) : text_(typed("_", type, body)) {}
  /// Makes the arm of None.
  Arm(None, const Block& body) : text_("None => " + block_text(body)) {}
  /// Returns the canonical text, as it stands in a `match` of a body.
  std::string text() const { return detail::finished(detail::indented(text_, detail::kMargin + detail::kStep)); }

 private:
  friend struct detail::Kept;
  static std::string typed(const std::string& name, const Type& type, const Block& body) {
    return name + ": " + detail::Kept::of(type) + " => " + block_text(body);
  }
  std::string text_;
};

/// Builds `match v { t: T => { … } None => { … } }`: one arm for each type of a union, in its order.
inline Statement match(const Expr& value, const std::vector<Arm>& arms) {
  std::string text = "match " + detail::inner(value) + " {";
  for (const Arm& arm : arms) text += "\n" + detail::Kept::of(arm);
  return Statement::printed(detail::indented(text, detail::kStep) + (arms.empty() ? "}" : "\n}"));
}

/// Builds `return;`.
inline Statement return_() { return Statement::printed("return;"); }
/// Builds `return e;`.
inline Statement return_(const Expr& value) { return Statement::printed("return " + detail::Kept::of(value) + ";"); }
/// Builds `raise ValueError "n is ", n;`: an error of a kind, whose message is joined from text and scalars.
inline Statement raise(std::string_view kind, const List<Expr>& message = {}) {
  const std::string pieces = detail::list(message.empty() ? "" : " ", message, "");
  return Statement::printed("raise " + std::string(detail::kind_of_error(kind)) + pieces + ";");
}

}  // namespace tvm_ffi_codegen::build

#endif  // TVM_FFI_CODEGEN_BUILD_STATEMENT_HPP_
