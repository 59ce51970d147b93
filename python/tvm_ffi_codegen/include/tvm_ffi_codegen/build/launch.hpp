// Launches of GPU kernels, tensor maps, and commands on memory and streams.
#ifndef TVM_FFI_CODEGEN_BUILD_LAUNCH_HPP_
#define TVM_FFI_CODEGEN_BUILD_LAUNCH_HPP_

#include <cstddef>
#include <cstdint>
#include <initializer_list>
#include <string>
#include <string_view>
#include <type_traits>
#include <utility>
#include <vector>

#include "statement.hpp"

namespace tvm_ffi_codegen::build {

/// A column of pixels that a convolution takes from memory: `im2col` makes it.
class Im2col {
 private:
  friend class TensorMap;
  friend Im2col im2col(const List<Expr>& lower, const List<Expr>& upper, const Expr& channels,
                       const Expr& pixels);
  explicit Im2col(std::string text) : text_(std::move(text)) {}
  std::string text_;
};

/// Makes a column of pixels. `lower` and `upper` are the offsets of the corners of the bounding box from those of an image,
/// for each spatial dim; `channels` and `pixels` are what an access brings.
inline Im2col im2col(const List<Expr>& lower, const List<Expr>& upper, const Expr& channels,
                     const Expr& pixels) {
  const std::string corners = detail::list("lower=[", lower, "]") + detail::list(", upper=[", upper, "]");
  const std::string numbers = ", channels=" + detail::inner(channels) + ", pixels=" + detail::inner(pixels);
  return Im2col("im2col(" + corners + numbers + ")");
}

/// How a GPU kernel accesses the memory of a tensor in boxes, `tensormap(x, box=[64, 64])`, or in columns of pixels,
/// `tensormap(x, im2col(…))`. Options hold their defaults until a method returns a map with another one.
class TensorMap {
 public:
  TensorMap(const Expr& tensor, const List<Expr>& box)
      : tensor_(detail::inner(tensor)), mode_(detail::list(", box=[", box, "]")) {}
  TensorMap(const Expr& tensor, const Im2col& columns) : tensor_(detail::inner(tensor)), mode_(", " + columns.text_) {}

  /// Sets the extents of the memory, the innermost last; those of the tensor by default.
  TensorMap dims(const List<Expr>& dims) const { return with(&TensorMap::dims_, list("dims", dims)); }
  /// Sets the strides of the memory, in elements.
  TensorMap strides(const List<Expr>& strides) const {
    return with(&TensorMap::strides_, list("strides", strides));
  }
  /// Sets where the memory starts, in elements.
  TensorMap offset(const Expr& offset) const { return with(&TensorMap::offset_, ", offset=" + detail::inner(offset)); }
  /// Sets the steps between the elements that a box takes, or between pixels.
  TensorMap steps(const List<Expr>& steps) const { return with(&TensorMap::steps_, list("steps", steps)); }
  /// Sets how elements are interleaved: "none", "16b" or "32b".
  TensorMap interleave(std::string_view word) const {
    return with(&TensorMap::interleave_, option("interleave", word, kInterleaves));
  }
  /// Sets how a box is permuted in shared memory: "none", "32b", "64b", "128b" or a variant of that.
  TensorMap swizzle(std::string_view word) const {
    return with(&TensorMap::swizzle_, option("swizzle", word, kSwizzles));
  }
  /// Sets how much the second-level cache fetches: "none", "64b", "128b" or "256b".
  TensorMap l2(std::string_view word) const { return with(&TensorMap::l2_, option("l2", word, kPromotions)); }
  /// Sets what is read outside of the memory: "none" for zeros, or "nan_request_zero_fma".
  TensorMap fill(std::string_view word) const { return with(&TensorMap::fill_, option("fill", word, kFills)); }
  /// Sets the element type of the map; that of the tensor by default.
  TensorMap dtype(std::string_view word) const { return with(&TensorMap::dtype_, option("dtype", word, kTypes)); }

  /// Returns the canonical text.
  std::string text() const { return detail::finished(kept()); }

 private:
  friend class LaunchArg;
  std::string kept() const {
    const std::string memory = dims_ + strides_ + offset_ + mode_ + steps_;
    return "tensormap(" + tensor_ + memory + interleave_ + swizzle_ + l2_ + fill_ + dtype_ + ")";
  }

  static constexpr std::string_view kInterleaves[] = {"none", "16b", "32b"};
  static constexpr std::string_view kSwizzles[] = {"none", "32b", "64b", "128b", "128b_atom_32b", "128b_atom_32b_flip_8b",
                                                   "128b_atom_64b"};
  static constexpr std::string_view kPromotions[] = {"none", "64b", "128b", "256b"};
  static constexpr std::string_view kFills[] = {"none", "nan_request_zero_fma"};
  static constexpr std::string_view kTypes[] = {
      "uint8",   "uint16",   "uint32",      "int32",    "uint64",       "int64",        "float16",       "float32",
      "float64", "bfloat16", "float32_ftz", "tfloat32", "tfloat32_ftz", "16u4_align8b", "16u4_align16b", "16u6_align16b"};

  static std::string list(std::string_view name, const List<Expr>& numbers) {
    if (numbers.empty()) return "";
    return detail::list(", " + std::string(name) + "=[", numbers, "]");
  }
  /// Returns the text of an option that is one of several words, of which the default is "none".
  template <size_t N>
  static std::string option(std::string_view name, std::string_view word, const std::string_view (&words)[N]) {
    if (!detail::contains(words, word)) {
      const std::vector<std::string> known(words, words + N);
      detail::fail(std::string(name) + detail::enclosed(" is one of ", known, ", not \"") + std::string(word) + "\"");
    }
    return word == "none" ? "" : ", " + std::string(name) + "=" + detail::quoted(word);
  }
  TensorMap with(std::string TensorMap::*option, std::string text) const {
    TensorMap copy = *this;
    copy.*option = std::move(text);
    return copy;
  }

  std::string tensor_, mode_, dims_, strides_, offset_, steps_, interleave_, swizzle_, l2_, fill_, dtype_;
};

/// Makes a tensor map with the extents of its box, the innermost last.
inline TensorMap tensormap(const Expr& tensor, const List<Expr>& box) { return TensorMap(tensor, box); }
/// Makes a tensor map of columns of pixels.
inline TensorMap tensormap(const Expr& tensor, const Im2col& columns) { return TensorMap(tensor, columns); }
/// An argument of a launch, or a value of an upload: an expression, a tensor map, a `structure`, `scratch` memory or
/// `bytes_of` a tensor.
class LaunchArg {
 public:
  template <typename T, std::enable_if_t<std::is_convertible_v<T, Expr>, int> = 0>
  LaunchArg(const T& value) : text_(detail::inner(Expr(value))) {}
  LaunchArg(const TensorMap& map) : text_(map.kept()) {}

  /// Makes an argument of its canonical text, which is not checked.
  static LaunchArg printed(std::string text) {
    LaunchArg arg = none;
    arg.text_ = std::move(text);
    return arg;
  }

 private:
  friend struct detail::Kept;
  std::string text_;
};

/// Builds `let m = tensormap(x, box=[64, 64]);`: a tensor map that launches take by its name.
inline Statement let(const Symbol& name, const TensorMap& map) {
  return Statement::printed("let " + name.text() + " = " + detail::inner<LaunchArg>(map) + ";");
}

/// Builds `struct(a, b)`: a struct with C layout.
inline LaunchArg structure(const List<LaunchArg>& fields) {
  return LaunchArg::printed(detail::list("struct(", fields, ")"));
}
/// Builds `scratch(bytes, align)`: the address of device memory that is released after the launch; both are in bytes.
inline LaunchArg scratch(const Expr& bytes, uint64_t align) {
  return LaunchArg::printed("scratch(" + detail::inner(bytes) + ", " + std::to_string(align) + ")");
}

/// Builds `bytes(x, 64)`: a struct whose bytes are the first of a contiguous tensor on the cpu.
inline LaunchArg bytes_of(const Expr& tensor, uint32_t size) {
  return LaunchArg::printed("bytes(" + detail::inner(tensor) + ", " + std::to_string(size) + ")");
}

/// One to three extents.
class Extents {
 public:
  template <typename T, std::enable_if_t<std::is_convertible_v<T, Expr>, int> = 0>
  Extents(const T& extent) : Extents(std::vector<Expr>{extent}) {}
  Extents(std::initializer_list<Expr> extents) : Extents(std::vector<Expr>(extents)) {}
  template <typename T>
  Extents(const std::vector<T>& extents) : text_(detail::list("(", List<Expr>(extents), ")")) {
    if (extents.empty() || extents.size() > 3) {
      detail::fail("extents are one to three, not " + std::to_string(extents.size()));
    }
  }

 private:
  friend struct detail::Kept;
  std::string text_;
};

/// A command on a device: a statement with clauses, which a method each sets.
class Command {
 public:
  explicit Command(std::string text) : text_(std::move(text)) {}
  /// Runs the command on the device of a tensor.
  Command on(const Expr& tensor) const {
    Command copy = *this;
    copy.on_ = " on " + detail::inner(tensor);
    return copy;
  }
  /// Runs the command on a stream, in the place of the environment's.
  Command stream(const Expr& stream) const {
    Command copy = *this;
    copy.stream_ = " stream " + detail::inner(stream);
    return copy;
  }
  operator Statement() const { return Statement::printed(text_ + on_ + stream_ + ";"); }
  /// Returns the canonical text, as it stands in the body of a function.
  std::string text() const { return Statement(*this).text(); }
  /// Returns the statement with a source location, as `Statement::at` does.
  Statement at(std::string_view file, uint32_t line, uint32_t column = 0) const {
    return Statement(*this).at(file, line, column);
  }

 private:
  std::string text_, on_, stream_;
};

/// A launch of a GPU kernel: `launch image."kernel"(args) grid(n) block(128);`. It needs `grid` and `block`.
class Launch {
 public:
  Launch(std::string_view image, std::string_view gpu_kernel, const List<LaunchArg>& args)
      : text_("launch " + std::string(detail::image_name(image)) + "." +
              detail::quoted_name("the name of a kernel", gpu_kernel) + detail::list("(", args, ")")) {}

  /// Sets the number of blocks.
  Launch grid(const Extents& extents) const { return with(&Launch::grid_, " grid" + detail::Kept::of(extents)); }
  /// Sets the number of threads of a block.
  Launch block(const Extents& extents) const { return with(&Launch::block_, " block" + detail::Kept::of(extents)); }
  /// Sets the size of the dynamic shared memory, in bytes.
  Launch smem(const Expr& bytes) const { return with(&Launch::smem_, " smem(" + detail::inner(bytes) + ")"); }
  /// Adds `cluster(2, 1)`, the number of blocks of a cluster.
  Launch cluster(const Extents& extents) const { return add("cluster" + detail::Kept::of(extents)); }
  /// Adds `preferred_cluster(2, 1)`.
  Launch preferred_cluster(const Extents& extents) const { return add("preferred_cluster" + detail::Kept::of(extents)); }
  /// Adds `cooperative`: all blocks run at once.
  Launch cooperative() const { return add("cooperative"); }
  /// Adds `pdl`: programmatic dependent launch.
  Launch pdl() const { return add("pdl"); }
  /// Adds `priority(n)`.
  Launch priority(const Expr& number) const { return add("priority(" + detail::inner(number) + ")"); }
  /// Adds `mem_sync_domain(n)`.
  Launch mem_sync_domain(const Expr& number) const { return add("mem_sync_domain(" + detail::inner(number) + ")"); }
  /// Adds `attribute(13, int32(1))`: an attribute by its `CUlaunchAttributeID`, with the fields of its value.
  Launch attribute(uint32_t id, const List<Expr>& fields) const {
    return add(detail::list("attribute(" + std::to_string(id) + ", ", fields, ")"));
  }
  /// Launches on the device of a tensor.
  Launch on(const Expr& tensor) const { return with(&Launch::on_, " on " + detail::inner(tensor)); }
  /// Launches on a stream, in the place of the environment's.
  Launch stream(const Expr& stream) const { return with(&Launch::stream_, " stream " + detail::inner(stream)); }

  operator Statement() const {
    if (grid_.empty() || block_.empty()) detail::fail("`" + text_ + "` needs a grid and a block");
    return Statement::printed(text_ + grid_ + block_ + smem_ + attributes_ + on_ + stream_ + ";");
  }
  /// Returns the canonical text, as it stands in the body of a function.
  std::string text() const { return Statement(*this).text(); }
  /// Returns the statement with a source location, as `Statement::at` does.
  Statement at(std::string_view file, uint32_t line, uint32_t column = 0) const {
    return Statement(*this).at(file, line, column);
  }

 private:
  Launch with(std::string Launch::*clause, std::string text) const {
    Launch copy = *this;
    copy.*clause = std::move(text);
    return copy;
  }
  Launch add(const std::string& attribute) const { return with(&Launch::attributes_, attributes_ + " " + attribute); }

  std::string text_, grid_, block_, smem_, attributes_, on_, stream_;
};

/// Makes a launch of a kernel of an image, which needs `grid` and `block`.
inline Launch launch(std::string_view image, std::string_view gpu_kernel, const List<LaunchArg>& args = {}) {
  return Launch(image, gpu_kernel, args);
}
/// Builds `upload p (a, b);`: writes values into device memory, laid out as C lays out a struct.
inline Command upload(const Expr& to, const List<LaunchArg>& values) {
  return Command("upload " + detail::inner(to) + detail::list(" (", values, ")"));
}
/// Builds `fill p, bytes, value;`: sets every byte of device memory to a value.
inline Command fill(const Expr& to, const Expr& bytes, const Expr& value) {
  return Command("fill " + detail::inner(to) + ", " + detail::inner(bytes) + ", " + detail::inner(value));
}
/// Builds `copy to, from, bytes;`: copies memory. Both addresses are valid on the device.
inline Command copy(const Expr& to, const Expr& from, const Expr& bytes) {
  return Command("copy " + detail::inner(to) + ", " + detail::inner(from) + ", " + detail::inner(bytes));
}
/// Builds `wait a, b;`: makes stream `a` wait for the work that stream `b` has been given so far.
inline Statement wait(const Expr& waiter, const Expr& other) {
  return Statement::printed("wait " + detail::inner(waiter) + ", " + detail::inner(other) + ";");
}
/// Builds `wait a, b on x;`, with the device of a tensor.
inline Statement wait(const Expr& waiter, const Expr& other, const Expr& on) {
  const std::string streams = detail::inner(waiter) + ", " + detail::inner(other);
  return Statement::printed("wait " + streams + " on " + detail::inner(on) + ";");
}

}  // namespace tvm_ffi_codegen::build

#endif  // TVM_FFI_CODEGEN_BUILD_LAUNCH_HPP_
