//! What each backend costs, and how large its code is: `cargo bench -p tvm-ffi-codegen-tests --features
//! mlir --bench backends`. Ratios are of one run, each number the fastest of several.

mod uncompiled;

use std::time::{Duration, Instant};

use codegen::{Library, Options, Routines, ir, lower};
use cranelift_object::{ObjectBuilder, ObjectModule};
use inkwell::llvm_sys::core::LLVMContextSetDiscardValueNames;
use object::{Object, ObjectSymbol};
use target_lexicon::Triple;

use uncompiled::Uncompiled;

/// `count` functions of `tensors` tensors each.
fn source(count: usize, tensors: usize, routines: Routines) -> ir::Module {
    let list =
        |item: &dyn Fn(usize) -> String| (0..tensors).map(item).collect::<Vec<_>>().join(", ");
    let params = list(&|i| format!("p{i}: Tensor([n], float32)"));
    let args = list(&|i| format!("p{i}.data"));
    let function = |i| format!("f{i}({params}) -> None = f{i}_kernel({args}, n);\n");
    let library: Library = (0..count).map(function).collect::<String>().parse().expect("valid");
    lower(&library.resolve().expect("valid"), &Options { routines, ..Options::default() })
}

/// The fastest of several, after one to warm up.
fn fastest<const N: usize>(times: usize, mut run: impl FnMut() -> [Duration; N]) -> [Duration; N] {
    run();
    let least = |a: [Duration; N], b: [Duration; N]| std::array::from_fn(|i| a[i].min(b[i]));
    (0..times).map(|_| run()).reduce(least).expect("at least once")
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

const WAYS: [Way; 4] = [
    Way { name: "cranelift", emit: cranelift },
    Way { name: "llvm", emit: llvm },
    Way { name: "llvm-with-names", emit: llvm_with_names },
    Way { name: "mlir", emit: mlir },
];

/// Cranelift compiles each function as it is defined, so emission is taken with a module that does not, and
/// compilation is the rest of what an object takes.
fn cranelift(source: &ir::Module, compile: bool) -> [Duration; 2] {
    use backend_cranelift::{Settings, emit, isa};
    let empty = || {
        let settings = Settings { optimize: false, ..Settings::OBJECT };
        let isa = isa(&Triple::host(), settings).expect("a known target");
        let names = cranelift_module::default_libcall_names();
        ObjectModule::new(ObjectBuilder::new(isa, "bench", names).expect("a known format"))
    };
    let mut uncompiled = Uncompiled(empty());
    let emitted = timed(|| emit(&mut uncompiled, source).expect("emits")).1;
    let mut module = empty();
    let whole = || emit(&mut module, source).map(|_| module.finish().emit());
    let all = if compile { timed(whole).1 } else { emitted };
    [emitted, all.saturating_sub(emitted)]
}

fn o0() -> backend_llvm::Llvm {
    backend_llvm::Llvm { optimize: backend_llvm::Optimize::O0, ..Default::default() }
}

fn llvm(source: &ir::Module, compile: bool) -> [Duration; 2] {
    llvm_with(false, source, compile)
}

fn llvm_with_names(source: &ir::Module, compile: bool) -> [Duration; 2] {
    llvm_with(true, source, compile)
}

/// LLVM keeps the names of values unless it is told otherwise, as by [`backend_llvm::Llvm::object`].
fn llvm_with(names: bool, source: &ir::Module, compile: bool) -> [Duration; 2] {
    let context = inkwell::context::Context::create();
    if !names {
        // SAFETY: the context is alive.
        unsafe { LLVMContextSetDiscardValueNames(context.raw(), 1) }
    }
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

/// Emission beside compilation at `-O0`, and time per function at 1,000 beside that at 10: in one module
/// beside a hundred, so that neither finds its source nearer to the processor.
fn emission(&Way { name, emit }: &Way) {
    for (count, routines) in
        [(1, Routines::Embedded), (1, Routines::Shared), (100, Routines::Shared)]
    {
        let module = source(count, 2, routines);
        let [emitted, compiled] = fastest(20, || emit(&module, true));
        let share = 100.0 * emitted.as_secs_f64() / compiled.as_secs_f64();
        println!(
            "{name}: emit {count}, routines {routines:?}: {emitted:.1?}, {share:.1} % of the \
             compiler's {compiled:.1?}"
        );
    }
    let sources = |modules: usize, count: usize| -> Vec<ir::Module> {
        (0..modules).map(|_| source(count, 2, Routines::Shared)).collect()
    };
    let [one, hundred] = [sources(1, 1000), sources(100, 10)].map(|sources| {
        let all = || sources.iter().map(|source| emit(source, false)[0]).sum();
        fastest(10, || [all()])[0].as_secs_f64()
    });
    println!("{name}: per function at 1,000 beside 10: {:.2}", one / hundred);
}

/// An object for one function of two tensors, with and without the routines that explain failures.
fn objects() {
    use backend_llvm::{Llvm, Optimize};
    for routines in [Routines::Embedded, Routines::Shared] {
        let module = source(1, 2, routines);
        let llvm = Llvm { optimize: Optimize::O1, ..Llvm::default() };
        let [time] = fastest(20, || [timed(|| llvm.object(&module).expect("compiles")).1]);
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

/// Everything, or the parts that the arguments name.
fn main() {
    let parts: Vec<String> = std::env::args().skip(1).filter(|a| !a.starts_with("--")).collect();
    let wanted = |part: &str| parts.is_empty() || parts.iter().any(|p| p == part);
    WAYS.iter().filter(|way| wanted(way.name)).for_each(emission);
    if wanted("objects") {
        objects();
    }
    if wanted("sizes") {
        sizes();
    }
}
