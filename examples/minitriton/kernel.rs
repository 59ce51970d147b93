//! The code of a kernel: a loop over the elements, in a native module of Cranelift.

use std::error::Error;

use backend_cranelift::cranelift_codegen::ir::condcodes::IntCC;
use backend_cranelift::cranelift_codegen::ir::{
    InstBuilder, MemFlagsData, Signature, Value as Native, types,
};
use backend_cranelift::cranelift_module::{Linkage, Module};
use cranelift_frontend::{FunctionBuilder, FunctionBuilderContext};

use crate::ast::{Kernel, Param, Value};
use crate::declare::symbol;

/// Defines a kernel with the signature of the declaration's call. The error begins with the number of a line.
pub(crate) fn define(
    module: &mut dyn Module,
    kernel: &Kernel,
    signature: Signature,
) -> Result<(), Box<dyn Error>> {
    let (config, mut context) = (module.target_config(), module.make_context());
    context.func.signature = signature;
    let id = module.declare_function(&symbol(kernel), Linkage::Local, &context.func.signature)?;
    let mut reused = FunctionBuilderContext::new();
    let mut b = FunctionBuilder::new(&mut context.func, &mut reused);
    let [entry, head, body, done] = [(); 4].map(|()| b.create_block());
    b.append_block_params_for_function_params(entry);
    let i = b.append_block_param(head, types::I64);

    b.switch_to_block(entry);
    let params = b.block_params(entry).to_vec();
    let zero = b.ins().iconst(types::I64, 0);
    b.ins().jump(head, &[zero.into()]);

    b.switch_to_block(head);
    let count = params.get(kernel.params.len()).copied().unwrap_or(zero);
    let more = b.ins().icmp(IntCC::SignedLessThan, i, count);
    b.ins().brif(more, body, &[], done, &[]);

    b.switch_to_block(body);
    let offset = b.ins().ishl_imm_u(i, 2);
    let mut element = Element { kernel, params: &params, offset, b };
    for assign in &kernel.body {
        let at = |reason| format!("{}: {reason}", assign.line);
        let value = element.value(&assign.value).map_err(at)?;
        element.store(&assign.target, value).map_err(at)?;
    }
    let mut b = element.b;
    let next = b.ins().iadd_imm_s(i, 1);
    b.ins().jump(head, &[next.into()]);

    b.switch_to_block(done);
    b.ins().return_(&[]);
    b.seal_all_blocks();
    b.finalize(config);
    Ok(module.define_function(id, &mut context)?)
}

/// The statements for one element.
struct Element<'k, 'f> {
    kernel: &'k Kernel,
    params: &'k [Native],
    /// The byte offset of the element.
    offset: Native,
    b: FunctionBuilder<'f>,
}

impl Element<'_, '_> {
    fn param(&self, name: &str) -> Result<(&Param, Native), String> {
        let index = self.kernel.params.iter().position(|param| param.name == name);
        let index = index.ok_or_else(|| format!("there is no parameter `{name}`"))?;
        let sizes = self.kernel.params.iter().filter_map(|param| param.size.as_ref());
        let param = &self.kernel.params[index];
        if param.size.is_some() && sizes.clone().next() != param.size.as_ref() {
            return Err(format!("`{name}` has another size than the first vector"));
        }
        Ok((param, self.params[index]))
    }

    /// Computes a value, a `float64`.
    fn value(&mut self, value: &Value) -> Result<Native, String> {
        Ok(match value {
            Value::Number(number) => self.b.ins().f64const(*number),
            Value::Name(name) => match self.param(name)? {
                (Param { size: None, .. }, number) => number,
                (Param { size: Some(_), .. }, base) => {
                    let place = self.b.ins().iadd(base, self.offset);
                    let flags = MemFlagsData::trusted();
                    let value = self.b.ins().load(types::F32, flags, place, 0);
                    self.b.ins().fpromote(types::F64, value)
                }
            },
            Value::Binary(operator, left, right) => {
                let (left, right) = (self.value(left)?, self.value(right)?);
                match operator {
                    '+' => self.b.ins().fadd(left, right),
                    '-' => self.b.ins().fsub(left, right),
                    '*' => self.b.ins().fmul(left, right),
                    _ => self.b.ins().fdiv(left, right),
                }
            }
        })
    }

    fn store(&mut self, target: &str, value: Native) -> Result<(), String> {
        let (Param { size: Some(_), .. }, base) = self.param(target)? else {
            return Err(format!("`{target}` is no vector"));
        };
        let place = self.b.ins().iadd(base, self.offset);
        let value = self.b.ins().fdemote(types::F32, value);
        self.b.ins().store(MemFlagsData::trusted(), value, place, 0);
        Ok(())
    }
}
