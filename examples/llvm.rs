//! A compiler on LLVM: its kernel, written with inkwell, and the wrapper in one module.

mod call;

use std::error::Error;

use backend_llvm::inkwell::context::Context;
use backend_llvm::inkwell::module::{Linkage, Module};
use backend_llvm::inkwell::{IntPredicate, OptimizationLevel};
use backend_llvm::{Llvm, emit, optimize, signature};
use codegen::ir::Signature;

/// Defines `for i in 0..n: y[i] = x[i] + 1`.
fn define_kernel<'c>(
    context: &'c Context,
    module: &Module<'c>,
    ty: &Signature,
) -> Result<(), Box<dyn Error>> {
    let kernel = module.add_function("add_one_kernel", signature(context, ty), None);
    kernel.set_linkage(Linkage::Internal);
    let [x, y, n] = [0, 1, 2].map(|i| kernel.get_nth_param(i).expect("three parameters"));
    let [entry, body, done] =
        ["entry", "body", "done"].map(|name| context.append_basic_block(kernel, name));
    let (float, long) = (context.f32_type(), context.i64_type());
    let b = context.create_builder();

    b.position_at_end(entry);
    let some = b.build_int_compare(IntPredicate::SGT, n.into_int_value(), long.const_zero(), "")?;
    b.build_conditional_branch(some, body, done)?;

    b.position_at_end(body);
    let phi = b.build_phi(long, "i")?;
    let i = phi.as_basic_value().into_int_value();
    // SAFETY: `i` is an index of both tensors.
    let from = unsafe { b.build_gep(float, x.into_pointer_value(), &[i], "from")? };
    // SAFETY: as above.
    let to = unsafe { b.build_gep(float, y.into_pointer_value(), &[i], "to")? };
    let value = b.build_load(float, from, "value")?.into_float_value();
    b.build_store(to, b.build_float_add(value, float.const_float(1.0), "sum")?)?;
    let next = b.build_int_nsw_add(i, long.const_int(1, false), "next")?;
    phi.add_incoming(&[(&long.const_zero(), entry), (&next, body)]);
    let more = b.build_int_compare(IntPredicate::SLT, next, n.into_int_value(), "more")?;
    b.build_conditional_branch(more, body, done)?;

    b.position_at_end(done);
    b.build_return(None)?;
    Ok(())
}

fn main() -> Result<(), Box<dyn Error>> {
    let (source, kernel) = call::add_one()?;
    let context = Context::create();
    let module = context.create_module("mine");
    define_kernel(&context, &module, &kernel)?;
    emit(&module, &source)?;

    optimize(&module, &Llvm::default())?;
    let inlined = module.get_function("add_one_kernel").is_none();
    println!("kernel inlined: {inlined}");

    let engine = module.create_jit_execution_engine(OptimizationLevel::Default);
    let engine = engine.map_err(|reason| reason.to_string())?;
    for (name, address) in call::imports(&source) {
        if let Some(function) = module.get_function(name) {
            engine.add_global_mapping(&function, address as usize);
        }
    }
    let code = engine.get_function_address("__tvm_ffi_add_one")?;
    // SAFETY: the engine lives, and this is the wrapper.
    unsafe { call::call(code as *const u8) };
    Ok(())
}
