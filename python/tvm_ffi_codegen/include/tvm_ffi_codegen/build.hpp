// Declarations as values: the language of tvm_ffi_codegen, built in C++17 with nothing but the standard library (whose
// `std::to_chars` must know `double`: GCC 11, libc++ 14).
//
//     namespace b = tvm_ffi_codegen::build;
//     auto [n, m] = b::symbols("n", "m");
//     auto x = b::param("x", b::tensor({n, m / 2 * 2 + 1}, "float16").device("cuda"));
//     auto f = b::function("add").params({x}).where(n % 4 == 0, m <= 4096).kernel("add_kernel", {x.data(), n});
//     b::Library library;
//     library.add(f.at("net.mt", 12));
//     std::string text = library.text();
//
// A part is a value, and `text()` its canonical text. `tvm_ffi_codegen::functions`, `emit` and `check` take libraries
// and functions, and texts. Methods return changed copies. C++'s operators build operations, of which `/` and `%` of
// integers round down, and `&&`, `||` and `!` build `and`, `or` and `not`. A comparison is a condition of the language,
// and what uses one as a truth of C++ does not compile. `symbol("n")` is a name; text in C++'s quotes is text in the
// language's quotes where an expression stands, and a name or a word where a name or a type stands. Names are put in
// backticks, and symbols of C functions in quotes, where they have to be. A list is written in braces, or a vector of what
// converts to its parts.
//
// What cannot be a part is thrown as `Error` where it is built; where exceptions are off (`-fno-exceptions`) it is printed,
// and ends the process. `check` finds everything else, and names the location of the function or statement (`at`).
#ifndef TVM_FFI_CODEGEN_BUILD_HPP_
#define TVM_FFI_CODEGEN_BUILD_HPP_

#include "build/call.hpp"
#include "build/declaration.hpp"
#include "build/expression.hpp"
#include "build/launch.hpp"
#include "build/statement.hpp"
#include "build/text.hpp"
#include "build/type.hpp"

#endif  // TVM_FFI_CODEGEN_BUILD_HPP_
