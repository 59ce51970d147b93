//! Shared libraries by both linkers: their behaviour, exports and dependencies, and refused inputs.

use std::fs;
use std::process::Command;

use object::{Object, ObjectSection, ObjectSegment};
use target_lexicon::Triple;
use tvm_ffi_codegen_driver::link::{Input, Linker};
use tvm_ffi_codegen_driver::{Error, Form, Request, file, inspect};

use crate::support::{alone, call, compile, folder, link, object, object_with, routes, twice};

const WRAPPER: &str = "
    int kernel(int);
    int TVMFFIObjectDecRef(void*);
    int getpid(void);
    int __tvm_ffi_plain(void* handle, const void* args, int count, void* result) {
        return count < 0 ? TVMFFIObjectDecRef(handle) + getpid() : kernel(count) + 1;
    }
";
const KERNEL: &str = "int kernel(int x) { return 2 * x; }";

fn shared(kernels: Vec<Input>) -> Request {
    Request { kernels, ..Request::new(Form::Shared) }
}

#[test]
fn libraries_of_both_linkers_work() {
    for linker in routes() {
        let folder = folder();
        let path = folder.path().join("twice.so");
        alone(&[object("kernel", KERNEL)], &linker).write_module(&twice(), &path).unwrap();
        assert_eq!(call(&path, "__tvm_ffi_twice", 21), 84, "{linker:?}");
    }
}

#[test]
fn only_tvm_ffi_symbols_are_exported() {
    for linker in routes() {
        let inputs = [object("wrapper", WRAPPER), object("kernel", KERNEL)];
        let bytes = link(&inputs, &linker).unwrap();
        let found = inspect(&bytes).unwrap();
        let functions: Vec<&str> = found.functions.iter().map(|f| f.name.as_str()).collect();
        let runtime: Vec<&str> = found.runtime.iter().map(|f| f.name.as_str()).collect();
        // Start-up files of a compiler have weak undefined symbols.
        let started = |name: &str| name.starts_with('_');
        let undefined = found.undefined.iter().map(|s| s.name.as_str());
        let undefined: Vec<&str> = undefined.filter(|name| !started(name)).collect();
        assert_eq!(functions, ["plain"], "{linker:?}");
        assert_eq!(runtime, ["TVMFFIObjectDecRef"], "{linker:?}");
        assert_eq!(undefined, ["getpid"], "{linker:?}");
        // The C library has a weak definition.
        let weak = found.undefined.iter().find(|symbol| symbol.name == "getpid").unwrap().weak;
        assert!(!weak, "{linker:?}");
        assert_eq!(found.needed, ["libc.so.6"], "{linker:?}");
        assert_eq!(exports(&bytes), ["__tvm_ffi_plain"], "{linker:?}");
    }
}

/// Returns every defined dynamic symbol.
fn exports(bytes: &[u8]) -> Vec<String> {
    use object::{Object, ObjectSymbol};
    let file = object::File::parse(bytes).unwrap();
    let defined = file.dynamic_symbols().filter(|symbol| !symbol.is_undefined());
    defined.map(|symbol| symbol.name().unwrap().to_owned()).collect()
}

#[test]
fn what_is_left_undefined_is_for_the_loader() {
    for linker in routes() {
        let folder = folder();
        let path = folder.path().join("plain.so");
        let wrapper = WRAPPER.replace("TVMFFIObjectDecRef(handle)", "0");
        let inputs = [object("wrapper", &wrapper), object("kernel", KERNEL)];
        file::write(&path, &link(&inputs, &linker).unwrap(), file::Mode::Executable).unwrap();
        assert_eq!(call(&path, "__tvm_ffi_plain", 3), 7, "{linker:?}");
        let pid = call(&path, "__tvm_ffi_plain", -1).cast_unsigned();
        assert_eq!(pid, std::process::id(), "{linker:?}");
    }
}

#[test]
fn own_exports_cannot_be_captured() {
    const USER: &str = "
        void* __tvm_ffi__library_ctx;
        int __tvm_ffi_same(void* h, const void* a, int n, void* r) { return n; }
        int __tvm_ffi_user(void* h, const void* a, int n, void* r) {
            return __tvm_ffi_same(h, a, n, r) + (__tvm_ffi__library_ctx != 0);
        }
    ";
    for linker in routes() {
        use object::{Object, ObjectSymbol, ObjectSymbolTable};
        let bytes = link(&[object("user", USER)], &linker).unwrap();
        let file = object::File::parse(&*bytes).unwrap();
        let relocations = file.dynamic_relocations().into_iter().flatten();
        let symbolic = relocations.filter(|(_, relocation)| {
            let object::RelocationTarget::Symbol(index) = relocation.target() else { return false };
            let symbol = file.dynamic_symbol_table().unwrap().symbol_by_index(index).unwrap();
            symbol.name().unwrap().starts_with("__tvm_ffi")
        });
        assert_eq!(symbolic.count(), 0, "{linker:?}");
    }
}

/// An archive and a shared library define the same symbol: the first of them is taken.
#[test]
fn archives_and_libraries_are_asked_in_their_order() {
    let folder = folder();
    let member = compile(folder.path(), "member", "int answer(void) { return 1; }", &[]);
    let archive = folder.path().join("answers.a");
    assert!(Command::new("ar").arg("rcs").arg(&archive).arg(member).status().unwrap().success());
    let library = folder.path().join("libanswers.so");
    let text = folder.path().join("library.c");
    fs::write(&text, "int answer(void) { return 2; }").unwrap();
    let made =
        Command::new("cc").args(["-shared", "-fPIC", "-o"]).arg(&library).arg(&text).status();
    assert!(made.unwrap().success());
    let [archive, library] = [archive, library].map(|path| Input::read(&path).unwrap());
    let kernel = object("kernel", "int answer(void); int __tvm_ffi_f(void) { return answer(); }");
    for linker in routes() {
        let first = link(&[kernel.clone(), archive.clone(), library.clone()], &linker).unwrap();
        let second = link(&[kernel.clone(), library.clone(), archive.clone()], &linker).unwrap();
        let asks = |bytes: &[u8]| {
            inspect(bytes).unwrap().undefined.iter().any(|symbol| symbol.name == "answer")
        };
        assert_eq!([asks(&first), asks(&second)], [false, true], "{linker:?}");
    }
}

#[test]
fn archives_contribute_what_is_missing() {
    for linker in routes() {
        let folder = folder();
        let kernel = compile(folder.path(), "kernel", KERNEL, &[]);
        // No input needs this member.
        let other = compile(folder.path(), "other", "int other(void) { return 0; }", &[]);
        let archive = folder.path().join("kernels.a");
        let ar = Command::new("ar").arg("rcs").arg(&archive).args([kernel, other]).status();
        assert!(ar.unwrap().success());
        let kernels = [Input::read(&archive).unwrap()];
        let bytes = alone(&kernels, &linker).emit_module(&twice()).unwrap();
        let path = folder.path().join("twice.so");
        fs::write(&path, bytes).unwrap();
        assert_eq!(call(&path, "__tvm_ffi_twice", 1), 4, "{linker:?}");
    }
}

#[test]
fn same_input_gives_same_bytes() {
    for linker in routes() {
        let inputs = [object("wrapper", WRAPPER), object("kernel", KERNEL)];
        assert_eq!(link(&inputs, &linker).unwrap(), link(&inputs, &linker).unwrap());
    }
}

/// Profilers and debuggers find a library by its build ID, which is in memory too, and is a hash of what is linked.
#[test]
fn libraries_have_build_ids() {
    let id = |kernel: &str, linker: &Linker| {
        let library = link(&[object("wrapper", WRAPPER), object("kernel", kernel)], linker);
        let library = library.unwrap();
        let file = object::read::elf::ElfFile64::<object::Endianness>::parse(&*library).unwrap();
        let section = file.section_by_name(".note.gnu.build-id").expect("a note");
        let segments =
            file.segments().map(|segment| segment.address()..segment.address() + segment.size());
        let mut loaded = segments.filter(|segment| segment.contains(&section.address()));
        assert!(loaded.next().is_some(), "{linker:?}");
        file.build_id().unwrap().expect("a build ID").to_vec()
    };
    for linker in routes() {
        let (own, other) = (id(KERNEL, &linker), id("int kernel(int x) { return x; }", &linker));
        assert!(own.len() >= 20 && own != other, "{linker:?}: {own:x?} {other:x?}");
    }
}

/// The header of section 0, which is none, is all zeros but for counts that are too large for their fields.
#[test]
fn section_0_has_no_flags() {
    let library = link(&[object("wrapper", WRAPPER), object("kernel", KERNEL)], &Linker::Wild);
    let library = library.unwrap();
    let file = object::read::elf::ElfFile64::<object::Endianness>::parse(&*library).unwrap();
    let first = file.elf_section_table().iter().next().expect("a section");
    assert_eq!(first.sh_flags.get(file.endian()), object::elf::SectionFlags(0));
}

#[test]
fn linking_leaves_no_threads_behind() {
    let threads = || fs::read_dir("/proc/self/task").unwrap().count();
    let inputs = [object("kernel", KERNEL)];
    link(&inputs, &Linker::Wild).unwrap();
    let before = threads();
    for _ in 0..100 {
        link(&inputs, &Linker::Wild).unwrap();
    }
    // Threads of other tests come and go, and our last thread may be about to end.
    assert!(threads() < before + 20, "{} threads", threads());
}

#[test]
fn missing_kernels_are_named_before_linking() {
    let kernels = [object("other", "int other(int x) { return x; }")];
    let error = alone(&kernels, &Linker::Cc("/none".into())).emit_module(&twice()).unwrap_err();
    assert_eq!(
        error.to_string(),
        "`kernel` is called by a declaration and defined by no linked file"
    );
    let mangled = "__attribute__((weak)) int _Z6kernelPfl(int x) { return x; }";
    let kernels = [object("mangled", mangled)];
    let error = alone(&kernels, &Linker::Cc("/none".into())).emit_module(&twice()).unwrap_err();
    assert_eq!(
        error.to_string(),
        "`kernel` is called by a declaration and defined by no linked file; `_Z6kernelPfl` is one of C++, to which \
         `extern \"C\"` gives that name"
    );
}

/// A kernel that is data would be called all the same; a number may be the address of code.
#[test]
fn kernels_are_no_data() {
    let rows = [
        ("int kernel = 3;", false),
        ("const int kernel = 3;", false),
        ("int kernel;", false),
        ("__attribute__((common)) int kernel;", false),
        ("int kernel(int x) { return x; }", true),
        ("__attribute__((section(\".text.hot\"))) int kernel(int x) { return x; }", true),
        ("int other(int x) { return x; } int kernel(int) __attribute__((alias(\"other\")));", true),
        ("__asm__(\".text; .globl kernel; kernel: ret\");", true),
        ("__asm__(\".globl kernel; kernel = 4096\");", true),
    ];
    for (source, is_function) in rows {
        let result = alone(&[object("data", source)], &Linker::Wild).emit_module(&twice());
        let expected = "`kernel` is called by a declaration, and is data in data.o";
        match result {
            Ok(_) => assert!(is_function, "{source}"),
            Err(error) => {
                assert!(!is_function && error.to_string() == expected, "{source}: {error}")
            }
        }
    }
}

#[test]
fn undefined_and_local_symbols_define_nothing() {
    let uses = object("uses", "int kernel(int); int other(int x) { return kernel(x); }");
    let local = object("local", "static int kernel(int x) { return x; } int (*p)(int) = kernel;");
    let weak = object("weak", "__attribute__((weak)) int kernel(int x) { return x; }");
    let assembly = object("assembly", "__asm__(\".globl kernel\\nkernel: ret\");");
    let defined = [uses, local, weak, assembly].map(|input| input.defines("kernel"));
    assert_eq!(defined, [false, false, true, true]);
}

#[test]
fn duplicates_are_refused_by_name() {
    let first = object("first", KERNEL);
    let again = object("again", KERNEL);
    for linker in routes() {
        let error = link(&[first.clone(), again.clone()], &linker).unwrap_err();
        assert_eq!(error.to_string(), "`kernel` is defined by first.o and again by again.o");
    }
    let own =
        object("own", "int __tvm_ffi_twice(void) { return 0; } int kernel(int x) { return x; }");
    let error = shared(vec![own]).emit_module(&twice()).unwrap_err();
    let expected = "`__tvm_ffi_twice` is defined by the declarations and again by own.o";
    assert_eq!(error.to_string(), expected);
}

#[test]
fn weak_and_common_symbols_may_repeat() {
    const WEAK: &str = "__attribute__((weak)) int kernel(int x) { return x; } int shared;";
    let inputs =
        [("a", WEAK), ("b", WEAK)].map(|(name, text)| object_with(name, text, &["-fcommon"]));
    for linker in routes() {
        link(&inputs, &linker).unwrap();
    }
}

#[test]
fn objects_that_do_not_fit_a_library_are_the_linkers_error() {
    const ABSOLUTE: &str = "int table[4]; int kernel(int x) { return table[x]; }";
    let object = object_with("fixed", ABSOLUTE, &["-fno-pic", "-fno-pie"]);
    for linker in routes() {
        let error = link(std::slice::from_ref(&object), &linker).unwrap_err();
        assert!(
            matches!(error, Error::Link { source: link::Error::Linker { .. } }),
            "{linker:?}: {error}"
        );
        // Inputs have the names that they were given, and no others.
        assert!(error.to_string().contains(" fixed.o"), "{linker:?}: {error}");
        assert!(!error.to_string().contains("(1/"), "{linker:?}: {error}");
        assert!(error.to_string().contains("-fPIC"), "{linker:?}: {error}");
    }
}

#[test]
fn other_files_are_refused() {
    let folder = folder();
    let kernel = compile(folder.path(), "kernel", KERNEL, &[]);
    let bytes = fs::read(&kernel).unwrap();
    let host = compile(folder.path(), "host", "int main(void) { return 0; }", &[]);
    let program = |option: &str| {
        let path = folder.path().join("host");
        let mut cc = Command::new("cc");
        assert!(cc.arg(&host).arg(option).arg("-o").arg(&path).status().unwrap().success());
        let bytes = fs::read(path).unwrap();
        assert_eq!(inspect(&bytes).unwrap().kind, "executable", "{option}");
        bytes
    };
    let truncated = bytes[..bytes.len() / 2].to_vec();
    let an_executable = "expected a relocatable object but got an executable";
    let cut =
        |format: &str| format!("malformed object file: cut or damaged behind the mark of {format}");
    let [elf, macho, pe] = ["ELF", "Mach-O", "PE"].map(cut);
    let rows: [(&str, Vec<u8>, &str); 11] = [
        ("empty", vec![], "not an object file"),
        ("mark", b"\x7fELF".to_vec(), &elf),
        ("ident", bytes[..7].to_vec(), &elf),
        ("macho", b"\xcf\xfa\xed\xfe\x07".to_vec(), &macho),
        ("dos", b"MZ".to_vec(), &pe),
        (
            "script",
            b"INPUT(libc.so.6) GROUP(a b)".to_vec(),
            "text, not an object file; LLVM IR and MLIR are for --backend llvm and mlir",
        ),
        (
            "bitcode",
            b"BC\xc0\xde0000000000000000".to_vec(),
            "LLVM bitcode: take --backend llvm, or compile it without -flto",
        ),
        ("program", program("-no-pie"), an_executable),
        ("anywhere", program("-pie"), an_executable),
        (
            "header",
            bytes[..20].to_vec(),
            "malformed object file: Invalid ELF header size or alignment",
        ),
        (
            "truncated",
            truncated,
            "malformed object file: Invalid ELF section header offset/size/alignment",
        ),
    ];
    for (name, bytes, expected) in rows {
        let error = Input::new(name, bytes).unwrap_err();
        assert_eq!(error.to_string(), format!("{name}: {expected}"));
    }
}

#[test]
fn other_machines_are_refused() {
    let target = "aarch64-unknown-linux-gnu".parse().unwrap();
    let aarch64 = Request { target, ..Request::default() };
    let foreign = Input::new("foreign.o", aarch64.emit_module(&twice()).unwrap());
    let error = link(&[foreign.unwrap()], &Linker::Wild).unwrap_err();
    let expected = "foreign.o: expected an object for ELF x86_64 but got one for ELF aarch64";
    assert_eq!(error.to_string(), expected);
}

/// The name of a library is that by which others need it.
#[test]
fn libraries_are_needed_by_the_name_that_they_are_given() {
    let name = "libkernels.so.1";
    let user = object("user", "int kernel(int); int __tvm_ffi_f(void) { return kernel(1); }");
    for linker in routes() {
        let exports = vec!["kernel".to_owned()];
        let plain = Request { exports, ..alone(&[object("kernel", KERNEL)], &linker) };
        let nameless = Input::without_path("bytes", plain.link().unwrap()).unwrap_err();
        assert!(nameless.to_string().contains("a shared library without a soname"), "{nameless}");
        let named = Request { soname: Some(name.to_owned()), ..plain };
        let library = Input::without_path("bytes", named.link().unwrap()).unwrap();
        let found = inspect(&link(&[user.clone(), library], &linker).unwrap()).unwrap();
        assert!(found.needed.iter().any(|needed| needed == name), "{linker:?}: {:?}", found.needed);
    }
    let request = Request { soname: Some(name.to_owned()), ..Request::new(Form::Object) };
    let error = request.emit_module(&twice()).unwrap_err().to_string();
    assert!(error.ends_with("soname is for form shared"), "{error}");
}

/// The linker of a compiler for another machine does not say so.
#[test]
fn a_compiler_for_another_machine_is_named() {
    let folder = folder();
    let compiler = folder.path().join("compiler");
    let program = format!("sh {}", compiler.display());
    let kernel = object("kernel", KERNEL);
    let own = &Triple::host().to_string();
    let host = Triple::host();
    let pc = format!("{}-pc-linux-gnu", host.architecture);
    let rows = [("sparc-linux-gnu", true), (own, false), (&pc, false), ("unheard", false)];
    for (machine, is_other) in rows {
        let text = format!("[ $1 = -dumpmachine ] && exec echo {machine}; echo no >&2; exit 1");
        fs::write(&compiler, text).unwrap();
        let target = own.parse().unwrap();
        let linker = Some(Linker::Cc((&*program).into()));
        let request = Request { target, linker, ..shared(vec![kernel.clone()]) };
        let advice = format!("\nit is a compiler for {machine}: set CC to one for {own}");
        let advice = if is_other { &advice } else { "" };
        let expected = format!("linker {program}: exit status: 1\nno{advice}");
        assert_eq!(request.link().unwrap_err().to_string(), expected);
    }
    // GCC names the processor without the extensions that the target does.
    let text = "[ $1 = -dumpmachine ] && exec echo riscv64-linux-gnu; echo no >&2; exit 1";
    fs::write(&compiler, text).unwrap();
    let target: Triple = "riscv64gc-unknown-linux-gnu".parse().unwrap();
    let linker = Some(Linker::Cc((&*program).into()));
    let error = Request { target, linker, ..shared(Vec::new()) }.link().unwrap_err();
    assert_eq!(error.to_string(), format!("linker {program}: exit status: 1\nno"));
}

#[test]
fn names_for_the_loader_have_characters() {
    let kernels = vec![object("kernel", KERNEL)];
    for linker in routes() {
        for text in ["", "lib\nk.so", "lib\0k.so"] {
            let linker = Some(linker.clone());
            let request = Request { linker, ..shared(kernels.clone()) };
            let soname = Request { soname: Some(text.to_owned()), ..request.clone() };
            let rpath = Request { rpath: vec!["/lib".to_owned(), text.to_owned()], ..request };
            for (option, request) in [("soname", soname), ("rpath", rpath)] {
                let expected =
                    format!("option {option} must have characters, and no control characters");
                assert_eq!(request.check().unwrap_err().to_string(), expected);
                let linked = link::link(&kernels, &request.linking()).unwrap_err();
                assert_eq!(linked.to_string(), expected);
            }
        }
    }
}

#[test]
fn libraries_for_other_elf_machines_are_linked_in_process() {
    for target in ["aarch64-unknown-linux-gnu", "riscv64gc-unknown-linux-gnu"] {
        let target: Triple = target.parse().unwrap();
        let mut module = twice();
        // There is no kernel for these machines, so the callee is a function of the runtime.
        let request = Request { target: target.clone(), ..Request::new(Form::Shared) };
        module.symbols[0].name = "TVMFFIKernel".to_owned();
        let found = inspect(&request.emit_module(&module).unwrap()).unwrap();
        assert_eq!(
            found.machine,
            format!("ELF {}", target.architecture.into_str().replace("gc", ""))
        );
        assert_eq!((found.kind, found.functions.len()), ("shared library", 1));
        assert_eq!(found.needed, ["libtvm_ffi.so"]);
    }
}

#[test]
fn nothing_is_written_on_failure() {
    let folder = folder();
    let path = folder.path().join("twice.so");
    fs::write(&path, "before").unwrap();
    shared(Vec::new()).write_module(&twice(), &path).unwrap_err();
    assert_eq!(fs::read(&path).unwrap(), b"before");
    let cc = alone(&[object("kernel", KERNEL)], &Linker::Cc("/none/cc".into()));
    let error = cc.write_module(&twice(), &path).unwrap_err();
    assert_eq!(error.to_string(), "linker /none/cc: No such file or directory (os error 2)");
    assert_eq!(fs::read(&path).unwrap(), b"before");
    assert_eq!(fs::read_dir(folder.path()).unwrap().count(), 1);
}
