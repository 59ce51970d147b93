// Expressions: dims, conditions, arguments. Operators build them.
#ifndef TVM_FFI_CODEGEN_BUILD_EXPRESSION_HPP_
#define TVM_FFI_CODEGEN_BUILD_EXPRESSION_HPP_

#include <array>
#include <cstddef>
#include <cstdint>
#include <ostream>
#include <string>
#include <string_view>
#include <type_traits>
#include <utility>
#include <vector>

#include "text.hpp"

namespace tvm_ffi_codegen::build {

/// How tightly the outermost operator of an expression binds, loosest first.
enum class Precedence { kOr, kAnd, kNot, kComparison, kSum, kProduct, kUnary, kPostfix };

/// Nothing, `none`: the literal `None` as an expression, a default or in a type.
struct None {};
inline constexpr None none{};

namespace detail {

/// True for a type that is one of several.
template <typename T, typename... Types>
inline constexpr bool kIsOneOf = (std::is_same_v<T, Types> || ...);

/// True for truths and characters, which are integers of C++ and no numbers.
template <typename T>
inline constexpr bool kIsNoNumber = kIsOneOf<T, bool, char, wchar_t, char16_t, char32_t>;
#ifdef __cpp_char8_t
template <>
inline constexpr bool kIsNoNumber<char8_t> = true;
#endif

/// True for integers that are numbers, and for enums that convert to one without a cast.
template <typename T>
inline constexpr bool kIsInteger =
    (std::is_integral_v<T> && !kIsNoNumber<T>) || (std::is_enum_v<T> && std::is_convertible_v<T, long long>);

/// Access to the text of parts as it is kept, with lines that may be fixed.
struct Kept {
  template <typename Part>
  static const std::string& of(const Part& part) {
    return part.text_;
  }
};

/// Returns the text of a part within another one.
template <typename Part>
std::string inner(const Part& part) {
  return fixed(Kept::of(part));
}

/// Returns the text of parts, separated by commas, between two texts.
template <typename Part>
std::string list(std::string_view before, const std::vector<Part>& parts, std::string_view after) {
  std::vector<std::string> entries;
  entries.reserve(parts.size());
  for (const Part& part : parts) entries.push_back(inner(part));
  return enclosed(before, entries, after);
}

}  // namespace detail

/// Parts: in braces, or a vector of what converts to a part, such as a `std::vector<int64_t>` of expressions.
template <typename Part>
class List : public std::vector<Part> {
 public:
  using std::vector<Part>::vector;
  template <typename T, std::enable_if_t<std::is_convertible_v<const T&, Part>, int> = 0>
  List(const std::vector<T>& parts) : std::vector<Part>(parts.begin(), parts.end()) {}
};

/// An expression: its canonical text, and how tightly that binds. Numbers, unscoped enums (as numbers), `none` and text
/// (always in quotes, never a name) convert to one; `symbol` makes names. A comparison is a condition of the language,
/// another expression; what uses one as a truth of C++ does not compile, and no truth converts to an expression:
/// `truth(true)` is the literal.
class Expr {
 public:
  template <typename T, std::enable_if_t<detail::kIsInteger<T>, int> = 0>
  Expr(T value) : text_(std::to_string(+value)), is_number_(true) {
    if (text_[0] == '-') binds_ = Precedence::kUnary;
  }
  template <typename T, std::enable_if_t<std::is_floating_point_v<T>, int> = 0>
  Expr(T value) : text_(detail::decimal(static_cast<double>(value))), is_number_(true) {
    if (text_[0] == '-') binds_ = Precedence::kUnary;
  }
  template <typename T, detail::IfText<T> = 0>
  Expr(const T& text) : text_(detail::quoted(text)) {}
  Expr(None) : text_("None") {}
  Expr(std::nullptr_t) = delete;
  template <typename T, std::enable_if_t<std::is_same_v<T, bool>, int> = 0>
  Expr(T) = delete;

  /// Makes an expression of its canonical text, which is not checked.
  static Expr printed(std::string text, Precedence binds = Precedence::kPostfix) {
    return Expr(std::move(text), binds, false);
  }

  /// Returns the canonical text.
  std::string text() const { return detail::finished(detail::fixed(text_)); }
  /// Returns how tightly the outermost operator binds. A number with a sign binds like a negation.
  Precedence binds() const { return binds_; }
  /// Returns true for literals that are numbers.
  bool is_number() const { return is_number_; }
  explicit operator bool() const = delete;

  /// Builds `x.data`: the address of the first element, byte or number.
  Expr data() const { return member("data"); }
  /// Builds `x.object`: a tensor as an object of the runtime.
  Expr object() const { return member("object"); }
  /// Builds `x.ndim`: the rank.
  Expr ndim() const { return member("ndim"); }
  /// Builds `x.shape[i]`; a negative index counts from the end.
  Expr shape(int64_t index) const { return member("shape[" + std::to_string(index) + "]"); }
  /// Builds `x.strides[i]`, in elements, with an index as of `shape`.
  Expr strides(int64_t index) const { return member("strides[" + std::to_string(index) + "]"); }
  /// Builds `x.dtype`: the element type.
  Expr dtype() const { return member("dtype"); }
  /// Builds `x.numel`: the number of elements.
  Expr numel() const { return member("numel"); }
  /// Builds `x.is_contiguous`: true if the strides are compact.
  Expr is_contiguous() const { return member("is_contiguous"); }
  /// Builds `x.device_type`: the DLPack number of the type of the device.
  Expr device_type() const { return member("device_type"); }
  /// Builds `x.device_id`: the index of the device.
  Expr device_id() const { return member("device_id"); }
  /// Builds `x.byte_offset`: the offset of the first element in bytes.
  Expr byte_offset() const { return member("byte_offset"); }
  /// Builds `x.size`: the number of bytes, numbers or elements.
  Expr size() const { return member("size"); }
  /// Builds `x.is_some`: true if an optional value is not None.
  Expr is_some() const { return member("is_some"); }
  /// Builds `x.device.multiprocessors`.
  Expr multiprocessors() const { return member("device.multiprocessors"); }
  /// Builds `x.device.attribute(id)`, by the number of a `CUdevice_attribute`.
  Expr device_attribute(uint32_t id) const { return member("device.attribute(" + std::to_string(id) + ")"); }
  /// Builds `t.name`: an element of a tuple by its name.
  Expr field(std::string_view name) const { return member(detail::label(name)); }
  /// Builds `xs[i]`: an element of an array, a list or a tuple, or a number of a shape.
  Expr operator[](const Expr& index) const { return printed(suffixed() + "[" + detail::fixed(index.text_) + "]"); }

 protected:
  Expr(std::string text, Precedence binds, bool is_number)
      : text_(std::move(text)), binds_(binds), is_number_(is_number) {}

 private:
  friend struct detail::Kept;
  Expr member(const std::string& name) const { return printed(suffixed() + "." + name); }
  /// Returns the text before a suffix.
  std::string suffixed() const {
    const bool plain = !is_number_ && binds_ == Precedence::kPostfix;
    return plain ? detail::fixed(text_) : "(" + detail::fixed(text_) + ")";
  }

  std::string text_;
  Precedence binds_ = Precedence::kPostfix;
  bool is_number_ = false;
};

namespace detail {

/// True for what converts to an expression and is neither text nor `none`.
template <typename T>
inline constexpr bool kIsOperand =
    std::is_convertible_v<T, Expr> && !std::is_convertible_v<T, std::string_view> && !std::is_same_v<T, None>;

}  // namespace detail

/// A name of a symbol, a parameter or a local. Its text has backticks if the name is reserved or no identifier.
class Symbol : public Expr {
 public:
  template <typename T, detail::IfText<T> = 0>
  Symbol(const T& name) : Expr(detail::spelled(name), Precedence::kPostfix, false), name_(std::string_view(name)) {}
  /// Returns the name, without backticks.
  const std::string& name() const { return name_; }

 private:
  std::string name_;
};

/// Makes a name.
inline Symbol symbol(std::string_view name) { return Symbol(name); }

/// Makes several names: `auto [n, m] = symbols("n", "m");`.
template <typename... Names>
std::array<Symbol, sizeof...(Names)> symbols(const Names&... names) {
  return {Symbol(names)...};
}

namespace detail {

/// Returns the text of an operand, in parentheses unless it is plain.
inline std::string operand(const Expr& expr, bool plain) {
  return plain ? inner(expr) : "(" + inner(expr) + ")";
}

/// Builds an operation. Comparisons do not chain; other operators are left-associative.
inline Expr infix(const Expr& left, std::string_view op, Precedence own, const Expr& right) {
  const bool plain = left.binds() > own || (left.binds() == own && own != Precedence::kComparison);
  const std::string before = operand(left, plain) + " " + std::string(op) + " ";
  return Expr::printed(before + operand(right, right.binds() > own), own);
}

/// Builds `name(a, b)`.
inline Expr applied(std::string_view name, const std::vector<Expr>& operands) {
  return Expr::printed(list(std::string(name) + "(", operands, ")"));
}

}  // namespace detail

inline Expr operator+(const Expr& a, const Expr& b) { return detail::infix(a, "+", Precedence::kSum, b); }
inline Expr operator-(const Expr& a, const Expr& b) { return detail::infix(a, "-", Precedence::kSum, b); }
inline Expr operator*(const Expr& a, const Expr& b) { return detail::infix(a, "*", Precedence::kProduct, b); }
/// Builds `a / b`, which of integers rounds down, as `%` takes the sign of `b`: `symbol("n") / 2` of -3 is -2.
inline Expr operator/(const Expr& a, const Expr& b) { return detail::infix(a, "/", Precedence::kProduct, b); }
inline Expr operator%(const Expr& a, const Expr& b) { return detail::infix(a, "%", Precedence::kProduct, b); }
inline Expr operator==(const Expr& a, const Expr& b) { return detail::infix(a, "==", Precedence::kComparison, b); }
inline Expr operator!=(const Expr& a, const Expr& b) { return detail::infix(a, "!=", Precedence::kComparison, b); }
inline Expr operator<(const Expr& a, const Expr& b) { return detail::infix(a, "<", Precedence::kComparison, b); }
inline Expr operator<=(const Expr& a, const Expr& b) { return detail::infix(a, "<=", Precedence::kComparison, b); }
inline Expr operator>(const Expr& a, const Expr& b) { return detail::infix(a, ">", Precedence::kComparison, b); }
inline Expr operator>=(const Expr& a, const Expr& b) { return detail::infix(a, ">=", Precedence::kComparison, b); }
/// Builds `a and b`. Both operands are built; whether the second one is evaluated is decided when the function is called.
inline Expr operator&&(const Expr& a, const Expr& b) { return detail::infix(a, "and", Precedence::kAnd, b); }
/// Builds `a or b`, as `&&` builds `and`.
inline Expr operator||(const Expr& a, const Expr& b) { return detail::infix(a, "or", Precedence::kOr, b); }
/// Builds `not a`.
inline Expr operator!(const Expr& a) {
  return Expr::printed("not " + detail::operand(a, a.binds() >= Precedence::kNot), Precedence::kNot);
}
/// Builds `-a`, also of a number: `-Expr(5)` is `-(5)`, and `Expr(-5)` is `-5`.
inline Expr operator-(const Expr& a) {
  const bool is_plain_number = a.is_number() && a.binds() == Precedence::kPostfix;
  return Expr::printed("-" + detail::operand(a, !is_plain_number && a.binds() >= Precedence::kUnary), Precedence::kUnary);
}
/// Prints the text of a part.
template <typename Part>
auto operator<<(std::ostream& out, const Part& part) -> decltype(out << part.text()) {
  return out << part.text();
}

namespace detail {

/// Joins operands with an operator. A chain of many is joined from halves, so that it is no deep nesting.
inline Expr joined(const std::vector<Expr>& operands, std::string_view op, Precedence own, const char* nothing) {
  if (operands.empty()) return Expr::printed(nothing);
  if (operands.size() > 16) {
    const auto half = operands.begin() + static_cast<std::ptrdiff_t>(operands.size() / 2);
    const Expr left = joined({operands.begin(), half}, op, own, nothing);
    return infix(left, op, own, joined({half, operands.end()}, op, own, nothing));
  }
  Expr result = operands[0];
  for (size_t index = 1; index < operands.size(); ++index) result = infix(result, op, own, operands[index]);
  return result;
}

}  // namespace detail

/// Builds `a and b and c`, of any number of conditions; `True` of none.
inline Expr all_of(const List<Expr>& conditions) {
  return detail::joined(conditions, "and", Precedence::kAnd, "True");
}
/// Builds `a or b or c`, of any number of conditions; `False` of none.
inline Expr any_of(const List<Expr>& conditions) {
  return detail::joined(conditions, "or", Precedence::kOr, "False");
}
/// Builds `a * b * c`, of any number of factors; 1 of none.
inline Expr product(const List<Expr>& factors) {
  return factors.empty() ? Expr(1) : detail::joined(factors, "*", Precedence::kProduct, "");
}
/// Builds `a + b + c`, of any number of terms; 0 of none.
inline Expr sum_of(const List<Expr>& terms) {
  return terms.empty() ? Expr(0) : detail::joined(terms, "+", Precedence::kSum, "");
}

/// Builds `True` or `False`, of a `bool` and nothing else that converts to one.
template <typename T, std::enable_if_t<std::is_same_v<T, bool>, int> = 0>
Expr truth(T value) {
  return Expr::printed(value ? "True" : "False");
}
/// Builds `null`, the null pointer.
inline Expr null() { return Expr::printed("null"); }
/// Builds `min(a, b)`.
inline Expr min_of(const Expr& a, const Expr& b) { return detail::applied("min", {a, b}); }
/// Builds `max(a, b)`.
inline Expr max_of(const Expr& a, const Expr& b) { return detail::applied("max", {a, b}); }
/// Builds `ceildiv(a, b)`: the quotient of integers, rounded up.
inline Expr ceildiv(const Expr& a, const Expr& b) { return detail::applied("ceildiv", {a, b}); }
/// Builds `stream(x)`: the environment's stream for the device of a tensor.
inline Expr stream(const Expr& tensor) { return detail::applied("stream", {tensor}); }
/// Builds `current_device()`: the index of the driver's current device.
inline Expr current_device() { return detail::applied("current_device", {}); }
/// Builds `image.global("name")`: the address of a device variable of an image. Its `size` is the number of its bytes.
inline Expr global_of(std::string_view image, std::string_view name) {
  const std::string member = ".global(" + detail::quoted_name("the name of a variable", name) + ")";
  return Expr::printed(detail::spelled(detail::image_name(image)) + member);
}
/// Builds `Shape(n, m)`, a shape object.
inline Expr shape_of(const List<Expr>& numbers) { return detail::applied("Shape", numbers); }
/// Builds `[a, b]`, an array object.
inline Expr array_of(const List<Expr>& elements) {
  return Expr::printed(detail::list("[", elements, "]"));
}

}  // namespace tvm_ffi_codegen::build

#endif  // TVM_FFI_CODEGEN_BUILD_EXPRESSION_HPP_
