//! Objects that a linker cannot take: errors that name the file and say what is in the way.

use std::fs;
use std::process::Command;

use tvm_ffi_codegen_driver::link::{Input, Linker};
use tvm_ffi_codegen_driver::{Form, Request};

use crate::support::{call, compile, folder, link, object, object_with, routes};

/// A thread-local variable of a program is at a place that is known before the program starts.
#[test]
fn variables_of_threads_of_a_program_are_refused() {
    const LOCAL: &str = "static __thread long a = 5; long kernel(long n) { return a += n; }";
    let local = object_with("local", LOCAL, &["-fno-pic"]);
    let mut linkers = routes().to_vec();
    linkers.push(Linker::Lld("none".into()));
    for linker in linkers {
        let error = link(std::slice::from_ref(&local), &linker).unwrap_err();
        assert_eq!(
            error.to_string(),
            "local.o: has the relocation R_X86_64_TPOFF32, for thread-local variables of a \
             program: compile it with -fPIC",
            "{linker:?}"
        );
    }
    // Models that a library can have, and objects, which may become part of a program.
    link(&[object("shared", LOCAL)], &Linker::Wild).unwrap();
    let initial = object_with("initial", LOCAL, &["-ftls-model=initial-exec"]);
    link(&[initial], &Linker::Wild).unwrap();
    for linker in routes() {
        let kernels = vec![local.clone()];
        let request = Request { kernels, linker: Some(linker), ..Request::new(Form::Object) };
        request.link().unwrap();
    }
    // A member that is not taken does not matter.
    let folder = folder();
    let member = compile(folder.path(), "local", LOCAL, &["-fno-pic"]);
    let archive = folder.path().join("locals.a");
    assert!(Command::new("ar").arg("rcs").arg(&archive).arg(member).status().unwrap().success());
    let archive = Input::read(&archive).unwrap();
    let free = object("free", "int free_of_it(void) { return 1; }");
    link(&[free, archive.clone()], &Linker::Wild).unwrap();
    let user = object("user", "long kernel(long); long user(long n) { return kernel(n); }");
    let error = link(&[user, archive], &Linker::Wild).unwrap_err().to_string();
    assert!(error.contains("locals.a(local.o): has the relocation R_X86_64_TPOFF32"), "{error}");
}

/// Nobody lets code on a stack run, so that a call of it would end the process.
#[test]
fn code_that_needs_an_executable_stack_is_refused() {
    const NEST: &str = "
        __attribute__((noinline)) int apply(int (*f)(int), int n) { __asm__(\"\"); return f(n); }
        int kernel(int n) { int add(int m) { return n + m; } return apply(add, 1); }
    ";
    let nest = object("nest", NEST);
    let lld = || Linker::Lld("none".into());
    for linker in routes().into_iter().chain([lld()]) {
        let error = link(std::slice::from_ref(&nest), &linker).unwrap_err();
        assert_eq!(
            error.to_string(),
            "nest.o: has code that needs an executable stack, for the address of a function in a function, as of \
             GNU C and Fortran: move that function out of the other one",
            "{linker:?}"
        );
    }
    // Objects say so themselves, but those of lld.
    for (linker, is_taken) in
        routes().map(|linker| (linker, true)).into_iter().chain([(lld(), false)])
    {
        let (kernels, linker) = (vec![nest.clone()], Some(linker));
        let made = Request { kernels, linker, ..Request::new(Form::Object) }.link();
        let error = made
            .and_then(|bytes| link(&[Input::new("made.o", bytes).unwrap()], &Linker::Wild))
            .unwrap_err();
        let file = if is_taken { "made.o" } else { "nest.o" };
        assert!(error.to_string().starts_with(&format!("{file}: has code that needs")), "{error}");
    }
}

/// Inputs that other linkers take and Wild does not, or that need a compiler's files.
#[test]
fn inputs_that_a_linker_cannot_take_are_refused_in_words() {
    const KERNEL: &str = "int kernel(int x) { return x; }";
    let part = |section: &str| {
        format!(
            "{KERNEL} static void hook(void) {{}} void (*use)(void) = hook;
             __asm__(\".section {section},\\\"ax\\\",@progbits\\n call use\\n .text\");"
        )
    };
    let (begun, ended) = (part(".init"), part(".fini"));
    let size = format!(
        "int array[5]; {KERNEL} long size(void) {{ long n; \
         __asm__(\"movabsq $array@SIZE, %0\" : \"=r\"(n)); return n; }}"
    );
    let aligned = format!("{KERNEL} char wide[9] __attribute__((aligned(1 << 17)));");
    let rows: [(&str, &[&str], &str); 5] = [
        (
            &begun,
            &[],
            "has a part of `.init`, which needs the start-up files of a compiler: take linker cc",
        ),
        (
            &ended,
            &[],
            "has a part of `.fini`, which needs the start-up files of a compiler: take linker cc",
        ),
        (
            &size,
            &[],
            "has the relocation R_X86_64_SIZE64, which linker wild cannot take: take linker cc or lld",
        ),
        (
            KERNEL,
            &["-g", "-gz=zlib-gnu"],
            "has debug information as -gz=zlib-gnu compresses it: compile it with -gz=zlib, or take linker cc",
        ),
        (
            &aligned,
            &[],
            "has a section with an alignment above 64 KiB, which linker wild cannot take: take linker cc or lld",
        ),
    ];
    for (text, options, expected) in rows {
        let input = object_with("kernel", text, options);
        let error = link(std::slice::from_ref(&input), &Linker::Wild).unwrap_err();
        assert_eq!(error.to_string(), format!("kernel.o: {expected}"));
        link(&[input], &Linker::Cc("cc".into())).unwrap();
    }
    let folder = folder();
    let plain = compile(folder.path(), "plain", KERNEL, &["-g"]);
    let squeezed =
        Command::new("objcopy").arg("--compress-debug-sections=zstd").arg(&plain).status();
    assert!(squeezed.unwrap().success());
    let error = link(&[Input::read(&plain).unwrap()], &Linker::Wild).unwrap_err().to_string();
    let expected = "has debug information as -gz=zstd compresses it: compile it with -gz=zlib, or take linker cc or lld";
    assert!(error.ends_with(expected), "{error}");
    let slim = compile(folder.path(), "slim", KERNEL, &["-flto", "-fno-fat-lto-objects"]);
    let error = Input::read(&slim).unwrap_err().to_string();
    let expected =
        "has only GCC's code for -flto: compile it without -flto, or with -ffat-lto-objects";
    assert!(error.ends_with(expected), "{error}");
    // Code for the machine is beside it in these.
    let function = KERNEL.replace("kernel", "__tvm_ffi_f");
    let fat = object_with("fat", &function, &["-flto", "-ffat-lto-objects"]);
    for linker in routes() {
        let path = folder.path().join("fat.so");
        fs::write(&path, link(std::slice::from_ref(&fat), &linker).unwrap()).unwrap();
        assert_eq!(call(&path, "__tvm_ffi_f", 0), 0, "{linker:?}");
    }
}

/// Wild panics on the first ones, and leaves out the others; GNU ld takes any bytes, and versions that a script
/// defines.
#[test]
fn names_that_wild_cannot_take_are_refused() {
    let kernel = |lines: &str| {
        let text = format!("int kernel(int n) {{ return n; }} __asm__(\"{lines}\");");
        object("kernel", &text)
    };
    let advice = "whose name is no UTF-8: take linker cc or lld";
    for sort in [".globl", ".weak", ".hidden g\u{e9}\\n .globl"] {
        let folder = folder();
        let (text, path) = (folder.path().join("odd.s"), folder.path().join("odd.o"));
        let lines =
            format!(".text\n{}g\u{e9}\ng\u{e9}: ret\n", format!("{sort} ").replace("\\n", "\n"));
        // In Latin-1 the letter is one byte.
        let bytes: Vec<u8> = lines.chars().map(|c| c as u8).collect();
        fs::write(&text, bytes).unwrap();
        let assembled = Command::new("cc").arg("-c").arg(&text).arg("-o").arg(&path).status();
        assert!(assembled.unwrap().success());
        let odd = Input::read(&path).unwrap();
        let error = link(std::slice::from_ref(&odd), &Linker::Wild).unwrap_err().to_string();
        let expected = format!("{}: has the symbol `g\u{fffd}`, {advice}", path.display());
        assert_eq!(error, expected);
        link(std::slice::from_ref(&odd), &Linker::Cc("cc".into())).unwrap();
        let (kernels, linker) = (vec![odd, kernel("")], Some(Linker::Wild));
        Request { kernels, linker, ..Request::new(Form::Object) }.link().unwrap();
    }
    for version in ["@", "@@"] {
        let input = kernel(&format!(".globl h\\n h: ret\\n .symver h,g{version}V1"));
        let error = link(std::slice::from_ref(&input), &Linker::Wild).unwrap_err().to_string();
        let expected = format!(
            "kernel.o: has the symbol `g{version}V1` of a version, which the library has not: leave out its `.symver`"
        );
        assert_eq!(error, expected);
        link(&[input], &Linker::Cc("cc".into())).unwrap_err();
    }
}

/// Wild merges all but code in sections without a name.
#[test]
fn sections_without_a_name_are_linked_or_refused() {
    let rows = [("ax", false), ("aw", true), ("", true)];
    for (flags, is_taken) in rows {
        let text = format!(
            "int kernel(int n) {{ return n; }} \
             __asm__(\".section \\\"\\\",\\\"{flags}\\\",@progbits\\n .long 0\\n .text\");"
        );
        let input = object("kernel", &text);
        link(std::slice::from_ref(&input), &Linker::Wild).unwrap();
        for linker in routes() {
            let is_wild = linker == Linker::Wild;
            let (kernels, linker) =
                (vec![input.clone(), object("other", "int other;")], Some(linker));
            let merged = Request { kernels, linker, ..Request::new(Form::Object) }.link();
            assert_eq!(merged.is_ok(), is_taken || !is_wild, "{flags}");
            let expected = "kernel.o: has code in a section without a name, which linker wild cannot merge: take linker \
                            cc or lld";
            assert!(merged.err().is_none_or(|error| error.to_string() == expected));
        }
    }
}

/// Wild would make all code thread-local, so that it cannot run, and libraries that no process has room for.
#[test]
fn flags_and_sizes_of_damaged_sections_are_refused() {
    let thread_local = ".section code,\\\"axT\\\",@progbits\\n .globl g\\n g: ret\\n .text";
    let huge = ".lcomm zeros,0x1000000000000000";
    for (lines, expected) in [
        (
            thread_local,
            "kernel.o: has code in a section of thread-local variables, with which linker wild mixes all other code: \
             take linker cc",
        ),
        (
            huge,
            "kernel.o: has a section of more than 1 TiB: allocate such memory when it is needed",
        ),
    ] {
        let text = format!("int kernel(int n) {{ return n; }} __asm__(\"{lines}\");");
        let error = link(&[object("kernel", &text)], &Linker::Wild).unwrap_err().to_string();
        assert_eq!(error, expected);
    }
}

/// Wild would look for a string for as long as the distance is, or find one of another object.
#[test]
fn addresses_outside_of_merged_strings_are_refused() {
    const EXPECTED: &str = "has an address that leads out of a section of strings, which linkers merge: name the string \
                            by a label in that section, or take the flag `M` off it";
    let code = |lines: &str| {
        let lines = lines.replace('"', "\\\"").replace(';', "\\n ");
        format!("int kernel(int n) {{ return n; }} __asm__(\"{lines}\\n .text\");")
    };
    let section = ".section .rodata.str1.1,\"aMS\",@progbits,1; 1: .string \"hi\"; label: .string \"ho\"; end:";
    let at = |place: &str| format!("{section}; .text; lea {place}(%rip),%rax");
    let debug = |place: &str| {
        format!(
            ".section .debug_str,\"MS\",@progbits,1; .string \"hi\"; .fill 999; .section .debug_info,\"\",@progbits; .quad {place}"
        )
    };
    let outside = [
        at(".rodata.str1.1-100"),
        at(".rodata.str1.1+50"),
        at(".rodata.str1.1+0x7ffffff0"),
        at("end"),
        debug(".debug_str+0x400000000000"),
        debug(".debug_str-1"),
        format!("{section}; .globl far; .set far, end + 0x400000000000"),
    ];
    for lines in outside {
        let input = object("kernel", &code(&lines));
        let error = link(std::slice::from_ref(&input), &Linker::Wild).unwrap_err();
        assert_eq!(error.to_string(), format!("kernel.o: {EXPECTED}"), "{lines}");
        // Objects keep their strings and relocations.
        let kernels = vec![input, object("other", "int other;")];
        let linker = Some(Linker::Wild);
        Request { kernels, linker, ..Request::new(Form::Object) }.link().unwrap();
    }
    let folder = folder();
    let path = compile(folder.path(), "squeezed", &code(&debug(".debug_str+0x400000000000")), &[]);
    let squeezed =
        Command::new("objcopy").arg("--compress-debug-sections=zlib").arg(&path).status();
    assert!(squeezed.unwrap().success());
    let error = link(&[Input::read(&path).unwrap()], &Linker::Wild).unwrap_err().to_string();
    assert!(error.ends_with(EXPECTED), "{error}");
    for lines in
        [at("label"), at("label+1"), at("label+100"), debug(".debug_str+2"), section.to_owned()]
    {
        link(&[object("kernel", &code(&lines))], &Linker::Wild).unwrap();
    }
    const TEXTS: &str = "#include <stdio.h>
        const char* const ends[] = {\"first\" + 5, \"second\" + 7, \"first\"};
        int kernel(int n) { return printf(\"%s of %d\", ends[n], n) + puts(\"first\" + n); }";
    for options in [&["-g"][..], &["-g", "-gz=zlib"], &["-O0"]] {
        link(&[object_with("texts", TEXTS, options)], &Linker::Wild).unwrap();
    }
}

/// Wild names no file where it finds damage.
#[test]
fn errors_of_wild_name_the_file() {
    use object::Endianness;
    use object::elf::{SHT_NOBITS, SHT_RELA, SectionHeader64};
    use object::read::elf::{ElfFile64, SectionHeader};
    type Wanted = fn(&SectionHeader64<Endianness>) -> bool;
    /// Bytes of the header of a section, and the offsets of its type and its alignment.
    const HEADER: usize = 64;
    const TYPE: usize = 4;
    const ALIGN: usize = 48;
    let damaged = |is_wanted: Wanted, field: usize, value: u8| {
        const KERNEL: &str = "int f(int); int kernel(int n) { return f(n) + 1; } \
                              char wide[9] __attribute__((aligned(64)));";
        let mut bytes = object("kernel", KERNEL).bytes().to_vec();
        let file = ElfFile64::<Endianness>::parse(&*bytes).unwrap();
        let start = file.elf_header().e_shoff.get(file.endian()) as usize;
        let place = file.elf_section_table().iter().position(is_wanted).unwrap();
        bytes[start + HEADER * place + field] = value;
        Input::new("damaged.o", bytes).unwrap()
    };
    let other = object("other", "int g(int); int other(int n) { return g(n) + 1; }");
    let odd = damaged(|header| header.sh_addralign(Endianness::Little) == 64, ALIGN, 3);
    let endless = object(
        "endless",
        "int kernel(int n) { return n; } \
         __asm__(\".section .rodata.m,\\\"aMS\\\",@progbits,1\\n .ascii \\\"no end\\\"\\n .text\");",
    );
    for (input, reason) in [
        (odd, "Invalid alignment 0x3"),
        (endless, "String in merge-string section is not null-terminated"),
    ] {
        let error = link(&[other.clone(), input.clone()], &Linker::Wild).unwrap_err().to_string();
        let expected = format!("linker wild: it fails on {}: {reason}", input.name());
        assert_eq!(error, expected);
    }
    // Wild speaks of the file that it copies when there is no room left.
    let relocations = |header: &SectionHeader64<Endianness>| {
        header.sh_type(Endianness::Little) == SHT_RELA && header.sh_info(Endianness::Little) == 1
    };
    let cut = damaged(relocations, TYPE, SHT_NOBITS.0 as u8);
    let (kernels, linker) = (vec![other, cut], Some(Linker::Wild));
    let merged = Request { kernels, linker, ..Request::new(Form::Object) }.link();
    let error = merged.unwrap_err().to_string();
    let expected = "linker wild: it fails on other.o, damaged.o: Failed copying from other.o";
    assert!(error.starts_with(expected), "{error}");
}

/// Relocations that Wild writes into the wrong bits, or panics on.
#[test]
fn relocations_that_wild_cannot_take_are_refused_by_name() {
    use object::write::{Object, Relocation, Symbol, SymbolSection};
    use object::{
        Architecture, BinaryFormat, Endianness, RelocationFlags, SectionKind, SymbolFlags,
        SymbolKind, SymbolScope, elf,
    };
    let rows = [
        (Architecture::Aarch64, elf::R_AARCH64_GOTREL64, "R_AARCH64_GOTREL64"),
        (Architecture::Aarch64, elf::R_AARCH64_GOTREL32, "R_AARCH64_GOTREL32"),
        (Architecture::Aarch64, elf::R_AARCH64_GOT_LD_PREL19, "R_AARCH64_GOT_LD_PREL19"),
        (Architecture::Aarch64, elf::R_AARCH64_TLSLD_LD_PREL19, "R_AARCH64_TLSLD_LD_PREL19"),
        (Architecture::Riscv64, elf::R_RISCV_TLSDESC_HI20, "R_RISCV_TLSDESC_HI20"),
        (Architecture::Riscv64, elf::R_RISCV_TLSDESC_LOAD_LO12, "R_RISCV_TLSDESC_LOAD_LO12"),
        (Architecture::Riscv64, elf::R_RISCV_TLSDESC_ADD_LO12, "R_RISCV_TLSDESC_ADD_LO12"),
        (Architecture::Riscv64, elf::R_RISCV_TLSDESC_CALL, "R_RISCV_TLSDESC_CALL"),
    ];
    for (architecture, r_type, name) in rows {
        let mut writer = Object::new(BinaryFormat::Elf, architecture, Endianness::Little);
        let text = writer.add_section(Vec::new(), b".text".to_vec(), SectionKind::Text);
        writer.append_section_data(text, &[0; 16], 8);
        let symbol = writer.add_symbol(Symbol {
            name: b"kernel".to_vec(),
            value: 0,
            size: 16,
            kind: SymbolKind::Text,
            scope: SymbolScope::Dynamic,
            weak: false,
            section: SymbolSection::Section(text),
            flags: SymbolFlags::None,
        });
        let flags = RelocationFlags::Elf { r_type };
        let relocation = Relocation { offset: 8, symbol, addend: 0, flags };
        writer.add_relocation(text, relocation).unwrap();
        let kernels = vec![Input::new("kernel.o", writer.write().unwrap()).unwrap()];
        let is_aarch64 = architecture == Architecture::Aarch64;
        let machine = if is_aarch64 { "aarch64" } else { "riscv64gc" };
        let target = format!("{machine}-unknown-linux-gnu").parse().unwrap();
        let shared = Request { kernels, target, ..Request::new(Form::Shared) };
        let expected = format!(
            "kernel.o: has the relocation {name}, which linker wild cannot take: take linker cc or lld"
        );
        assert_eq!(shared.link().unwrap_err().to_string(), expected);
        // Objects keep their relocations.
        Request { form: Form::Object, ..shared }.link().unwrap();
    }
}

/// Damaged objects become part of an object or are refused; no symbol table leads outside of the file.
#[test]
fn damaged_objects_are_merged_or_refused() {
    const TEXT: &str = "
        int shared[4];
        __attribute__((visibility(\"hidden\"))) int helper(int n) { return shared[n]; }
    ";
    let whole = object_with("whole", TEXT, &["-fcommon"]);
    let user = object("user", "int helper(int); int user(int n) { return helper(n) + 1; }");
    let mut outcomes = [0, 0];
    for turn in 0..600_usize {
        let mut bytes = whole.bytes().to_vec();
        // Headers of sections and symbols are in the second half, and change more than code does.
        for change in 0..1 + turn % 3 {
            let at = (turn * 7919 + change * 104_729) % bytes.len();
            let at = if turn % 2 == 0 { bytes.len() - 1 - at / 2 } else { at };
            bytes[at] ^= 1 << (turn % 8) | u8::from(turn % 5 == 0) << 7;
        }
        let Ok(damaged) = Input::new("damaged.o", bytes) else { continue };
        let (kernels, linker) = (vec![damaged, user.clone()], Some(Linker::Wild));
        let made = Request { kernels, linker, ..Request::new(Form::Object) }.link();
        outcomes[usize::from(made.is_ok())] += 1;
    }
    assert!(outcomes.iter().all(|&count| count > 20), "{outcomes:?}");
}
