//! Functions that are left at one place.

use super::Builder;
use crate::ir::Hint;
use crate::ir::inst::{Target, Terminator};

impl Builder<'_> {
    /// Lets all returns so far leave through one block: the code that gives up a frame is then there once. For
    /// functions that are to be small.
    ///
    /// ```
    /// # use tvm_ffi_codegen::ir::{Builder, Cond, Linkage, Module, Signature, Type, verify};
    /// # let mut module = Module::default();
    /// let signature = Signature::new(&[Type::I64, Type::I64], Some(Type::I64));
    /// let mut b = Builder::function(&mut module, "larger", Linkage::Export, signature);
    /// let (x, y) = (b.param(0), b.param(1));
    /// let more = b.compare(Cond::Sgt, x, y);
    /// b.if_then(more, |b| b.ret(Some(x)));
    /// b.ret(Some(y));
    /// b.share_return();
    /// let function = b.finish();
    /// module.functions.push(function);
    /// assert_eq!(module.to_string().matches("return %").count(), 1);
    /// verify(&module).unwrap();
    /// ```
    pub fn share_return(&mut self) {
        let blocks = &mut self.function.blocks;
        let returns = |end: &Option<Terminator>| matches!(end, Some(Terminator::Return(_)));
        if blocks.iter().filter(|block| returns(&block.end)).count() < 2 {
            return;
        }
        let exit = self.block("return");
        let result = self.function.signature.result;
        let result = result.map(|abi| self.block_param(exit, abi.ty, Hint::default()));
        for block in &mut self.function.blocks {
            if let Some(Terminator::Return(value)) = &block.end {
                let args = value.iter().copied().collect();
                block.end = Some(Terminator::Jump(Target { block: exit, args }));
            }
        }
        self.switch_to(exit);
        self.ret(result);
    }
}
