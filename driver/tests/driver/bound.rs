//! References that only a definition in the same library is one for: those to hidden, protected and internal symbols.

use std::fs;
use std::process::Command;

use object::{Object, ObjectSymbol, SymbolFlags, elf};
use tvm_ffi_codegen_driver::link::{Input, Linker};
use tvm_ffi_codegen_driver::{Form, Request};

use crate::support::{alone, call, compile, folder, link, object, object_with, routes};

const HELPER: &str = "__attribute__((visibility(\"hidden\"))) int helper(int);
    int __tvm_ffi_f(void* h, const void* a, int n, void* r) { return helper(n); }";

/// Returns the error about a symbol that nothing defines.
fn absent(file: &str, visibility: &str, symbol: &str) -> String {
    format!(
        "{file}: has the {visibility} symbol `{symbol}`, which no linked object defines: link the object that defines \
         it, or let a library do so by default visibility"
    )
}

#[test]
fn symbols_that_must_be_defined_in_a_library_are_refused_if_they_are_not() {
    const DATA: &str = "extern int table[] __attribute__((visibility(\"hidden\")));
        int kernel(int n) { return table[n]; }";
    const OF_SYSTEM: &str = "
        #pragma GCC visibility push(hidden)
        unsigned long strlen(const char*);
        #pragma GCC visibility pop
        int kernel(const char* text) { return strlen(text); }";
    let assembly = |visibility: &str| {
        format!("int kernel(int n) {{ __asm__(\"call p\\n .{visibility} p\"); return n; }}")
    };
    let rows = [
        (HELPER.to_owned(), "hidden", "helper"),
        (DATA.to_owned(), "hidden", "table"),
        (OF_SYSTEM.to_owned(), "hidden", "strlen"),
        (assembly("protected"), "protected", "p"),
        (assembly("internal"), "internal", "p"),
        // A section of that name would define it.
        (
            "extern int __start_none[] __attribute__((visibility(\"hidden\")));
             int kernel(int n) { return __start_none[n]; }"
                .to_owned(),
            "hidden",
            "__start_none",
        ),
    ];
    for (text, visibility, symbol) in rows {
        let kernel = object("kernel", &text);
        let error = link(std::slice::from_ref(&kernel), &Linker::Wild).unwrap_err().to_string();
        assert_eq!(error, absent("kernel.o", visibility, symbol), "{text}");
        link(&[kernel], &Linker::Cc("cc".into())).unwrap_err();
    }
}

/// The three processors have the rule in common; their objects are written here for want of compilers.
#[test]
fn hidden_symbols_are_refused_for_every_processor() {
    use object::write::{self, Relocation, Symbol, SymbolSection};
    use object::{Architecture, BinaryFormat, Endianness, SymbolKind, SymbolScope};
    use object::{RelocationFlags, SectionKind};
    let rows = [
        (Architecture::X86_64, elf::R_X86_64_PLT32, "x86_64"),
        (Architecture::Aarch64, elf::R_AARCH64_CALL26, "aarch64"),
        (Architecture::Riscv64, elf::R_RISCV_CALL_PLT, "riscv64gc"),
    ];
    for (architecture, r_type, machine) in rows {
        let mut writer = write::Object::new(BinaryFormat::Elf, architecture, Endianness::Little);
        let text = writer.add_section(Vec::new(), b".text".to_vec(), SectionKind::Text);
        writer.append_section_data(text, &[0; 16], 8);
        let symbol = writer.add_symbol(Symbol {
            name: b"helper".to_vec(),
            value: 0,
            size: 0,
            kind: SymbolKind::Text,
            scope: SymbolScope::Linkage,
            weak: false,
            section: SymbolSection::Undefined,
            flags: SymbolFlags::None,
        });
        let flags = RelocationFlags::Elf { r_type };
        writer.add_relocation(text, Relocation { offset: 0, symbol, addend: 0, flags }).unwrap();
        let kernels = vec![Input::new("kernel.o", writer.write().unwrap()).unwrap()];
        let target = format!("{machine}-unknown-linux-gnu").parse().unwrap();
        let linker = Some(Linker::Wild);
        let shared = Request { kernels, target, linker, ..Request::new(Form::Shared) };
        let error = shared.link().unwrap_err().to_string();
        assert_eq!(error, absent("kernel.o", "hidden", "helper"), "{machine}");
    }
}

#[test]
fn definitions_in_objects_and_archives_are_found_and_those_in_libraries_are_not() {
    const DEFINITION: &str = "int helper(int n) { return n + 1; }";
    let folder = folder();
    let member = compile(folder.path(), "helper", DEFINITION, &[]);
    let archive = folder.path().join("libhelper.a");
    assert!(Command::new("ar").arg("rcs").arg(&archive).arg(&member).status().unwrap().success());
    let (definition, archive) = (Input::read(&member).unwrap(), Input::read(&archive).unwrap());
    let kernel = object("kernel", HELPER);
    let named = Request { soname: Some("libhelper.so".into()), ..Request::default() };
    let named = Request { exports: vec!["helper".into()], runtime_dependency: false, ..named };
    let bytes = Request { form: Form::Shared, kernels: vec![definition.clone()], ..named };
    let library = Input::new("libhelper.so", bytes.link().unwrap()).unwrap();
    for linker in routes() {
        for definition in [&definition, &archive] {
            // A library before an archive is no reason to leave out its member.
            let inputs = [kernel.clone(), library.clone(), definition.clone()];
            let path = folder.path().join("kernel.so");
            for inputs in [&inputs[..], &[kernel.clone(), definition.clone()]] {
                fs::write(&path, link(inputs, &linker).unwrap()).unwrap();
                if inputs.len() == 2 {
                    assert_eq!(call(&path, "__tvm_ffi_f", 4), 5, "{linker:?}");
                }
            }
        }
        link(&[kernel.clone(), library.clone()], &linker).unwrap_err();
    }
    let error = link(&[kernel.clone(), library], &Linker::Wild).unwrap_err().to_string();
    assert_eq!(error, absent("kernel.o", "hidden", "helper"));
    // One reference with default visibility does not lift what another says.
    let free = object("free", "int helper(int); int free_of_it(int n) { return helper(n); }");
    let error = link(&[free, kernel], &Linker::Wild).unwrap_err().to_string();
    assert_eq!(error, absent("kernel.o", "hidden", "helper"));
}

/// Weak ones are 0 if nothing defines them, also where the C library has a symbol of that name.
#[test]
fn weak_hidden_symbols_may_be_undefined() {
    const WEAK: &str = "
        int puts(const char*);
        __attribute__((weak, visibility(\"hidden\"))) int optional(void);
        __attribute__((weak, visibility(\"hidden\"))) int getpid(void);
        int __tvm_ffi_f(void* h, const void* a, int n, void* r) {
            if (n < 0) puts(\"\");
            return n + (optional ? 10 : 0) + (getpid ? 100 : 0);
        }";
    let (folder, kernel) = (folder(), object("kernel", WEAK));
    for linker in routes() {
        let path = folder.path().join("weak.so");
        fs::write(&path, link(std::slice::from_ref(&kernel), &linker).unwrap()).unwrap();
        assert_eq!(call(&path, "__tvm_ffi_f", 3), 3, "{linker:?}");
    }
}

/// Linkers define some symbols themselves, and this one adds functions that compilers take from an archive.
#[test]
fn hidden_symbols_that_linkers_define_are_taken() {
    const OURS: &str = "
        #pragma GCC visibility push(hidden)
        extern void *__dso_handle;
        extern char _GLOBAL_OFFSET_TABLE_[], _DYNAMIC[], __ehdr_start[], _end[], _etext[], _edata[], __bss_start[];
        extern char __init_array_start[], __init_array_end[], __fini_array_start[], __fini_array_end[];
        extern int __start_numbers[], __stop_numbers[];
        int atexit(void (*)(void));
        #pragma GCC visibility pop
        __attribute__((section(\"numbers\"), used)) int number = 7;
        static void nothing(void) {}
        int __tvm_ffi_f(void* h, const void* a, int n, void* r) {
            if (n == 1) return atexit(nothing);
            if (n == 2) return __stop_numbers - __start_numbers + *__start_numbers;
            if (n == 3) return __ehdr_start[1] == 'E' && _end >= _edata;
            void* all[] = { &__dso_handle, _GLOBAL_OFFSET_TABLE_, _DYNAMIC, _etext, __bss_start, __init_array_start,
                            __init_array_end, __fini_array_start, __fini_array_end };
            for (int i = 0; i < (int)(sizeof all / sizeof *all); i++) {
                __asm__(\"\" : \"+r\"(all[i]));
                if (!all[i]) return -1 - i;
            }
            return 0;
        }";
    let (folder, kernel) = (folder(), object("kernel", OURS));
    let path = folder.path().join("ours.so");
    fs::write(&path, link(&[kernel], &Linker::Wild).unwrap()).unwrap();
    for (count, expected) in [(0, 0), (1, 0), (2, 8), (3, 1)] {
        assert_eq!(call(&path, "__tvm_ffi_f", count), expected, "{count}");
    }
    const STATIC: &str = "struct S { ~S(); int n; }; S::~S() { n = 0; } S s;
        extern \"C\" int __tvm_ffi_f(void*, const void*, int n, void*) { return s.n + n; }";
    let destroyed = object_with("destroyed", STATIC, &["-x", "c++"]);
    link(&[destroyed], &Linker::Wild).unwrap();
}

/// In an object they stay as they are: what it is linked to may define them.
#[test]
fn hidden_symbols_stay_undefined_in_objects() {
    let kernel = object("kernel", HELPER);
    let other = object("other", "int other(int n) { return n; }");
    for linker in routes() {
        let request = alone(&[kernel.clone(), other.clone()], &linker);
        let merged = Request { form: Form::Object, runtime_dependency: true, ..request };
        let bytes = merged.link().unwrap();
        let file = object::File::parse(&*bytes).unwrap();
        let helper = file.symbols().find(|symbol| symbol.name() == Ok("helper")).unwrap();
        let SymbolFlags::Elf { st_other, .. } = helper.flags() else { panic!("no ELF") };
        assert!(helper.is_undefined() && !helper.is_weak(), "{linker:?}");
        assert_eq!(st_other.visibility(), elf::STV_HIDDEN, "{linker:?}");
        let input = Input::new("merged.o", bytes).unwrap();
        let error = link(std::slice::from_ref(&input), &Linker::Wild).unwrap_err().to_string();
        assert_eq!(error, absent("merged.o", "hidden", "helper"));
        let definition = object("helper", "int helper(int n) { return n + 1; }");
        link(&[input, definition], &Linker::Wild).unwrap();
    }
}
