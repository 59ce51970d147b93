//! What each backend costs, and how large its code is: `cargo bench -p tvm-ffi-codegen-tests --features
//! mlir --bench backends`. Ratios are of one run, each number the fastest of several.

use std::time::{Duration, Instant};

use codegen::{Library, Options, Routines, ir, lower};
use object::{Object, ObjectSymbol};
use target_lexicon::Triple;

/// `count` functions of `tensors` tensors each.
fn source(count: usize, tensors: usize, routines: Routines) -> ir::Module {
    let list =
        |item: &dyn Fn(usize) -> String| (0..tensors).map(item).collect::<Vec<_>>().join(", ");
    let params = list(&|i| format!("p{i}: Tensor([n], float32)"));
    let args = list(&|i| format!("p{i}.data"));
    let function = |i| format!("f{i}({params}) -> None = f{i}_kernel({args}, n);\n");
    let library: Library = (0..count).map(function).collect::<String>().parse().expect("valid");
    lower(&library, &Options { routines, ..Options::default() }).expect("valid")
}

/// The fastest of several, after one to warm up.
fn fastest(times: usize, mut run: impl FnMut() -> Duration) -> Duration {
    run();
    (0..times).map(|_| run()).min().expect("at least once")
}

fn timed<T>(run: impl FnOnce() -> T) -> (T, Duration) {
    let start = Instant::now();
    let value = run();
    (value, start.elapsed())
}

/// A way from host IR to an object: emission, then what the native compiler does.
struct Way {
    name: &'static str,
    /// The time to emit, and with `true` to compile without optimisation too.
    emit: fn(&ir::Module, bool) -> [Duration; 2],
}

const WAYS: [Way; 3] = [
    Way { name: "cranelift", emit: cranelift },
    Way { name: "llvm", emit: llvm },
    Way { name: "mlir", emit: mlir },
];

/// Cranelift compiles each function as it is defined, so emission is taken with printing instead, which
/// is more than emission alone.
fn cranelift(source: &ir::Module, compile: bool) -> [Duration; 2] {
    let backend = backend_cranelift::Cranelift { triple: Triple::host() };
    let emit = timed(|| codegen::Backend::text(&backend, source).expect("emits")).1;
    let all = if compile { timed(|| codegen::Backend::object(&backend, source)).1 } else { emit };
    [emit, all.saturating_sub(emit)]
}

fn o0() -> backend_llvm::Llvm {
    backend_llvm::Llvm { optimize: backend_llvm::Optimize::O0, ..Default::default() }
}

fn llvm(source: &ir::Module, compile: bool) -> [Duration; 2] {
    let context = inkwell::context::Context::create();
    let empty = ir::Module::default();
    let module = o0().module(&context, &empty, &[]).expect("an empty module");
    let emit = timed(|| backend_llvm::emit(&module, source).expect("emits")).1;
    let compiled = timed(|| compile.then(|| backend_llvm::compile(&module, &o0()))).1;
    [emit, compiled]
}

fn mlir(source: &ir::Module, compile: bool) -> [Duration; 2] {
    let context = melior::Context::new_with_threading(false);
    let backend = backend_mlir::Mlir { optimize: backend_llvm::Optimize::O0, ..Default::default() };
    let module = backend.module(&context, &ir::Module::default(), &[]).expect("an empty module");
    let emit = timed(|| backend_mlir::emit(&context, &module, source).expect("emits")).1;
    let compiled = timed(|| compile.then(|| backend_mlir::compile(&context, &module, &backend))).1;
    [emit, compiled]
}

/// Emission beside compilation at `-O0`, and time per function at 1,000 beside that at 10.
fn emission() {
    for Way { name, emit } in WAYS {
        for count in [1, 10, 100] {
            let module = source(count, 2, Routines::Shared);
            let time = |at: usize| fastest(10, || emit(&module, true)[at]);
            let (emitted, compiled) = (time(0), time(1));
            let share = 100.0 * emitted.as_secs_f64() / compiled.as_secs_f64();
            println!(
                "{name}: emit {count}: {emitted:.1?}, {share:.1} % of the compiler's {compiled:.1?}"
            );
        }
        let per_function = |count: usize| {
            let module = source(count, 2, Routines::Shared);
            fastest(5, || emit(&module, false)[0]).as_secs_f64() / count as f64
        };
        println!(
            "{name}: per function at 1,000 beside 10: {:.2}",
            per_function(1000) / per_function(10)
        );
    }
}

/// An object for one function of two tensors, with and without the routines that explain failures.
fn objects() {
    use backend_llvm::{Llvm, Optimize};
    for routines in [Routines::Embedded, Routines::Shared] {
        let module = source(1, 2, routines);
        let llvm = Llvm { optimize: Optimize::O1, ..Llvm::default() };
        let time = fastest(20, || timed(|| llvm.object(&module).expect("compiles")).1);
        println!("llvm -O1: object, routines {routines:?}: {time:.2?}");
    }
}

/// The bytes of a wrapper at `-O2`.
fn sizes() {
    let size = |tensors: usize| {
        let module = source(1, tensors, Routines::Shared);
        let llvm = backend_llvm::Llvm {
            triple: "x86_64-unknown-linux-gnu".parse().expect("known"),
            ..Default::default()
        };
        let bytes = llvm.object(&module).expect("compiles");
        let file = object::File::parse(&*bytes).expect("an object");
        let symbol = file.symbol_by_name("__tvm_ffi_f0").expect("exported");
        let code = symbol.section_index().and_then(|index| file.section_by_index(index).ok());
        let code = object::ObjectSection::data(&code.expect("code")).expect("bytes").to_vec();
        let code = &code[symbol.address() as usize..][..symbol.size() as usize];
        // The hot part ends with the only return: a `pop`, then `ret`. What follows are cold blocks.
        let ends = |pair: &[u8]| (0x58..=0x5f).contains(&pair[0]) && pair[1] == 0xc3;
        let hot = code.windows(2).position(ends).expect("returns") + 2;
        (hot, code.len())
    };
    let mut before = None;
    for tensors in 1..=6 {
        let (hot, all) = size(tensors);
        let more = before.map_or(String::new(), |before| format!(", {} more", hot - before));
        println!(
            "llvm -O2 x86-64: {tensors} tensors: hot {hot} bytes{more}; with cold blocks {all}"
        );
        before = Some(hot);
    }
}

fn main() {
    emission();
    objects();
    sizes();
}
