//! From the text of a declaration to a callable function, stage by stage; and calls of it.
//!
//! `whole` is to be compared with `cranelift_alone`, which takes the finished CLIF of the same function
//! to executable memory by Cranelift's own means.

mod record;

use codegen::{Library, ir};
use cranelift_jit::{JITBuilder, JITModule};
use cranelift_module::default_libcall_names;
use divan::counter::ItemsCount;
use divan::{Bencher, black_box};
use record::Recorder;
use tvm_ffi_codegen_jit::{Compiled, Context, Jit, Tensor, Value, runtime};

fn main() {
    println!("runtime: {:?}", runtime().kind());
    // Compiles the routines that all code shares.
    Jit::new().expect("the host is supported");
    divan::main();
}

const TEXT: &str = "add_one(x: Tensor([n], float32), y: Tensor([n], float32)) -> None
    = add_one_kernel(x.data, y.data, n);";

extern "C" fn add_one_kernel(x: *const f32, y: *mut f32, n: i64) {
    for i in 0..n as usize {
        // SAFETY: the declaration says that both have `n` elements.
        unsafe { *y.add(i) = *x.add(i) + 1.0 };
    }
}

fn parse() -> Library {
    black_box(TEXT).parse().expect("the text is right")
}

fn lower(library: &Library) -> ir::Module {
    codegen::lower(&library.resolve().expect("the declaration is valid"), &Jit::OPTIONS)
}

fn jit() -> Jit {
    let mut jit = Jit::new().expect("the host is supported");
    // SAFETY: the kernel is what the declaration calls.
    unsafe { jit.kernel("add_one_kernel", add_one_kernel as *const u8) };
    jit
}

fn emit(mut jit: Jit, source: &ir::Module) -> Jit {
    // SAFETY: lowering made it.
    unsafe { jit.emit(source) }.expect("the kernel is there");
    jit
}

fn compile() -> Compiled {
    emit(jit(), &lower(&parse())).finish().expect("everything is defined")
}

#[divan::bench_group(sample_size = 1, sample_count = 2000)]
mod stage {
    use super::*;

    #[divan::bench]
    fn a_parse(bencher: Bencher<'_, '_>) {
        bencher.bench(parse);
    }

    #[divan::bench]
    fn b_lower(bencher: Bencher<'_, '_>) {
        let library = parse();
        bencher.bench(|| lower(&library));
    }

    #[divan::bench]
    fn c_module(bencher: Bencher<'_, '_>) {
        bencher.bench(jit);
    }

    /// Host IR to CLIF.
    #[divan::bench]
    fn d_emit(bencher: Bencher<'_, '_>) {
        let source = lower(&parse());
        bencher.with_inputs(Recorder::dropping).bench_values(|mut recorder| {
            backend_cranelift::emit(&mut recorder, &source).expect("it is well-formed");
            recorder
        });
    }

    /// CLIF to bytes.
    #[divan::bench]
    fn e_compile(bencher: Bencher<'_, '_>) {
        let recorder = Recorder::of(&lower(&parse()));
        bencher.with_inputs(|| recorder.contexts()).bench_values(|contexts| {
            recorder.compile(contexts);
        });
    }

    /// Both of these, into memory.
    #[divan::bench]
    fn f_emit_and_compile(bencher: Bencher<'_, '_>) {
        let source = lower(&parse());
        bencher.with_inputs(jit).bench_values(|jit| emit(jit, &source));
    }

    /// Relocations and protection.
    #[divan::bench]
    fn g_finish(bencher: Bencher<'_, '_>) {
        let source = lower(&parse());
        bencher
            .with_inputs(|| emit(jit(), &source))
            .bench_values(|jit| jit.finish().expect("everything is defined"));
    }

    #[divan::bench]
    fn h_free(bencher: Bencher<'_, '_>) {
        bencher.with_inputs(compile).bench_values(drop);
    }
}

#[divan::bench(sample_size = 1, sample_count = 2000)]
fn whole(bencher: Bencher<'_, '_>) {
    bencher.with_inputs(|| ()).bench_values(|()| compile());
}

#[divan::bench(sample_size = 1, sample_count = 2000)]
fn cranelift_alone(bencher: Bencher<'_, '_>) {
    let source = lower(&parse());
    let recorder = Recorder::of(&source);
    bencher.with_inputs(|| recorder.contexts()).bench_values(|contexts| {
        let mut builder = JITBuilder::with_isa(recorder.isa.clone(), default_libcall_names());
        builder.symbol_lookup_fn(Box::new(|_| Some(add_one_kernel as *const u8)));
        let mut module = JITModule::new(builder);
        recorder.replay(&mut module, contexts);
        module.finalize_definitions().expect("everything is defined");
        Freed(Some(module))
    });
}

/// Frees the memory of a module that is never called.
struct Freed(Option<JITModule>);

impl Drop for Freed {
    fn drop(&mut self) {
        if let Some(module) = self.0.take() {
            // SAFETY: its functions are not called.
            unsafe { module.free_memory() };
        }
    }
}

/// Many functions in one library: the time per function should not depend on their number.
#[divan::bench(args = [100, 10_000], sample_size = 1, sample_count = 5)]
fn many(bencher: Bencher<'_, '_>, count: usize) {
    let name = |i: usize| TEXT.replacen("add_one", &format!("add_one_{i}"), 1);
    let text: String = (0..count).map(|i| name(i) + "\n").collect();
    let compile = || jit().compile(&text.parse().expect("the text is right"));
    let mapped = compile().expect("the kernel is there").mapped_bytes();
    println!("{count} functions: {} bytes mapped per function", mapped / count);
    bencher.counter(ItemsCount::new(count)).bench_local(compile);
}

#[divan::bench_group(sample_size = 1000, sample_count = 1000)]
mod call {
    use super::*;

    #[divan::bench]
    fn direct(bencher: Bencher<'_, '_>) {
        let function = compile().function("add_one").expect("it is declared");
        let (mut x, mut y) = ([1.0_f32], [0.0_f32]);
        let tensors = [Tensor::new(&mut x), Tensor::new(&mut y)];
        let args: [Value<'_>; 2] = [(&tensors[0]).into(), (&tensors[1]).into()];
        let mut result = tvm_ffi_codegen_jit::abi::Any::NONE;
        bencher.bench_local(|| {
            let args = black_box(&args).as_ptr().cast();
            // SAFETY: there are two valid values.
            unsafe { function.call_raw(std::ptr::null_mut(), args, 2, &mut result) }
        });
    }

    #[divan::bench]
    fn safe(bencher: Bencher<'_, '_>) {
        let function = compile().function("add_one").expect("it is declared");
        let (mut x, mut y) = ([1.0_f32], [0.0_f32]);
        let tensors = [Tensor::new(&mut x), Tensor::new(&mut y)];
        let args: [Value<'_>; 2] = [(&tensors[0]).into(), (&tensors[1]).into()];
        bencher.bench_local(|| function.call(black_box(&args)));
    }

    #[divan::bench]
    fn function_object(bencher: Bencher<'_, '_>) {
        let function = compile().function("add_one").expect("it is declared");
        let object = function.into_ffi_function(Context::none()).expect("the runtime makes it");
        let (mut x, mut y) = ([1.0_f32], [0.0_f32]);
        let tensors = [Tensor::new(&mut x), Tensor::new(&mut y)];
        let args: [Value<'_>; 2] = [(&tensors[0]).into(), (&tensors[1]).into()];
        bencher.bench_local(|| object.call(black_box(&args)));
    }
}
