//! The kernel of the examples on Cranelift: `for i in 0..n: y[i] = x[i] + 1`, written with cranelift_frontend.

use std::error::Error;

use backend_cranelift::cranelift_codegen::ir::condcodes::IntCC;
use backend_cranelift::cranelift_codegen::ir::{InstBuilder, MemFlagsData, Signature, types};
use backend_cranelift::cranelift_module::{Linkage, Module};
use cranelift_frontend::{FunctionBuilder, FunctionBuilderContext};

/// Defines `add_one_kernel` with the signature of the declaration's call.
pub(crate) fn define(module: &mut dyn Module, signature: Signature) -> Result<(), Box<dyn Error>> {
    let (config, mut context) = (module.target_config(), module.make_context());
    context.func.signature = signature;
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
