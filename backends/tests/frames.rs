//! Tests that large frames are touched page by page, so that no code writes below the guard page of its thread.

use std::process::Command;

use codegen::ir::{Linkage, Module, Signature, SymbolKind, Type};
use object::{Object, ObjectSection, ObjectSymbol, SectionKind};

use crate::functions;
use crate::objects::compiled;
use crate::sample::TRIPLES;

/// Returns a module with a function that writes to the far end of a slot of 64 KiB.
fn deep() -> Module {
    let mut module = Module::default();
    let touch = SymbolKind::Function(Signature::new(&[Type::Ptr], None));
    let touch = module.declare("touch", Linkage::Import, touch);
    functions::define(&mut module, "deep", &[Type::I64], |b, v| {
        let slot = b.stack_slot(64 << 10, 8);
        b.store(v[0], slot, 0);
        b.call(touch, &[slot]);
        b.load(Type::I64, slot, 0)
    });
    module
}

/// A program that calls the function on a stack of 32 KiB, with a guard page and foreign memory below the stack: the
/// call must end in the guard page and leave the foreign memory unchanged.
const MAIN: &str = r#"
    #define _GNU_SOURCE
    #include <pthread.h>
    #include <signal.h>
    #include <string.h>
    #include <sys/mman.h>
    #include <unistd.h>
    enum { OTHER = 1 << 20, GUARD = 4096, STACK = 32768 };
    static unsigned char* memory;
    static char alternate[65536];
    void deep(const void* in, void* out);
    void touch(void* slot) { (void)slot; }
    static int untouched(void) {
        for (int i = 0; i < OTHER; i++) if (memory[i] != 0xa5) return 0;
        return 1;
    }
    static void handler(int signal, siginfo_t* info, void* context) {
        (void)signal, (void)context;
        unsigned char* at = info->si_addr;
        int guard = at >= memory + OTHER && at < memory + OTHER + GUARD;
        _exit(guard && untouched() ? 42 : guard ? 3 : 2);
    }
    static void* run(void* argument) {
        long long in = 1, out = 0;
        stack_t stack = { .ss_sp = alternate, .ss_size = sizeof alternate };
        sigaltstack(&stack, 0);
        deep(&in, &out);
        return argument;
    }
    int main(void) {
        int access = PROT_READ | PROT_WRITE, kind = MAP_PRIVATE | MAP_ANONYMOUS;
        memory = mmap(0, OTHER + GUARD + STACK, access, kind, -1, 0);
        memset(memory, 0xa5, OTHER);
        mprotect(memory + OTHER, GUARD, PROT_NONE);
        struct sigaction action = { .sa_sigaction = handler, .sa_flags = SA_SIGINFO | SA_ONSTACK };
        sigaction(SIGSEGV, &action, 0);
        pthread_attr_t attributes;
        pthread_attr_init(&attributes);
        pthread_attr_setstack(&attributes, memory + OTHER + GUARD, STACK);
        pthread_t thread;
        if (pthread_create(&thread, &attributes, run, 0)) return 4;
        pthread_join(thread, 0);
        return untouched() ? 0 : 1;
    }"#;

#[test]
fn a_large_frame_ends_in_the_guard_page() {
    let host = target_lexicon::Triple::host().to_string();
    for object in compiled(&host, &deep()) {
        let folder = tempfile::tempdir().unwrap();
        let path = |name: &str| folder.path().join(name);
        std::fs::write(path("deep.o"), object).unwrap();
        std::fs::write(path("main.c"), MAIN).unwrap();
        let mut cc = Command::new("cc");
        cc.arg("-pthread").args(["main.c", "deep.o"].map(path)).arg("-o").arg(path("main"));
        assert!(cc.status().unwrap().success());
        let status = Command::new(path("main")).status().unwrap();
        assert_eq!(status.code(), Some(42), "{status}");
    }
}

/// Windows finds callers by a table of functions, of three addresses each on x86-64. Cranelift has none for aarch64.
#[test]
fn functions_for_windows_have_unwind_tables() {
    for triple in TRIPLES.into_iter().filter(|triple| triple.starts_with("x86_64-pc-windows")) {
        for object in compiled(triple, &deep()) {
            let file = object::File::parse(&*object).unwrap();
            let is_function =
                |s: &object::Symbol| s.is_definition() && s.kind() == object::SymbolKind::Text;
            let functions = file.symbols().filter(is_function).count();
            let tables = file.sections().filter(|s| s.name().unwrap().starts_with(".pdata"));
            let size: u64 = tables.map(|section| section.size()).sum();
            assert_eq!(size, 12 * functions as u64, "{triple}");
        }
    }
}

/// Returns the instructions by which LLVM and Cranelift write zero to a page of the frame.
fn probes(triple: &str) -> [&'static [u8]; 2] {
    if triple.starts_with("x86_64") {
        // mov qword ptr [rsp], 0; mov dword ptr [rsp], 0
        [&[0x48, 0xc7, 0x04, 0x24, 0, 0, 0, 0], &[0xc7, 0x04, 0x24, 0, 0, 0, 0]]
    } else if triple.starts_with("aarch64") {
        // str xzr, [sp]; str wzr, [sp, x16]
        [&[0xff, 0x03, 0x00, 0xf9], &[0xff, 0x6b, 0x30, 0xb8]]
    } else {
        // c.sdsp zero, 0(sp); sb zero, 0(t5)
        [&[0x02, 0xe0], &[0x23, 0x00, 0x0f, 0x00]]
    }
}

/// The functions of the platform that LLVM calls on Windows instead.
const PLATFORM: [&str; 2] = ["__chkstk", "___chkstk_ms"];

#[test]
fn every_target_touches_the_pages_of_a_large_frame() {
    for triple in TRIPLES {
        for object in compiled(triple, &deep()) {
            let file = object::File::parse(&*object).unwrap();
            let called =
                file.symbols().any(|s| s.is_undefined() && PLATFORM.contains(&s.name().unwrap()));
            let text = file.sections().find(|section| section.kind() == SectionKind::Text).unwrap();
            let code = text.data().unwrap();
            let probes = probes(triple);
            let inline = probes.iter().any(|probe| code.windows(probe.len()).any(|w| w == *probe));
            assert!(called != inline, "{triple}: {called} {inline}");
            assert!(inline || triple.contains("windows"), "{triple}");
        }
    }
}
