//! Contents of objects that need care: variables of threads, common and absent symbols, functions that run at load and
//! unload, what an object of several objects keeps. `refused.rs` has those that no library can have.

use std::fs;
use std::path::Path;
use std::process::Command;

use libloading::Library;
use tvm_ffi_codegen_driver::link::{Input, Linker};
use tvm_ffi_codegen_driver::{Form, Request};

use crate::support::{call, compile, folder, link, object, object_with, routes};

/// The segment of thread-local variables begins at a multiple of its alignment, also where initialised variables, which
/// are its beginning, are less aligned than zeros.
#[test]
fn variables_of_threads_are_aligned() {
    const SEED: &str = "__thread long seed = 3;";
    const WIDE: &str = "
        extern __thread long seed;
        __thread int zeros[64] __attribute__((aligned(ALIGN)));
        int __tvm_ffi_f(void* h, const void* a, int n, void* r) {
            int* volatile at = zeros;
            return ((long)at & (ALIGN - 1)) * 1000 + (at[n] += n) + seed;
        }
    ";
    let folder = folder();
    let path = folder.path().join("f.so");
    for align in [8, 64, 4096] {
        let wide = WIDE.replace("ALIGN", &align.to_string());
        let inputs = [
            object("wide", &wide),
            object("seed", SEED),
            object("other", "__thread int other = 5;"),
        ];
        for linker in routes() {
            fs::write(&path, link(&inputs, &linker).unwrap()).unwrap();
            assert_eq!(call(&path, "__tvm_ffi_f", 4), 7, "{align} {linker:?}");
        }
    }
}

/// A symbol may be a number of any size, whose loads a linker may replace by the number.
#[test]
fn numbers_that_stand_for_addresses_are_kept() {
    let folder = folder();
    let path = folder.path().join("f.so");
    for number in ["3", "0x90000000", "0x123456789abc", "0xfffffffffffff000"] {
        let text = "
            extern char number; int same(char* at);
            int __tvm_ffi_f(void* h, const void* a, int n, void* r) {
                return same(&number) + ((unsigned long)&number == NUMBER) + (&number > (char*)NUMBER);
            }";
        let user = object("user", &text.replace("NUMBER", &format!("{number}ul")));
        let same = format!("int same(char* at) {{ return at == (char*){number}ul ? 2 : 100; }}");
        let symbol = format!("__asm__(\".globl number; number = {number}\");");
        let inputs = [user, object("same", &same), object("number", &symbol)];
        // GNU's linker fails on the large ones.
        fs::write(&path, link(&inputs, &Linker::Wild).unwrap()).unwrap();
        assert_eq!(call(&path, "__tvm_ffi_f", 0), 3, "{number}");
    }
}

/// A common symbol is data of zeros unless a member of an archive defines it.
#[test]
fn members_of_archives_define_common_symbols() {
    let folder = folder();
    let archive = |name: &str, text: &str| {
        let member = compile(folder.path(), name, text, &["-fcommon"]);
        let archive = folder.path().join(format!("{name}.a"));
        let ar = Command::new("ar").arg("rcs").arg(&archive).arg(member).status();
        assert!(ar.unwrap().success());
        Input::read(&archive).unwrap()
    };
    let kernel = |text: &str| {
        let text =
            format!("{text} int __tvm_ffi_f(void* h, void* a, int n) {{ return n + shared; }}");
        object_with("kernel", &text, &["-fcommon"])
    };
    for (text, member, expected) in [
        ("int shared;", "int shared = 7;", 8),
        ("int shared;", "int shared;", 1),
        ("extern int shared;", "int shared;", 1),
        ("extern int shared;", "int shared = 7;", 8),
    ] {
        for linker in routes() {
            let bytes = link(&[kernel(text), archive("member", member)], &linker).unwrap();
            let path = folder.path().join("f.so");
            fs::write(&path, bytes).unwrap();
            assert_eq!(call(&path, "__tvm_ffi_f", 1), expected, "{text} {member} {linker:?}");
        }
    }
}

/// Loads a library, gives its function `tell` the place of a zero, and unloads it; returns what is then there.
fn told(path: &Path) -> i32 {
    let mut number = 0;
    // SAFETY: the function has this type, and the place outlives the library.
    unsafe {
        let library = Library::new(path).expect("a loadable library");
        let tell = library.get::<unsafe extern "C" fn(*mut i32)>("tell").expect("exported");
        tell(&mut number);
        library.close().expect("unloaded");
    }
    number
}

/// Destructors of C++ objects run when the library is unloaded, before its code is gone.
#[test]
fn destructors_run_when_a_library_is_unloaded() {
    const SOURCE: &str = r#"
extern "C" int kernel(int x) { return 2 * x; }
static int* told;
extern "C" void tell(int* place) { told = place; }
struct Last { ~Last() { if (told) *told += 1; } };
static Last last;
"#;
    for linker in routes() {
        let folder = folder();
        let path = folder.path().join("last.so");
        let kernel = compile(folder.path(), "kernel", SOURCE, &["-x", "c++"]);
        let kernel = Input::read(&kernel).unwrap().showing(vec!["tell".to_owned()]);
        let bytes = link(&[kernel], &linker).unwrap();
        std::fs::write(&path, bytes).unwrap();
        assert_eq!(told(&path), 1, "{linker:?}");
    }
}

/// `atexit` is added, and the archive of glibc that has it registers by the value of the handle.
#[test]
fn functions_at_the_end_run_when_a_library_is_unloaded() {
    const ADDED: &str = "
        int atexit(void (*)(void)); static int* told; static void note(void) { *told += 1; }
        void tell(int* place) { told = place; atexit(note); }
    ";
    const ARCHIVED: &str = "
        int __cxa_atexit(void (*)(void*), void*, void*);
        extern __attribute__((visibility(\"hidden\"))) void* __dso_handle;
        static void note(void* place) { *(int*)place += 1; }
        void tell(int* place) { __cxa_atexit(note, place, __dso_handle); }
    ";
    let folder = folder();
    let path = folder.path().join("last.so");
    for (text, linker) in
        [ADDED, ARCHIVED].iter().flat_map(|text| routes().map(|linker| (text, linker)))
    {
        let kernel = object("kernel", text).showing(vec!["tell".to_owned()]);
        fs::write(&path, link(&[kernel], &linker).unwrap()).unwrap();
        assert_eq!(told(&path), 1, "{text} {linker:?}");
    }
}

/// The destructors of C++ objects run after the functions of C that run at the end, as a C compiler's start-up files
/// have it.
#[test]
fn destructors_of_classes_run_after_those_of_c() {
    const C: &str = "
        void note(int); __attribute__((destructor)) static void last(void) { note(1); }
        __attribute__((destructor(101))) static void very_last(void) { note(3); }
    ";
    const CLASSES: &str = r#"
extern "C" { static int* place; void tell(int* given) { place = given; } }
extern "C" void note(int n) { if (place) *place = *place * 10 + n; }
struct Last { ~Last() { note(2); } };
static Last last;
"#;
    for linker in routes() {
        let folder = folder();
        let classes = compile(folder.path(), "classes", CLASSES, &["-x", "c++"]);
        let classes = Input::read(&classes).unwrap().showing(vec!["tell".to_owned()]);
        let path = folder.path().join("last.so");
        for inputs in [[object("c", C), classes.clone()], [classes, object("c", C)]] {
            fs::write(&path, link(&inputs, &linker).unwrap()).unwrap();
            assert_eq!(told(&path), 123, "{linker:?}");
        }
    }
}

/// A hidden symbol that nobody defines is at address 0, however code loads the address.
#[test]
fn weak_hidden_symbols_may_be_absent() {
    const KERNEL: &str = "
        extern __attribute__((weak, visibility(\"hidden\"))) int absent[];
        extern __attribute__((weak, visibility(\"hidden\"))) long __start_entries[], __stop_entries[];
        int __tvm_ffi_f(void* h, const void* a, int n, void* r) {
            long* at = __start_entries;
            for (; at != __stop_entries; ++at) n += *at;
            return absent ? absent[0] : n;
        }
    ";
    const ENTRY: &str = "__attribute__((section(\"entries\"), used)) static long entry = 40;";
    let folder = folder();
    let path = folder.path().join("f.so");
    for options in [&["-O1"][..], &["-O1", "-Wa,-mrelax-relocations=no"]] {
        let options = if cfg!(target_arch = "x86_64") { options } else { &options[..1] };
        for linker in routes() {
            let inputs = [object_with("kernel", KERNEL, options), object("entry", ENTRY)];
            for (inputs, expected) in [(&inputs[..1], 2), (&inputs[..], 42)] {
                fs::write(&path, link(inputs, &linker).unwrap()).unwrap();
                assert_eq!(call(&path, "__tvm_ffi_f", 2), expected, "{options:?} {linker:?}");
            }
        }
    }
}

/// An object of several has their symbols as they were; what Wild would leave out of it is refused by name.
#[test]
fn objects_of_several_objects_keep_their_symbols() {
    const FUNCTION: &str = "int __tvm_ffi_f(void* h, const void* a, int n, void* r)";
    const OTHER: &str = "
        int other(void) { return 1; }
        int shared[40];
        __attribute__((visibility(\"hidden\"))) int helper(int n) { return n * 2; }
    ";
    const LAST: &str = "
        __attribute__((weak, visibility(\"hidden\"))) int helper(int n) { return 0; }
        __attribute__((weak)) int user(int n) { return helper(n); }
        int shared[2];
    ";
    let rows = [
        ("int shared[1];", "(shared[n + 37] += n)", None),
        ("__attribute__((visibility(\"hidden\"))) int helper(int);", "helper(n)", None),
        ("int user(int);", "user(n)", None),
        ("__thread long local = 5;", "(local += n)", None),
        ("static __thread long local = 5;", "(local += n)", None),
        (
            "extern __attribute__((weak, visibility(\"hidden\"))) long __start_entries[];
             __attribute__((section(\"entries\"), used)) static long entry = 1;",
            "n + (__start_entries != 0)",
            Some("__start_entries"),
        ),
        ("extern int absent __attribute__((weak));", "&absent ? absent : n", None),
        ("static int data[3] = {1, 2, 3}; static int zeros[7];", "data[1] + zeros[n] + n", None),
    ];
    for (text, value, lost) in rows {
        let text = format!("{text} {FUNCTION} {{ return {value}; }}");
        let common = |name: &str, text: &str| object_with(name, text, &["-fcommon"]);
        let (inputs, last) =
            ([common("kernel", &text), common("other", OTHER)], common("last", LAST));
        let mut results = Vec::new();
        for linker in [Linker::Cc("cc".into()), Linker::Wild] {
            let (kernels, linker) = (inputs.to_vec(), Some(linker));
            let made =
                Request { kernels, linker: linker.clone(), ..Request::new(Form::Object) }.link();
            if let (Some(Linker::Wild), Some(name)) = (&linker, lost) {
                let expected = format!(
                    "kernel.o: has the symbol `{name}`, which linker wild leaves out of objects: take linker cc or lld"
                );
                assert_eq!(made.unwrap_err().to_string(), expected);
                continue;
            }
            let merged = Input::new("merged.o", made.unwrap()).unwrap();
            assert!(merged.defines("other") && merged.defines("shared"), "{linker:?}");
            let folder = folder();
            let path = folder.path().join("f.so");
            fs::write(&path, link(&[merged, last.clone()], &Linker::Wild).unwrap()).unwrap();
            results.push(call(&path, "__tvm_ffi_f", 2));
        }
        assert!(results.windows(2).all(|pair| pair[0] == pair[1]), "{text}: {results:?}");
    }
}

/// Variables and functions that many objects of C++ define are one in a library of objects of several.
#[test]
fn objects_of_several_objects_may_share_inline_variables() {
    const HEADER: &str = r#"
template<class T> struct Numbers { static T number; };
template<class T> T Numbers<T>::number = 3;
inline int variable = 5;
inline int& counter() { static int count = 1; return count; }
inline thread_local int local = 7;
extern "C" int other(int n);
"#;
    const KERNEL: &str = r#"
extern "C" int __tvm_ffi_f(void*, const void*, int n, void*) {
    counter() += n; variable += n; Numbers<int>::number += n; local += n;
    return other(n);
}
"#;
    const OTHER: &str = r#"
extern "C" int other(int n) { return counter() + 100 * variable + 10000 * Numbers<int>::number + 1000000 * local; }
"#;
    let folder = folder();
    let path = folder.path().join("f.so");
    let made = |name: &str, source: &str, linker: &Linker| {
        let text = format!("{HEADER}{source}");
        let object = Input::read(&compile(folder.path(), name, &text, &["-x", "c++"])).unwrap();
        let kernels = vec![object, object_with(&format!("{name}_beside"), "", &[])];
        let linker = Some(linker.clone());
        let bytes = Request { kernels, linker, ..Request::new(Form::Object) }.link().unwrap();
        Input::new(format!("{name}.o"), bytes).unwrap()
    };
    for merging in routes() {
        let inputs = [("kernel", KERNEL), ("other", OTHER)];
        let inputs = inputs.map(|(name, text)| made(name, text, &merging));
        for linker in routes() {
            fs::write(&path, link(&inputs, &linker).unwrap()).unwrap();
            assert_eq!(call(&path, "__tvm_ffi_f", 2), 9_050_703, "{merging:?} {linker:?}");
        }
    }
}

/// Zeros after everything else, of an object without initialised data, as clang makes them.
#[test]
fn zeros_alone_are_loaded() {
    for align in [16, 64, 2048, 4096] {
        let text = format!(
            "__attribute__((aligned({align}))) static int zeros[9];
             __attribute__((destructor)) static void last(void) {{}}
             int __tvm_ffi_f(void* h, const void* a, int n, void* r) {{ return (zeros[n] += n) + ((long)zeros & {}); }}",
            align - 1
        );
        let folder = folder();
        let kernel = compile(folder.path(), "kernel", &text, &[]);
        let bare = Command::new("objcopy").args(["-R", ".data"]).arg(&kernel).status();
        assert!(bare.unwrap().success());
        let path = folder.path().join("f.so");
        fs::write(&path, link(&[Input::read(&kernel).unwrap()], &Linker::Wild).unwrap()).unwrap();
        assert_eq!(call(&path, "__tvm_ffi_f", 3), 3, "{align}");
    }
}
