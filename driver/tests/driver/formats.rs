//! Libraries for Windows and macOS: their contents, and what is refused. `tests/suite/windows.rs` and
//! `tests/suite/cross.rs` call such libraries.

use std::fs;
use std::process::Command;

use codegen::ir::{Builder, Linkage, Module, Signature, Type};
use codegen::{Library, Loader};
use object::{BinaryFormat, NameOrOrdinal, Object, ObjectSection, ObjectSymbol, macho};
use tvm_ffi_codegen_driver::link::{Input, Linker, routines_archive, runtime_library};
use tvm_ffi_codegen_driver::{BackendName, Error, Form, Request, inspect, lower};

use crate::support::{backends, folder, twice};

const WINDOWS: [&str; 3] =
    ["x86_64-pc-windows-msvc", "x86_64-pc-windows-gnu", "aarch64-pc-windows-msvc"];
const MACOS: [&str; 3] =
    ["aarch64-apple-darwin", "x86_64-apple-darwin", "arm64-apple-macosx13.1.0"];

/// A declaration with a kernel, checks of a tensor, a result that is allocated, and a constant.
const DECLARATIONS: &str = "
    /// Documentation.
    f(x: Tensor([n], float32)) -> Tensor([n], float32) = {
        let y = alloc Tensor([n], float32) on x;
        kernel(int32(n), y.data);
        return y;
    };
";

fn request(target: &str, form: Form) -> Request {
    Request { target: target.parse().unwrap(), ..Request::new(form) }
}

/// Makes an object for a target with `int kernel(int, void*)`.
fn kernel(target: &str) -> Input {
    let mut module = Module::default();
    let signature = Signature::new(&[Type::I32, Type::Ptr], Some(Type::I32));
    let mut b = Builder::function(&mut module, "kernel", Linkage::Export, signature);
    let value = b.param(0);
    b.ret(Some(value));
    let function = b.finish();
    module.functions.push(function);
    let bytes = request(target, Form::Object).emit_module(&module).unwrap();
    Input::new("kernel.o", bytes).unwrap()
}

fn link(target: &str) -> Result<Vec<u8>, Error> {
    let kernels = vec![kernel(target)];
    Request { kernels, ..request(target, Form::Shared) }.emit(&DECLARATIONS.parse().unwrap())
}

fn names<'a>(all: impl Iterator<Item = &'a String>) -> Vec<&'a str> {
    all.map(String::as_str).collect()
}

#[test]
#[ignore = "tests/setup installs lld"]
fn libraries_for_windows_import_what_they_use() {
    for target in WINDOWS {
        let bytes = link(target).unwrap_or_else(|error| panic!("{target}: {error}"));
        assert!(bytes == link(target).unwrap(), "{target}: other bytes");
        let found = inspect(&bytes).unwrap();
        assert_eq!(found.kind, "shared library", "{target}");
        assert_eq!(names(found.functions.iter().map(|f| &f.name)), ["f"], "{target}");
        assert_eq!(found.needed, ["tvm_ffi.dll", "ucrtbase.dll"], "{target}");
        assert_eq!(names(found.undefined.iter().map(|s| &s.name)), ["free", "malloc"], "{target}");
        assert!(found.runtime.iter().any(|f| f.name == "TVMFFIErrorSetRaised"), "{target}");
        let file = object::File::parse(&*bytes).unwrap();
        // The function, its metadata and documentation, and `kernel`, whose object asks for that.
        assert_eq!(file.exports().unwrap().count(), 4, "{target}");
        // Frames can be unwound: each function has an entry of twelve bytes.
        let tables = file.section_by_name(".pdata").map_or(0, |section| section.size() / 12);
        assert!(target.starts_with("aarch64") || tables > 5, "{target}: {tables}");
    }
}

#[test]
#[ignore = "tests/setup installs lld"]
fn libraries_for_macos_are_signed_and_name_what_they_need() {
    for target in MACOS {
        let bytes = link(target).unwrap_or_else(|error| panic!("{target}: {error}"));
        assert!(bytes == link(target).unwrap(), "{target}: other bytes");
        let found = inspect(&bytes).unwrap();
        assert_eq!(found.kind, "shared library", "{target}");
        assert_eq!(names(found.functions.iter().map(|f| &f.name)), ["f"], "{target}");
        let needed = ["@rpath/libtvm_ffi.dylib", "/usr/lib/libSystem.B.dylib"];
        assert_eq!(found.needed, needed, "{target}");
        assert_eq!(names(found.undefined.iter().map(|s| &s.name)), ["free", "malloc"], "{target}");
        let file = object::File::parse(&*bytes).unwrap();
        assert_eq!(file.exports().unwrap().count(), 3, "{target}");
        let name = "@rpath/kernels.dylib";
        let soname = Some(name.to_owned());
        let named =
            Request { soname, kernels: vec![kernel(target)], ..request(target, Form::Shared) };
        let has_name = |bytes: &[u8]| String::from_utf8_lossy(bytes).contains(name);
        assert_eq!([has_name(&bytes), has_name(&named.link().unwrap())], [false, true], "{target}");
        assert_eq!(commands(&bytes, macho::LC_CODE_SIGNATURE), 1, "{target}");
    }
}

#[test]
#[ignore = "tests/setup installs lld"]
fn functions_may_have_any_name() {
    let named = |names: &[&str]| -> Library {
        let declared = |name: &&str| format!("`{name}`() -> int64 = {{ return 1; }};");
        names.iter().map(declared).collect::<String>().parse().unwrap()
    };
    let long = "n".repeat(4096);
    let taken =
        ["#", "$", "*", ".text", "/DEF", "DATA", "_f", "a b", "a;b", "a@b", "{}", "é", &long];
    let mut sorted = taken.to_vec();
    sorted.sort_unstable();
    for target in WINDOWS.into_iter().chain(MACOS) {
        let bytes = request(target, Form::Shared).emit(&named(&taken)).unwrap();
        let found = inspect(&bytes).unwrap();
        assert_eq!(names(found.functions.iter().map(|f| &f.name)), sorted, "{target}");
    }
    for name in ["a\"b", "a,b", "a=b", "a\\"] {
        for target in WINDOWS {
            let error = request(target, Form::Shared).emit(&named(&[name])).unwrap_err();
            let reason = "cannot be exported on Windows, where `\"`, `,`, `=` and `\\` in lists";
            assert!(error.to_string().contains(reason), "{target}: {error}");
        }
        request(MACOS[0], Form::Shared).emit(&named(&[name])).unwrap();
    }
}

#[test]
#[ignore = "tests/setup installs lld"]
fn libraries_export_what_they_are_asked_for() {
    // The functions that this library compiles for Windows are marked as exports.
    let mingw = ("x86_64-pc-windows-gnu", of_mingw("int kernel(int n, void* p) { return n; }"));
    let (lld, cc): (Linker, _) =
        ("lld".parse().unwrap(), Linker::Cc("x86_64-w64-mingw32-gcc".into()));
    let rows = MACOS.map(|target| (target, kernel(target), lld.clone()));
    let rows =
        rows.into_iter().chain([lld.clone(), cc].map(|linker| (mingw.0, mingw.1.clone(), linker)));
    for (target, kernel, linker) in rows {
        let exported = |exports: &[&str]| {
            let exports = exports.iter().map(|&name| name.to_owned()).collect();
            let (kernels, linker) = (vec![kernel.clone()], Some(linker.clone()));
            let shared = Request { kernels, exports, linker, ..request(target, Form::Shared) };
            let bytes = shared.emit(&DECLARATIONS.parse().unwrap())?;
            let file = object::File::parse(&*bytes).unwrap();
            let names = file.exports().unwrap().map(|export| match export.unwrap().name() {
                NameOrOrdinal::Name(name) => String::from_utf8_lossy(name).into_owned(),
                NameOrOrdinal::Ordinal(_) => String::new(),
            });
            Ok::<_, Error>(names.filter(|name| name.contains("kernel")).count())
        };
        assert_eq!([exported(&[]).unwrap(), exported(&["kernel"]).unwrap()], [0, 1], "{target}");
        let error = exported(&["_kernel"]).unwrap_err().to_string();
        assert!(error.starts_with("`_kernel` cannot be exported: no linked file"), "{error}");
    }
}

/// Compiles C for Windows.
fn of_mingw(source: &str) -> Input {
    let folder = folder();
    let [text, object] = ["kernel.c", "kernel.o"].map(|name| folder.path().join(name));
    fs::write(&text, source).unwrap();
    let mut cc = Command::new("x86_64-w64-mingw32-gcc");
    assert!(cc.arg("-c").arg(text).arg("-o").arg(&object).status().unwrap().success());
    Input::read(&object).unwrap()
}

/// A function that calls another one by its name, for which it has the context of the library.
fn by_name(target: &str, backend: BackendName, name: &str) -> Input {
    let text =
        format!("{name}(n: int64) -> int64 = {{ let r: int64 = @\"there\"(n); return r; }};");
    let request = Request { backend, ..request(target, Form::Object) };
    Input::new(format!("{name}.o"), request.emit(&text.parse().unwrap()).unwrap()).unwrap()
}

#[test]
#[ignore = "tests/setup installs lld"]
fn objects_that_call_by_name_are_one_library() {
    let elf = ["x86_64-unknown-linux-gnu", "aarch64-unknown-linux-gnu"];
    for target in WINDOWS.into_iter().chain(MACOS).chain(elf) {
        // C is compiled by GCC, which makes objects of few targets.
        let has_gcc = ["x86_64-pc-windows-gnu", "x86_64-unknown-linux-gnu"].contains(&target);
        let objects = |name: &str| -> Vec<Input> {
            let all = backends().filter(|backend| has_gcc || backend.name() != "c");
            all.map(|backend| by_name(target, backend, name)).collect()
        };
        let (ones, others) = (objects("one"), objects("other"));
        let mut linkers: Vec<Linker> = vec!["lld".parse().unwrap()];
        let mingw = || Linker::Cc("x86_64-w64-mingw32-gcc".into());
        linkers.extend((target == "x86_64-pc-windows-gnu").then(mingw));
        for (index, one) in ones.iter().enumerate() {
            for (number, other) in others.iter().enumerate() {
                let linker = linkers[number % linkers.len()].clone();
                check_context(target, &[one.clone(), other.clone()], linker, [index, number]);
            }
        }
    }
}

/// Checks that a library of two objects has both functions and one context.
fn check_context(target: &str, kernels: &[Input], linker: Linker, pair: [usize; 2]) {
    let (kernels, linker) = (kernels.to_vec(), Some(linker));
    let request = Request { kernels, linker, ..request(target, Form::Shared) };
    let bytes = request.link().unwrap_or_else(|error| panic!("{target} {pair:?}: {error}"));
    let found = inspect(&bytes).unwrap();
    let functions = names(found.functions.iter().map(|f| &f.name));
    assert_eq!(functions, ["one", "other"], "{target} {pair:?}");
    assert!(found.library_ctx.is_some(), "{target} {pair:?}");
    let file = object::File::parse(&*bytes).unwrap();
    let context = |symbol: &object::Symbol<'_, '_>| {
        symbol.name().is_ok_and(|name| name.trim_start_matches('_') == "tvm_ffi__library_ctx")
    };
    let all: Vec<_> = file.symbols().filter(context).collect();
    assert!(all.len() <= 1, "{target} {pair:?}");
    // dyld would merge the weak ones of all libraries.
    let is_shared = all.iter().any(ObjectSymbol::is_weak) && MACOS.contains(&target);
    assert!(!is_shared, "{target} {pair:?}");
}

/// Counts the load commands of a kind.
fn commands(bytes: &[u8], kind: macho::LoadCommandType) -> usize {
    use object::read::macho::MachHeader;
    let header = macho::MachHeader64::<object::Endianness>::parse(bytes, 0).unwrap();
    let endian = header.endian().unwrap();
    let mut commands = header.load_commands(endian, bytes, 0).unwrap();
    let mut count = 0;
    while let Some(command) = commands.next().unwrap() {
        count += usize::from(command.cmd() == kind);
    }
    count
}

#[test]
#[ignore = "tests/setup installs lld"]
fn options_reach_the_linker_of_macos() {
    let target = MACOS[0];
    let kernels = vec![kernel(target).showing(vec!["kernel".to_owned()])];
    let rpath = vec!["@loader_path".to_owned(), "/a b".to_owned()];
    let shared = request(target, Form::Shared);
    let request = Request { kernels, rpath, runtime_dependency: false, ..shared };
    let bytes = request.emit(&DECLARATIONS.parse().unwrap()).unwrap();
    assert_eq!(commands(&bytes, macho::LC_RPATH), 2);
    let found = inspect(&bytes).unwrap();
    assert_eq!(found.needed, ["/usr/lib/libSystem.B.dylib"]);
    let file = object::File::parse(&*bytes).unwrap();
    let shown = file.symbols().filter(|symbol| symbol.name() == Ok("_kernel"));
    assert_eq!(shown.filter(ObjectSymbol::is_global).count(), 1);
}

#[test]
#[ignore = "tests/setup installs lld"]
fn libraries_in_elf_are_linked_by_lld_too() {
    let target = "aarch64-unknown-linux-gnu";
    let (kernels, linker) = (vec![kernel(target)], Some("lld".parse().unwrap()));
    let rpath = vec!["$ORIGIN".to_owned()];
    let shared = Request { kernels, linker, rpath, ..request(target, Form::Shared) };
    let bytes = shared.emit(&DECLARATIONS.parse().unwrap()).unwrap();
    let found = inspect(&bytes).unwrap();
    assert_eq!(names(found.functions.iter().map(|f| &f.name)), ["f"]);
    assert!(found.needed.contains(&"libtvm_ffi.so".to_owned()), "{:?}", found.needed);
}

/// Functions of the system that a library for Windows may use are those of Wine's own libraries.
#[test]
#[ignore = "tests/setup installs Wine"]
fn functions_of_windows_exist() {
    let source = include_str!("../../link/src/c_library.rs");
    let (_, list) = source.split_once("&[\n").unwrap();
    let (list, _) = list.split_once("];").unwrap();
    let known: Vec<&str> = list.split('"').skip(1).step_by(2).collect();
    assert!(known.len() > 100 && known.is_sorted(), "{known:?}");
    let loaders = vec!["LoadLibraryA", "GetProcAddress"];
    for (library, names) in
        [("ucrtbase", known), ("ntdll", vec!["__chkstk"]), ("kernel32", loaders)]
    {
        let path = format!("/usr/lib/x86_64-linux-gnu/wine/x86_64-windows/{library}.dll");
        let bytes = std::fs::read(&path).unwrap_or_else(|error| panic!("{path}: {error}"));
        let input = Input::new(library, bytes).unwrap();
        for name in names {
            assert!(input.defines(name), "{library} has no {name}");
        }
    }
}

#[test]
fn what_a_format_cannot_do_is_refused_in_words() {
    let [windows, macos] = [WINDOWS[0], MACOS[0]];
    let linked = |target: &str, change: &dyn Fn(&mut Request)| {
        let kernels = vec![kernel(target)];
        let mut request = Request { kernels, ..request(target, Form::Shared) };
        change(&mut request);
        request.emit(&DECLARATIONS.parse().unwrap()).unwrap_err().to_string()
    };
    type Change = &'static dyn Fn(&mut Request);
    let rows: [(&str, Change, &str); 9] = [
        (
            windows,
            &|request| request.soname = Some("kernels".to_owned()),
            "option soname is not for Windows, where a library is known by its file",
        ),
        (
            windows,
            &|request| request.rpath = vec!["lib".to_owned()],
            "option rpath is not for Windows, which looks for libraries beside the program",
        ),
        (
            windows,
            &|request| request.runtime_dependency = false,
            "option runtime_dependency is not for Windows, where every import names its library",
        ),
        (
            windows,
            &|request| request.linker = Some(Linker::Wild),
            "cannot link for x86_64-pc-windows-msvc: linker wild knows only ELF; take linker lld",
        ),
        (
            windows,
            &|request| request.form = Form::Object,
            "cannot link for x86_64-pc-windows-msvc: lld merges no objects; take linker cc, of MinGW",
        ),
        (
            macos,
            &|request| request.form = Form::Object,
            "cannot link for aarch64-apple-darwin: lld merges no objects; emit an object without kernels",
        ),
        (
            macos,
            &|request| request.linker = Some(Linker::Cc("cc".into())),
            "cannot link for aarch64-apple-darwin: linker cc is for ELF and Windows; take linker lld",
        ),
        (
            macos,
            &|request| request.kernels = vec![kernel(WINDOWS[2])],
            "kernel.o: expected an object for Mach-O aarch64 but got one for COFF aarch64",
        ),
        (
            windows,
            &|request| request.linker = Some(Linker::Lld("/none/lld".into())),
            "linker /none/lld: No such file or directory (os error 2); set LLD to the path of lld, of LLVM, or \
             of rust-lld, of Rust",
        ),
    ];
    for (target, change, expected) in rows {
        assert_eq!(linked(target, change), expected, "{target}");
    }
    let unknown = request("aarch64-apple-ios", Form::Shared).link().unwrap_err();
    assert!(
        matches!(unknown, Error::Link { source: link::Error::UnsupportedLink { .. } }),
        "{unknown}"
    );
}

#[test]
fn archives_and_runtimes_are_for_every_format() {
    for (target, format) in [
        (WINDOWS[0], BinaryFormat::Coff),
        (WINDOWS[2], BinaryFormat::Coff),
        (MACOS[0], BinaryFormat::MachO),
    ] {
        let triple = target.parse().unwrap();
        let archive = Input::new("routines.a", routines_archive(&triple).unwrap()).unwrap();
        assert!(archive.defined().any(|name| name.starts_with("tvm_ffi_codegen.say")), "{target}");
        // Launches open the driver with functions that the platform has.
        let text = String::from_utf8_lossy(archive.bytes());
        let opens = ["dlopen", "LoadLibraryA"].map(|name| text.contains(name));
        let is_windows = format == BinaryFormat::Coff;
        assert_eq!(opens, [!is_windows, is_windows], "{target}");
        let host = request(target, Form::Object).emit(&DECLARATIONS.parse().unwrap()).unwrap();
        assert_eq!(object::File::parse(&*host).unwrap().format(), format);
        let inputs = [Input::new("host.o", host).unwrap()];
        let runtime = runtime_library(&inputs, &triple).unwrap();
        let name = "TVMFFIErrorSetRaised";
        let text = String::from_utf8_lossy(runtime.bytes());
        assert!(text.contains(name) && !text.contains("TVMFFIFunctionCreate"), "{target}");
    }
}

/// A library that opens the driver with functions of another platform is refused before it is linked.
#[test]
fn launches_need_the_functions_of_their_platform() {
    let text = "image i; f(x: Tensor([n], int8, device=cuda)) -> None
        = { launch i.\"k\"(x.data) grid(1) block(1); };";
    let mut library: Library = text.parse().unwrap();
    library.images[0].bytes = Some(b".version 8.0\n".to_vec());
    for (target, loader, expected) in [
        (WINDOWS[0], Loader::Dl, &["dlopen", "dlsym", "dlerror"][..]),
        (MACOS[0], Loader::Windows, &["LoadLibraryA", "GetProcAddress"]),
    ] {
        let module = lower(&library, &codegen::Options { loader, ..Default::default() }).unwrap();
        let error = request(target, Form::Shared).emit_module(&module).unwrap_err();
        let Error::MissingSymbols { mut names, .. } = error else { panic!("{target}: {error}") };
        names.sort_by_key(|name| expected.iter().position(|known| known == name));
        assert_eq!(names, expected, "{target}");
    }
}

/// Objects of Windows with functions that its start-up code would run are refused by a linker without that code.
#[test]
fn constructors_are_not_forgotten() {
    use object::write::Object as Writer;
    use object::{Architecture, Endianness, SectionKind};
    let mut writer = Writer::new(BinaryFormat::Coff, Architecture::X86_64, Endianness::Little);
    let section = writer.add_section(Vec::new(), b".CRT$XCU".to_vec(), SectionKind::ReadOnlyData);
    writer.append_section_data(section, &[0; 8], 8);
    let started = Input::new("started.obj", writer.write().unwrap()).unwrap();
    let kernels = vec![kernel(WINDOWS[0]), started];
    let request = Request { kernels, ..request(WINDOWS[0], Form::Shared) };
    let error = request.emit(&DECLARATIONS.parse().unwrap()).unwrap_err().to_string();
    let expected = "started.obj: has functions to run when the library is loaded, which needs the start-up \
                    code of a compiler: take linker cc, with the compiler of MinGW";
    assert_eq!(error, expected);
}

/// Thread-local variables of Windows need what a compiler of C adds.
#[test]
fn variables_of_threads_are_refused_in_words() {
    for name in ["_tls_index", "__emutls_get_address"] {
        let mut module = twice();
        module.symbols[0].name = name.to_owned();
        let bytes = request(WINDOWS[0], Form::Object).emit_module(&module).unwrap();
        let kernels = vec![Input::new("local.o", bytes).unwrap()];
        let error = Request { kernels, ..request(WINDOWS[0], Form::Shared) }.link().unwrap_err();
        let expected = "local.o: has thread-local variables, which need the start-up code of a compiler: take linker \
                        cc, with the compiler of MinGW";
        assert_eq!(error.to_string(), expected, "{name}");
    }
}

/// The names that Mach-O adds an underscore to are those of C here.
#[test]
#[ignore = "tests/setup installs lld"]
fn missing_kernels_are_named_as_in_c() {
    for target in [WINDOWS[0], MACOS[0]] {
        let error = request(target, Form::Shared).emit(&DECLARATIONS.parse().unwrap()).unwrap_err();
        assert!(
            matches!(error, Error::MissingSymbols { names, .. } if names == ["kernel"]),
            "{target}"
        );
    }
    // A symbol without a definition is left to the loader on macOS, and is an error on Windows.
    let module = twice();
    for (target, is_error) in [(WINDOWS[0], true), (MACOS[0], false)] {
        let object = request(target, Form::Object).emit_module(&module).unwrap();
        let kernels = vec![Input::new("twice.o", object).unwrap()];
        let linked = Request { kernels, ..request(target, Form::Shared) }.link();
        let text = linked.map_or_else(|error| error.to_string(), |_| String::new());
        assert_eq!(text.contains("undefined symbol: kernel"), is_error, "{target}: {text}");
        assert_eq!(text.is_empty(), !is_error, "{target}: {text}");
    }
}
