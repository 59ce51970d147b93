//! Declarations as Rust values: a function of one call, and one with a body of statements, as a compiler makes them.
//! `cargo doc` of `tvm_ffi_codegen`, which users import as `codegen`, has every constructor.

use std::error::Error;

use codegen::{
    Access, Call, Constraint, DType, Expr, Function, KernelCall, Library, Scalar, Signature,
    Statement, Tensor, exprs,
};
use jit::Jit;

/// Computes `y[i] = x[i] + 1`.
extern "C" fn add_one_kernel(x: *const f32, y: *mut f32, n: i64) {
    for i in 0..n as usize {
        // SAFETY: the declaration says that both have `n` elements.
        unsafe { *y.add(i) = *x.add(i) + 1.0 };
    }
}

/// Multiplies some elements in place. A status other than zero is an error.
extern "C" fn scale_kernel(y: *mut f32, start: i64, count: i32, factor: f32) -> i32 {
    for i in 0..count as usize {
        // SAFETY: the declaration calls this with tiles inside of `y`.
        unsafe { *y.add(start as usize + i) *= factor };
    }
    i32::from(!factor.is_finite())
}

/// Returns `add_one(x, y)`, a single call.
fn add_one() -> Function {
    let [x, y, n] = ["x", "y", "n"].map(Expr::name);
    let vector = Tensor::new([&n], DType::FLOAT32);
    Signature::new("add_one")
        .param("x", vector.clone().with_access(Access::Read))
        .param("y", vector)
        .body(Call::kernel("add_one_kernel", exprs![x.data(), y.data(), n]))
        .with_docs("Adds one to every element.")
}

/// Returns `add_and_scale(x, y, factor)`: calls the other function, then works tile by tile, and returns the number of
/// tiles.
fn add_and_scale() -> Function {
    let [y, n, i, tile, factor] = ["y", "n", "i", "tile", "factor"].map(Expr::name);
    let rows = Tensor::new([&n], DType::FLOAT32).with_align(4);
    let scale = KernelCall::new(
        "scale_kernel",
        exprs![
            y.data(),
            &i * &tile,
            tile.clone().min(&n - &i * &tile).cast(Scalar::Int32),
            factor.clone(),
        ],
    );
    let scale = scale.with_error(1, "ValueError", "a factor without end");
    Signature::new("add_and_scale")
        .param("x", rows.clone().with_access(Access::Read))
        .param("y", rows)
        .param_or("factor", Scalar::Float32, 2.0)
        .returns(Scalar::Int64)
        .require(Constraint::new(n.clone().less_equal(1 << 20), "too many elements"))
        .body([
            Statement::if_then(
                factor.equal(0.0),
                [Statement::raise("ValueError", exprs![Expr::text("no factor for "), &n])],
            ),
            Statement::call(Call::symbol("add_one", ["x", "y"])),
            Statement::let_value("tile", 4),
            Statement::let_value("tiles", n.ceildiv(tile)),
            Statement::for_each("i", 0, "tiles", [Statement::call(scale)]),
            Statement::return_value("tiles"),
        ])
        .with_location("values.rs", 1)
}

fn main() -> Result<(), Box<dyn Error>> {
    let library = Library::new([add_one(), add_and_scale()]);
    print!("{library}");
    for kernel in library.resolve()?.kernels() {
        println!("# {}{}", kernel.symbol, kernel.signature);
    }

    // SAFETY: the kernels are sound for vectors of one length, and nothing writes to `x`.
    let jit = unsafe {
        Jit::new()?
            .kernel("add_one_kernel", add_one_kernel as extern "C" fn(_, _, _))
            .kernel("scale_kernel", scale_kernel as extern "C" fn(_, _, _, _) -> _)
    };
    let compiled = jit.compile(&library)?;
    let add_one = compiled.typed::<(&[f32], &mut [f32]), ()>("add_one")?;
    let both = compiled.typed::<(&[f32], &mut [f32], f64), i64>("add_and_scale")?;

    let (x, mut y) = ([1.0_f32, 2.0, 3.0, 4.0, 5.0], [0.0_f32; 5]);
    add_one.call((&x, &mut y))?;
    println!("add_one: {y:?}");

    for factor in [0.0, f64::INFINITY] {
        match both.call((&x, &mut y, factor)) {
            Ok(_) => return Err("a wrong factor was accepted".into()),
            Err(error) => println!("{error}"),
        }
    }
    let with_default = compiled.typed::<(&[f32], &mut [f32]), i64>("add_and_scale")?;
    let tiles = with_default.call((&x, &mut y))?;
    println!("add_and_scale: {y:?}, {tiles} tiles");
    Ok(())
}
