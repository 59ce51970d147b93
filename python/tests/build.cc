// Declarations that are built by tvm_ffi_codegen/build.hpp: their texts, what is refused, and what does not compile.
#include <cstdio>
#include <cstdlib>
#include <functional>
#include <iostream>
#include <limits>
#include <sstream>
#include <string>
#include <string_view>
#include <type_traits>
#include <vector>

#include <tvm_ffi_codegen.hpp>
#include <tvm_ffi_codegen/build.hpp>

namespace b = tvm_ffi_codegen::build;
namespace codegen = tvm_ffi_codegen;
namespace ffi = tvm::ffi;

// A condition is no truth of C++, and neither truths nor characters nor NULL are expressions.
static_assert(!std::is_constructible_v<bool, b::Expr> && !std::is_constructible_v<bool, b::Symbol>);
static_assert(std::is_same_v<decltype(b::symbol("n") == b::symbol("m")), b::Expr>);
static_assert(std::is_same_v<decltype(1 < b::symbol("n")), b::Expr>);
static_assert(!std::is_convertible_v<bool, b::Expr> && !std::is_convertible_v<char, b::Expr>);
static_assert(!std::is_convertible_v<std::nullptr_t, b::Expr> && !std::is_convertible_v<void*, b::Expr>);
// A literal is a truth, a number or text; what C++ would only convert to a truth is none, and an enum is its number.
enum Unscoped : uint8_t { kTwo = 2 };
enum class Scoped { kTwo = 2 };
template <typename... Types>
constexpr bool kAreNoLiterals = (!std::is_constructible_v<b::Literal, Types> && ...);
static_assert(kAreNoLiterals<char, wchar_t, char16_t, char32_t, int*, int (&)[2], void (*)(), std::nullptr_t, Scoped>);
static_assert(std::is_convertible_v<bool, b::Literal> && std::is_convertible_v<Unscoped, b::Literal>);
static_assert(std::is_convertible_v<Unscoped, b::Expr> && !std::is_convertible_v<Scoped, b::Expr>);
#ifdef __cpp_char8_t
static_assert(kAreNoLiterals<char8_t, const char8_t*> && !std::is_convertible_v<char8_t, b::Expr>);
#endif
template <typename T, typename = void>
constexpr bool kIsTruth = false;
template <typename T>
constexpr bool kIsTruth<T, std::void_t<decltype(b::truth(std::declval<T>()))>> = true;
static_assert(kIsTruth<bool> && !kIsTruth<char> && !kIsTruth<int*> && !kIsTruth<b::Expr>);
// A text is no condition: a condition with a message is `constraint(n > 0, "message")`.
template <typename T, typename = void>
constexpr bool kHasWhere = false;
template <typename T>
constexpr bool kHasWhere<T, std::void_t<decltype(b::function("f").where({b::symbol("n") > 0, std::declval<T>()}))>> = true;
static_assert(kHasWhere<b::Expr> && kHasWhere<b::Constraint> && !kHasWhere<const char*> && !kHasWhere<std::string>);
static_assert(!std::is_convertible_v<const char*, b::Constraint>);
// A text is no dim, and no name of one.
static_assert(!std::is_convertible_v<const char*, b::Dim> && !std::is_convertible_v<std::string, b::Dim>);
// The body that is one call calls a C function, and a type for the result of a function of this library has no place.
static_assert(!std::is_convertible_v<b::FunctionCall, b::KernelCall>);

int failures = 0;

void expect(const std::string& found, const std::string& expected) {
  if (found == expected) return;
  std::printf("expected %s\n but got %s\n", expected.c_str(), found.c_str());
  ++failures;
}

// What a call throws.
std::string thrown(const std::function<void()>& call) {
  try {
    call();
  } catch (const b::Error& error) {
    return error.what();
  }
  return "nothing";
}

void expressions() {
  auto [n, m, x, f] = b::symbols("n", "m", "x", "f");
  const std::vector<std::pair<b::Expr, const char*>> table = {
      {n - (m - 1), "n - (m - 1)"},
      {n - m - 1, "n - m - 1"},
      {2 * (n + 1) % m, "2 * (n + 1) % m"},
      {n / (m * 2), "n / (m * 2)"},
      {-n * -(n + 1), "-n * -(n + 1)"},
      {-(-n), "--n"},
      {-b::Expr(5), "-(5)"},
      {-b::Expr(-5), "--5"},
      {n - -5, "n - -5"},
      {(n < 4) == (m < 4), "(n < 4) == (m < 4)"},
      {!!(n < 4), "not not n < 4"},
      {!(n < 4 && m >= 2), "not (n < 4 and m >= 2)"},
      {(n < 1 && m < 2) || n != 3, "n < 1 and m < 2 or n != 3"},
      {(n < 1 || m < 2) && n != 3, "(n < 1 or m < 2) and n != 3"},
      {b::all_of({}), "True"},
      {b::any_of({}), "False"},
      {b::product({n, m, 2}), "n * m * 2"},
      {b::product({}), "1"},
      {b::sum_of({n, m, 2}), "n + m + 2"},
      {b::sum_of({}), "0"},
      {0 < n, "0 < n"},
      {x.shape(-1) * x.strides(0) + x.numel(), "x.shape[-1] * x.strides[0] + x.numel"},
      {x[n + 1][0].field("min").data(), "x[n + 1][0].min.data"},
      {(x.data() + 4)[0], "(x.data + 4)[0]"},
      {b::Expr(1).field("a"), "(1).a"},
      {x.multiprocessors() + x.device_attribute(75), "x.device.multiprocessors + x.device.attribute(75)"},
      {x.dtype() == "float16", "x.dtype == \"float16\""},
      {b::float32(n) / 2, "float32(n) / 2"},
      {b::min_of(n, b::max_of(m, 2)) + b::ceildiv(n, 2), "min(n, max(m, 2)) + ceildiv(n, 2)"},
      {b::stream(x), "stream(x)"},
      {b::array_of({b::shape_of({n, 2}), b::none, b::truth(true)}), "[Shape(n, 2), None, True]"},
      {b::array_of({"a", b::null()}), "[\"a\", null]"},
      {b::symbol("stream") + b::symbol("Tensor"), "`stream` + `Tensor`"},
      {b::symbol("my.n") + 1, "`my.n` + 1"},
      {x.object(), "x.object"},
      {b::Expr(uint64_t{1} << 63), "9223372036854775808"},
      {std::numeric_limits<int64_t>::min() + n, "-9223372036854775808 + n"},
      {b::Expr(1e22), "10000000000000000000000.0"},
      {b::Expr(1e23), "100000000000000000000000.0"},
      {b::Expr(-0.0), "-0.0"},
      {b::Expr(0.1f), "0.10000000149011612"},
      {-0.5 * n, "-0.5 * n"},
      {n + kTwo, "n + 2"},
  };
  for (const auto& [expr, text] : table) expect(expr.text(), text);
  expect(b::Expr(5e-324).text(), "0." + std::string(323, '0') + "5");
  expect(b::Expr(1e300).text(), "1" + std::string(300, '0') + ".0");
  // A chain of more than 16 operands is joined from halves.
  expect(std::to_string(b::all_of(std::vector<b::Expr>(17, n < 1)).text().find('(')), "80");
}

void types() {
  auto [n, m, T] = b::symbols("n", "m", "T");
  const b::Dims folded = {b::folded(n), m};
  const std::vector<std::pair<b::Type, const char*>> table = {
      {b::tensor({}, "float32x4"), "Tensor([], float32x4)"},
      {b::tensor({b::dots}, {"int8", "uint8"}).storage(), "Tensor([...], int8|uint8, dtypes=storage)"},
      {b::tensor({b::any_dim, n}, b::float32).any_strides().align(4), "Tensor([_, n], float32, strides=any)"},
      {b::tensor({n}, "float32").device("any").align(64), "Tensor([n], float32, device=any, align=64)"},
      {b::tensor({n}, "int8").storage().access("read"), "Tensor([n], int8, dtypes=storage, access=read)"},
      {b::tensor({n}, "int8").access("read").access("update"), "Tensor([n], int8)"},
      {b::tensor({b::folded(n)}, b::symbol("int8")), "Tensor([n...], `int8`)"},
      {b::tensor(folded, "int8").strides({8, 1}), "Tensor([n..., m], int8, strides=[8, 1])"},
      {b::tensor({b::dots, m}, "int8").strides({1}), "Tensor([..., m], int8, strides=[..., 1])"},
      {b::tensor({b::dots, m}, "int8").strides({b::dots, 1}), "Tensor([..., m], int8, strides=[..., 1])"},
      {b::tensor({n}, "float16").dtype_symbol("half"), "Tensor([n], `half`: float16)"},
      {b::tensor({n}, "any").dtype_symbol(T).align(1), "Tensor([n], T: any)"},
      {b::optional(b::array(b::map("str", b::list("Dict")))), "Optional[Array[Map[str, List[Dict[Any, Any]]]]]"},
      {b::object("my.Class"), "Object[\"my.Class\"]"},
      {b::literal({-1, 2.5, "a", b::none, false}), "Literal[-1, 2.5, \"a\", None, False]"},
      {b::literal({kTwo, true}), "Literal[2, True]"},
      {b::tuple({}), "Tuple[]"},
      {b::tuple({"int64", {"f", "Function"}, b::union_of({"str", "handle"})}),
       "Tuple[int64, f: Function, Union[str, handle]]"},
      {b::shape(), "Shape"},
      {b::shape({n, 2, b::any_dim}), "Shape([n, 2, _])"},
  };
  for (const auto& [type, text] : table) expect(type.text(), text);
}

// Clauses of calls replace one another, and texts have every character but the end of a line.
void statements() {
  const b::Symbol n = "n", x = "x";
  const auto call = b::call("f", {n});
  const std::vector<std::pair<b::Statement, const char*>> table = {
      {call.keys({1}).into({x}).keys({n}), "cached (n) @f(n) into x;"},
      {call.into({n}).into({x, n}).keys({}), "@f(n) into x, n;"},
      {call.into({x}).into({}), "@f(n);"},
      {b::raise("my.Error", {"a\1\t\xf0\x90\x80\x80\xf4\x8f\xbf\xbf\xef\xbf\xbf", n}),
       "raise my.Error \"a\1\t\xf0\x90\x80\x80\xf4\x8f\xbf\xbf\xef\xbf\xbf\", n;"},
  };
  for (const auto& [statement, text] : table) expect(statement.text(), text);
}

// Words and names are texts of any type, lists are vectors of what converts, and all parts print.
void converted() {
  const std::string_view k = "k", n = "n", float32 = "float32";
  const std::vector<int64_t> extents = {2, 3};
  const std::vector<b::Symbol> names = {n, "m"};
  const b::Tensor x = b::tensor(names, float32), y = b::tensor(extents, {"int8", float32});
  const std::vector<b::Param> params = {b::param(n, "int64"), b::param(std::string("x"), x)};
  const std::vector<b::Expr> conditions = {names[0] > 0, names[1] > 0};
  const b::Function function = b::function("f").params(params).where(conditions).kernel(k, params);
  expect(function.text(), R"(f(n: int64, x: Tensor([n, m], float32)) -> None
    where n > 0, m > 0
    = k(n, x);)");
  std::ostringstream printed;
  printed << y << b::shape(extents) << b::Type(k.empty() ? "str" : "Map") << b::any_dim << b::Literal(true) << b::array_of(extents)
          << b::constraint(conditions[0], k) << b::call(k, names).keys(extents) << b::raise("E", names)
          << b::launch("i", k, params).grid(extents).block(1) << b::fill(names[0], 4, 0).on(names[1])
          << b::Arm(b::none, {b::return_()});
  expect(printed.str(), R"(Tensor([2, 3], int8|float32)Shape([2, 3])Map[Any, Any]_True[2, 3])"
                        R"(n > 0 else "k"cached (2, 3) @k(n, m)raise E n, m;)"
                        R"(launch i."k"(n, x) grid(2, 3) block(1);fill n, 4, 0 on m;)"
                        "None => {\n                return;\n            }");
}

void refused() {
  const b::Symbol n = "n", x = "x";
  const auto launch = b::launch("i", "k").grid(n);
  const std::vector<std::pair<std::function<void()>, const char*>> table = {
      {[] { b::Expr infinite = std::numeric_limits<double>::infinity(); }, "inf is not a number that can be written"},
      {[] { b::Expr lines = "a\nb"; }, "text in quotes is one line, not \"a\nb\""},
      {[] { b::symbol(""); }, "a name is empty"},
      {[] { b::symbol("a`b"); }, "a name is text without backticks and control characters, not \"a`b\""},
      {[] { b::symbol("a\xc2\x85"); }, "a name is text without backticks and control characters, not \"a\xc2\x85\""},
      {[&] { x.field("a\tb"); }, "a name is text without backticks and control characters, not \"a\tb\""},
      {[] { b::optional("float"); }, "`float` is no word for a type"},
      {[&] { b::tensor({n}, "float33"); }, "\"float33\" is no element type"},
      {[&] { b::tensor({n}, "int65"); }, "\"int65\" is no element type"},
      {[&] { b::tensor({n}, std::vector<std::string>{}); }, "a tensor has an element type, or the name of one"},
      {[&] { b::tensor({n}, {"int8", "any"}); }, "\"any\" stands for every element type, beside no other"},
      {[&] { b::tensor({n, b::dots}, "int8"); }, "`...` is the first entry of a shape"},
      {[&] { b::tensor({b::dots, b::folded(n)}, "int8"); }, "`n...` is the first entry of a shape"},
      {[&] { b::tensor({b::dots, n}, "int8").strides({1, b::dots}); }, "`...` is the first entry of a shape"},
      {[&] { b::shape({b::folded(n), 1}); }, "`n...` is no number of a shape"},
      {[&] { b::tensor({n}, "int8").device("gpu"); }, "\"gpu\" is no type of device"},
      {[&] { b::tensor({n}, "int8").access("const"); }, "\"const\" is no access"},
      {[] { b::Expr bytes = "a\xff"; }, "text is UTF-8, which ends after \"a\""},
      {[] { b::symbol("\xed\xa0\x80"); }, "text is UTF-8, which ends after \"\""},
      {[] { b::function("f").docs("\xc3\xa4\xc3"); }, "text is UTF-8, which ends after \"\xc3\xa4\""},
      {[] { b::function("f").docs("a\r\nb"); }, "documentation has no control characters, as \"a\r\" has"},
      {[] { b::function("f").at("", 1); }, "the name of a file is empty"},
      {[&] { b::constraint(n > 0, "a\1"); }, "a message is text without control characters, not \"a\1\""},
      {[] { b::try_kernel("k", {}, {{1, "ValueError", ""}}); }, "a message is empty"},
      {[] { b::kernel(""); }, "a symbol is empty"},
      {[] { b::call_name("a\tb"); }, "the name of a function is text without control characters, not \"a\tb\""},
      {[] { b::launch("a.b", "k"); }, "the name of an image is a word, not \"a.b\""},
      {[] { b::Library().image("a.b"); }, "the name of an image is a word, not \"a.b\""},
      {[] { b::global_of("1", "g"); }, "the name of an image is a word, not \"1\""},
      {[] { b::raise("Value Error"); }, "\"Value Error\" is no kind of error"},
      {[&] { b::if_(n > 0, {}).else_({b::return_()}).elif_(n < 0, {}); }, "`elif_` stands before `else_`"},
      {[&] { b::if_(n > 0, {}).else_({}).else_({}); }, "`else_` stands once"},
      {[&] { b::launch("i", "k").grid({1, 1, 1, 1}); }, "extents are one to three, not 4"},
      {[&] { launch.at("f.mt", 1); }, "`launch i.\"k\"()` needs a grid and a block"},
      {[&] { b::tensormap(x, {1}).swizzle("16b"); },
       "swizzle is one of none, 32b, 64b, 128b, 128b_atom_32b, 128b_atom_32b_flip_8b, 128b_atom_64b, not \"16b\""},
  };
  for (const auto& [call, text] : table) expect(thrown(call), text);
}

int64_t triple(int64_t n) { return 3 * n; }

// A function that is built, checked, compiled and called; an error says which statement of the source it is about.
void called() {
  const auto n = b::param("n", b::int64).or_default(14);
  const auto r = b::symbol("r");
  const auto thrice = [&](const b::Expr& operand) {
    return b::Library({b::function("thrice")
                           .params({n})
                           .returns(b::int64)
                           .where(b::constraint(n >= 0, "n is negative"))
                           .body({b::let(r, b::kernel("triple", {operand}), b::int64).at("demo.mt", 7, 3), b::return_(r)})
                           .at("demo.mt", 5)});
  };
  expect(thrice(n).text(), R"(@"demo.mt":5
thrice(n: int64 = 14) -> int64
    where n >= 0 else "n is negative"
    = {
        @"demo.mt":7:3
        let r: int64 = triple(n);
        return r;
    };
)");
  ffi::Module module = codegen::jit(thrice(n).text(), {{"triple", codegen::address(triple)}});
  expect(std::to_string(module->GetFunction("thrice").value()().cast<int64_t>()), "42");
  const auto found = codegen::check(thrice(b::symbol("m")).text());
  expect(std::to_string(found.size()), "1");
  for (const codegen::Diagnostic& one : found) std::cout << one << "\n";
  try {
    codegen::jit(thrice(b::symbol("m")).text(), {{"triple", codegen::address(triple)}});
  } catch (const ffi::Error& error) {
    std::cout << error.message() << "\n";
  }
}

int main() {
  expressions();
  types();
  statements();
  converted();
  refused();
  called();
  return failures == 0 ? EXIT_SUCCESS : EXIT_FAILURE;
}
