//! A graph compiler: a graph with a dynamic batch becomes one host function, which allocates the intermediate results
//! and calls the operators: by symbol if they are part of the library, by name if somebody else has registered them.
//! The declarations are Rust values, not text. `graph [KERNELS.o]`: with an object of `graph/kernels.rs`, and with
//! LLVM, also ahead of time.

#[path = "graph/kernels.rs"]
mod kernels;

use std::error::Error;
use std::ptr;
use std::time::Duration;

use codegen::{
    Call, DType, Expr, Function, Library, ParamType, Shape, Signature, Statement, Tensor, exprs,
};
use jit::abi::{Any, SafeCall};
use jit::{Arg, Context, Jit, Runtime, TensorView};

type Done = Result<(), Box<dyn Error>>;

/// An operator, its operands, and the extents of its result.
struct Node {
    name: &'static str,
    operator: &'static str,
    inputs: &'static [&'static str],
    shape: Vec<Expr>,
}

/// Returns the graph `y = relu(reshape(x, [n, 16]) · w + b)`, for any number of rows.
fn graph() -> [Node; 4] {
    let node =
        |name, operator, inputs, m: i64| Node { name, operator, inputs, shape: exprs!["n", m] };
    [
        node("flat", "reshape", &["x"], 16),
        node("product", "matmul", &["flat", "w"], 8),
        node("sum", "bias", &["product", "b"], 8),
        node("y", "relu", &["sum"], 8),
    ]
}

fn floats(shape: impl Into<Shape>) -> Tensor {
    Tensor::new(shape, DType::FLOAT32)
}

/// Returns the host function of the graph, which allocates its intermediate results.
fn network(operator: fn(&str, Vec<Expr>) -> Call) -> Function {
    let nodes = graph();
    let mut body = Vec::new();
    for (index, node) in nodes.iter().enumerate() {
        if index + 1 < nodes.len() {
            body.push(Statement::alloc_on(node.name, floats(node.shape.clone()), "x"));
        }
        let args = node.inputs.iter().chain([&node.name]).map(Expr::from);
        body.push(Statement::call(operator(node.operator, args.collect())));
    }
    Signature::new("network")
        .param("x", floats(exprs!["n", 4, 4]))
        .param("w", floats([16, 8]))
        .param("b", floats([8]))
        .param("y", floats(exprs!["n", 8]))
        .body(body)
}

/// Returns the operators, each of which checks its arguments and calls its kernel.
fn operators() -> Vec<Function> {
    let [a, b, c] = ["a", "b", "c"].map(Expr::name);
    let matrices = |name| Signature::new(name).param("a", floats(["n", "k"]));
    let any: fn() -> ParamType = || floats(Shape::AnyRank).into();
    vec![
        matrices("matmul").param("b", floats(["k", "m"])).param("c", floats(["n", "m"])).body(
            Call::kernel("matmul_kernel", exprs![a.data(), b.data(), c.data(), "n", "k", "m"]),
        ),
        matrices("bias")
            .param("b", floats(["k"]))
            .param("c", floats(["n", "k"]))
            .body(Call::kernel("bias_kernel", exprs![a.data(), b.data(), c.data(), "n", "k"])),
        matrices("relu")
            .param("c", floats(["n", "k"]))
            .body(Call::kernel("relu_kernel", exprs![a.data(), c.data(), a.numel()])),
        Signature::new("reshape")
            .param("a", any())
            .param("c", any())
            .require(a.numel().equal(c.numel()))
            .body(Call::kernel("reshape_kernel", exprs![a.data(), c.data(), a.numel()])),
    ]
}

/// Returns a library of the graph and its operators.
fn by_symbol() -> Library {
    let network = network(|operator, args| Call::symbol(operator, args));
    Library::new(operators().into_iter().chain([network]))
}

/// Creates a JIT with the kernels.
fn jit(runtime: &'static Runtime) -> Result<Jit, Box<dyn Error>> {
    let jit = Jit::with_runtime(runtime)?;
    let matmul: unsafe extern "C" fn(_, _, _, _, _, _) = kernels::matmul_kernel;
    let bias: unsafe extern "C" fn(_, _, _, _, _) = kernels::bias_kernel;
    let relu: unsafe extern "C" fn(_, _, _) = kernels::relu_kernel;
    let reshape: unsafe extern "C" fn(_, _, _) = kernels::reshape_kernel;
    // SAFETY: each is sound for the memory that the operators call it with.
    Ok(unsafe {
        jit.kernel("matmul_kernel", matmul)
            .kernel("bias_kernel", bias)
            .kernel("relu_kernel", relu)
            .kernel("reshape_kernel", reshape)
    })
}

/// Computes the graph by hand.
fn reference(x: &[f32], w: &[f32], b: &[f32]) -> Vec<f32> {
    let element = |row: &[f32], j: usize| {
        let product: f32 = row.iter().zip(w[j..].iter().step_by(8)).map(|(x, w)| x * w).sum();
        (product + b[j]).max(0.0)
    };
    x.chunks(16).flat_map(|row| (0..8).map(move |j| element(row, j))).collect()
}

/// Calls the compiled graph with several batches and compares the results.
///
/// # Safety
/// The function is that of the graph.
unsafe fn check(how: &str, function: SafeCall) -> Done {
    let numbers = |count, step: f32| (0..count).map(|i| (i % 7) as f32 * step - 1.0).collect();
    let (mut w, mut b): (Vec<f32>, Vec<f32>) = (numbers(128, 0.5), numbers(8, 0.25));
    for rows in [1, 3, 0, 64] {
        let (mut x, mut y): (Vec<f32>, _) = (numbers(rows * 16, 0.75), vec![-1.0_f32; rows * 8]);
        let expected = reference(&x, &w, &b);
        let tensors = [
            TensorView::with_shape(&mut x, &[rows, 4, 4])?,
            TensorView::with_shape(&mut w, &[16, 8])?,
            TensorView::with_shape(&mut b, &[8])?,
            TensorView::with_shape(&mut y, &[rows, 8])?,
        ];
        let args = tensors.each_ref().map(|tensor| *Arg::from(tensor).as_raw());
        let mut result = Any::NONE;
        // SAFETY: four values that live long enough, and a place for a result.
        let status = unsafe { function(ptr::null_mut(), args.as_ptr(), 4, &mut result) };
        if status != 0 || y != expected {
            return Err(format!("{how}: status {status}, {y:?} instead of {expected:?}").into());
        }
    }
    println!("{how}: as expected");
    Ok(())
}

/// Runs the graph with operators that are registered as `graph.…`.
fn with_registered_operators(runtime: &'static Runtime) -> Done {
    let compiled = jit(runtime)?.compile(&Library::new(operators()))?;
    for operator in operators() {
        let name = &operator.signature.name;
        let function = compiled.function(name).ok_or("not declared")?;
        let object = function.into_ffi_function(Context::none())?;
        // SAFETY: this program has one thread, and only the network below calls the operators.
        unsafe { object.register_global(&format!("graph.{name}"), true) }?;
    }
    let network = network(|operator, args| Call::name(format!("graph.{operator}"), args));
    // SAFETY: the operators check their arguments.
    let compiled =
        unsafe { Jit::with_runtime(runtime)?.calls() }.compile(&Library::new([network]))?;
    let function = compiled.function("network").ok_or("not declared")?;
    // SAFETY: this is the graph.
    unsafe { check("by name, in process", function.as_ptr()) }
}

/// Compiles the graph with LLVM, which inlines the operators, into a file and loads it.
#[cfg(all(feature = "aot", feature = "llvm"))]
fn ahead_of_time(runtime: &Runtime, kernels: &str) -> Done {
    use jit::Origin;
    use libloading::os::unix::{Library, RTLD_GLOBAL, RTLD_NOW};
    let file = std::path::Path::new(kernels).with_extension("so");
    let kernels = vec![driver::link::Input::read(kernels.as_ref())?];
    let shared = driver::Request::new(driver::Form::Shared);
    let backend = driver::BackendName::Llvm;
    driver::Request { backend, kernels, ..shared }.write(&by_symbol(), &file)?;
    // The library finds the runtime in the process.
    let (Origin::Path(libtvm_ffi) | Origin::Environment(libtvm_ffi) | Origin::Tool(libtvm_ffi)) =
        runtime.origin()
    else {
        return Err("no libtvm_ffi".into());
    };
    // SAFETY: the initialisers of both may run now.
    let (_runtime, library) =
        unsafe { (Library::open(Some(libtvm_ffi), RTLD_NOW | RTLD_GLOBAL)?, Library::new(&file)?) };
    // SAFETY: this is the type of every wrapper, and the library outlives the call.
    unsafe { check("by symbol, ahead of time", *library.get(b"__tvm_ffi_network")?) }
}

fn main() -> Done {
    let library = by_symbol();
    println!("{}", library.functions[4]);
    let compiled = jit(Runtime::builtin())?.compile(&library)?;
    let function = compiled.function("network").ok_or("not declared")?;
    // SAFETY: this is the graph.
    unsafe { check("by symbol, in process", function.as_ptr())? };

    // The rest needs an installed runtime. SAFETY: it is loaded only by us.
    let Ok(runtime) = (unsafe { Runtime::ask_tool(Duration::from_secs(60)) }) else {
        return Ok(());
    };
    with_registered_operators(runtime)?;
    #[cfg(all(feature = "aot", feature = "llvm"))]
    if let Some(kernels) = std::env::args().nth(1) {
        ahead_of_time(runtime, &kernels)?;
    }
    Ok(())
}
