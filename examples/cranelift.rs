//! A compiler on Cranelift: its kernel, written with cranelift_frontend, and the wrapper in one module.

mod call;

use std::error::Error;

use backend_cranelift::{Settings, emit, isa, signature};
use codegen::ir::Signature;
use cranelift_codegen::ir::condcodes::IntCC;
use cranelift_codegen::ir::{InstBuilder, MemFlagsData, types};
use cranelift_frontend::{FunctionBuilder, FunctionBuilderContext};
use cranelift_jit::{JITBuilder, JITModule};
use cranelift_module::{Linkage, Module, default_libcall_names};
use target_lexicon::Triple;

/// `for i in 0..n: y[i] = x[i] + 1`
fn define_kernel(module: &mut JITModule, ty: &Signature) -> Result<(), Box<dyn Error>> {
    let (config, mut context) = (module.target_config(), module.make_context());
    context.func.signature = signature(module.isa(), ty);
    let kernel =
        module.declare_function("add_one_kernel", Linkage::Local, &context.func.signature)?;
    let mut reused = FunctionBuilderContext::new();
    let mut b = FunctionBuilder::new(&mut context.func, &mut reused);
    let [entry, head, body, done] = [(); 4].map(|()| b.create_block());
    b.append_block_params_for_function_params(entry);
    let i = b.append_block_param(head, types::I64);

    b.switch_to_block(entry);
    let [x, y, n] = *b.block_params(entry) else { unreachable!("three parameters") };
    let zero = b.ins().iconst(types::I64, 0);
    b.ins().jump(head, &[zero.into()]);

    b.switch_to_block(head);
    let more = b.ins().icmp(IntCC::SignedLessThan, i, n);
    b.ins().brif(more, body, &[], done, &[]);

    b.switch_to_block(body);
    let offset = b.ins().ishl_imm_u(i, 2);
    let [from, to] = [x, y].map(|base| b.ins().iadd(base, offset));
    let value = b.ins().load(types::F32, MemFlagsData::trusted(), from, 0);
    let one = b.ins().f32const(1.0);
    let sum = b.ins().fadd(value, one);
    b.ins().store(MemFlagsData::trusted(), sum, to, 0);
    let next = b.ins().iadd_imm_s(i, 1);
    b.ins().jump(head, &[next.into()]);

    b.switch_to_block(done);
    b.ins().return_(&[]);
    b.seal_all_blocks();
    b.finalize(config);
    Ok(module.define_function(kernel, &mut context)?)
}

fn main() -> Result<(), Box<dyn Error>> {
    let (source, kernel) = call::add_one()?;
    let isa = isa(&Triple::host(), Settings::JIT)?;
    let mut builder = JITBuilder::with_isa(isa, default_libcall_names());
    builder.symbols(call::imports(&source).map(|(name, address)| (name, address.cast())));
    let mut module = JITModule::new(builder);
    define_kernel(&mut module, &kernel)?;
    let functions = emit(&mut module, &source)?;

    module.finalize_definitions()?;
    let code = module.get_finalized_function(functions[0]);
    // SAFETY: the module lives, and this is the wrapper.
    unsafe { call::call(code) };
    // SAFETY: nobody runs the code, and nobody will.
    unsafe { module.free_memory() };
    Ok(())
}
