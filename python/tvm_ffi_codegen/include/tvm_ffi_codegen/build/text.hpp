// Words, names, numbers and quotations as the text of the language spells them.
#ifndef TVM_FFI_CODEGEN_BUILD_TEXT_HPP_
#define TVM_FFI_CODEGEN_BUILD_TEXT_HPP_

#include <algorithm>
#include <charconv>
#include <cmath>
#include <cstddef>
#include <cstdint>
#include <cstdio>
#include <cstdlib>
#include <stdexcept>
#include <string>
#include <string_view>
#include <type_traits>
#include <vector>

namespace tvm_ffi_codegen::build {

/// What cannot be a part of a declaration; `what()` names it. Everything else that may be wrong with a library is said by
/// `tvm_ffi_codegen::check` of its text.
class Error : public std::invalid_argument {
 public:
  using std::invalid_argument::invalid_argument;
};

namespace detail {

/// Throws an `Error`. Where exceptions are off (`-fno-exceptions`), prints the message and ends the process.
[[noreturn]] inline void fail(const std::string& message) {
#ifdef __cpp_exceptions
  throw Error(message);
#else
  std::fprintf(stderr, "tvm_ffi_codegen: %s\n", message.c_str());
  std::abort();
#endif
}

/// Names of the scalar types.
inline constexpr std::string_view kScalars[] = {"bool",   "int8",   "int16",   "int32",    "int64",   "uint8",   "uint16",
                                                "uint32", "uint64", "float16", "bfloat16", "float32", "float64", "ptr"};
/// Names of the other types without parts.
inline constexpr std::string_view kLeaves[] = {"str", "bytes", "dtype", "Device", "Any", "Stream", "handle"};
/// Names of the classes of objects.
inline constexpr std::string_view kClasses[] = {"Function", "Module", "Tensor", "Object"};
/// Other words that name nothing without backticks.
inline constexpr std::string_view kKeywords[] = {
    "min", "max", "ceildiv", "stream", "current_device", "null", "None", "True",  "False", "where",    "try",     "else",
    "_",   "and", "or",      "not",    "Shape",          "Array", "List", "Map", "Dict",  "Tuple",    "Union",   "Optional",
    "Literal"};
/// Names of the types of devices, and `any`.
inline constexpr std::string_view kDevices[] = {
    "any",     "cpu",          "cuda",   "cuda_host", "opencl",  "vulkan", "metal", "vpi", "rocm", "rocm_host",
    "ext_dev", "cuda_managed", "oneapi", "webgpu",    "hexagon", "maia",   "trn"};
/// What a function does with the elements of a tensor.
inline constexpr std::string_view kAccesses[] = {"update", "read", "write"};
/// The element types other than integers.
inline constexpr std::string_view kElements[] = {
    "bool",        "handle",          "float16",         "float32",        "float64",            "bfloat16",
    "complex64",   "complex128",      "float8_e3m4",     "float8_e4m3",    "float8_e4m3b11fnuz", "float8_e4m3fn",
    "float8_e5m2", "float8_e5m2fnuz", "float8_e4m3fnuz", "float8_e8m0fnu", "float6_e2m3fn",      "float6_e3m2fn",
    "float4_e2m1fn"};
/// Names of types in other languages, which the parser reads as those of element types, and the word for all of them.
inline constexpr std::string_view kNoElements[] = {"int", "uint", "long", "float", "double", "half", "string", "any"};

/// Returns true if a table has the word.
template <size_t N>
bool contains(const std::string_view (&table)[N], std::string_view word) {
  for (std::string_view one : table) {
    if (one == word) return true;
  }
  return false;
}

/// Enables what takes texts: `const char*`, `std::string`, `std::string_view`, and classes that convert to the last.
template <typename T>
using IfText = std::enable_if_t<std::is_convertible_v<const T&, std::string_view>, int>;

/// Returns true for the digits of numbers.
inline bool is_digit(char c) { return c >= '0' && c <= '9'; }

/// Returns true for ASCII identifiers, reserved or not.
inline bool is_identifier(std::string_view word) {
  for (char c : word) {
    if (!is_digit(c) && c != '_' && !(c >= 'a' && c <= 'z') && !(c >= 'A' && c <= 'Z')) return false;
  }
  return !word.empty() && !is_digit(word[0]);
}

/// Returns true for words that name nothing without backticks.
inline bool is_reserved(std::string_view word) {
  return contains(kScalars, word) || contains(kLeaves, word) || contains(kClasses, word) || contains(kKeywords, word);
}

/// Returns a number that is written without leading zeros; 0 for any other text, and for one of 10,000,000 or more.
inline int number(std::string_view digits) {
  if (digits.empty() || digits.size() > 7 || digits[0] == '0') return 0;
  int value = 0;
  for (char c : digits) {
    if (!is_digit(c)) return 0;
    value = 10 * value + (c - '0');
  }
  return value;
}

/// Returns true for names of element types without lanes.
inline bool is_element(std::string_view word) {
  if (contains(kElements, word)) return true;
  if (!word.empty() && word[0] == 'u') word.remove_prefix(1);
  const int bits = word.substr(0, 3) == "int" ? number(word.substr(3)) : 0;
  return bits >= 1 && bits <= 64;
}

/// Returns true for names of element types, such as `float32x4`.
inline bool is_dtype(std::string_view word) {
  const size_t at = word.rfind('x');
  if (at == std::string_view::npos || is_element(word)) return is_element(word);
  const int lanes = number(word.substr(at + 1));
  return is_element(word.substr(0, at)) && lanes >= 2 && lanes < 1 << 15;
}

/// Returns true for words that need backticks where an element type may stand.
inline bool reads_as_dtype(std::string_view word) { return is_dtype(word) || contains(kNoElements, word); }

/// Returns the natural alignment of an element type in bytes: the largest power of two that divides a lane.
inline int64_t lane_alignment(std::string_view dtype) {
  if (dtype.substr(0, 6) == "handle") return 8;
  const size_t start = dtype.find_first_of("123456789");
  if (start == std::string_view::npos) return 1;
  const size_t end = dtype.find_first_not_of("0123456789", start);
  const int bytes = (number(dtype.substr(start, end == std::string_view::npos ? end : end - start)) + 7) / 8;
  return bytes & -bytes;
}

/// Returns the number of bytes before the first that is no UTF-8; that of all bytes if there is none.
inline size_t utf8_size(std::string_view text) {
  constexpr uint32_t kLeast[] = {0, 0x80, 0x800, 0x10000};
  size_t at = 0;
  while (at < text.size()) {
    const auto byte = static_cast<unsigned char>(text[at]);
    const size_t more = byte < 0x80 ? 0 : byte < 0xe0 ? 1 : byte < 0xf0 ? 2 : 3;
    const bool is_start = byte < 0x80 || (byte >= 0xc0 && byte < 0xf8);
    if (!is_start || text.size() - at <= more) return at;
    uint32_t code = more == 0 ? byte : byte & (0x3fu >> more);
    for (size_t next = 1; next <= more; ++next) {
      const auto continued = static_cast<unsigned char>(text[at + next]);
      if ((continued & 0xc0) != 0x80) return at;
      code = code << 6 | (continued & 0x3f);
    }
    const bool is_surrogate = code >= 0xd800 && code < 0xe000;
    if (code < kLeast[more] || code > 0x10ffff || is_surrogate) return at;
    at += more + 1;
  }
  return at;
}

/// Returns a text that is UTF-8.
inline std::string_view utf8(std::string_view text) {
  const size_t size = utf8_size(text);
  if (size != text.size()) fail("text is UTF-8, which ends after \"" + std::string(text.substr(0, size)) + "\"");
  return text;
}

/// Returns a text in quotes.
inline std::string quoted(std::string_view text) {
  std::string result = "\"";
  for (char c : utf8(text)) {
    if (c == '\n') fail("text in quotes is one line, not \"" + std::string(text) + "\"");
    if (c == '"' || c == '\\') result += '\\';
    result += c;
  }
  return result + "\"";
}

/// Returns true for texts in UTF-8 that have a control character, U+0000 to U+001F or U+007F to U+009F, but for some.
inline bool has_control(std::string_view text, std::string_view but = "") {
  for (size_t at = 0; at < text.size(); ++at) {
    if (but.find(text[at]) != std::string_view::npos) continue;
    const auto byte = static_cast<unsigned char>(text[at]);
    if (byte < 0x20 || byte == 0x7f) return true;
    if (byte == 0xc2 && at + 1 < text.size() && static_cast<unsigned char>(text[at + 1]) < 0xa0) return true;
  }
  return false;
}

/// Returns in quotes what is neither empty nor has control characters: a message, a symbol or a key.
inline std::string quoted_name(std::string_view what, std::string_view text) {
  if (text.empty()) fail(std::string(what) + " is empty");
  const std::string result = quoted(text);
  if (has_control(text)) fail(std::string(what) + " is text without control characters, not " + result);
  return result;
}

/// Returns a name in backticks.
inline std::string in_backticks(std::string_view name) {
  if (name.empty()) fail("a name is empty");
  if (has_control(utf8(name)) || name.find('`') != std::string_view::npos) {
    fail("a name is text without backticks and control characters, not \"" + std::string(name) + "\"");
  }
  return "`" + std::string(name) + "`";
}

/// Returns the name of a function or of an element, in backticks if it is no identifier.
inline std::string label(std::string_view name) { return is_identifier(name) ? std::string(name) : in_backticks(name); }

/// Returns the name of a parameter, a symbol or a local, in backticks if it is reserved or no identifier.
inline std::string spelled(std::string_view name) { return is_reserved(name) ? in_backticks(name) : label(name); }

/// Returns the symbol of a C function, in quotes if it is no word that names one.
inline std::string c_symbol(std::string_view name) {
  const bool plain = is_identifier(name) && !is_reserved(name) && name != "if" && name != "return";
  return plain ? std::string(name) : quoted_name("a symbol", name);
}

/// Returns the name of an image, an identifier.
inline std::string_view image_name(std::string_view name) {
  if (!is_identifier(name)) fail("the name of an image is a word, not " + quoted(name));
  return name;
}

/// Returns the kind of an error: identifiers with dots between them.
inline std::string_view kind_of_error(std::string_view kind) {
  for (std::size_t start = 0, end; start <= kind.size(); start = end + 1) {
    end = std::min(kind.find('.', start), kind.size());
    if (!is_identifier(kind.substr(start, end - start))) fail(quoted(kind) + " is no kind of error");
  }
  return kind;
}

/// Returns the shortest digits that read back as a finite float, without an exponent, at least one after the point.
inline std::string decimal(double value) {
  if (!std::isfinite(value)) fail(std::to_string(value) + " is not a number that can be written");
  char written[32] = {};
  std::to_chars(written, written + sizeof written - 1, std::fabs(value), std::chars_format::scientific);
  const std::string_view text = written;
  const size_t exponent = text.find('e');
  std::string digits;
  for (char c : text.substr(0, exponent)) {
    if (is_digit(c)) digits += c;
  }
  const auto size = static_cast<int>(digits.size());
  const int point = 1 + std::atoi(written + exponent + 1);
  if (point <= 0) {
    digits.insert(0, "0." + std::string(static_cast<size_t>(-point), '0'));
  } else if (point >= size) {
    digits += std::string(static_cast<size_t>(point - size), '0') + ".0";
  } else {
    digits.insert(static_cast<size_t>(point), ".");
  }
  return (std::signbit(value) ? "-" : "") + digits;
}

/// Starts a line that stands where it is, whatever block it is put in.
inline constexpr char kFixed = '\1';
/// The indentation of a body's statements, and the further indentation of each nested block.
inline constexpr int kMargin = 8, kStep = 4;

/// Returns lines moved to the right, the first and fixed ones excepted.
inline std::string indented(std::string_view text, int by, std::string_view before = "") {
  std::string result;
  for (size_t at = 0; at < text.size(); ++at) {
    result += text[at];
    const bool moves = text[at] == '\n' && at + 1 < text.size() && text[at + 1] != kFixed;
    if (moves) result.append(before).append(static_cast<size_t>(by), ' ');
  }
  return result;
}

/// Returns lines at the margin of the body, where a function within an expression stands.
inline std::string fixed(std::string_view text) {
  if (text.find('\n') == std::string_view::npos) return std::string(text);
  return indented(text, kMargin, std::string_view(&kFixed, 1));
}

/// Returns lines without what fixes them.
inline std::string finished(std::string_view text) {
  std::string result;
  for (char c : text) {
    if (c != kFixed || result.empty() || result.back() != '\n') result += c;
  }
  return result;
}

/// Returns entries separated by commas between two texts.
inline std::string enclosed(std::string_view before, const std::vector<std::string>& entries, std::string_view after,
                            std::string_view between = ", ") {
  std::string result(before);
  for (size_t index = 0; index < entries.size(); ++index) {
    result.append(index == 0 ? "" : between).append(entries[index]);
  }
  return result.append(after);
}

}  // namespace detail
}  // namespace tvm_ffi_codegen::build

#endif  // TVM_FFI_CODEGEN_BUILD_TEXT_HPP_
