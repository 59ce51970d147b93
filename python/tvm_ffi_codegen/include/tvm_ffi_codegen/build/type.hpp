// Types of parameters, results and values of the body.
#ifndef TVM_FFI_CODEGEN_BUILD_TYPE_HPP_
#define TVM_FFI_CODEGEN_BUILD_TYPE_HPP_

#include <algorithm>
#include <cstdint>
#include <initializer_list>
#include <optional>
#include <string>
#include <string_view>
#include <type_traits>
#include <utility>
#include <vector>

#include "expression.hpp"

namespace tvm_ffi_codegen::build {

/// A literal in a type, or as a default: `none`, a truth, a number or text.
class Literal {
 public:
  template <typename T, std::enable_if_t<std::is_same_v<T, bool>, int> = 0>
  Literal(T value) : text_(truth(value).text()) {}
  template <typename T, std::enable_if_t<std::is_convertible_v<T, Expr> && !std::is_base_of_v<Expr, T>, int> = 0>
  Literal(const T& value) : text_(Expr(value).text()) {}
  /// Returns the canonical text.
  const std::string& text() const { return text_; }

 private:
  friend struct detail::Kept;
  std::string text_;
};

/// A scalar type. As a function it builds a conversion: `int32(n + 1)`.
class Scalar {
 public:
  constexpr explicit Scalar(const char* name) : name_(name) {}
  /// Returns the name.
  constexpr const char* name() const { return name_; }
  /// Builds `int32(e)`: a checked narrowing to an integer, or a rounding to a float.
  Expr operator()(const Expr& value) const { return detail::applied(name_, {value}); }

 private:
  const char* name_;
};

inline constexpr Scalar bool_{"bool"}, int8{"int8"}, int16{"int16"}, int32{"int32"}, int64{"int64"}, uint8{"uint8"},
    uint16{"uint16"}, uint32{"uint32"}, uint64{"uint64"}, float16{"float16"}, bfloat16{"bfloat16"}, float32{"float32"},
    float64{"float64"}, ptr{"ptr"};

/// A type. A word stands for one without parts: "int64", "str", "handle", "Function", and "Array" for arrays of anything.
class Type {
 public:
  template <typename T, detail::IfText<T> = 0>
  Type(const T& text) : text_(std::string_view(text)) {
    const std::string word = text_;
    if (word == "Array" || word == "List") text_ += "[Any]";
    if (word == "Map" || word == "Dict") text_ += "[Any, Any]";
    const bool is_word = contains_word(word) || word == "Shape" || text_ != word;
    if (!is_word) detail::fail("`" + text_ + "` is no word for a type");
  }
  Type(Scalar scalar) : text_(scalar.name()) {}

  /// Makes a type of its canonical text, which is not checked.
  static Type printed(std::string text) {
    Type type = ptr;
    type.text_ = std::move(text);
    return type;
  }
  /// Returns the canonical text.
  std::string text() const { return detail::finished(text_); }

 private:
  friend struct detail::Kept;
  static bool contains_word(std::string_view word) {
    return detail::contains(detail::kScalars, word) || detail::contains(detail::kLeaves, word) ||
           detail::contains(detail::kClasses, word);
  }

  std::string text_;
};

/// An extent, a stride or a number of a shape: an expression, or `any_dim`, `dots` or `folded(name)`. Text is none:
/// `symbol` makes names.
class Dim {
 public:
  template <typename T, std::enable_if_t<detail::kIsOperand<T>, int> = 0>
  Dim(const T& value) : text_(detail::inner(Expr(value))) {}

  /// Makes a dim of its canonical text, which is not checked.
  static Dim printed(std::string text) {
    Dim dim = 0;
    dim.text_ = std::move(text);
    return dim;
  }
  /// Returns the canonical text.
  std::string text() const { return detail::finished(text_); }
  /// Returns true for `dots` and `folded(name)`, which stand for leading dims.
  bool is_leading() const { return text_.size() >= 3 && text_.compare(text_.size() - 3, 3, "...") == 0; }

 private:
  friend struct detail::Kept;
  std::string text_;
};

/// Any extent, stride or number: `_`.
inline const Dim any_dim = Dim::printed("_");
/// Any number of leading dims: `...`, the first entry of a shape.
inline const Dim dots = Dim::printed("...");
/// Builds `outer...`, the first entry of a shape: all leading dims as one, whose extent is their product.
inline Dim folded(const Symbol& name) { return Dim::printed(name.text() + "..."); }

using Dims = List<Dim>;

namespace detail {

/// Returns dims of a tensor, of which only the first may stand for leading ones.
inline Dims dims(Dims dims) {
  for (size_t index = 1; index < dims.size(); ++index) {
    if (dims[index].is_leading()) fail("`" + dims[index].text() + "` is the first entry of a shape");
  }
  return dims;
}

}  // namespace detail

/// The element types of a tensor: one, several of which a call passes any, "any" for every one, or the name that an earlier
/// tensor has given to its element type by `Tensor::dtype_symbol`.
class Dtypes {
 public:
  template <typename T, detail::IfText<T> = 0>
  Dtypes(const T& name) : Dtypes(std::vector<std::string>{std::string(std::string_view(name))}) {}
  Dtypes(Scalar scalar) : Dtypes(scalar.name()) {}
  Dtypes(std::initializer_list<std::string_view> names) : Dtypes(std::vector<std::string>(names.begin(), names.end())) {}
  Dtypes(std::vector<std::string> names) : names_(std::move(names)) {
    for (const std::string& name : names_) {
      if (!detail::is_dtype(name) && name != "any") detail::fail(detail::quoted(name) + " is no element type");
    }
    if (names_.empty()) detail::fail("a tensor has an element type, or the name of one");
    const bool has_any = std::find(names_.begin(), names_.end(), "any") != names_.end();
    if (has_any && names_.size() > 1) detail::fail("\"any\" stands for every element type, beside no other");
  }
  Dtypes(const Symbol& symbol) : symbol_(symbol) {}

 private:
  friend class Tensor;
  std::vector<std::string> names_;
  std::optional<Symbol> symbol_;
};

/// A tensor. Options hold their defaults until a method returns a tensor with another one.
class Tensor {
 public:
  Tensor(Dims shape, Dtypes dtypes) : shape_(detail::dims(std::move(shape))), dtypes_(std::move(dtypes)) {}

  /// Names the element type: `T: float16|bfloat16`.
  Tensor dtype_symbol(const Symbol& name) const {
    return with([&](Tensor& one) { one.dtypes_.symbol_ = name; });
  }
  /// Sets the strides of the declared dims, in elements.
  Tensor strides(const Dims& strides) const {
    Dims dims = detail::dims(strides);
    const bool has_dots = shape_.size() > 1 && shape_[0].text() == "...";
    if (has_dots && (dims.empty() || !dims[0].is_leading())) dims.insert(dims.begin(), shape_[0]);
    return with([&](Tensor& one) { one.strides_ = detail::list(", strides=[", dims, "]"); });
  }
  /// Allows any strides.
  Tensor any_strides() const {
    return with([](Tensor& one) { one.strides_ = ", strides=any"; });
  }
  /// Sets the type of the device: "cpu", "cuda" and others of DLPack, or "any".
  Tensor device(std::string_view device) const {
    if (!detail::contains(detail::kDevices, device)) detail::fail(detail::quoted(device) + " is no type of device");
    return with([&](Tensor& one) { one.device_ = device == "cpu" ? "" : ", device=" + std::string(device); });
  }
  /// Sets the alignment of the first element in bytes, a power of two.
  Tensor align(uint64_t bytes) const {
    return with([&](Tensor& one) { one.align_ = bytes; });
  }
  /// Accepts element types that are stored alike: `dtypes=storage`.
  Tensor storage() const {
    return with([](Tensor& one) { one.storage_ = ", dtypes=storage"; });
  }
  /// Sets what a function does with the elements that it is given: "update" (the default), "read" or "write".
  Tensor access(std::string_view access) const {
    if (!detail::contains(detail::kAccesses, access)) detail::fail(detail::quoted(access) + " is no access");
    return with([&](Tensor& one) { one.access_ = access == "update" ? "" : ", access=" + std::string(access); });
  }

  operator Type() const { return Type::printed(kept()); }
  /// Returns the canonical text.
  std::string text() const { return detail::finished(kept()); }

 private:
  template <typename Change>
  Tensor with(Change change) const {
    Tensor copy = *this;
    change(copy);
    return copy;
  }
  std::string kept() const {
    std::string text = detail::list("Tensor([", shape_, "], ");
    if (const auto& symbol = dtypes_.symbol_) {
      text += detail::reads_as_dtype(symbol->name()) ? detail::in_backticks(symbol->name()) : symbol->text();
      if (!dtypes_.names_.empty()) text += ": ";
    }
    text += detail::enclosed("", dtypes_.names_, "", "|") + strides_ + device_;
    if (align_.has_value() && align_ != natural_alignment()) text += ", align=" + std::to_string(*align_);
    return text + storage_ + access_ + ")";
  }
  std::optional<uint64_t> natural_alignment() const {
    std::optional<uint64_t> least;
    for (const std::string& name : dtypes_.names_) {
      const auto bytes = static_cast<uint64_t>(detail::lane_alignment(name));
      least = std::min(least.value_or(bytes), bytes);
    }
    return least;
  }

  Dims shape_;
  Dtypes dtypes_;
  std::optional<uint64_t> align_;
  std::string strides_, device_, storage_, access_;
};

/// Makes a tensor of extents and element types.
inline Tensor tensor(Dims shape, Dtypes dtypes) { return Tensor(std::move(shape), std::move(dtypes)); }
/// Builds `Shape`: a shape, or an array or list of integers, of any numbers.
inline Type shape() { return "Shape"; }
/// Builds `Shape([n, 2, _])`.
inline Type shape(const Dims& numbers) {
  const std::string entries = detail::list("", numbers, "");
  if (entries == "...") return shape();
  for (const Dim& one : numbers) {
    if (one.is_leading()) detail::fail("`" + one.text() + "` is no number of a shape");
  }
  return Type::printed("Shape([" + entries + "])");
}
/// Builds `Object["my.Class"]`: objects of the class with this type key, and of classes derived from it.
inline Type object(std::string_view key) {
  return Type::printed("Object[" + detail::quoted_name("a type key", key) + "]");
}
/// Builds `Array[of]`, an immutable array.
inline Type array(const Type& of) { return Type::printed("Array[" + detail::inner(of) + "]"); }
/// Builds `List[of]`, a mutable list.
inline Type list(const Type& of) { return Type::printed("List[" + detail::inner(of) + "]"); }
/// Builds `Map[key, value]`, an immutable map.
inline Type map(const Type& key, const Type& value) {
  return Type::printed("Map[" + detail::inner(key) + ", " + detail::inner(value) + "]");
}
/// Builds `Dict[key, value]`, a mutable map.
inline Type dict(const Type& key, const Type& value) {
  return Type::printed("Dict[" + detail::inner(key) + ", " + detail::inner(value) + "]");
}
/// Builds `Optional[of]`: None or a value of the type.
inline Type optional(const Type& of) { return Type::printed("Optional[" + detail::inner(of) + "]"); }
/// Builds `Union[a, b]`: a value of one of several types.
inline Type union_of(const List<Type>& types) {
  return Type::printed(detail::list("Union[", types, "]"));
}
/// Builds `Literal[1, "a"]`: one of several literals.
inline Type literal(const List<Literal>& values) {
  return Type::printed(detail::list("Literal[", values, "]"));
}
/// An element of a tuple: a type, or a name and a type.
class Element {
 public:
  template <typename T, std::enable_if_t<std::is_convertible_v<T, Type>, int> = 0>
  Element(const T& type) : text_(detail::Kept::of(Type(type))) {}
  Element(const Symbol& name, const Type& type) : text_(name.text() + ": " + detail::Kept::of(type)) {}

 private:
  friend struct detail::Kept;
  std::string text_;
};

/// Builds `Tuple[a, name: b]`, an array with a fixed number of elements: `tuple({"int64", {"f", "Function"}})`.
inline Type tuple(const List<Element>& elements) {
  return Type::printed(detail::list("Tuple[", elements, "]"));
}

}  // namespace tvm_ffi_codegen::build

#endif  // TVM_FFI_CODEGEN_BUILD_TYPE_HPP_
