//! Memory of code: its lifetime, its protection, and the number of libraries.

use std::ffi::c_void;
use std::sync::Arc;
use std::sync::atomic::{AtomicUsize, Ordering};

use crate::ir::{compile, identity, int, succeed, wrapper};
use tvm_ffi_codegen::ir::{Builder, Data, Linkage, Module, SymbolKind, Type, Value};
use tvm_ffi_codegen_jit::{Jit, JitOptions, Observers, Runtime};

/// Counts its drops.
struct Counted(Arc<AtomicUsize>);

impl Drop for Counted {
    fn drop(&mut self) {
        self.0.fetch_add(1, Ordering::SeqCst);
    }
}

#[test]
fn code_lives_as_long_as_its_last_handle() {
    let freed = Arc::new(AtomicUsize::new(0));
    let count = || freed.load(Ordering::SeqCst);
    let jit = Jit::with_runtime(Runtime::builtin()).unwrap().keep(Counted(freed.clone()));
    // SAFETY: sound for any one argument.
    let compiled = unsafe { jit.emit(&identity()) }.unwrap().finish().unwrap();
    let function = compiled.function("identity").unwrap();
    let clones = (compiled.clone(), function.clone());
    drop((compiled, clones));
    assert_eq!(count(), 0);
    assert_eq!(int(function.call((1,))), 1);
    drop(function);
    assert_eq!(count(), 1);

    // Dropping a JIT frees its values too.
    let jit = Jit::with_runtime(Runtime::builtin()).unwrap().keep(Counted(freed.clone()));
    // SAFETY: it is not called.
    drop(unsafe { jit.emit(&identity()) }.unwrap());
    assert_eq!(count(), 2);
}

/// Returns the protection of the mapping that an address is in, such as `r-xp`.
#[cfg(target_os = "linux")]
fn protection(address: usize) -> Option<String> {
    let maps = std::fs::read_to_string("/proc/self/maps").unwrap();
    maps.lines().find_map(|line| {
        let (range, rest) = line.split_once(' ')?;
        let (start, end) = range.split_once('-')?;
        let bound = |text| usize::from_str_radix(text, 16).unwrap();
        (bound(start) <= address && address < bound(end)).then(|| rest[..4].to_owned())
    })
}

#[test]
#[cfg(target_os = "linux")]
fn memory_is_never_writable_and_executable() {
    let mut module = Module::default();
    for (name, writable) in [("constant", false), ("variable", true)] {
        let symbol = module.declare(&format!("{name}_data"), Linkage::Local, SymbolKind::Data);
        module.data.push(Data { writable, ..Data::constant(symbol, vec![1; 8], 8) });
        wrapper(&mut module, name, |b| {
            let address = b.address(symbol);
            succeed(b, 4, address);
        });
    }
    let compiled = compile(Runtime::builtin(), &module).unwrap();
    let function = compiled.function("constant").unwrap();
    assert_eq!(protection(function.as_ptr() as usize).unwrap(), "r-xp");
    for (name, expected) in [("constant", "r--p"), ("variable", "rw-p")] {
        let returned = compiled.function(name).unwrap().call(());
        let address: *mut c_void = returned.unwrap().try_into().unwrap();
        assert_eq!(protection(address as usize).unwrap(), expected, "{name}");
    }
}

/// `f<i>` returns `i` plus the result of `f<i+1>`, so that calls cross from one run of pages to the next.
#[test]
fn large_modules_span_runs_of_pages() {
    const COUNT: i64 = 1500;
    let mut module = Module::default();
    for i in (0..COUNT).rev() {
        wrapper(&mut module, &format!("f{i}"), |b| {
            let one = b.i64(i);
            let sum = if i + 1 == COUNT { one } else { next(b, i, one) };
            succeed(b, 1, sum);
        });
    }
    fn next(b: &mut Builder<'_>, i: i64, one: Value) -> Value {
        let symbol = b.module.find(&format!("__tvm_ffi_f{}", i + 1)).unwrap();
        let slot = b.stack_slot(16, 8);
        let (handle, args, zero) = (b.null(), b.null(), b.i32(0));
        b.call(symbol, &[handle, args, zero, slot]);
        let rest = b.load(Type::I64, slot, 8);
        b.binary(tvm_ffi_codegen::ir::Binary::Add, one, rest)
    }
    let compiled = compile(Runtime::builtin(), &module).unwrap();
    // The first run of pages is small.
    assert!(compiled.mapped_bytes() > 32 << 10, "the test should need more than one run");
    let sum = int(compiled.function("f0").unwrap().call(()));
    assert_eq!(sum, COUNT * (COUNT - 1) / 2);
}

/// Number of mappings of the process. Linux allows 65,530.
#[cfg(target_os = "linux")]
fn mappings() -> usize {
    std::fs::read_to_string("/proc/self/maps").unwrap().lines().count()
}

/// Resident memory of the process in bytes, without that of files, such as the debug information that a backtrace of
/// another test reads.
#[cfg(target_os = "linux")]
fn resident() -> usize {
    let text = std::fs::read_to_string("/proc/self/statm").unwrap();
    let pages: Vec<usize> = text.split_whitespace().map(|word| word.parse().unwrap()).collect();
    let [_, resident, of_files, ..] = pages[..] else { panic!("{text}") };
    (resident - of_files) * region::page::size()
}

/// Live libraries share mappings. Dropping them in any order frees their memory, which later libraries use.
#[test]
#[cfg(target_os = "linux")]
fn twenty_thousand_libraries_live_at_once() {
    const COUNT: usize = 20_000;
    let module = identity();
    let make = |_| compile(Runtime::builtin(), &module).unwrap();
    let before = mappings();
    let mut libraries: Vec<_> = (0..COUNT).map(make).collect();
    let grown = mappings().saturating_sub(before);
    assert!(grown < 500, "{grown} mappings more");
    for index in [0, COUNT / 2, COUNT - 1] {
        let function = libraries[index].function("identity").unwrap();
        assert_eq!(int(function.call((index,))), index as i64);
    }
    let all = resident();
    // Every other library is dropped, and as many new ones are made.
    let mut turn = 0..;
    libraries.retain(|_| turn.next().unwrap() % 2 == 0);
    libraries.extend((0..COUNT / 2).map(make));
    let grown = mappings().saturating_sub(before);
    assert!(grown < 500, "{grown} mappings more");
    assert_eq!(int(libraries[COUNT - 1].function("identity").unwrap().call((7,))), 7);
    // libgcc before version 13 deregisters the newest frames quickly.
    while libraries.pop().is_some() {}
    let (size, freed) = (region::page::size(), all.saturating_sub(resident()));
    // Other tests use memory meanwhile, those of cached calls some 40 MB.
    assert!(freed >= COUNT * size / 4, "{freed} bytes of {all} were given back");
}

/// Pages, unwind tables and the debugger's list are global, and threads compile, call and drop at the same time.
#[test]
fn threads_compile_and_drop_at_the_same_time() {
    const TURNS: usize = 40;
    let module = identity();
    let work = &|thread: usize| {
        let mut live = Vec::new();
        for turn in 0..TURNS {
            let debugger = turn % 2 == 0;
            let observers = Observers { debugger, ..Observers::default() };
            let options =
                JitOptions { runtime: Runtime::builtin(), observers, ..JitOptions::default() };
            // SAFETY: sound for any one number.
            let jit = unsafe { Jit::with_options(options).unwrap().emit(&module) };
            live.push(jit.unwrap().finish().unwrap().function("identity").unwrap());
            if turn % 3 == thread % 3 {
                live.swap_remove(turn % live.len());
            }
            for (index, function) in live.iter().enumerate() {
                assert_eq!(int(function.call((index,))), index as i64);
            }
        }
    };
    std::thread::scope(|scope| (0..4).for_each(|thread| drop(scope.spawn(move || work(thread)))));
}
