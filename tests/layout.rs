//! The tables of `abi-spec` against the installed headers and libtvm_ffi: a C compiler checks every number, the dynamic
//! symbols every function, and the runtime the names of types.

use std::fmt::Write as _;
use std::path::{Path, PathBuf};
use std::process::Command;

use abi_spec::layout::{self, FieldType, Struct};
use abi_spec::runtime::{self, Function};
use abi_spec::{DType, DeviceType, TypeCode, TypeIndex};
use object::{Object, ObjectSymbol};

#[test]
fn structs_are_those_of_the_headers() {
    let asserts: String = layout::all().map(|item| struct_asserts(&item)).collect();
    compile(&asserts).unwrap_or_else(|message| panic!("{message}"));
}

#[test]
fn constants_are_those_of_the_headers() {
    let mut asserts = String::new();
    for index in TypeIndex::ALL {
        equal(&mut asserts, index.c_name().expect("every static type has an enumerator"), index.0);
    }
    equal(&mut asserts, "kTVMFFIAny", TypeIndex::ANY.0);
    equal(&mut asserts, "kTVMFFIStaticObjectBegin", TypeIndex::STATIC_OBJECT_BEGIN.0);
    equal(&mut asserts, "kTVMFFIDynObjectBegin", TypeIndex::DYN_OBJECT_BEGIN.0);
    for code in TypeCode::ALL {
        equal(&mut asserts, code.c_name(), code as i32);
    }
    for ty in DeviceType::ALL {
        equal(&mut asserts, ty.c_name().expect("every known device has an enumerator"), ty.0);
    }
    compile(&asserts).unwrap_or_else(|message| panic!("{message}"));
}

#[test]
fn prototypes_are_those_of_the_headers() {
    let asserts: String = runtime::ALL.iter().map(prototype_assert).collect();
    compile(&asserts).unwrap_or_else(|message| panic!("{message}"));
}

#[test]
fn functions_are_exported_by_the_library() {
    let bytes = std::fs::read(library()).expect("the library can be read");
    let file = object::File::parse(&*bytes).expect("the library is an object file");
    let defined = file.dynamic_symbols().filter(|symbol| symbol.is_definition());
    let names: Vec<&str> = defined.filter_map(|symbol| symbol.name().ok()).collect();
    for Function { name, .. } in runtime::ALL {
        assert!(names.contains(name), "{name} is not exported");
    }
}

#[test]
fn wrong_numbers_do_not_compile() {
    let mut wrong = layout::ANY;
    wrong.size += 1;
    let message = compile(&struct_asserts(&wrong)).expect_err("the size is wrong");
    assert!(message.contains("sizeof(TVMFFIAny) == 17"), "{message}");
    let mut wrong = runtime::ERROR_SET_RAISED;
    wrong.result = runtime::CType::I32;
    let message = compile(&prototype_assert(&wrong)).expect_err("the result is wrong");
    assert!(message.contains("int32_t TVMFFIErrorSetRaised(TVMFFIObjectHandle)"), "{message}");
}

#[test]
fn type_keys_are_those_of_the_runtime() {
    let mut body = String::new();
    for TypeIndex(index) in TypeIndex::ALL {
        writeln!(body, "print(TVMFFIGetTypeInfo({index})->type_key);").expect("strings grow");
    }
    let keys: String =
        TypeIndex::ALL.iter().filter_map(|i| i.type_key()).map(|key| format!("{key}\n")).collect();
    assert_eq!(run(&body), keys);
}

#[test]
fn dtypes_print_and_parse_as_in_the_runtime() {
    let lanes = [1, 2, 4, 32767, 65532];
    let (mut body, mut expected) = (String::new(), String::new());
    for code in TypeCode::ALL.into_iter().filter(|code| *code != TypeCode::Complex) {
        for (bits, lanes) in (0..=65).flat_map(|bits| lanes.map(|lanes| (bits, lanes))) {
            if code == TypeCode::Handle && lanes != 1 {
                continue; // the runtime leaves the lanes of handles out
            }
            if !code.names_bits(bits) {
                continue; // and the bits where a name implies others
            }
            let dtype = DType::new(code, bits, lanes);
            writeln!(body, "name({}, {bits}, {lanes});", code as u8).expect("strings grow");
            writeln!(expected, "{dtype}").expect("strings grow");
            if dtype.to_string().parse() == Ok(dtype) {
                writeln!(body, r#"word("{dtype}");"#).expect("strings grow");
                writeln!(expected, "{}", dtype.to_word()).expect("strings grow");
            }
        }
    }
    let printed = run(&body);
    assert_eq!(printed.lines().count(), expected.lines().count());
    for (line, (ours, theirs)) in expected.lines().zip(printed.lines()).enumerate() {
        assert_eq!(ours, theirs, "line {line}");
    }
}

fn struct_asserts(item: &Struct) -> String {
    let Struct { name, size, align, fields } = item;
    let mut out = String::new();
    equal(&mut out, &format!("sizeof({name})"), size);
    equal(&mut out, &format!("_Alignof({name})"), align);
    for field in *fields {
        equal(&mut out, &format!("offsetof({name}, {})", field.name), field.offset);
        holds(&mut out, &type_condition(&format!("(({name}*)0)->{}", field.name), field.ty));
    }
    out
}

/// Returns a C expression that is true if `place` has the type.
fn type_condition(place: &str, ty: FieldType) -> String {
    let is = |name: &str| format!("__builtin_types_compatible_p(__typeof__({place}), {name})");
    match ty {
        FieldType::U8 => is("uint8_t"),
        FieldType::U16 => is("uint16_t"),
        FieldType::I32 => format!("({} || {})", is("int32_t"), is("DLDeviceType")),
        FieldType::U32 => is("uint32_t"),
        FieldType::I64 => is("int64_t"),
        FieldType::U64 => format!("({} || {})", is("uint64_t"), is("size_t")),
        FieldType::Ptr => format!("__builtin_classify_type({place}) == 5 /* pointer */"),
        FieldType::Union => format!("sizeof({place}) == {}", ty.size()),
        FieldType::Struct(inner) => is(inner.name),
    }
}

fn prototype_assert(function: &Function) -> String {
    let Function { name, params, result, .. } = function;
    let params: Vec<&str> = params.iter().map(|param| param.c_name()).collect();
    let params = if params.is_empty() { "void".to_string() } else { params.join(", ") };
    let result = result.c_name();
    let condition = format!("__builtin_types_compatible_p(__typeof__({name}), {result}({params}))");
    format!("_Static_assert({condition}, \"{result} {name}({params})\");\n")
}

fn equal(out: &mut String, expression: &str, value: impl std::fmt::Display) {
    holds(out, &format!("{expression} == {value}"));
}

fn holds(out: &mut String, condition: &str) {
    writeln!(out, "_Static_assert({condition}, \"{condition}\");").expect("strings grow");
}

const INCLUDES: &str = "#include <stddef.h>
#include <stdint.h>
#include <stdio.h>
#include <string.h>
#include <dlpack/dlpack.h>
#include <tvm/ffi/c_api.h>
#include <tvm/ffi/extra/c_env_api.h>
";

const PROGRAM: &str = "
static void print(TVMFFIByteArray text) { printf(\"%.*s\\n\", (int)text.size, text.data); }
static void name(int code, int bits, int lanes) {
  DLDataType dtype = {code, bits, lanes};
  TVMFFIAny any;
  if (TVMFFIDataTypeToString(&dtype, &any)) { puts(\"error\"); return; }
  TVMFFIByteArray small = {any.v_bytes, any.small_str_len};
  print(any.type_index == kTVMFFISmallStr ? small : *(TVMFFIByteArray*)(any.v_obj + 1));
}
static void word(const char* text) {
  TVMFFIByteArray bytes = {text, strlen(text)};
  DLDataType dtype;
  uint32_t word = 0;
  if (!TVMFFIDataTypeFromString(&bytes, &dtype)) memcpy(&word, &dtype, sizeof word);
  printf(\"%u\\n\", (unsigned)word);
}
int main(void) {
";

/// Compiles declarations; the error is the compiler's.
fn compile(declarations: &str) -> Result<(), String> {
    let dir = tempfile::tempdir().expect("a directory can be made");
    let source = dir.path().join("spec.c");
    std::fs::write(&source, format!("{INCLUDES}{declarations}")).expect("the file can be written");
    cc(Command::new(compiler()).arg("-fsyntax-only").arg(&source))
}

/// Runs a C program with this body and returns its output.
fn run(body: &str) -> String {
    let dir = tempfile::tempdir().expect("a directory can be made");
    let (source, program) = (dir.path().join("names.c"), dir.path().join("names"));
    std::fs::write(&source, format!("{INCLUDES}{PROGRAM}{body}}}"))
        .expect("the file can be written");
    let library = library();
    let dir = library.parent().expect("a library is in a directory");
    let rpath = format!("-Wl,-rpath,{}", dir.display());
    cc(Command::new(compiler()).arg(&source).arg(&library).arg(rpath).arg("-o").arg(&program))
        .unwrap_or_else(|message| panic!("{message}"));
    let output = Command::new(&program).output().expect("the program runs");
    assert!(output.status.success(), "{}", String::from_utf8_lossy(&output.stderr));
    String::from_utf8(output.stdout).expect("names are ASCII")
}

fn cc(command: &mut Command) -> Result<(), String> {
    let include = config("--includedir");
    let dlpack = config("--dlpack-includedir");
    command.arg("-std=gnu11").arg("-I").arg(include).arg("-I").arg(dlpack);
    let output = command.output().unwrap_or_else(|error| panic!("{command:?}: {error}"));
    let message = String::from_utf8_lossy(&output.stderr).into_owned();
    if output.status.success() { Ok(()) } else { Err(message) }
}

fn compiler() -> String {
    std::env::var("CC").unwrap_or_else(|_| "cc".into())
}

fn library() -> PathBuf {
    Path::new(&config("--libdir")).join("libtvm_ffi.so")
}

/// Returns the answer of `tvm-ffi-config` to an option.
fn config(option: &str) -> String {
    let program = std::env::var("TVM_FFI_CONFIG").unwrap_or_else(|_| "tvm-ffi-config".into());
    let output = Command::new(&program).arg(option).output();
    let output = output.unwrap_or_else(|error| panic!("{program}: {error}; run tests/run"));
    assert!(output.status.success(), "{program} {option} failed; run tests/run");
    String::from_utf8(output.stdout).expect("paths are UTF-8").trim().into()
}
