//! Tests of text with the headers of the runtime: it stands in one file with what others have written.

use std::fs;
use std::process::Command;

use codegen::backend::{is_runtime_struct, is_system_function, runtime_function};
use codegen::ir::Module;
use codegen::{Backend, Library, Options, Routines, lower};
use tvm_ffi_codegen_c::{C, Error, Headers, emit, emit_with};

use crate::jit::succeed;
use crate::objects;
use crate::sample;

/// Text that another generator has written before: headers, prototypes and code that uses them.
const BEFORE: &str = "\
#include <dlfcn.h>
#include <stdlib.h>
#include <string.h>
#include <tvm/ffi/c_api.h>
#ifdef __cplusplus
extern \"C\" {
#endif
void k(const float *x, float *y, int64_t n);
int32_t status(const float *x, double *result);
struct pair *choose(const char *text, int64_t size);
int32_t twice(int32_t n);
const char *choose_number(int64_t n);
int32_t g(DLTensor *x, TVMFFIAny *a, int64_t *result);
int32_t __tvm_ffi_f(void *self, const TVMFFIAny *args, int32_t num_args, TVMFFIAny *result);
#ifdef __cplusplus
}
#endif
static inline int64_t first(const TVMFFIAny *args) { return args->v_int64; }
";

/// Text behind ours.
const AFTER: &str = "
#include <tvm/ffi/c_api.h>
TVMFFISafeCallType other(const TVMFFIAny *args);
TVMFFISafeCallType other(const TVMFFIAny *args) { return first(args) ? __tvm_ffi_f : 0; }
";

/// Declarations: calls of functions of every header, structs of the runtime, results, and names that headers have.
const ROWS: [&str; 12] = [
    "f(x: Tensor([n], float32), y: Tensor([n], float32)) -> None = k(x.data, y.data, n);",
    "f2(x: Tensor([n], float32), y: Tensor([m, n], float16, strides=any, device=any)) -> float64
         = try status(x.data);",
    "f3(DLTensor: Tensor([TVMFFIAny], float32), kDLCPU: int64, TVM_FFI_WEAK: int32) -> int64
         = { return TVMFFIAny + kDLCPU + int64(TVM_FFI_WEAK); };",
    "f4(text: str, list: Array[int64], map: Map[str, Any], value: Union[str, dtype, Device]) -> None
         = { let p: ptr = choose(text); };",
    "f5(x: Tensor([n], float32)) -> y: Tensor([n], float32) = k(x.data, y.data, n);",
    "f6(x: Any) -> Any = { let r: Any = @\"a.name\"(x); return r; };",
    "f7(n: int32) -> int32 = twice(n);",
    "f8(n: int64) -> Function = { return function (m: int64) -> int64 { return n + m; }; };",
    "image i; f9(x: Tensor([n], float32, device=cuda)) -> None
         = { launch i.\"k\"(x.data, n) grid(n) block(128); };",
    "extern g(x: Tensor([n], float32), a: Any) -> int64 = { return n; };
     f10(o: Object) -> None = { raise ValueError \"no\"; };",
    "f11(n: int64) -> ptr = choose_number(n);",
    "f12(a: bfloat16, b: float16, p: ptr) -> None = \"a.kernel\"(a, b, p);",
];

fn lowered(text: &str, routines: Routines) -> Module {
    let mut library: Library = text.parse().unwrap();
    library.images.iter_mut().for_each(|image| image.bytes = Some(b".version 8.0\n".to_vec()));
    lower(&library.resolve().unwrap(), &Options { routines, ..Options::default() })
}

fn text(module: &Module) -> String {
    C { headers: Headers::Include, ..C::default() }.text(module, &[]).unwrap()
}

/// Returns the options of compilers for the headers of the runtime.
fn includes() -> String {
    let output = Command::new("tvm-ffi-config").arg("--includedir").output();
    let output = output.unwrap_or_else(|error| panic!("tvm-ffi-config: {error}; use tests/run"));
    String::from_utf8(output.stdout).unwrap().trim().to_owned()
}

/// Compiles a file by all compilers that are here, as C and as C++; each warning is an error.
fn check(text: &str) {
    let folder = tempfile::tempdir().unwrap();
    let path = folder.path().join("host.c");
    fs::write(&path, text).unwrap();
    let [c, cxx] = [["-xc", "-std=c11"], ["-xc++", "-std=c++17"]];
    let mut compilers = vec![("cc".to_owned(), c), ("c++".to_owned(), cxx)];
    if let Some(clang) = objects::clang() {
        let clang = clang.display().to_string();
        compilers.extend([(clang.clone(), c), (clang, cxx)]);
    }
    for (compiler, dialect) in compilers {
        let mut command = Command::new(compiler);
        command.args(dialect).args(["-O2", "-Wall", "-Wextra", "-Wpedantic", "-Werror", "-c"]);
        command.arg("-isystem").arg(includes());
        succeed(command.arg("-o").arg(folder.path().join("host.o")).arg(&path));
    }
}

#[test]
fn compilers_are_silent() {
    let text = text(&lowered(&ROWS.join("\n"), Routines::Embedded));
    let start = "#include <tvm/ffi/c_api.h>\n#include <tvm/ffi/extra/c_env_api.h>\n#if UINTPTR_MAX";
    assert!(text.starts_with(start), "{text}");
    check(&format!("{BEFORE}{text}{AFTER}"));
}

/// The text declares neither types nor functions of the runtime, nor kernels; those of the system have other names.
#[test]
fn nothing_is_declared_twice() {
    for row in ROWS {
        let text = text(&lowered(row, Routines::Embedded));
        for line in text.lines().filter(|line| !line.starts_with(' ')) {
            let head = line.split('(').next().unwrap_or_default();
            let name = head.rsplit([' ', '*']).next().unwrap_or_default();
            let is_theirs = runtime_function(name).is_some() || is_system_function(name);
            let end = line.strip_prefix("} ").and_then(|end| end.strip_suffix(';'));
            let is_twice = ["k", "status", "choose", "twice"].contains(&name)
                || end.is_some_and(is_runtime_struct)
                || (line.starts_with("FFI_C ") && line.ends_with(';') && is_theirs);
            assert!(!is_twice, "{line}");
        }
    }
    let linked = text(&lowered(ROWS[0], Routines::Linked));
    check(&format!("{BEFORE}{linked}{AFTER}"));
    assert!(linked.contains("FFI_SYMBOL(\"tvm_ffi_codegen.fail_header."), "{linked}");
}

/// The headers change no access: the loads and stores of a function are those of the text that stands alone.
#[test]
fn fields_are_accessed_through_types_that_may_alias() {
    let text = text(&lowered(ROWS[0], Routines::Embedded));
    let (_, wrapper) = text.split_once("__tvm_ffi_f(").unwrap();
    let (wrapper, _) = wrapper.split_once("\n}\n").unwrap();
    assert!(wrapper.contains("*(ffi_i32 *)&args->type_index == 7"), "{wrapper}");
    for (at, _) in wrapper.match_indices("->") {
        let line = wrapper[..at].rsplit('\n').next().unwrap();
        let start = line.rsplit([' ', '(']).next().unwrap();
        assert!(line.contains("*)&") && !start.is_empty(), "{line}");
    }
}

#[test]
fn a_text_by_itself_has_its_own_declarations() {
    for row in ROWS {
        let module = lowered(row, Routines::Embedded);
        let [mut own, mut by_default, mut with] = [const { String::new() }; 3];
        emit(&mut by_default, &module).unwrap();
        emit_with(&mut own, &module, Headers::Own).unwrap();
        emit_with(&mut with, &module, Headers::Include).unwrap();
        assert_eq!(own, by_default);
        assert!(
            own.starts_with("#include <stdint.h>\n") && !own.contains("tvm/ffi") && own != with
        );
    }
    let c = C { headers: Headers::Include, ..C::default() };
    let refused = c.object(&sample::module(), &[]).unwrap_err();
    assert_eq!(refused, Error::Unsupported { reason: "objects have no headers" });
}
