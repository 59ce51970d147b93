// libtvm_ffi_codegen.so for compilers in C++, on tvm/ffi: functions of TVM FFI from declarations.
//
//     namespace codegen = tvm_ffi_codegen;
//     ffi::Bytes library = codegen::emit("add_one(x: Tensor([n], float32)) -> None = k(x.data, n);", "shared",
//                                        {{"link", codegen::Files{ffi::String("kernel.o")}}});
//     codegen::Functions made = codegen::functions("add_one(...) -> None = k(x.data, n);", {{"k", codegen::address(k)}});
//     made["add_one"](x);
//
// Link with libtvm_ffi_codegen.so and libtvm_ffi.so; `tvm_ffi_codegen.include_dir()` and `library_path()` of the Python
// package return the folder of this file and the path of the library. Declarations are texts, or values of
// tvm_ffi_codegen/build.hpp: a `Library` or a `Function`. tvm_ffi_codegen.h documents the options: an unknown option, or
// one of a wrong type, is an error that names it. Errors are thrown as tvm::ffi::Error: a ValueError, TypeError, OSError,
// FileNotFoundError, RuntimeError or, for a bug of the library, a tvm_ffi_codegen.InternalError.
#ifndef TVM_FFI_CODEGEN_HPP_
#define TVM_FFI_CODEGEN_HPP_

#include <tvm/ffi/any.h>
#include <tvm/ffi/container/array.h>
#include <tvm/ffi/container/map.h>
#include <tvm/ffi/container/variant.h>
#include <tvm/ffi/extra/module.h>
#include <tvm/ffi/function.h>
#include <tvm/ffi/optional.h>
#include <tvm/ffi/string.h>

#include <cstdint>
#include <ostream>
#include <string>
#include <string_view>
#include <type_traits>
#include <utility>
#include <vector>

#include "tvm_ffi_codegen.h"

namespace tvm_ffi_codegen {

namespace ffi = tvm::ffi;

/// Options by name; see tvm_ffi_codegen.h. Texts are `ffi::String`, also in initializers.
using Options = ffi::Map<ffi::String, ffi::Any>;
/// A file: its path (`ffi::String`) or its contents (`ffi::Bytes`).
using File = ffi::Variant<ffi::String, ffi::Bytes>;
using Files = ffi::Array<File>;
/// Addresses of kernels by the names in declarations: see `address`.
using Kernels = ffi::Map<ffi::String, void*>;

/// Declarations: a text, or a value that has one by `text()`.
class Declarations {
 public:
  template <typename T, std::enable_if_t<std::is_convertible_v<const T&, std::string_view>, int> = 0>
  Declarations(const T& text) : text_(std::string_view(text)) {}
  Declarations(const ffi::String& text) : text_(text.data(), text.size()) {}
  template <typename Value, typename = decltype(std::declval<const Value&>().text())>
  Declarations(const Value& value) : text_(value.text()) {}

  const char* data() const { return text_.data(); }
  int64_t size() const { return static_cast<int64_t>(text_.size()); }

 private:
  std::string text_;
};

/// A function that `functions` has compiled, with what is known of it.
struct CompiledFunction {
  ffi::String name;
  ffi::Function function;
  /// JSON, as a module has it.
  ffi::Optional<ffi::String> metadata;
  ffi::Optional<ffi::String> docs;
};

/// The functions of declarations. Each holds its code, which is freed with the last of them and of those that they return.
class Functions {
 public:
  explicit Functions(std::vector<CompiledFunction> all) : all_(std::move(all)) {}
  /// Returns the function of a name; an AttributeError says that there is none.
  ffi::Function operator[](std::string_view name) const {
    std::string names;
    for (const CompiledFunction& one : all_) {
      const std::string_view own(one.name.data(), one.name.size());
      if (own == name) return one.function;
      names.append(names.empty() ? "" : ", ").append(own);
    }
    names = names.empty() ? "none" : names;
    throw ffi::Error("AttributeError", "no function \"" + std::string(name) + "\": there is " + names, "");
  }
  auto begin() const { return all_.begin(); }
  auto end() const { return all_.end(); }
  size_t size() const { return all_.size(); }

 private:
  std::vector<CompiledFunction> all_;
};

/// An error or a warning about declarations. `<<` prints it as the command line does.
struct Diagnostic {
  /// "error" or "warning".
  ffi::String severity;
  ffi::String message;
  /// The position, counted from 1, if there is one.
  ffi::Optional<int64_t> line, column;
  /// The text of the line, and a caret below the position.
  ffi::Optional<ffi::String> source;
  /// The name of a warning, by which it can be left out.
  ffi::Optional<ffi::String> name;
};

namespace detail {

/// Calls a function of the C header, which writes its result through the last parameter.
template <typename Result, typename Function, typename... Args>
Result Call(Function function, Args... args) {
  ffi::Any result;
  TVM_FFI_CHECK_SAFE_CALL(function(args..., reinterpret_cast<TVMFFIAny*>(&result)));
  return std::move(result).cast<Result>();
}

/// Borrows the handle of an object; the caller keeps the reference.
inline TVMFFIObject* Object(const ffi::ObjectRef& ref) {
  return reinterpret_cast<TVMFFIObject*>(const_cast<ffi::Object*>(ref.get()));
}

/// Forms of `emit` and of `emit_text`.
inline constexpr std::string_view kBytes[] = {"bitcode", "object", "shared"};
inline constexpr std::string_view kTexts[] = {"resolved", "ir", "native", "header", "html"};

/// Compiles declarations to a form that is not one of `others`, which `advice` is about.
template <typename Result, size_t N>
Result Emit(const Declarations& text, std::string_view form, Options options, const std::string_view (&others)[N],
            const char* advice) {
  const std::string quoted = "form \"" + std::string(form) + "\"";
  for (std::string_view other : others) {
    if (form == other) throw ffi::Error("ValueError", quoted + advice, "");
  }
  if (options.count("form") != 0) throw ffi::Error("ValueError", quoted + " is an argument, and no option", "");
  options.Set("form", ffi::String(form.data(), form.size()));
  return Call<Result>(tvm_ffi_codegen_emit, text.data(), text.size(), Object(options));
}

/// Runs a kernel and returns its status. What it throws is left where functions of TVM FFI leave their errors.
template <typename Kernel>
int32_t Guard(Kernel kernel) noexcept {
  try {
    TVM_FFI_SAFE_CALL_BEGIN();
    if (const int32_t status = kernel(); status != 0) return status;
    TVM_FFI_SAFE_CALL_END();
  } catch (...) {
    TVMFFIErrorSetRaisedFromCStr("InternalError", "the kernel has thrown what is no std::exception");
    return -1;
  }
}

template <auto kernel, typename Result, typename... Args>
constexpr auto Guarded(Result (*)(Args...)) {
  if constexpr (std::is_void_v<Result>) {
    return +[](Args... args) -> int32_t { return Guard([&] { return kernel(args...), 0; }); };
  } else if constexpr (std::is_same_v<Result, int32_t>) {
    return +[](Args... args) -> int32_t { return Guard([&] { return kernel(args...); }); };
  } else {
    return +[](Args... args, Result* result) -> int32_t { return Guard([&] { return *result = kernel(args...), 0; }); };
  }
}

}  // namespace detail

/// The function that calls a kernel which may throw, for `try` in declarations: of the same parameters, it returns 0, or
/// the kernel's status if that returns an `int32_t`. A result of another type is written through a further parameter, the
/// last one, as `try` passes it. An exception is the error that the caller of the host function gets, and the status -1:
/// an `ffi::Error` as it is, any other one as an InternalError.
///
///     void scale(float* x, int64_t n) { if (n % 4) throw ffi::Error("ValueError", "no tile fits", ""); … }
///     codegen::functions("scale(x: Tensor([n], float32)) -> None = try scale(x.data, n);",
///                        {{"scale", codegen::address(codegen::guarded<scale>)}});
///
/// In a library that is linked, `extern "C" int32_t scale_kernel(float* x, int64_t n) { return guarded<scale>(x, n); }`.
template <auto kernel>
inline constexpr auto guarded = detail::Guarded<kernel>(kernel);

/// Returns the address of a C function, as `jit` and `functions` take it. It should not throw: an exception
/// passes through a host function, by every backend, without releasing what the function holds. `guarded` makes of a
/// function that throws one that returns a status.
template <typename Result, typename... Args>
void* address(Result (*function)(Args...)) {
  return reinterpret_cast<void*>(function);
}

/// Returns the errors and warnings about declarations, in the order of the text, but no warnings whose names are in `allow`.
inline std::vector<Diagnostic> check(const Declarations& text, const ffi::Array<ffi::String>& allow = {}) {
  using Map = ffi::Map<ffi::String, ffi::Any>;
  auto found = detail::Call<ffi::Array<Map>>(tvm_ffi_codegen_check, text.data(), text.size(), detail::Object(allow));
  std::vector<Diagnostic> diagnostics;
  for (const Map& one : found) {
    diagnostics.push_back({one["severity"].cast<ffi::String>(), one["message"].cast<ffi::String>(),
                           one["line"].cast<ffi::Optional<int64_t>>(), one["column"].cast<ffi::Optional<int64_t>>(),
                           one["source"].cast<ffi::Optional<ffi::String>>(),
                           one["name"].cast<ffi::Optional<ffi::String>>()});
  }
  return diagnostics;
}

inline std::ostream& operator<<(std::ostream& out, const Diagnostic& one) {
  out << one.severity << ": ";
  if (one.line.has_value()) out << *one.line << ":" << *one.column << ": ";
  out << one.message;
  if (one.source.has_value()) out << "\n" << *one.source;
  return out;
}

/// Compiles declarations to bytes: the forms "bitcode", "object" and "shared".
inline ffi::Bytes emit(const Declarations& text, std::string_view form = "object", Options options = {}) {
  return detail::Emit<ffi::Bytes>(text, form, std::move(options), detail::kTexts, " is text: use emit_text");
}

/// Compiles declarations to text: the forms "resolved" (what names stand for, and the checks in order), "ir", "native"
/// (of the backend), "header" (for C) and "html" (a page with all of them). With option `into`, a module of your own in LLVM
/// IR or MLIR, "native" is that module with the functions added.
inline ffi::String emit_text(const Declarations& text, std::string_view form, Options options = {}) {
  return detail::Emit<ffi::String>(text, form, std::move(options), detail::kBytes, " is bytes: use emit");
}

/// Links objects, archives and shared libraries to a shared library.
inline ffi::Bytes link(const Files& files, const Options& options = {}) {
  return detail::Call<ffi::Bytes>(tvm_ffi_codegen_link, detail::Object(files), detail::Object(options));
}

/// Compiles declarations into this process. Kernels must have the C types that the declarations call them with, and must
/// not throw (`guarded`). Any thread may call this at any time, and look up in what it returns. The code keeps `kept`, a
/// function that may hold what the kernels need, and releases it when it is freed. Options are those of `jit` but `link`,
/// `rpath`, `imports` and `register`.
inline Functions functions(const Declarations& text, const Kernels& kernels = {}, const Options& options = {},
                           const ffi::Optional<ffi::Function>& kept = {}) {
  auto rows = detail::Call<ffi::Array<ffi::Array<ffi::Any>>>(
      tvm_ffi_codegen_functions, text.data(), text.size(), detail::Object(kernels), detail::Object(options),
      kept.has_value() ? detail::Object(*kept) : nullptr);
  std::vector<CompiledFunction> all;
  for (const ffi::Array<ffi::Any>& row : rows) {
    all.push_back({row[0].cast<ffi::String>(), row[1].cast<ffi::Function>(), row[2].cast<ffi::Optional<ffi::String>>(),
                   row[3].cast<ffi::Optional<ffi::String>>()});
  }
  return Functions(std::move(all));
}

/// Compiles declarations into this process as `functions` does, to a module, which the runtime keeps for the rest of the
/// process: take it where a module is needed, or for what only its options do (`link`, `imports`, `register`).
/// tvm_ffi_codegen.h has the rules for look-ups and threads.
inline ffi::Module jit(const Declarations& text, const Kernels& kernels = {}, const Options& options = {}) {
  return detail::Call<ffi::Module>(tvm_ffi_codegen_jit, text.data(), text.size(), detail::Object(kernels),
                                   detail::Object(options));
}

/// Describes declarations as JSON; tvm_ffi_codegen.h has the keys.
inline ffi::String describe(const Declarations& text) {
  return detail::Call<ffi::String>(tvm_ffi_codegen_describe, text.data(), text.size());
}

/// Returns as JSON how the shapes of tensors follow from the arguments of a function with this signature.
inline ffi::String shapes(std::string_view signature) {
  return detail::Call<ffi::String>(tvm_ffi_codegen_shapes, signature.data(), static_cast<int64_t>(signature.size()));
}

/// Reports as JSON what an object or a shared library exports and needs.
inline ffi::String inspect(const File& file) {
  ffi::Any value = file;
  return detail::Call<ffi::String>(tvm_ffi_codegen_inspect, reinterpret_cast<const TVMFFIAny*>(&value));
}

/// Runs the command line with these arguments: returns its exit code. `program` is the command that starts it in a shell.
inline int64_t command_line(const ffi::Array<ffi::Bytes>& program, const ffi::Array<ffi::Bytes>& arguments) {
  int64_t code = 0;
  TVM_FFI_CHECK_SAFE_CALL(tvm_ffi_codegen_command_line(detail::Object(program), detail::Object(arguments), &code));
  return code;
}

/// Takes the error out of the slot of the thread, where a function of C that has failed leaves it: returns its text,
/// `KIND: MESSAGE`; nothing if the slot is empty.
inline ffi::Optional<ffi::String> take_error() {
  return detail::Call<ffi::Optional<ffi::String>>(tvm_ffi_codegen_take_error);
}

/// Returns the version of the library; `TVM_FFI_CODEGEN_VERSION` is that of the headers.
inline ffi::String version() { return detail::Call<ffi::String>(tvm_ffi_codegen_version); }

/// Declares a kernel of Triton; the result is to be read and edited. The texts are the contents of `NAME.json`,
/// `NAME.cubin` or `NAME.hsaco` and, if there is one, `NAME.ttir`; without it the hints of the signature are not checked.
inline ffi::String import_triton(std::string_view metadata, std::string_view code, std::string_view signature,
                                 std::string_view grid, std::string_view ttir = {}) {
  auto size = [](std::string_view text) { return static_cast<int64_t>(text.size()); };
  return detail::Call<ffi::String>(tvm_ffi_codegen_import_triton, metadata.data(), size(metadata), code.data(),
                                   size(code), signature.data(), size(signature), grid.data(), size(grid),
                                   ttir.data(), size(ttir));
}

}  // namespace tvm_ffi_codegen

#endif  // TVM_FFI_CODEGEN_HPP_
