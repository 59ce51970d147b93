//! A host in Rust: calls a function of a library on tensors of the crate `tvm-ffi`, and prints what a bad call returns.
//!
//! Usage: host LIBRARY, which exports add_one(x: Tensor([n], float32), y: Tensor([n], float32)).

use tvm_ffi::{Any, AnyView, Function, Module, Result, Tensor};

fn call(function: &Function, x: &Tensor, y: &Tensor) -> Result<Any> {
    function.call_packed(&[AnyView::from(x), AnyView::from(y)])
}

fn main() -> Result<()> {
    let path = std::env::args().nth(1).expect("the path of a library");
    let add_one = Module::load_from_file(path)?.get_function("add_one")?;
    let x = Tensor::from_slice(&[0_f32, 1.0, 2.0, 3.0, 4.0], &[5])?;
    let [y, short] = [5, 4].map(|n| Tensor::from_slice(&vec![0_f32; n], &[n as i64]));
    let y = y?;
    call(&add_one, &x, &y)?;
    println!("{:?}", y.data_as_slice::<f32>()?);
    let error = call(&add_one, &x, &short?).err().expect("a tensor that is too short is refused");
    println!("{}: {}", error.kind().as_str(), error.message());
    Ok(())
}
