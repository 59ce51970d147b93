// libtvm_ffi_codegen.so for compilers in C++, on tvm/ffi: functions of TVM FFI from declarations.
//
//     namespace codegen = tvm_ffi_codegen;
//     ffi::Bytes library = codegen::emit("add_one(x: Tensor([n], float32)) -> None = k(x.data, n);", "shared",
//                                        {{"link", codegen::Files{ffi::String("kernel.o")}}});
//     ffi::Module module = codegen::jit("add_one(...) -> None = k(x.data, n);", {{"k", codegen::address(k)}});
//
// Link with libtvm_ffi_codegen.so and libtvm_ffi.so; `tvm_ffi_codegen.include_dir()` and `library_path()` of the Python
// package return the folder of this file and the path of the library. tvm_ffi_codegen/build.hpp builds declarations of values,
// whose texts these functions take. tvm_ffi_codegen.h documents the options: an unknown option, or one of a wrong type, is an
// error that names it. Errors are thrown as tvm::ffi::Error: a ValueError, TypeError, OSError, FileNotFoundError,
// RuntimeError or, for a bug of the library, a tvm_ffi_codegen.InternalError.
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
#include <string_view>
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

template <typename Result>
Result Emit(std::string_view text, const char* form, Options options) {
  options.Set("form", ffi::String(form));
  return Call<Result>(tvm_ffi_codegen_emit, text.data(), static_cast<int64_t>(text.size()), Object(options));
}

}  // namespace detail

/// Returns the address of a C function, as `jit` takes it.
template <typename Result, typename... Args>
void* address(Result (*function)(Args...)) {
  return reinterpret_cast<void*>(function);
}

/// Returns the errors and warnings about declarations, in the order of the text, but no warnings whose names are in `allow`.
inline std::vector<Diagnostic> check(std::string_view text, ffi::Array<ffi::String> allow = {}) {
  using Map = ffi::Map<ffi::String, ffi::Any>;
  auto found = detail::Call<ffi::Array<Map>>(tvm_ffi_codegen_check, text.data(), static_cast<int64_t>(text.size()),
                                             detail::Object(allow));
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
inline ffi::Bytes emit(std::string_view text, const char* form = "object", Options options = {}) {
  return detail::Emit<ffi::Bytes>(text, form, std::move(options));
}

/// Compiles declarations to text: the forms "resolved" (what names stand for, and the checks in order), "ir", "native"
/// (of the backend), "header" (for C) and "html" (a page with all of them).
inline ffi::String emit_text(std::string_view text, const char* form, Options options = {}) {
  return detail::Emit<ffi::String>(text, form, std::move(options));
}

/// Links objects, archives and shared libraries to a shared library.
inline ffi::Bytes link(const Files& files, const Options& options = {}) {
  return detail::Call<ffi::Bytes>(tvm_ffi_codegen_link, detail::Object(files), detail::Object(options));
}

/// Compiles declarations into this process. Kernels must have the C types that the declarations call them with;
/// tvm_ffi_codegen.h has the other requirements, and those of threads.
inline ffi::Module jit(std::string_view text, const Kernels& kernels = {}, const Options& options = {}) {
  return detail::Call<ffi::Module>(tvm_ffi_codegen_jit, text.data(), static_cast<int64_t>(text.size()),
                                   detail::Object(kernels), detail::Object(options));
}

/// Describes declarations as JSON; tvm_ffi_codegen.h has the keys.
inline ffi::String describe(std::string_view text) {
  return detail::Call<ffi::String>(tvm_ffi_codegen_describe, text.data(), static_cast<int64_t>(text.size()));
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
